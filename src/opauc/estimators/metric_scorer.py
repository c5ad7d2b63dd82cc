"""Scorers of scikit-learn for the metrics of this library."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from opauc.errors import Parameter, ParameterError
from opauc.metrics.group_auc import GroupAuc
from opauc.metrics.metric_names import ranking_metric
from opauc.metrics.multiclass_auc import AVERAGES, MulticlassAuc
from opauc.metrics.ranking_metric import RankingMetric
from opauc.types import Array, Floats

MULTICLASS = {f"auc_{average}": MulticlassAuc(average) for average in AVERAGES}


def metric_scorer(metric: str | RankingMetric | MulticlassAuc | GroupAuc) -> Any:
    """Return a scorer for `cross_val_score`, `GridSearchCV` and whatever else of scikit-learn takes a `scoring`.

    Rows are ranked by `decision_function`, or by `predict_proba` of estimators without one; those of several classes
    by `predict_proba` first, as in scikit-learn. The positive class is the last of `classes_`, in sorted order.

    Parameters
    ----------
    metric : str or metric
        A metric, or its name: those of `opauc.metrics.ranking_metric`, such as "pauc@0.01" and "ap", and "auc_ovo" and
        "auc_ovr" for several classes. `GroupAuc` needs the groups of the rows: switch on the metadata routing of
        scikit-learn, and call `set_score_request(groups=True)` of the scorer.

    Returns
    -------
    scorer : callable
        A scorer of scikit-learn: higher is better. It takes `sample_weight`, except for `GroupAuc`.

    Raises
    ------
    ParameterError
        If there is no such metric.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.model_selection import GridSearchCV
    >>> from opauc import OPAUC
    >>> from opauc.estimators.metric_scorer import metric_scorer
    >>> X, y = make_classification(n_samples=600, weights=[0.9], random_state=0)
    >>> search = GridSearchCV(OPAUC(), {"alpha": [1e-4, 1e-1]}, scoring=metric_scorer("pauc@0.1"), cv=3).fit(X, y)
    >>> bool(0.5 < search.best_score_ < 1)
    True
    """
    if isinstance(metric, str):
        metric = MULTICLASS.get(metric) or ranking_metric(metric)
    if isinstance(metric, GroupAuc):
        return make_scorer(_score_groups, response_method=("decision_function", "predict_proba"), metric=metric)
    if isinstance(metric, MulticlassAuc):
        return make_scorer(_score_classes, response_method=("predict_proba", "decision_function"), metric=metric)
    return make_scorer(_score_ranking, response_method=("decision_function", "predict_proba"), metric=metric)


def _score_ranking(
    y_true: ArrayLike, y_score: Floats, *, metric: RankingMetric, sample_weight: ArrayLike | None = None
) -> float:
    return metric(_positive(y_true), y_score, sample_weight)


def _score_groups(y_true: ArrayLike, y_score: Floats, *, metric: GroupAuc, groups: ArrayLike | None = None) -> float:
    if groups is None:
        raise ParameterError(
            Parameter("groups"), " must be given to score within groups: enable metadata routing of scikit-learn and "
            "call set_score_request(groups=True) of the scorer",
        )  # fmt: skip
    return metric(_positive(y_true), y_score, groups)


def _score_classes(
    y_true: ArrayLike, y_score: Floats, *, metric: MulticlassAuc, sample_weight: ArrayLike | None = None
) -> float:
    classes, labels = np.unique(np.asarray(y_true), return_inverse=True)
    if np.ndim(y_score) == 2 and classes.size < np.shape(y_score)[1]:
        raise ParameterError(
            Parameter("y"), f": there are rows of {classes.size} classes, the model has {np.shape(y_score)[1]}"
        )
    return metric(labels, y_score, sample_weight)


def _positive(y_true: ArrayLike) -> Array:
    """Return which labels are of the last class."""
    labels = np.asarray(y_true)
    classes = np.unique(labels)
    if classes.size != 2:
        raise ParameterError(Parameter("y"), f": expected rows of two classes, got {classes.size}")
    positive: Array = labels == classes[1]
    return positive
