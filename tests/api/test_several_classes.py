"""`opauc.train`, `evaluate` and `predict` on tables of more than two classes."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

import opauc
from opauc.api.evaluate_classes import ClassScores
from opauc.errors import InputError, UnsupportedOperationError
from opauc.metrics import MulticlassAuc
from tests.problems import several_problem

NAMES = np.array(["ant", "bee", "cat"])
ROWS, LABELS = several_problem(2, 500, 3, 3)
TABLE = pd.DataFrame(ROWS, columns=list("abc")).assign(kind=NAMES[LABELS])
FEATURES = TABLE[["a", "b", "c"]]
MODEL = opauc.train(TABLE[:300], label="kind", solver="exact")


@pytest.mark.parametrize("form", [lambda table: table, lambda table: pa.Table.from_pandas(table, preserve_index=False)])
def test_tables_are_evaluated_as_files_are(tmp_path, form):
    TABLE[300:].to_csv(tmp_path / "rows.csv", index=False)
    of_file = opauc.evaluate(MODEL, tmp_path / "rows.csv")
    of_table = opauc.evaluate(MODEL, form(TABLE[300:]), label="kind")
    for one, other in zip(of_file[:5], of_table[:5], strict=True):
        assert one == pytest.approx(other)
    assert of_table.auc == pytest.approx(MODEL.score(FEATURES[300:], NAMES[LABELS[300:]]))
    assert 0.3 < of_table.accuracy < 1.0


def test_an_array_is_trained_on_as_a_table():
    names = np.column_stack([ROWS, LABELS])
    fitted = opauc.train(names, label=3, solver="exact")
    assert_allclose(fitted.coef_, opauc.OPAUC().fit(ROWS, LABELS).coef_, rtol=1e-9)


def test_models_are_compared_on_the_same_rows():
    other = opauc.OPAUCCV().fit(FEATURES[:300], TABLE.kind[:300])
    found = opauc.evaluate(MODEL, TABLE[300:], label="kind", against=other).difference
    expected = MulticlassAuc().compare(
        LABELS[300:], MODEL.decision_function(FEATURES[300:]), other.decision_function(FEATURES[300:])
    )
    assert found == pytest.approx(expected)
    with pytest.raises(InputError, match="the models must be of the same classes"):
        opauc.evaluate(MODEL, TABLE[300:], label="kind", against=opauc.OPAUC().fit(ROWS, LABELS > 1))


def test_predictions_have_a_column_for_each_class():
    assert opauc.predict(MODEL, TABLE, response="probability").shape == (500, 3)
    assert opauc.predict(MODEL, TABLE, response="label").tolist() == MODEL.predict(FEATURES).tolist()
    kept = opauc.predict(MODEL, TABLE, keep=["kind"])
    assert list(kept) == ["kind", "label", "score_ant", "score_bee", "score_cat"]
    assert_allclose(kept.score_bee, MODEL.decision_function(FEATURES)[:, 1])


@pytest.mark.parametrize("option", [{"metrics": ["ap"]}, {"by": "a"}, {"within": "a"}])
def test_what_is_for_two_classes_is_refused_by_name(option):
    with pytest.raises(UnsupportedOperationError, match=f"supported by {next(iter(option))}, here there are 3 classes"):
        opauc.evaluate(MODEL, TABLE, label="kind", **option)


def test_scores_of_many_rows_are_kept_as_intervals():
    scores, probabilities = MODEL.decision_function(FEATURES), MODEL.predict_proba(FEATURES)
    exact, few = ClassScores(3), ClassScores(3, exact_scores=600)
    for part in np.split(np.arange(500), [100, 250]):
        for buffer in (exact, few):
            buffer.add(LABELS[part], scores[part], probabilities[part])
    assert exact.all_rows is not None
    assert few.all_rows is None
    low, high = few.bounds()
    assert low <= exact.interval(MulticlassAuc()).value <= high
    assert few.log_loss_sum == exact.log_loss_sum
    assert_allclose(few.interval(MulticlassAuc()).value, exact.interval(MulticlassAuc()).value, atol=0.01)
