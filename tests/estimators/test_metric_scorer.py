"""Scorers of scikit-learn: the metric of held-out rows, whatever the labels look like."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, get_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB

from opauc import OPAUC
from opauc.errors import ParameterError
from opauc.estimators.metric_scorer import metric_scorer
from opauc.metrics import GroupAuc, MulticlassAuc, PartialAuc

X, Y = make_classification(600, 8, weights=[0.8], flip_y=0.1, random_state=0)


@pytest.mark.parametrize("names", [[0, 1], [-1, 1], ["no", "yes"], [False, True]])
@pytest.mark.parametrize("estimator", [OPAUC(solver="exact"), LogisticRegression(), GaussianNB()])
def test_cross_validation_gives_the_metric_of_the_held_out_rows(names, estimator):
    labels = np.array(names)[Y]
    for metric, other in (
        ("pauc@0.1", lambda y, s: roc_auc_score(y, s, max_fpr=0.1)),
        ("ap", average_precision_score),
        (PartialAuc(0.3), lambda y, s: roc_auc_score(y, s, max_fpr=0.3)),
    ):
        found = cross_val_score(estimator, X, labels, scoring=metric_scorer(metric), cv=KFold(3))
        expected = []
        for train, test in KFold(3).split(X):
            fitted = sklearn.clone(estimator).fit(X[train], labels[train])
            scores = fitted.predict_proba(X[test])[:, 1]
            expected.append(other(Y[test], scores))
        assert_allclose(found, expected, rtol=1e-9)


def test_a_grid_search_maximizes_the_metric():
    search = GridSearchCV(OPAUC(solver="exact"), {"alpha": [1e-4, 1.0, 100.0]}, scoring=metric_scorer("pauc@0.2"), cv=3)
    search.fit(X, Y)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    expected = average_precision_score(Y, search.decision_function(X))
    assert_allclose(get_scorer(metric_scorer("ap"))(search, X, Y), expected, rtol=1e-12)


def test_weights_reach_the_metric():
    model, weight = OPAUC(solver="exact").fit(X, Y), np.random.default_rng(0).random(600)
    found = metric_scorer("ap")(model, X, Y, sample_weight=weight)
    assert_allclose(found, average_precision_score(Y, model.decision_function(X), sample_weight=weight), rtol=1e-12)


@pytest.mark.parametrize("name", ["auc_ovo", "auc_ovr"])
def test_several_classes(name):
    rows, labels = make_classification(400, 8, n_classes=4, n_informative=6, random_state=1)
    names = np.array(["d", "a", "c", "b"])[labels]
    model = LogisticRegression(max_iter=500).fit(rows, names)
    for metric in (name, MulticlassAuc(name[4:])):
        expected = roc_auc_score(names, model.predict_proba(rows), multi_class=name[4:])
        assert_allclose(metric_scorer(metric)(model, rows, names), expected, rtol=1e-12)
    with pytest.raises(ParameterError, match="y: there are rows of 3 classes, the model has 4"):
        metric_scorer(name)(model, rows[names != "d"], names[names != "d"])


def test_groups_come_by_metadata_routing():
    groups = np.random.default_rng(0).integers(0, 12, 600)
    scorer = metric_scorer(GroupAuc())
    with pytest.raises(ParameterError, match="groups must be given"):
        scorer(OPAUC().fit(X, Y), X, Y)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = scorer.set_score_request(groups=True)
        found = cross_val_score(LogisticRegression(), X, Y, scoring=scorer, cv=KFold(2), params={"groups": groups})
    train, test = next(KFold(2).split(X))
    scores = LogisticRegression().fit(X[train], Y[train]).decision_function(X[test])
    assert_allclose(found[0], GroupAuc()(Y[test], scores, groups[test]))


def test_bad_names_and_labels_raise_an_error():
    with pytest.raises(ParameterError, match="unknown metric 'pauk'"):
        metric_scorer("pauk")
    with pytest.raises(ParameterError, match="y: expected rows of two classes, got 1"):
        metric_scorer("ap")(OPAUC().fit(X, Y), X[Y == 1], Y[Y == 1])
