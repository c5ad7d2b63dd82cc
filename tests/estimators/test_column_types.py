"""Column types that a user declares: `categorical`, `numeric`, `drop`; and the importance of each column."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone

import opauc
from opauc import OnePassGAM
from opauc.errors import InputError


def sales(n_rows=3000, n_shops=600):
    """Numbers of shops, each with an effect; an age that matters; a day; a column of noise."""
    random = np.random.default_rng(0)
    shop, effects = random.integers(0, n_shops, n_rows), random.normal(size=n_shops) * 2.0
    frame = pd.DataFrame(
        {
            "shop": shop * 3,
            "age": random.normal(40, 10, n_rows),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 60, n_rows), "D"),
            "noise": random.normal(size=n_rows),
        }
    )
    labels = (random.random(n_rows) < expit(effects[shop] + (frame["age"] - 40) / 10)).astype(int)
    return frame, labels.to_numpy()


FRAME, LABELS = sales()


def scores(X, y=LABELS, test=None, **settings):
    return OnePassGAM(random_state=0, **settings).fit(X, y).decision_function(X if test is None else test)


@pytest.mark.parametrize("column", ["shop", 0, np.int64(0), -4])
def test_a_column_declared_categorical_is_one_of_strings(column):
    expected = scores(FRAME.assign(shop="s" + FRAME["shop"].astype(str)))
    assert_array_equal(scores(FRAME, categorical=[column]), expected)
    assert abs(scores(FRAME) - expected).max() > 0.1


def test_a_column_of_an_array_declared_categorical_is_one_of_strings():
    rows = FRAME[["shop", "age"]].to_numpy(float)
    rows[:, 0] = rows[:, 0] * 1e6 - 0.5  # any numbers, not only small whole ones
    rows[::50, 0] = np.nan
    text = pd.DataFrame(rows, columns=["shop", "age"])
    text["shop"] = text["shop"].map(lambda value: None if np.isnan(value) else f"s{value}")
    for column in (0, "x0"):  # the names of the categories have another order
        assert_allclose(scores(rows, categorical=[column]), scores(text), rtol=0, atol=1e-9)


def test_a_column_declared_numeric_has_a_curve_and_no_effects_of_single_values():
    X = FRAME[["shop", "age"]]
    assert "shop (categorical)" in OnePassGAM(random_state=0).fit(X, LABELS).term_importances_
    for data, column in ((X, "shop"), (X.to_numpy(float), 0), (X.astype(str), "shop")):
        model = OnePassGAM(random_state=0, numeric=[column]).fit(data, LABELS)
        assert not [name for name in model.term_importances_ if "categorical" in name]
        assert model.basis_.random_effects.size == 0
        batches = OnePassGAM(random_state=0, numeric=[column])
        for part in (slice(0, 1000), slice(1000, None)):
            batches.partial_fit(data[part], LABELS[part])
        assert_array_equal(batches.decision_function(data), model.decision_function(data))


def test_a_column_declared_numeric_in_a_file_has_no_effects_of_single_values(tmp_path):
    path = tmp_path / "rows.csv"
    FRAME[["shop", "age"]].assign(label=LABELS).to_csv(path, index=False)
    assert "shop (categorical)" in opauc.train(path).term_importances_
    model = opauc.train(path, numeric=["shop"])
    assert "shop (categorical)" not in model.term_importances_
    assert_array_equal(model.decision_function(FRAME), scores(FRAME[["shop", "age"]], numeric=["shop"]))


@pytest.mark.parametrize("kind", ["frame", "array"])
def test_a_dropped_column_plays_no_part(kind):
    whole, rest = FRAME[["shop", "age", "noise"]], FRAME[["shop", "noise"]]
    if kind == "array":
        whole, rest = whole.to_numpy(float), rest.to_numpy(float)
    model = OnePassGAM(random_state=0, drop=[1]).fit(whole, LABELS)
    assert_array_equal(model.decision_function(whole), scores(rest))
    assert model.dropped_columns_ == (("age",) if kind == "frame" else ("x1",))
    assert model.n_features_in_ == 3
    assert model.feature_importances_[1] == 0.0


@pytest.mark.parametrize("data", [FRAME, FRAME[["shop", "age", "noise"]].to_numpy(float)], ids=["frame", "array"])
def test_declared_types_are_saved_cloned_and_kept_for_later_batches(data, tmp_path):
    model = OnePassGAM(random_state=0, init_size=1000, categorical=[0], drop=[2])
    for part in (slice(0, 900), slice(900, 2000)):
        model.partial_fit(data[part], LABELS[part])
    opauc.save(model, tmp_path / "model")
    loaded = opauc.load(tmp_path / "model")
    assert (loaded.categorical, loaded.drop) == ([0], [2])
    for one in (model, loaded):
        one.partial_fit(data[2000:], LABELS[2000:])
    assert_array_equal(loaded.decision_function(data), model.decision_function(data))
    assert clone(model).categorical == [0]
    shards = [model.empty_copy().partial_fit(data[part], LABELS[part]) for part in (slice(0, 1500), slice(1500, None))]
    assert sum(shards[0].merge(shards[1])._fitted.counts) == 3000


def test_train_takes_declared_types_of_frames():
    table = FRAME.assign(label=LABELS)[["label", *FRAME.columns]]
    expected = scores(FRAME.drop(columns="noise"), categorical=["shop"], numeric=["age"])
    for columns in ({"categorical": ["shop"], "numeric": ["age"]}, {"categorical": [1], "numeric": [2]}):
        model = opauc.train(table, label="label", drop=["noise"], **columns)
        assert (model.categorical, model.numeric) == (["shop"], ["age"])
        assert_array_equal(model.decision_function(FRAME.drop(columns="noise")), expected)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"categorical": "shop"}, ValueError, "'categorical' parameter of OnePassGAM must be None or a list of names"),
        ({"drop": [True]}, ValueError, "'drop' parameter of OnePassGAM must be None or a list of names or positions"),
        ({"numeric": 0}, ValueError, "'numeric' parameter of OnePassGAM must be None or a list of names or positions"),
        ({"drop": ["shpo"]}, InputError, "no column shpo"),
        ({"drop": [4]}, InputError, "no column 4"),
        ({"categorical": ["shop"], "numeric": [0]}, InputError, "column shop cannot be categorical and numeric"),
    ],
)
def test_mistakes_name_the_column(settings, error, message):
    model = OnePassGAM(**settings)
    with pytest.raises(error, match=message):
        model.fit(FRAME, LABELS)
    assert not hasattr(model, "classes_")


def test_the_importance_of_a_column_is_that_of_its_terms_with_pairs_shared_evenly():
    model = OnePassGAM(random_state=0).fit(FRAME.assign(always=1), LABELS)
    expected = dict.fromkeys(model.feature_names_in_, 0.0)
    for term in model.terms_:
        for name in term.inputs:
            expected[name.split()[0]] += term.importance / len(term.inputs)  # "day weekday" is of the column day
    assert any(len(term.inputs) == 2 for term in model.terms_)
    assert_allclose(model.feature_importances_, list(expected.values()))
    assert model.feature_importances_.sum() == pytest.approx(sum(model.term_importances_.values()))
    assert model.feature_importances_[-1] == 0.0
    assert set(np.argsort(-model.feature_importances_)[:2]) <= {0, 1, 2}
    rows = FRAME[["age", "noise"]].to_numpy()
    assert OnePassGAM(random_state=0).fit(rows, LABELS).feature_importances_.argmax() == 0


def test_rows_given_as_dicts_have_the_names_of_their_keys():
    frame = pd.DataFrame({"a": np.linspace(-1.0, 1.0, 400), "kind": ["u", "v"] * 200, "same": 1})
    labels = (frame["a"] + (frame["kind"] == "u") > 0.3).astype(int)
    of_frame, of_dicts = (OnePassGAM(random_state=0).fit(rows, labels) for rows in (frame, frame.to_dict("records")))
    assert of_dicts.feature_names_in_.tolist() == ["a", "kind", "same"]
    assert_allclose(of_dicts.feature_importances_, of_frame.feature_importances_, rtol=1e-12)
    assert of_dicts.dropped_columns_ == of_frame.dropped_columns_ == ("same",)
    assert_allclose(of_dicts.decision_function(frame), of_frame.decision_function(frame), rtol=1e-12)
