"""Partial AUC as the objective: candidates from the sums of one pass, chosen by the partial AUC of rows held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from opauc.core.parameters import SHARE, parameter
from opauc.core.partial_auc import LOGISTIC, ObjectiveSelection, PartialAucPolicy, TopWeight, choose_candidate
from opauc.linear.exact_cv import ExactCV, Selection
from opauc.linear.logistic import Logistic
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.moments.folds import FoldMoments
from opauc.linear.moments.held_out_scores import HeldOutScores
from opauc.linear.moments.linearized import NEGATIVE, THRESHOLD, TOP, WIDTH, Expansion, FirstRows, LinearizedMoments
from opauc.types import Floats

SQUARE = "square"


PARTIAL_AUC_POLICY = PartialAucPolicy()


@dataclass(frozen=True)
class PartialAuc(Logistic):
    """Linear scorer for the partial AUC up to a false-positive rate, from the sums of one pass.

    Candidates are the exact minimizer of the square pair loss, the logistic loss,
    and two mixtures: logistic losses in which a share of the weight of the
    negatives goes to those with the highest scores. Their threshold, a quantile
    of the first negatives' scores by the plain logistic loss, and the expansion
    point of all losses are fixed by the first rows. Each candidate is trained on
    the first rows outside each fold too, and these scorers rank all rows of the
    fold, then and later: the partial AUC of rows held out decides. A mixture is
    taken only where it is better by more than a standard error.

    Parameters
    ----------
    max_fpr : float, default=0.01
        Largest false-positive rate, in (0, 1].
    loss, alphas, cv, one_standard_error, standardize, init_size, n_jobs
        As in `Logistic`.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.partial_auc import PartialAuc
    >>> rng = np.random.default_rng(0)
    >>> labels = (np.arange(1000) % 10 == 0).astype(np.int8)
    >>> rows = rng.normal(size=(1000, 2)) + np.outer(labels, [1.5, 0.0])
    >>> solver = PartialAuc(max_fpr=0.1, init_size=300)
    >>> state = solver.step(solver.start(2), rows, labels)
    >>> solver.objective_selection(state).candidates
    ('square', 'logistic', 'logistic, 0.3 on the top 0.1', 'logistic, 0.6 on the top 0.5')
    """

    name: ClassVar[str] = "partial_auc"
    n_losses: ClassVar[int] = 1 + len(PARTIAL_AUC_POLICY.mixtures)

    max_fpr: float = parameter(0.01, SHARE)

    @property
    def _square(self) -> ExactCV:
        """The solver of the first candidate."""
        return ExactCV(
            alphas=self.alphas, cv=self.cv, one_standard_error=self.one_standard_error, standardize=self.standardize
        )

    def start(self, n_features: int) -> LinearizedMoments:
        """Return statistics of no rows."""
        return LinearizedMoments.empty(n_features, self.cv, self.n_losses, 1 + self.n_losses)

    def fix(self, state: LinearizedMoments) -> LinearizedMoments:
        """Return the state with the expansion and the candidates that the rows so far give, unless they are fixed."""
        if state.fixed:
            return state
        first = state.first
        fixed = super().fix(state)
        folds = FoldMoments.empty(state.n_features, self.cv).with_numbers(first.rows, first.numbers, first.weights)
        weights = self._held_out_weights(replace(fixed, folds=folds))
        offsets = -weights @ fixed.expansion.center
        scores = HeldOutScores.of(weights, offsets, first.rows, first.numbers)
        return replace(fixed, scores=scores.update(first.rows, first.numbers, first.weights))

    def expand(self, first: FirstRows) -> Expansion:
        """Return the minimizer of the logistic loss of the first rows, and the weights of rows in the mixtures."""
        point = super().expand(first)
        weights, intercepts = (np.repeat(part[:1], self.n_losses, axis=0) for part in point[1:3])
        point = point._replace(weights=weights, intercepts=intercepts)
        is_negative = first.numbers % 2 == 0
        if is_negative.any():
            negatives = point.scores(first.rows[is_negative])[:, 0]
            point = point._replace(row_weights=self._mixtures(point.row_weights, negatives, first.weights[is_negative]))
        return point

    def weights(self, state: LinearizedMoments) -> Floats:
        """Return the minimizer of the candidate taken; zero before both classes were seen."""
        if not state.counts.both:
            return np.zeros(state.n_features)
        fixed = self.fix(state)
        weights: Floats = self.path(fixed, [self.selection(fixed).alpha])[0]
        return weights

    def path(self, state: LinearizedMoments, alphas: Sequence[float]) -> Floats:
        """Return the minimizer of the candidate taken for each alpha, one per row."""
        if not state.counts.both or not len(alphas):
            return np.zeros((len(alphas), state.n_features))
        fixed = self.fix(state)
        chosen = self.objective_selection(fixed).chosen
        return self._minimize(fixed, chosen - 1, alphas) if chosen else self._square.path(fixed.folds, alphas)

    def selection(self, state: LinearizedMoments) -> Selection:
        """Return the held-out loss of the penalties of the candidate taken, negated, and the chosen one."""
        fixed = self.fix(state)
        return self._penalties(fixed, self.objective_selection(fixed).chosen, self._scale(fixed.whole()))

    def objective_selection(
        self, state: LinearizedMoments, policy: PartialAucPolicy = PARTIAL_AUC_POLICY
    ) -> ObjectiveSelection:
        """Return the candidates, the partial AUC of each on rows held out, and the one taken."""
        scores = self.fix(state).scores
        reached = scores.partial_aucs(self.max_fpr)
        without_fold = np.array([scores.partial_aucs(self.max_fpr, without=fold) for fold in range(self.cv)])
        candidates = (SQUARE, LOGISTIC, *policy.names(self.max_fpr))
        return choose_candidate(candidates, reached, without_fold, 2, policy)

    def _mixtures(
        self, row_weights: Floats, negatives: Floats, weight: Floats, policy: PartialAucPolicy = PARTIAL_AUC_POLICY
    ) -> Floats:
        """Return the weights of rows in each loss, from the scores and weights of the first negatives."""
        found = row_weights.copy()
        for loss, (share, times) in enumerate(policy.mixtures, start=1):
            top = TopWeight.of(negatives, weight, share, policy.top(times, self.max_fpr), policy)
            total = found[loss, NEGATIVE]
            found[loss, [NEGATIVE, TOP]] = (1.0 - share) * total, share * total / top.mean
            found[loss, [THRESHOLD, WIDTH]] = top.threshold, top.width
        return found

    def _held_out_weights(self, state: LinearizedMoments) -> Floats:
        """Return the minimizer of each candidate on the rows outside each fold, shape (candidates, folds, d)."""
        weights = np.zeros((1 + self.n_losses, self.cv, state.n_features))
        classes = state.whole()
        if not classes.counts.both:
            return weights
        scale, counts = self._scale(classes), [sum(state.folds.fold(k).counts) for k in range(self.cv)]
        alphas = [self._penalties(state, candidate, scale).alpha for candidate in range(1 + self.n_losses)]
        for fold in range(self.cv):
            others = [k for k in range(self.cv) if k != fold]
            if not sum(counts[k] for k in others):
                continue
            outside: ClassMoments = state.folds.complement(fold)
            weights[0, fold] = self._square._exact.path(outside, alphas[:1])[0]
            for loss in range(self.n_losses):
                weights[1 + loss, fold] = self.minimize_folds(state, others, loss, scale, alphas[1 + loss])
        return weights

    def _penalties(self, state: LinearizedMoments, candidate: int, scale: Floats) -> Selection:
        """Return the choice of the penalty of one candidate."""
        if candidate == 0:
            return self._square.selection(state.folds)
        loss = candidate - 1
        return self.select(state.losses[loss], state.folds, state.expansion, loss, scale)
