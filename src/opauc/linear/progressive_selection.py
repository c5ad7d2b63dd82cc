"""Selection by progressive AUC among eight fixed learners for sparse rows of many features: nothing to set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from opauc.core.mergeable import FeatureSpread, ScoreSummary, or_one
from opauc.core.row_blocks import csr_rows, row_weights
from opauc.core.solver import Solver
from opauc.core.transaction import Rollback, touched_features
from opauc.errors import IncompatibleMomentsError, StatisticsOverflowError
from opauc.linear.kernels.grid import KEPT_SCORES
from opauc.linear.kernels.progressive_selection import (
    ALL_PAIRS,
    AS_THEY_COME,
    CANDIDATES,
    CLASS_SUMS,
    FEATURE_SQUARES,
    RAW_SUMS,
    SIZE,
    SQUARES,
    SUMS,
    Candidate,
    SelectionState,
    selection_pass,
)
from opauc.linear.progressive_summary import score_summary
from opauc.types import ClassCounts, Floats, Labels, Rows

# Sums of squares up to here leave the pass room for its products by row counts and for weights learned from faint rows.
LARGEST = 1e300
# Whole numbers beyond this are no longer counted one by one.
MOST_ROWS = 2.0**53


class Standing(NamedTuple):
    """How the candidates stand: rows of each class, the AUC of each candidate and the number of the winner.

    The AUC is progressive: each row was scored before it was learned from and
    compared with recent rows of the other class; later rows weigh more. It is
    0.5 for all until both classes are seen; the first of equals wins.
    """

    counts: ClassCounts
    candidates: tuple[Candidate, ...]
    aucs: tuple[float, ...]
    winner: int


@dataclass(frozen=True)
class ProgressiveSelection(Solver[SelectionState]):
    """Learn eight linear scorers in one pass over the rows and keep the one that ranked unseen rows best.

    Each candidate descends on the squared hinge loss of single rows, weighted
    so that both classes count alike, with a running diagonal scale D:

        w += step * (n / 2 n_k) * max(0, 1 - y (w.x + b)) * y D x,    D_j = (mean of x_j^2)^-p,

    for a row x of the n_k so far in its class, of n in all; no step goes
    beyond the margin. The candidates differ in the power p (0, 1/2, 1), the
    step relative to 1 / mean of x'Dx, and forgetting: how rare features
    should count against frequent ones is what differs most from one problem
    to the next. Six of them see each row scaled to length one, as texts of any
    length should be, two as it comes, for the sake of rows in which a number of
    large units would drown the rest; D is of rows of length one. The winner's
    last iterate gives the weights, for rows as the winner saw them; b serves the
    steps alone. A row costs O(its non-zeros), memory is 13 numbers a feature;
    multiplying all rows by a number changes no ranking. The rows should come
    in random order.

    On seven text problems, two groups of three splits, its untuned
    AUC was from 0.004 below to 0.007 above that of the best one-pass competitor
    (AdaGrad, SGD, univariate losses, scaled class means) tuned on the other
    group.

    The weight of a row is a factor on its step, margins remaining the limit, on
    its part in all sums and on its pairs. Rows whose squares sum to less than
    1e-280 are scored and not learned from. `step` writes into the state it is given.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.progressive_selection import ProgressiveSelection
    >>> learner = ProgressiveSelection()
    >>> rows = np.array([[0.0, 1.0], [2.0, 1.0], [1.0, 2.0], [4.0, 0.0], [0.0, 3.0], [3.0, 1.0]])
    >>> state = learner.step(learner.start(2), rows, np.array([0, 1, 0, 1, 0, 1], np.int8))
    >>> learner.weights(state).round(2).tolist()
    [0.15, -0.05]
    >>> standing = learner.standing(state)
    >>> standing.candidates[standing.winner]
    Candidate(power=0.5, step_size=0.125, forgetting=0.0, unit_rows=False)
    """

    name: ClassVar[str] = "progressive_selection"

    def start(self, n_features: int) -> SelectionState:
        """Return the state before any row; the system commits the memory of features as they turn up."""
        return SelectionState(
            counts=np.zeros(2),
            n_rows=np.zeros(2),
            sums=np.zeros((n_features, SUMS)),
            weights=np.zeros((n_features, SIZE)),
            scales=np.ones(SIZE),
            intercepts=np.zeros(SIZE),
            wins=np.zeros(SIZE + 1),
            recent=np.zeros((2, KEPT_SCORES, SIZE)),
            recent_weights=np.ones((2, KEPT_SCORES)),
            curvatures=np.zeros(2 * AS_THEY_COME),
            energy=np.zeros(2),
            unit=np.ones(1),
        )

    def step(self, state: SelectionState, rows: Rows, labels: Labels, weight: Floats | None = None) -> SelectionState:
        """Let every candidate score each row in order, be compared on it, and learn it."""
        entries = sparse.csr_array(rows) if isinstance(rows, np.ndarray) else rows
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("i,i->", entries.data, entries.data, dtype=np.float64)
            total = state.energy[SQUARES] + squares * (1.0 if weight is None else weight.max(initial=1.0))
        if not total <= LARGEST:
            raise StatisticsOverflowError(
                f"the squares of the values sum to {total:.3g}, float64 has room for {LARGEST:g}; "
                "scale the features down"
            )
        selection_pass(csr_rows(entries.data, entries.indices, entries.indptr), labels, row_weights(weight), state)
        return state

    def weights(self, state: SelectionState) -> Floats:
        """Return the last iterate of the winner; zero until both classes were seen."""
        return _weights_of(state, self.standing(state).winner)

    def counts(self, state: SelectionState) -> ClassCounts:
        """Return the weight of the rows of each class."""
        return ClassCounts(*state.counts.tolist())

    def standing(self, state: SelectionState) -> Standing:
        """Return how the candidates stand."""
        pairs = state.wins[ALL_PAIRS]
        aucs = state.wins[:SIZE] / pairs if pairs > 0.0 else np.full(SIZE, 0.5)
        known = CANDIDATES if state.unit[0] else tuple(each._replace(unit_rows=False) for each in CANDIDATES)
        return Standing(self.counts(state), known, tuple(aucs.tolist()), int(np.argmax(aucs)))

    def scores_unit_rows(self, state: SelectionState) -> bool:
        """Tell whether the winner saw rows scaled to length one."""
        standing = self.standing(state)
        return standing.candidates[standing.winner].unit_rows

    def summary(self, state: SelectionState, weights: Floats) -> ScoreSummary:
        """Return exact counts and mean scores, and variances from the winner's latest scores.

        The variances are progressive estimates: of up to 256 rows a class, as
        they were scored before they were learned from. Of `weights` they see
        the multiple of the winner's nearest to them: exactly that of the
        weights this learner gives, and zero for zero weights.
        """
        winner = self.standing(state).winner
        sums = state.sums[:, CLASS_SUMS if self.scores_unit_rows(state) else RAW_SUMS :]
        share = _multiple(weights, _weights_of(state, winner))
        means, variances = np.zeros(2), np.zeros(2)
        for k in (0, 1):
            if state.counts[k] > 0.0:
                means[k] = sums[:, k] @ weights / state.counts[k]
                kept = int(min(state.n_rows[k], KEPT_SCORES))
                with np.errstate(over="ignore"):  # scores of rows 1e150 times as large as those learned from
                    variances[k] = _variance(share * state.recent[k, :kept, winner], state.recent_weights[k, :kept])
        return score_summary(state.counts, means, variances)

    def feature_spread(self, state: SelectionState) -> FeatureSpread:
        """Return the standard deviation of each feature within the classes, from the sums of squares.

        It is that of rows at length one, where they are learned so.
        """
        sums, counts = state.sums[:, CLASS_SUMS : CLASS_SUMS + 2], or_one(state.counts)
        between = np.einsum("jk,jk,k->j", sums, sums, 1.0 / counts)
        note = "of rows at length one" if state.unit[0] else ""
        return FeatureSpread.pooled(state.sums[:, FEATURE_SQUARES] - between, float(state.counts.sum()), note)

    def rollback(self, state: SelectionState, rows: Rows) -> Rollback:
        """Return what puts `state` back after a step on `rows`."""
        others = (part for name, part in state._asdict().items() if name not in ("sums", "weights"))
        return Rollback().keep(*others).keep_features([state.sums, state.weights], touched_features(rows))

    def check(self, state: SelectionState) -> None:
        """Refuse a state from a file that would lead the kernels astray."""
        if not ((state.n_rows >= 0.0) & (state.n_rows < MOST_ROWS) & (state.counts >= 0.0)).all():
            raise IncompatibleMomentsError(f"expected counts of rows, got {state.counts}")
        if state.unit[0] not in (0.0, 1.0):
            raise IncompatibleMomentsError(f"unit: expected 0 or 1, got {state.unit[0]}")


def _variance(scores: Floats, weights: Floats) -> float:
    """Return the weighted variance."""
    if (weights == 1.0).all():
        return float(np.var(scores))
    return float(np.average((scores - np.average(scores, weights=weights)) ** 2, weights=weights))


def _weights_of(state: SelectionState, candidate: int) -> Floats:
    weights: Floats = state.scales[candidate] * state.weights[:, candidate]
    return weights


def _multiple(weights: Floats, unit: Floats) -> float:
    """Return the factor that brings `unit` nearest to `weights`."""
    largest = np.abs(unit).max(initial=0.0)
    if largest == 0.0:
        return 0.0
    direction = unit / largest  # the square of the unit itself might underflow
    return float(weights @ direction) / float(unit @ direction)
