"""`opauc.train`, `evaluate` and `predict` on tables of more than two classes."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import average_precision_score, roc_auc_score

import opauc
from opauc.errors import InputError, ParameterError
from opauc.metrics import AveragePrecision, ClassMean, GroupAuc, MulticlassAuc
from opauc.metrics.class_scores import ClassScores
from tests.problems import several_problem

NAMES = np.array(["ant", "bee", "cat"])
ROWS, LABELS = several_problem(2, 500, 3, 3)
TABLE = pd.DataFrame(ROWS, columns=list("abc")).assign(kind=NAMES[LABELS])
FEATURES = TABLE[["a", "b", "c"]]
MODEL = opauc.train(TABLE[:300], label="kind", solver="exact")
OTHER = opauc.OPAUCCV().fit(FEATURES[:300], TABLE.kind[:300])


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
    found = opauc.evaluate(MODEL, TABLE[300:], label="kind", against=OTHER).difference
    expected = MulticlassAuc().compare(
        LABELS[300:], MODEL.decision_function(FEATURES[300:]), OTHER.decision_function(FEATURES[300:])
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


def test_metrics_are_those_of_each_class_against_the_rest_and_their_mean():
    found = opauc.evaluate(MODEL, TABLE[300:], label="kind", metrics=["ap", "pauc@0.2", "auc"], against=OTHER)
    labels, scores, others = (
        LABELS[300:], MODEL.decision_function(FEATURES[300:]), OTHER.decision_function(FEATURES[300:])
    )  # fmt: skip
    precisions = [average_precision_score(labels == k, scores[:, k]) for k in range(3)]
    areas = [roc_auc_score(labels == k, scores[:, k], max_fpr=0.2) for k in range(3)]
    assert_allclose([found.class_metrics["ap"][name].value for name in NAMES], precisions, rtol=1e-12)
    assert_allclose([found.class_metrics["pauc@0.2"][name].value for name in NAMES], areas, rtol=1e-12)
    assert_allclose(found.metrics["ap"].value, np.mean(precisions), rtol=1e-12)
    assert_allclose(found.metrics["pauc@0.2"].value, np.mean(areas), rtol=1e-12)
    assert found.metrics["auc"] == found.auc_ovr
    assert found.differences["ap"] == ClassMean(AveragePrecision()).compare(labels, scores, others)


def test_a_metric_that_is_not_defined_is_named():
    with pytest.raises(ParameterError, match=r"^metrics: precision@400: k=400 is more than the 200 rows"):
        opauc.evaluate(MODEL, TABLE[300:], label="kind", metrics=["precision@400"])


@pytest.mark.parametrize("of_files", [False, True])
def test_groups_are_evaluated_apart_and_within(tmp_path, of_files):
    table = TABLE[300:].assign(shop=np.arange(200) % 7)
    table.to_csv(tmp_path / "rows.csv", index=False)
    given = (tmp_path / "rows.csv",) if of_files else (table, "kind")
    found = opauc.evaluate(MODEL, *given, within="shop", by="shop")
    labels, scores, shops = LABELS[300:], MODEL.decision_function(FEATURES[300:]), table.shop.to_numpy()
    assert sorted(group.name for group in found.groups) == [str(shop) for shop in range(7)]
    for group in found.groups:
        rows = shops == int(group.name)
        assert group.auc_ovo == pytest.approx(MulticlassAuc("ovo").interval(labels[rows], scores[rows]))
        assert group.auc_ovr == pytest.approx(MulticlassAuc("ovr").interval(labels[rows], scores[rows]))
        assert group.accuracy == pytest.approx(np.mean(scores[rows].argmax(axis=1) == labels[rows]))
    within = [GroupAuc()(labels == k, scores[:, k], shops) for k in range(3)]
    assert found.within["equal"].value == pytest.approx(np.mean(within))
    assert (found.within["equal"].n_groups, found.within["equal"].n_one_class) == (7, 0)


def test_a_class_that_no_group_has_with_others_is_named():
    table = TABLE[300:].assign(shop=np.where(LABELS[300:] == 2, "cats", "others"))
    with pytest.raises(ParameterError, match=r"^within: no group has rows labeled cat and rows of other classes"):
        opauc.evaluate(MODEL, table, label="kind", within="shop")
    by_shop = opauc.evaluate(MODEL, table, label="kind", by="shop").groups
    assert {group.name: group.n_classes for group in by_shop} == {"cats": 1, "others": 2}
    assert [group.auc_ovo is None for group in by_shop] == [group.name == "cats" for group in by_shop]


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
