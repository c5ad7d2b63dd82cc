"""The classifier of river: river's own checks, the bits of `partial_fit`, bounded memory, and one-line errors."""

import datetime
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import opauc
from opauc.errors import InputError, ParameterError
from tests.problems import several_problem

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("river", reason="river is not installed: opauc[river]")
    from river import checks, evaluate, metrics, preprocessing

    from opauc.river import RiverClassifier

MODELS = {
    "OPAUC": RiverClassifier(opauc.OPAUC(), batch_size=20),
    "OnePassGAM": RiverClassifier(opauc.OnePassGAM(trees=False)),
}
# OnePassGAM has no trees of few rows, and its checks on two data sets of one kind take long.
CHECKS = [
    pytest.param(model, check, id=f"{name}-{check.__name__}-{number}")
    for name, model in MODELS.items()
    for number, check in enumerate(checks.yield_checks(model))
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:column")
@pytest.mark.parametrize(("model", "check"), CHECKS)
def test_a_check_of_river_passes(model, check):
    assert check.__name__ not in model._unit_test_skips()
    check(model.clone())


def rows(n_rows, seed=0):
    """Return rows with numbers, strings, dates, and features that rows lack, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    first = datetime.date(2026, 1, 1)
    found = []
    for _ in range(n_rows):
        age, city, day = rng.normal(50, 10), str(rng.choice(["Basel", "Bern"])), int(rng.integers(100))
        row = {"city": city, "day": first + datetime.timedelta(days=day), "age": age}
        if rng.random() < 0.1:
            del row["age"]
        found.append((row, bool(rng.random() < 1 / (1 + np.exp(-0.2 * (age - 50) - (city == "Bern"))))))
    return found


def trained(model, stream):
    for x, y in stream:
        model.learn_one(x, y)
    return model


@pytest.mark.parametrize("batch_size", [1, 64, 1000])
def test_the_estimator_is_that_of_partial_fit(batch_size, tmp_path):
    stream = rows(300)
    one = trained(RiverClassifier(opauc.OnePassGAM(trees=False, random_state=0), batch_size), stream[:200])
    if batch_size > 1:  # one row fixes other column types than many
        frame = pd.DataFrame([x for x, _ in stream[:200]], columns=["age", "city", "day"])
        whole = opauc.OnePassGAM(trees=False, random_state=0).partial_fit(frame, [y for _, y in stream[:200]])
        query = pd.DataFrame([x for x, _ in stream[200:]], columns=["age", "city", "day"])
        assert_array_equal(one.flush().decision_function(query), whole.decision_function(query))
    opauc.save(one.flush(), tmp_path / "model.opauc")
    assert opauc.load(tmp_path / "model.opauc").classes_.tolist() == [False, True]


def test_a_linear_model_takes_absent_features_as_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * (rng.random((200, 3)) < 0.6)
    y = X[:, 0] + rng.normal(size=200) > 0
    stream = [
        ({f"x{j}": value for j, value in enumerate(row) if value}, label) for row, label in zip(X, y, strict=True)
    ]
    model = trained(RiverClassifier(opauc.OPAUC(), batch_size=30), stream)
    batches = opauc.OPAUC()
    for first in range(0, 200, 30):
        batches.partial_fit(X[first : first + 30], y[first : first + 30], classes=[False, True])
    assert_array_equal(model.flush().coef_, batches.coef_)
    np.testing.assert_allclose(model.flush().coef_, opauc.OPAUC().fit(X, y).coef_, rtol=1e-12)


def test_predictions_are_those_of_complete_batches():
    stream = rows(130)
    model = trained(RiverClassifier(opauc.OnePassGAM(trees=False), batch_size=50), stream)
    after_100 = trained(RiverClassifier(opauc.OnePassGAM(trees=False), batch_size=50), stream[:100])
    assert model.predict_proba_one(stream[0][0]) == after_100.predict_proba_one(stream[0][0])
    model.flush()
    assert model.predict_proba_one(stream[0][0]) != after_100.predict_proba_one(stream[0][0])


def test_before_the_first_batch_a_preliminary_model_predicts_whenever_it_is_asked():
    stream = rows(100)
    asked, silent = (RiverClassifier(opauc.OnePassGAM(trees=False)) for _ in range(2))
    assert asked.predict_proba_one(stream[0][0]) == {False: 0.5, True: 0.5}
    seen = []
    for x, y in stream:
        asked.learn_one(x, y)
        silent.learn_one(x, y)
        seen.append(asked.predict_proba_one(stream[0][0])[True])
    assert seen[-1] == silent.predict_proba_one(stream[0][0])[True]
    assert 5 < len(set(seen)) < 20
    assert_array_equal(
        asked.flush().decision_function([x for x, _ in stream]),
        silent.flush().decision_function([x for x, _ in stream]),
    )


def test_a_table_of_mixed_columns_is_learned_as_river_evaluates():
    metric = evaluate.progressive_val_score(
        rows(1500), RiverClassifier(opauc.OnePassGAM(trees=False), batch_size=300), metrics.ROCAUC()
    )
    assert metric.get() > 0.8


def test_it_is_a_step_of_a_pipeline_of_river():
    model = preprocessing.OneHotEncoder() | RiverClassifier(opauc.OPAUC(), batch_size=100)
    for x, y in rows(400):
        model.learn_one({"city": x["city"]}, y)
    one, other = (model.predict_proba_one({"city": city})[True] for city in ("Bern", "Basel"))
    assert one > other


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.Table.from_pylist], ids=["pandas", "polars", "arrow"])
def test_frames_are_learned_as_rows_are_and_come_back_in_their_kind(make):
    stream = rows(250)
    frame = make([{"age": None, **x} for x, _ in stream])
    labels = [y for _, y in stream]
    many, one = (RiverClassifier(opauc.OnePassGAM(trees=False), batch_size=100) for _ in range(2))
    many.learn_many(frame, labels)
    trained(one, stream)
    probabilities, predicted = many.predict_proba_many(frame), many.predict_many(frame)
    assert type(probabilities) is type(frame)
    expected = [one.predict_proba_one(x)[True] for x, _ in stream]
    names = [True] if isinstance(frame, pd.DataFrame) else ["True"]
    np.testing.assert_allclose(np.asarray(probabilities[names[0]]), expected, rtol=1e-12)
    assert np.asarray(predicted).tolist() == [one.predict_one(x) for x, _ in stream]


def test_a_saved_model_is_trained_further(tmp_path):
    stream = [({"age": 50.0} | x, y) for x, y in rows(300)]
    frame, labels = pd.DataFrame([x for x, _ in stream]), np.where([y for _, y in stream], "yes", "no")
    opauc.save(opauc.OnePassGAM(trees=False).fit(frame, labels), tmp_path / "model.opauc")
    loaded = opauc.load(tmp_path / "model.opauc")
    model = RiverClassifier(loaded, batch_size=50)
    assert model.predict_proba_one(stream[0][0])["yes"] == loaded.predict_proba([stream[0][0]])[0, 1]
    for (x, _), y in zip(stream, labels.tolist(), strict=True):
        model.learn_one(x, y)
    counts = model.flush()._fitted.counts
    assert counts.negative + counts.positive == 600
    assert loaded._fitted.counts.negative + loaded._fitted.counts.positive == 300, "it is copied"


def test_memory_does_not_grow_with_the_rows():
    """Of a linear model, whose sums have one size: after as many rows again it is no larger than one batch more."""
    model = trained(
        RiverClassifier(opauc.OPAUC(), batch_size=100), [({"a": i % 7, "b": i % 3}, i % 2) for i in range(950)]
    )
    before = model._raw_memory_usage
    trained(model, [({"a": i % 7, "b": i % 3}, i % 2) for i in range(3000)])
    assert len(model._rows) < 100
    assert model._raw_memory_usage <= before + 1024


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ({"age": 3.0}, "perhaps", r"expected the label False or True, got 'perhaps'; classes"),
        ({"age": float("inf")}, True, "feature age: expected a finite number, got inf"),
        ({"age": 10**400}, True, "feature age: expected a finite number, got 1"),
        ({"age": [3.0]}, True, "feature age: cannot read a list"),
        ({1: 3.0, "1": 4.0}, True, "two features have the same name as strings: 1, '1'"),
    ],
)
def test_a_row_that_cannot_be_read_is_one_line_and_changes_nothing(x, y, words):
    model = trained(RiverClassifier(opauc.OnePassGAM(trees=False), batch_size=20), rows(59))
    before = pickle.dumps(model)
    with pytest.raises(InputError, match=f"^{words}"):
        model.learn_one(x, y)
    assert pickle.dumps(model) == before


def test_values_of_several_kinds_are_read_as_tables_are():
    stream = rows(100)
    odd = [1, "ground", 2.5, True, None, 10**30, "\ud800", datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1)]
    model = RiverClassifier(opauc.OnePassGAM(trees=False), batch_size=50)
    for number, (x, y) in enumerate(stream):
        model.learn_one(x | {"odd": odd[number % len(odd)]}, y)
    assert 0 < model.predict_proba_one({"odd": "ground"})[True] < 1


@pytest.mark.parametrize("value", ["Bern", None, float("nan")])
def test_a_linear_model_takes_finite_numbers(value):
    with pytest.raises(InputError, match=f"^feature city: OPAUC takes finite numbers, got {value!r}$"):
        RiverClassifier(opauc.OPAUC()).learn_one({"city": value}, True)


def test_a_batch_that_cannot_be_trained_on_stays_and_does_not_grow():
    model = RiverClassifier(opauc.OPAUC(alpha=-1.0), batch_size=3)
    for _ in range(2):
        model.learn_one({"a": 1.0}, True)
    for _ in range(3):
        with pytest.raises(ValueError, match="alpha"):
            model.learn_one({"a": 2.0}, False)
    assert len(model._rows) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"batch_size": 0}, "batch_size"),
        ({"classes": (1, 1)}, "classes=\\(1, 1\\): expected two to 100 labels"),
        ({"estimator": opauc.OPAUC().fit([[0.0], [1.0]], [0, 1])}, "estimator: was fitted to an array"),
        ({"estimator": preprocessing.StandardScaler()}, "estimator: expected an estimator of opauc"),
    ],
)
def test_a_wrong_parameter_is_named(options, words):
    with pytest.raises((ParameterError, ValueError), match=words):
        RiverClassifier(**options)


@pytest.mark.parametrize("estimator", [opauc.OPAUC(), opauc.OnePassGAM(init_size=150, random_state=0)])
def test_several_classes_are_learned_as_by_the_estimator(estimator):
    rows, labels = several_problem(2, 400, 3, 3)
    kinds = np.array(["ant", "bee", "cat"])[labels]
    stream = [({f"x{j}": value for j, value in enumerate(row)}, kind) for row, kind in zip(rows, kinds, strict=True)]
    model = RiverClassifier(estimator, batch_size=100, classes=("cat", "ant", "bee"))
    assert model._multiclass
    first = model.predict_proba_one(stream[0][0])
    assert first == pytest.approx({"ant": 1 / 3, "bee": 1 / 3, "cat": 1 / 3})
    accuracy = metrics.Accuracy()
    for x, y in stream:
        accuracy.update(y, model.predict_one(x))
        model.learn_one(x, y)
    assert accuracy.get() > 0.5
    direct = clone(estimator)
    for begin in range(0, 400, 100):
        part = slice(begin, begin + 100)
        frame = pd.DataFrame(rows[part], columns=["x0", "x1", "x2"])
        direct.partial_fit(frame, kinds[part], classes=["ant", "bee", "cat"])
    expected = dict(zip(direct.classes_, direct.predict_proba(pd.DataFrame([stream[7][0]]))[0], strict=True))
    assert model.predict_proba_one(stream[7][0]) == pytest.approx(expected, abs=1e-9)
    assert model.predict_one(stream[7][0]) == direct.predict(pd.DataFrame([stream[7][0]]))[0]
    with pytest.raises(InputError, match="expected the label 'ant', 'bee' or 'cat', got 'dog'; classes"):
        model.learn_one(stream[0][0], "dog")
    assert not RiverClassifier(estimator)._multiclass


def test_a_fitted_estimator_of_several_classes_learns_on():
    rows, labels = several_problem(2, 400, 3, 3)
    frame = pd.DataFrame(rows, columns=["x0", "x1", "x2"])
    fitted = opauc.OnePassGAM(init_size=150, random_state=0).fit(frame[:300], labels[:300])
    model = RiverClassifier(fitted, batch_size=100)
    model.learn_many(frame[300:], labels[300:])
    expected = fitted.partial_fit(frame[300:], labels[300:]).predict_proba(frame[:5])
    assert model.predict_proba_many(frame[:5]).to_numpy() == pytest.approx(expected, abs=1e-9)


def test_labels_of_a_fitted_estimator_are_its_own():
    frame = pd.DataFrame({"age": [20.0, 30.0, 60.0, 70.0] * 30})
    fitted = opauc.OnePassGAM(trees=False).fit(frame, ["no", "no", "yes", "yes"] * 30)
    assert RiverClassifier(fitted).predict_one({"age": 70.0}) == "yes"
    with pytest.raises(ParameterError, match=r"classes=\('a', 'b'\): expected \['no', 'yes'\]"):
        RiverClassifier(fitted, classes=("a", "b"))
