"""The choice of what an additive model minimizes for a partial AUC, by cross-validation of the initial sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.basis import Basis
from opauc.additive.basis_rows import BasisRows
from opauc.additive.model import AdditiveLogistic
from opauc.additive.objective import Objective
from opauc.additive.policy import AdditivePolicy
from opauc.core.partial_auc import PartialAucPolicy, TopWeight, choose_candidate
from opauc.metrics.partial_auc import PartialAuc
from opauc.types import Floats, Labels

# Rows of a sample, by their positions, as a model takes them, and the model of some rows, begun from one without rows.
RowsAt = Callable[[NDArray[np.int64]], Iterator[BasisRows]]
SumsOf = Callable[[AdditiveLogistic, NDArray[np.int64]], AdditiveLogistic]


class JudgedSample(NamedTuple):
    """The initial sample: its rows, how they are read and added up, and the fold of each."""

    rows: Floats
    labels: Labels
    weights: Floats
    folds: NDArray[np.int64]
    encode: RowsAt
    add: SumsOf

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.folds.max()) + 1


def choose_objective(
    basis: Basis, model: AdditiveLogistic, sample: JudgedSample, max_fpr: float, policy: AdditivePolicy
) -> AdditiveLogistic:
    """Return the model of the initial sample that minimizes what ranks its top best: the likelihood, or a mixture.

    `model` has the sums of all rows of the sample, all of weight one but for their
    sample weights. Each candidate is solved for without each fold, and ranks the
    rows of the fold, without trees: the partial AUC of all rows decides. A mixture
    is taken only where it is better by more than a standard error.
    """
    mixtures = _possible_mixtures(model, sample, max_fpr, policy.top)
    if not mixtures:
        return replace(model, objective=Objective.plain(max_fpr))
    tops = np.array([[weight.share, top] for weight, top in mixtures])
    bare = replace(model, blend=None, columns=model.columns._replace(trees=None))
    candidates = [bare, *(_weighted(bare, sample, max_fpr, weight) for weight, _ in mixtures)]
    scores = np.stack([_held_out_scores(basis, one, sample, policy) for one in candidates])
    metric, everywhere = PartialAuc(max_fpr), np.ones(sample.labels.size, np.bool_)
    reached, *without_fold = (
        np.array([metric(sample.labels[kept], one[kept], sample.weights[kept]) for one in scores])
        for kept in (everywhere, *(sample.folds != fold for fold in range(sample.n_folds)))
    )
    names = tuple(str(number) for number in range(len(candidates)))
    selection = choose_candidate(names, reached, np.stack(without_fold), 1, policy.top)
    figures = np.array(selection.partial_aucs), np.array(selection.errors)
    if selection.chosen == 0:
        return replace(model, objective=Objective(max_fpr, tops, *figures))
    weight, taken = mixtures[selection.chosen - 1][0], candidates[selection.chosen]
    objective = Objective(max_fpr, tops, *figures, selection.chosen, weight)
    blend = None if model.blend is None else model.blend.reweighted(objective.weights)
    return replace(
        model,
        sums=taken.sums,
        random_effects=taken.random_effects,
        crossed=taken.crossed,
        blend=blend,
        objective=objective,
    )


def _possible_mixtures(
    model: AdditiveLogistic, sample: JudgedSample, max_fpr: float, policy: PartialAucPolicy
) -> list[tuple[TopWeight, float]]:
    """Return each mixture and its share of negatives on top; none where a fold has too few rows of a class."""
    negative = np.flatnonzero(sample.labels == 0)
    n_positive = sample.labels.size - negative.size
    if n_positive < policy.min_positives or negative.size * max_fpr < policy.min_top:
        return []
    scores = np.concatenate([batch.columns @ model.sums.expansion_point for batch in sample.encode(negative)])
    tops = ((share, policy.top(times, max_fpr)) for share, times in policy.mixtures)
    return [(TopWeight.of(scores, sample.weights[negative], share, top, policy), top) for share, top in tops]


def _weighted(model: AdditiveLogistic, sample: JudgedSample, max_fpr: float, top: TopWeight) -> AdditiveLogistic:
    """Return the model of the sample in which rows have other weights."""
    objective = replace(Objective.plain(max_fpr), chosen=1, top=top)
    begun = replace(model.empty_copy(), objective=objective)
    return sample.add(begun, np.arange(sample.labels.size))


def _held_out_scores(basis: Basis, model: AdditiveLogistic, sample: JudgedSample, policy: AdditivePolicy) -> Floats:
    """Return the score of each row by the model of the rows of other folds."""
    scores = np.empty(sample.labels.size)
    for fold in range(sample.n_folds):
        at = np.flatnonzero(sample.folds == fold)
        without = model.subtract((), sample.encode(at))
        scores[at] = basis.products(sample.rows[at], without.solve(policy, narrow=True).weights)
    return scores
