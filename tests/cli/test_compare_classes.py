"""`opauc compare` on tables of more than two classes."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import opauc as library
from opauc.api.methods import FEATURE_METHODS, TABLE_METHODS, MethodNames, SolverMethod, find_feature_method
from opauc.core.registry import SOLVERS
from opauc.metrics import AveragePrecision, ClassMean, FittedMethod, HeldOut, MulticlassAuc, NumberedRows, held_out
from opauc.metrics.class_runner import compare_classes_on_stream
from tests.problems import several_problem

NAMES = np.array(["ant", "bee", "cat"])
ROWS, LABELS = several_problem(3, 1500, 4, 3)
TABLE = pd.DataFrame(ROWS, columns=list("abcd")).assign(kind=NAMES[LABELS])
OUT = held_out(0, 1500, 0.2, 0)
METHODS = "gam,exact,exact_cv,logistic_regression"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "rows.csv"
    TABLE.to_csv(path, index=False)
    return library.compare(path, label="kind", methods=METHODS.split(","), metrics=["ap"])


def of_method(results, name):
    [one] = [one for one in results if one.name == name]
    return one


def test_methods_are_judged_by_the_mean_auc_over_pairs_of_classes(results):
    assert {one.name for one in results} == set(METHODS.split(","))
    frame = TABLE.drop(columns="kind")
    gam = library.OnePassGAM(random_state=0).fit(frame[~OUT], TABLE.kind[~OUT])
    scores = gam.decision_function(frame[OUT])
    found = of_method(results, "gam")
    assert_allclose(found[1:4], MulticlassAuc().interval(LABELS[OUT], scores)[:3], atol=1e-9)
    expected = ClassMean(AveragePrecision()).intervals(LABELS[OUT], scores).mean
    assert_allclose(found.metrics["ap"], expected, atol=1e-9)


def test_logistic_regression_is_that_of_scikit_learn(results):
    scaler = StandardScaler().fit(ROWS[~OUT])
    model = LogisticRegression(max_iter=1000).fit(scaler.transform(ROWS[~OUT]), LABELS[~OUT])
    expected = MulticlassAuc()(LABELS[OUT], model.predict_proba(scaler.transform(ROWS[OUT])))
    assert_allclose(of_method(results, "logistic_regression").auc, expected, atol=2e-4)


def test_the_first_metric_orders_the_methods_and_is_tested(results):
    precisions = [one.metrics["ap"].value for one in results]
    assert precisions == sorted(precisions, reverse=True)
    assert [one.p_value is None for one in results] == [True, False, False, False]


def test_solvers_of_several_classes_are_those_of_the_estimators():
    method = SolverMethod("exact", SOLVERS["exact"](), 3)
    for part in np.array_split(np.arange(1500), 3):
        method.train(ROWS[part], LABELS[part].astype(np.int8))
    method.finish()
    assert_allclose(method.scores(ROWS), library.OPAUC(standardize=False).fit(ROWS, LABELS).decision_function(ROWS))
    assert method.fresh().n_classes == 3


def test_only_methods_that_take_several_classes_are_compared_unless_others_are_named():
    names = MethodNames.of(None).taking(3, asked=False)
    assert set(names.of_features) == {"exact", "exact_cv", *FEATURE_METHODS}
    assert set(names.of_tables) <= set(TABLE_METHODS)
    assert MethodNames.of(None).taking(2, asked=True) == MethodNames.of(None)


def test_the_command_shows_a_table(tmp_path, opauc):
    TABLE.to_csv(tmp_path / "rows.csv", index=False)
    ran = opauc("compare", tmp_path / "rows.csv", "--label", "kind", "--methods", "exact,logistic_regression")
    assert "3 classes: ant, bee, cat; AUC is the mean over pairs of classes" in ran.err + ran.out
    assert "logistic_regression" in ran.out
    ran = opauc("compare", tmp_path / "rows.csv", "--label", "kind", "--methods", "exact", "--json")
    [classes] = [json.loads(line) for line in ran.out.splitlines() if '"classes"' in line]
    assert classes["classes"] == NAMES.tolist()
    ran = opauc(
        "compare", tmp_path / "rows.csv", "--label", "kind", "--methods", "exact", "--positive", "ant", "--json"
    )
    assert "classes" not in {json.loads(line)["event"] for line in ran.out.splitlines()}


def test_a_method_with_one_score_per_row_takes_two_classes_and_streams_are_close():
    def read():
        for part in np.array_split(np.arange(1500), 4):
            yield NumberedRows(int(part[0]), ROWS[part], LABELS[part].astype(np.int8))

    constant = FittedMethod("one score", lambda *_: lambda rows: rows[:, 0])
    found = compare_classes_on_stream(
        [constant, find_feature_method("logistic_regression")], read, HeldOut(0.2), NAMES.tolist(), exact_scores=300
    )
    assert [one.name for one in found] == ["logistic_regression", "one score"]
    assert found[1].trouble == "takes two classes, here there are 3"
    assert found[1].auc is None
    exact = compare_classes_on_stream([find_feature_method("logistic_regression")], read, HeldOut(0.2), NAMES.tolist())
    assert_allclose(found[0].auc, exact[0].auc, atol=0.01)
    assert (found[0].p_value, found[0].low < exact[0].low) == (None, True)
