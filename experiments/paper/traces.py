"""Points of the paper's figures: how AUC depends on the rows seen, on step size and penalty, and on the rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from experiments.paper.column import Context, Curve, Family, Grid, Setting, Trace, settings_of
from experiments.paper.data_set import Task
from opauc.errors import OpaucError
from opauc.metrics import Method, exact_auc

POINTS = 20


def convergence(from_params: Callable[[Setting, Context], Method]) -> Trace:
    """AUC after more and more rows: [rows, AUC]."""

    def trace(setting: Setting, context: Context, learned: Task, asked: Task) -> Curve:
        method = from_params(setting, context)
        ends = np.unique(np.geomspace(min(20, learned.labels.size), learned.labels.size, POINTS).astype(int))
        curve: Curve = []
        for start, end in zip([0, *ends[:-1]], ends, strict=True):
            method.train(learned.rows[start:end], learned.labels[start:end])
            method.finish()
            scores = method.scores(asked.rows)
            curve.append([int(end), exact_auc(asked.labels, scores) if np.isfinite(scores).all() else 0.5])
        return curve

    return trace


def influence(grid: Grid, family: Family) -> Trace:
    """AUC of every setting of a grid of step sizes and penalties: [eta0, alpha, AUC], one half where it diverges."""

    def trace(setting: Setting, context: Context, learned: Task, asked: Task) -> Curve:  # noqa: ARG001
        settings = settings_of(grid)
        curve: Curve = []
        for one, weights in zip(settings, family(settings, *learned, context), strict=True):
            scores = None if weights is None else asked.rows @ weights
            auc = 0.5 if scores is None or not np.isfinite(scores).all() else exact_auc(asked.labels, scores)
            curve.append([*one.values(), auc])
        return curve

    return trace


def influence_of_rank(from_params: Callable[[Setting, Context, int], Method], ranks: Sequence[int]) -> Trace:
    """AUC for every rank with the setting chosen for one of them: [rank, AUC], one half where it diverges."""

    def trace(setting: Setting, context: Context, learned: Task, asked: Task) -> Curve:
        curve: Curve = []
        for rank in ranks:
            method = from_params(setting, context, rank)
            try:
                method.train(*learned)
                method.finish()
                scores = method.scores(asked.rows)
            except OpaucError:
                scores = np.zeros(asked.labels.size)
            curve.append([rank, exact_auc(asked.labels, scores) if np.isfinite(scores).all() else 0.5])
        return curve

    return trace
