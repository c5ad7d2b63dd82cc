"""Selection by progressive AUC among eight fixed candidates, for sparse rows of many features; no parameters."""

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
    CANDIDATES,
    CLASS_SUMS,
    FEATURE_SQUARES,
    N_CANDIDATES,
    N_SCALES,
    N_SUMS,
    RAW_SUMS,
    SUM_OF_SQUARES,
    Candidate,
    SelectionState,
    selection_pass,
)
from opauc.linear.means import score_summary
from opauc.types import ClassCounts, Floats, Labels, Rows

# Largest sum of squares: the pass multiplies it by row counts.
MAX_SUM_OF_SQUARES = 1e300
# float64 counts rows one by one up to here.
MAX_ROWS = 2.0**53


class SelectionLeaderboard(NamedTuple):
    """The candidates of progressive selection with the progressive AUC of each.

    Each row is scored before training on it (progressive validation) and compared
    with recent rows of the other class; later rows weigh more. Before both classes
    were seen, every AUC is 0.5. Ties go to the first candidate.

    Attributes
    ----------
    counts : ClassCounts
        Total weight of the rows of each class.
    candidates : tuple of Candidate
        Hyper-parameters of the candidates.
    aucs : tuple of float
        Progressive AUC of each candidate.
    winner : int
        Index of the candidate with the best AUC, whose weights the model uses.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> model = OPAUC(solver="progressive_selection").fit([[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30)
    >>> len(model.selection_.candidates)
    8
    """

    counts: ClassCounts
    candidates: tuple[Candidate, ...]
    aucs: tuple[float, ...]
    winner: int


