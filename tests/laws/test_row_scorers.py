"""Laws of what `scorer()` returns, over every estimator and every way to give rows."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import opauc
from opauc import OPAUC, InputError, OnePassGAM, UnsupportedOperationError
from tests.laws.test_estimators import LABELS, MODELS, ROWS, STREAMS, seeded, stream_of
from tests.problems import problem
from tests.tables import raw_table

everyone = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
streams = pytest.mark.parametrize("model", STREAMS.values(), ids=list(STREAMS))


def assert_scores_like(scorer, model, rows, one_of):
    """Check scores, probabilities and labels of single rows and of all; `one_of` returns rows that hold one."""
    assert_array_equal(scorer.score_rows(rows), model.decision_function(rows))
    for i, row in enumerate(rows if isinstance(rows, list) else np.asarray(rows)):
        single = one_of(i)
        assert scorer.score(row) == model.decision_function(single)[0]
        assert scorer.probability(row) == model.predict_proba(single)[0, 1]
        assert scorer.label(row) == model.predict(single)[0]


@everyone
def test_scores_of_arrays_are_those_of_the_model_to_the_bit(model):
    fitted = seeded(model).fit(ROWS, LABELS)
    scorer = fitted.scorer()
    assert_scores_like(scorer, fitted, ROWS[:25], lambda i: ROWS[i : i + 1])
    assert scorer.score(ROWS[0].tolist()) == scorer.score(ROWS[0])
    integers = np.arange(5)
    assert scorer.score(integers) == fitted.decision_function(integers[None])[0]
    narrow = ROWS[0].astype(np.float32)
    assert scorer.score(narrow) == fitted.decision_function(narrow[None])[0]


@streams
def test_a_scorer_stays_as_it_is_when_the_model_is_trained_further(model):
    rows, labels = stream_of(model)
    half = len(labels) // 2
    fitted = seeded(model).partial_fit(rows[:half], labels[:half], classes=[0, 1])
    scorer, before = fitted.scorer(), fitted.decision_function(rows)
    fitted.partial_fit(rows[half:], labels[half:])
    assert_array_equal(scorer.score_rows(rows), before)
    assert_allclose([scorer.score(row) for row in rows[:50]], before[:50], rtol=1e-12)
    assert (fitted.scorer().score_rows(rows) != before).any()


@everyone
def test_a_pickled_scorer_is_the_same(model):
    fitted = seeded(model).fit(ROWS, LABELS)
    again = pickle.loads(pickle.dumps(fitted.scorer()))
    assert [again.score(row) for row in ROWS[:5]] == [fitted.scorer().score(row) for row in ROWS[:5]]


@everyone
@pytest.mark.parametrize(
    ("row", "words"),
    [
        (ROWS[:2], "expected one row, a dict or an array of one dimension, got ndarray"),
        (ROWS[0, :3], "3 features"),
        (np.append(ROWS[0, :4], np.inf), "infinity"),
        ({"x0": 1.0}, "whose columns have no names"),
    ],
)
def test_a_wrong_row_is_refused(model, row, words):
    with pytest.raises(ValueError, match=words):
        seeded(model).fit(ROWS, LABELS).scorer().score(row)


TABLE = raw_table(1500)
FEATURES, BOUGHT = TABLE.drop(columns="bought"), TABLE["bought"]
MIXED = pd.DataFrame(
    {
        "number": np.where(np.arange(1500) % 7 == 0, np.nan, np.arange(1500) % 97),
        "whole": np.arange(1500) % 5,
        "flag": np.arange(1500) % 3 == 0,
        "kind": pd.Categorical(np.array(["a", "b", "c"])[np.arange(1500) % 3]),
        "moment": pd.Timestamp("2024-01-01T06:00") + pd.to_timedelta(np.arange(1500) % 400, unit="h"),
    }
)
CASES = {
    "text": (OnePassGAM(random_state=0), FEATURES),
    "text without trees": (OnePassGAM(random_state=0, trees=False), FEATURES),
    "typed": (OnePassGAM(random_state=0), MIXED),
    "declared": (OnePassGAM(random_state=0, categorical=["whole"], drop=["number"]), MIXED),
    "constrained": (OnePassGAM(random_state=0, monotone_constraints={"number": 1}), MIXED),
}
cases = pytest.mark.parametrize(("model", "table"), CASES.values(), ids=list(CASES))


@pytest.fixture(scope="module")
def fitted_cases():
    known = {}

    def fit(model, table):
        key = str(model), len(table.columns)
        if key not in known:
            known[key] = seeded(model).fit(table, BOUGHT)
        return known[key]

    return fit


def records_of(table, n_rows):
    """Return rows as dicts: what is missing is None or nan."""
    return [row.to_dict() for _, row in table.iloc[:n_rows].astype(object).iterrows()]


@cases
def test_scores_of_dicts_are_those_of_the_table_to_the_bit(model, table, fitted_cases):
    fitted = fitted_cases(model, table)
    scorer, records = fitted.scorer(), records_of(table, 40)
    assert_scores_like(scorer, fitted, records, lambda i: [records[i]])
    assert_array_equal([scorer.score(record) for record in records], fitted.decision_function(table[:40]))
    assert_array_equal(scorer.score_rows(table), fitted.decision_function(table))


@cases
def test_a_loaded_model_and_one_for_scoring_only_have_scorers(model, table, fitted_cases, tmp_path):
    fitted, records = fitted_cases(model, table), records_of(table, 10)
    for scoring_only in (False, True):
        opauc.save(fitted, tmp_path / "model", scoring_only=scoring_only)
        loaded = opauc.load(tmp_path / "model")
        assert_scores_like(loaded.scorer(), loaded, records, lambda i: [records[i]])


@cases
def test_an_explanation_adds_up_to_the_score(model, table, fitted_cases):
    fitted = fitted_cases(model, table)
    scorer = fitted.scorer()
    for record in records_of(table, 5):
        whole, first = scorer.explain(record), scorer.explain(record, k=2)
        explained = fitted.explain([record])
        expected = dict(zip(explained.names, explained.contributions[0].tolist(), strict=True))
        assert dict(whole.contributions) == expected
        sizes = [abs(contribution) for _, contribution in whole.contributions]
        assert sizes == sorted(sizes, reverse=True)
        assert first.contributions == whole.contributions[:2]
        assert whole.others == 0.0
        assert scorer.explain_rows([record, record], k=2) == [first, first]
        for explanation in (whole, first):
            assert_allclose(explanation.score(), scorer.score(record), rtol=0, atol=1e-9)


def test_threads_share_a_scorer(fitted_cases):
    fitted = fitted_cases(*CASES["text"])
    scorer, records = fitted.scorer(), records_of(FEATURES, 200)
    expected = fitted.decision_function(FEATURES[:200]).tolist()
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            assert list(pool.map(scorer.score, records)) == expected
        explained = list(pool.map(scorer.explain, records[:50]))
    assert_allclose([explanation.score() for explanation in explained], expected[:50], rtol=0, atol=1e-9)


def test_what_is_absent_is_missing_and_what_the_model_does_not_know_is_ignored(fitted_cases):
    fitted = fitted_cases(*CASES["text"])
    scorer, record = fitted.scorer(), records_of(FEATURES, 1)[0]
    for name in ("age", "income", "city", "paid", "since"):
        without = {key: value for key, value in record.items() if key != name}
        assert scorer.score({**without, "shoe size": 44}) == scorer.score({**without, name: None})
        assert scorer.score(without) == fitted.decision_function([{**without, name: None}, record])[0]
    with pytest.raises(InputError, match="the row has no column of the model; expected age"):
        scorer.score({"Age": 30})


def test_a_string_that_is_no_number_counts_as_missing(fitted_cases):
    fitted = fitted_cases(*CASES["text"])
    record = records_of(FEATURES, 1)[0]
    assert fitted.scorer().score({**record, "age": "old"}) == fitted.scorer().score({**record, "age": None})


def test_an_array_of_which_some_columns_are_categories():
    rows, labels = problem(0, 400, 3)
    rows[:, 0] = np.arange(400) % 4
    fitted = OnePassGAM(categorical=[0], random_state=0).fit(rows, labels)
    assert_scores_like(fitted.scorer(), fitted, rows[:20], lambda i: rows[i : i + 1])


def test_the_scorer_has_the_threshold_of_the_model():
    rows, labels = problem(0, 400, 3)
    fitted = OPAUC().fit(rows, labels)
    fitted.use_threshold(fitted.threshold_for(rows, labels, at_recall=0.99))
    assert_scores_like(fitted.scorer(), fitted, rows[:30], lambda i: rows[i : i + 1])


def test_a_linear_model_takes_dicts_by_the_names_of_its_features():
    rows, labels = problem(0, 400, 3)
    fitted = OPAUC().fit(pd.DataFrame(rows, columns=["a", "b", "c"]), labels)
    row = dict(zip("cab", rows[0, [2, 0, 1]].tolist(), strict=True))
    scorer = fitted.scorer()
    assert scorer.score({**row, "d": "x"}) == fitted.decision_function(pd.DataFrame(rows[:1], columns=list("abc")))[0]
    with pytest.raises(InputError, match="the row has no feature 'b'; the model takes no missing values"):
        scorer.score({"a": 1.0, "c": 2.0})
    with pytest.raises(InputError, match="expected finite numbers"):
        scorer.score({**row, "b": "many"})
    for missing in (np.nan, None, np.inf):
        with pytest.raises(InputError, match="feature b: expected a finite number"):
            scorer.score({**row, "b": missing})
    with pytest.raises(UnsupportedOperationError, match="OPAUC has no terms"):
        scorer.explain(row)


@pytest.mark.parametrize("missing", ["error", "zero", "mean"])
def test_a_linear_model_of_a_table_reads_dicts_as_it_reads_tables(tmp_path, missing):
    table = MIXED.drop(columns=["moment", "flag"]).astype({"kind": str}).assign(y=BOUGHT)
    if missing == "error":
        table["number"] = table["number"].fillna(0.0)
    table.to_csv(tmp_path / "table.csv", index=False)
    model = opauc.train(tmp_path / "table.csv", label="y", solver="exact", categorical=["kind"], missing=missing)
    records = records_of(table.drop(columns="y"), 20)
    assert_scores_like(model.scorer(), model, records, lambda i: [records[i]])
    if missing == "error":
        with pytest.raises(InputError, match="missing"):
            model.scorer().score({"whole": 1.0})
    else:
        absent = [{"number": None, "whole": 2.0, "kind": None}]
        assert model.scorer().score({"whole": 2.0}) == model.decision_function(pd.DataFrame(absent))[0]


def test_sparse_rows_are_scored_as_a_table_of_rows():
    rows, labels = problem(0, 400, 6)
    fitted = OPAUC().fit(sparse.csr_array(rows), labels)
    few = sparse.csr_array(rows[:10])
    assert_array_equal(fitted.scorer().score_rows(few), fitted.decision_function(few))
