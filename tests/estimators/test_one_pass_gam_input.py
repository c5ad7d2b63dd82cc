"""`OnePassGAM` and input that is not as one would wish."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.metrics import roc_auc_score

import opauc
from opauc import OnePassGAM
from opauc.additive.drift import FeatureDrift
from opauc.errors import UnreadableFileError
from tests.estimators.test_one_pass_gam import gam, stream, table

ROWS, LABELS = stream(0, 6000)


def test_all_missing_and_constant_columns_play_no_part():
    wide = np.column_stack([ROWS, np.full(6000, np.nan), np.full(6000, 7.0)])
    narrow = gam().fit(ROWS, LABELS).decision_function(ROWS)
    model = gam().fit(wide, LABELS)
    assert_allclose(model.decision_function(wide), narrow, atol=1e-9)
    changed = wide.copy()
    changed[:, 5:] = 1e9
    assert_allclose(model.decision_function(changed), narrow, atol=1e-9)


def test_one_positive_row_is_enough_to_fit_and_to_score():
    labels = np.zeros(300, np.int8)
    labels[17] = 1
    probabilities = gam().fit(ROWS[:300], labels).predict_proba(ROWS[:300])[:, 1]
    assert np.isfinite(probabilities).all()
    assert probabilities.mean() < 0.1


def test_one_row_of_each_class():
    model = gam().fit([[0.0], [1.0]], [0, 1])
    assert np.isfinite(model.decision_function([[0.0], [0.5], [np.nan]])).all()


def test_of_more_features_than_columns_those_that_tell_most_are_kept():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(6000, 60))
    model = gam(max_columns=30).fit(np.column_stack([noise, ROWS]), LABELS)
    assert model.basis_.n_columns <= 30
    assert roc_auc_score(LABELS, model.decision_function(np.column_stack([noise, ROWS]))) > 0.6


def test_rows_one_by_one_are_those_of_one_batch():
    one = gam().partial_fit(ROWS[:300], LABELS[:300], classes=[0, 1])
    many = gam()
    for i in range(300):
        many.partial_fit(ROWS[[i]], LABELS[[i]], classes=[0, 1])
    assert len(many._fitted.waiting.rows) < 12
    assert_array_equal(many.decision_function(ROWS), one.decision_function(ROWS))


def test_wide_sparse_rows_are_refused_with_what_serves_them():
    wide = sparse.csr_array((np.ones(2), ([0, 1], [0, 1])), shape=(2, 2**28))
    with pytest.raises(ValueError, match=r"takes tables.* use OPAUC"):
        gam().fit(wide, [0, 1])


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_refused(value):
    strange = ROWS.copy()
    strange[5, 2] = value
    with pytest.raises(ValueError, match="infinity"):
        gam().fit(strange, LABELS)
    frame = pd.DataFrame(strange, columns=list("abcde"))
    with pytest.raises(ValueError, match="column c holds an infinite value"):
        gam().fit(frame, LABELS)


def test_huge_and_tiny_values_change_nothing_but_the_units():
    scaled = gam().fit(ROWS * 1e150, LABELS).decision_function(ROWS * 1e150)
    assert_allclose(scaled, gam().fit(ROWS, LABELS).decision_function(ROWS), rtol=1e-6, atol=1e-6)


def test_rows_far_beyond_the_initial_sample_score_as_those_at_its_edge():
    model = gam().fit(ROWS, LABELS)
    top = np.nanmax(ROWS, axis=0)
    assert_allclose(model.decision_function([top * 1e6]), model.decision_function([top * 1e3]))


def test_columns_in_another_order_or_missing_are_refused_by_name():
    frame, labels = table(0)
    model = gam().fit(frame, labels)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match=r"seen at fit time, yet now missing[\s\S]*age"):
        model.predict(frame.drop(columns="age"))
    with pytest.raises(ValueError, match="fitted to a table with columns of strings or dates"):
        model.predict(np.zeros((2, 4)))


def test_a_column_that_changes_its_type_is_warned_of_and_read_as_far_as_it_can_be():
    frame, labels = table(1)
    model = gam().fit(frame, labels)
    text = frame.assign(age=frame["age"].map(lambda age: "unknown" if np.isnan(age) else f"{age!r}"))
    with pytest.warns(UserWarning, match=r"column age: \d+ values are strings where numbers were"):
        found = model.decision_function(text)
    assert_array_equal(found, model.decision_function(frame))


def test_missing_values_in_a_fifth_of_a_feature_cost_little_and_tell_something():
    rng = np.random.default_rng(3)
    rows, labels = stream(3, 6000)
    with_missing = rows.copy()
    with_missing[rng.random(6000) < 0.2, 0] = np.nan
    model = gam().fit(with_missing[:4000], labels[:4000])
    whole = gam().fit(rows[:4000], labels[:4000])
    found, full = (
        roc_auc_score(labels[4000:], m.decision_function(r[4000:])) for m, r in ((model, with_missing), (whole, rows))
    )
    assert full - 0.08 < found < full
    informative = rows.copy()
    informative[(labels == 1) & (rng.random(6000) < 0.3), 4] = np.nan
    assert roc_auc_score(labels, gam().fit(informative, labels).decision_function(informative)) > full + 0.01


def test_a_stream_sorted_by_label_waits_for_both_classes():
    order = np.argsort(LABELS, kind="stable")
    model = gam(init_size=1600)  # of which 100 must be of the rarer class
    model.partial_fit(ROWS[order[:3500]], LABELS[order[:3500]], classes=[0, 1])
    with pytest.warns(FeatureDrift):  # all rows after the basis are of one class
        model.partial_fit(ROWS[order[3500:]], LABELS[order[3500:]])
    assert model.selection_.model == "sample"
    test, truth = stream(9)
    assert roc_auc_score(truth, model.decision_function(test)) > 0.84


def test_a_stream_sorted_by_a_feature_is_warned_of_by_name():
    order = np.argsort(ROWS[:, 1])
    model = gam(init_size=1000).partial_fit(ROWS[order[:1000]], LABELS[order[:1000]], classes=[0, 1])
    with pytest.warns(FeatureDrift, match="x1: later rows do not look like those of the basis"):
        model.partial_fit(ROWS[order[1000:]], LABELS[order[1000:]])
    assert [shift.name for shift in model.drift_] == ["x1"]
    test, truth = stream(9)
    assert roc_auc_score(truth, model.decision_function(test)) > 0.74


def test_a_shuffled_stream_is_not_warned_of():
    for seed in range(3):
        rows, labels = stream(20 + seed, 6000)
        model = gam(init_size=1000)
        for part in np.array_split(np.arange(6000), 6):
            model.partial_fit(rows[part], labels[part], classes=[0, 1])
        assert model.drift_ == []
        assert model.selection_.model == "full"


def test_where_later_rows_obey_another_law_a_simpler_model_is_selected():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(9000, 4))
    first = np.arange(9000) < 2000
    score = rows[:, 0] + np.where(
        first, 3.0 * np.sign(rows[:, 1] * rows[:, 2]), -3.0 * np.sign(rows[:, 1] * rows[:, 2])
    )
    labels = (rng.random(9000) < expit(score)).astype(np.int8)
    model = gam(init_size=2000).partial_fit(rows[:2500], labels[:2500])
    assert model.selection_.model != "full"
    assert model.selection_.aucs[model.selection_.model] > model.selection_.aucs["full"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_columns": 3}, "'max_columns' parameter of OnePassGAM must be an int in the range"),
        ({"interactions": "some"}, "'interactions' parameter of OnePassGAM must be 'auto' or an int"),
        ({"interactions": [1, 2]}, "pairs of names or positions"),
        ({"interactions": [(0, 9)]}, "expected two different columns"),
        ({"interactions": [(1, 1)]}, "expected two different columns"),
        ({"n_knots": 2}, "'n_knots' parameter"),
        ({"init_size": 0}, "'init_size' parameter"),
    ],
)
def test_parameters_are_refused_by_name_value_and_expectation(settings, message):
    with pytest.raises(ValueError, match=message):
        OnePassGAM(**settings).fit(ROWS, LABELS)


def test_files_that_were_changed_are_refused(tmp_path):
    from opauc.core.checksummed_file import read_checksummed, write_checksummed

    frame, labels = table(2)
    opauc.save(gam().fit(frame, labels), tmp_path / "model")
    kind, header, arrays = read_checksummed(tmp_path / "model")
    for change in (
        {"n_features": 3}, {"estimator": "OPAUC"}, {"reading": None}, {"fit": {"settings": {"n_knots": 1}}},
    ):  # fmt: skip
        write_checksummed(tmp_path / "changed", kind, {**header, **change}, arrays)
        with pytest.raises(UnreadableFileError, match="cannot be used"):
            opauc.load(tmp_path / "changed")
    for name in ("model.sums.gram", "basis.cells", "basis.columns", "model.lambdas", "waiting.labels"):
        write_checksummed(tmp_path / "changed", kind, header, {k: v for k, v in arrays.items() if k != name})
        with pytest.raises(UnreadableFileError, match="cannot be used"):
            opauc.load(tmp_path / "changed")


def test_a_model_of_a_table_with_unused_columns_is_saved_and_loaded(tmp_path):
    frame, labels = table(2)
    frame = frame.assign(row=np.arange(len(frame)), constant=1.0)
    model = gam().fit(frame, labels)
    assert model.dropped_columns_ == ("row", "constant")
    opauc.save(model, tmp_path / "model")
    again = opauc.load(tmp_path / "model")
    assert again.dropped_columns_ == model.dropped_columns_
    assert_array_equal(again.decision_function(frame), model.decision_function(frame))
    frame.to_parquet(tmp_path / "rows.parquet")
    for rows in (frame, tmp_path / "rows.parquet"):
        assert_array_equal(opauc.predict(tmp_path / "model", rows), model.decision_function(frame))


@pytest.mark.parametrize("names", [["age", "paid", "city", "when"], ["city", "paid", "years", "when"]])
def test_a_file_whose_names_are_not_those_of_its_columns_is_refused(tmp_path, names):
    from opauc.core.checksummed_file import read_checksummed, write_checksummed

    opauc.save(gam().fit(*table(2)), tmp_path / "model")
    kind, header, arrays = read_checksummed(tmp_path / "model")
    write_checksummed(tmp_path / "changed", kind, {**header, "feature_names": names}, arrays)
    with pytest.raises(UnreadableFileError, match="the names of its features are not those of the columns"):
        opauc.load(tmp_path / "changed")