@dataclass(frozen=True)
class ProgressiveSelection(Solver[SelectionState]):
    """Train eight linear candidates in one pass and use the one with the best progressive AUC.

    Each candidate takes gradient steps on the squared hinge loss of single rows,
    with both classes weighted equally and a running diagonal scale D:

        w += step * (n / 2 n_k) * max(0, 1 - y (w.x + b)) * y D x,    D_j = (mean of x_j^2)^-p,

    where n_k of the n rows so far are of the class of x. No step goes beyond the
    margin. The candidates differ in the power p (0, 1/2, 1), the step relative to
    1 / mean of x'Dx, and forgetting: problems differ most in how much rare
    features should count against frequent ones. Six candidates scale each row to
    length one, as suits texts of any length. Two use raw rows, for rows in which a
    number of large units would drown the rest. D is computed from unit rows. The
    weights are the winner's last iterate, for rows as the winner saw them; b only
    serves the steps. A row costs O(nonzero entries), memory is 13 numbers per
    feature. Multiplying all rows by a number changes no ranking. Rows should come
    in random order. There are no parameters.

    On seven text problems, two groups of three splits, its untuned AUC was
    between 0.004 below and 0.007 above that of the best one-pass competitor
    (AdaGrad, SGD, univariate losses, scaled class means) tuned on the other group.

    The weight of a row is a factor on its step (still limited by the margin), on
    the row in all sums, and on its comparisons. Rows whose squares sum to less
    than 1e-280 are scored but not trained on. `step` writes into the state it is
    given.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.progressive_selection import ProgressiveSelection
    >>> solver = ProgressiveSelection()
    >>> rows = np.array([[0.0, 1.0], [2.0, 1.0], [1.0, 2.0], [4.0, 0.0], [0.0, 3.0], [3.0, 1.0]])
    >>> state = solver.step(solver.start(2), rows, np.array([0, 1, 0, 1, 0, 1], np.int8))
    >>> solver.weights(state).round(2).tolist()
    [0.15, -0.05]
    >>> leaderboard = solver.leaderboard(state)
    >>> leaderboard.candidates[leaderboard.winner]
    Candidate(power=0.5, step_size=0.125, forgetting=0.0, unit_rows=False)
    """

    name: ClassVar[str] = "progressive_selection"

    def start(self, n_features: int) -> SelectionState:
        """Return the state before any row; the system commits memory as features occur."""
        return SelectionState(
            counts=np.zeros(2),
            n_rows=np.zeros(2),
            sums=np.zeros((n_features, N_SUMS)),
            weights=np.zeros((n_features, N_CANDIDATES)),
            scales=np.ones(N_CANDIDATES),
            intercepts=np.zeros(N_CANDIDATES),
            wins=np.zeros(N_CANDIDATES + 1),
            recent=np.zeros((2, KEPT_SCORES, N_CANDIDATES)),
            recent_weights=np.ones((2, KEPT_SCORES)),
            curvatures=np.zeros(N_SCALES),
            value_totals=np.zeros(2),
            unit=np.ones(1),
        )

    def step(self, state: SelectionState, rows: Rows, labels: Labels, weight: Floats | None = None) -> SelectionState:
        """Score each row in order with every candidate, compare, then train every candidate on it."""
        entries = sparse.csr_array(rows) if isinstance(rows, np.ndarray) else rows
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("i,i->", entries.data, entries.data, dtype=np.float64)
            total = state.value_totals[SUM_OF_SQUARES] + squares * (1.0 if weight is None else weight.max(initial=1.0))
        if not total <= MAX_SUM_OF_SQUARES:
            raise StatisticsOverflowError(
                f"the squares of the values sum to {total:.3g}, float64 has room for {MAX_SUM_OF_SQUARES:g}; "
                "scale the features down"
            )
        selection_pass(csr_rows(entries.data, entries.indices, entries.indptr), labels, row_weights(weight), state)
        return state

    def weights(self, state: SelectionState) -> Floats:
        """Return the last iterate of the winner; zero before both classes were seen."""
        return _weights_of(state, self.leaderboard(state).winner)

    def counts(self, state: SelectionState) -> ClassCounts:
        """Return the total weight of the rows of each class."""
        return ClassCounts(*state.counts.tolist())

    def leaderboard(self, state: SelectionState) -> SelectionLeaderboard:
        """Return the progressive AUC of each candidate and the winner."""
        pairs = state.wins[ALL_PAIRS]
        aucs = state.wins[:N_CANDIDATES] / pairs if pairs > 0.0 else np.full(N_CANDIDATES, 0.5)
        candidates = CANDIDATES if state.unit[0] else tuple(each._replace(unit_rows=False) for each in CANDIDATES)
        return SelectionLeaderboard(self.counts(state), candidates, tuple(aucs.tolist()), int(np.argmax(aucs)))

    def scores_unit_rows(self, state: SelectionState) -> bool:
        """Return whether the winner uses rows scaled to length one."""
        leaderboard = self.leaderboard(state)
        return leaderboard.candidates[leaderboard.winner].unit_rows

    def summary(self, state: SelectionState, weights: Floats) -> ScoreSummary:
        """Return exact counts and mean scores, and variances from the winner's latest scores.

        The variances are those of the progressive scores of up to 256 rows per
        class, times the square of the factor by which the winner's weights come
        closest to `weights`. This is exact for multiples of the solver's own
        weights.
        """
        winner = self.leaderboard(state).winner
        sums = state.sums[:, CLASS_SUMS if self.scores_unit_rows(state) else RAW_SUMS :]
        share = _closest_factor(weights, _weights_of(state, winner))
        means, variances = np.zeros(2), np.zeros(2)
        for k in (0, 1):
            if state.counts[k] > 0.0:
                means[k] = sums[:, k] @ weights / state.counts[k]
                kept = int(min(state.n_rows[k], KEPT_SCORES))
                with np.errstate(over="ignore"):  # scores of rows 1e150 times as large as the training rows
                    variances[k] = _variance(share * state.recent[k, :kept, winner], state.recent_weights[k, :kept])
        return score_summary(state.counts, means, variances)

    def feature_spread(self, state: SelectionState) -> FeatureSpread:
        """Return the standard deviation of each feature within the classes, from the sums of squares.

        It is that of rows scaled to length one, where candidates use those.
        """
        sums, counts = state.sums[:, CLASS_SUMS : CLASS_SUMS + 2], or_one(state.counts)
        between = np.einsum("jk,jk,k->j", sums, sums, 1.0 / counts)
        note = "of rows at length one" if state.unit[0] else ""
        return FeatureSpread.pooled(state.sums[:, FEATURE_SQUARES] - between, float(state.counts.sum()), note)

    def rollback(self, state: SelectionState, rows: Rows) -> Rollback:
        """Return a rollback of `state` for a step on `rows`."""
        others = (part for name, part in state._asdict().items() if name not in ("sums", "weights"))
        return Rollback().keep(*others).keep_features([state.sums, state.weights], touched_features(rows))

    def check(self, state: SelectionState) -> None:
        """Raise where a state from a file has values that the kernels cannot handle."""
        if not ((state.n_rows >= 0.0) & (state.n_rows < MAX_ROWS) & (state.counts >= 0.0)).all():
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


def _closest_factor(weights: Floats, unit: Floats) -> float:
    """Return the factor that brings `unit` closest to `weights`."""
    largest = np.abs(unit).max(initial=0.0)
    if largest == 0.0:
        return 0.0
    direction = unit / largest  # the squares of `unit` itself might underflow
    return float(weights @ direction) / float(unit @ direction)
