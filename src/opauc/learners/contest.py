"""A contest of eight fixed learners for sparse rows of many features: nothing to set, the best ranker wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opauc.errors import IncompatibleMoments, StatisticsOverflow
from opauc.kernels.descent.contest_pass import CANDIDATES, RECENT, SIZE, Candidate, ContestState, contest_pass
from opauc.statistics.chunk_rows import Labels, Rows, kernel_rows
from opauc.statistics.score_summary import ScoreSummary

Floats = NDArray[np.float64]

# Sums of squares up to here leave the pass room for its products by row counts and for weights learnt from faint rows.
LARGEST = 1e300
# Whole numbers beyond this are no longer counted one by one.
MOST_ROWS = 2.0**53


class Standing(NamedTuple):
    """How the contest stands: rows of each class, the candidates, the AUC of each and the number of the winner.

    The AUC is progressive: each row was scored before it was learnt from and
    compared with recent rows of the other class; later rows weigh more. It is
    0.5 for all until both classes are seen; the first of equals wins.
    """

    counts: tuple[float, float]
    candidates: tuple[Candidate, ...]
    aucs: tuple[float, ...]
    winner: int


@dataclass(frozen=True)
class Contest:
    """Learn eight linear scorers in one pass over the rows and keep the one that ranked unseen rows best.

    Each candidate descends on the squared hinge loss of single rows, weighted
    so that both classes count alike, with a running diagonal scale D:

        w += step * (n / 2 n_k) * max(0, 1 - y (w.x + b)) * y D x,    D_j = (mean of x_j^2)^-p,

    for a row x of the n_k so far in its class, of n in all; no step goes
    beyond the margin. The candidates differ in the power p (0, 1/2, 1), the
    step relative to 1 / mean of x'Dx, and forgetting: how rare features
    should count against frequent ones is what differs most from one problem
    to the next. The winner's last iterate gives the weights; b serves the
    steps alone. A row costs O(its non-zeros), memory is 11 numbers a feature;
    multiplying all rows by a number changes no ranking. The rows should come
    in random order and be of about the same length: one pass over simulated
    bags of words gave an AUC of 0.79, and 0.85 with each row scaled to length one.

    On seven text problems, rows of length one, two groups of three splits, its untuned
    AUC was from 0.004 below to 0.007 above that of the best one-pass competitor
    (AdaGrad, SGD, univariate losses, scaled class means) tuned on the other
    group.

    `step` reuses the arrays of the state it is given; if it raises, that
    state is as it was. Rows whose squares sum to less than 1e-280 are scored
    and not learnt from.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.learners.contest import Contest
    >>> learner = Contest()
    >>> rows = np.array([[0.0, 1.0], [2.0, 1.0], [1.0, 2.0], [4.0, 0.0], [0.0, 3.0], [3.0, 1.0]])
    >>> state = learner.step(learner.start(2), rows, np.array([0, 1, 0, 1, 0, 1], np.int8))
    >>> learner.weights(state).round(2).tolist()
    [0.15, -0.05]
    >>> standing = learner.moments(state)
    >>> standing.candidates[standing.winner]
    Candidate(power=0.0, step_size=0.125, forgetting=0.0)
    """

    def start(self, n_features: int) -> ContestState:
        """Return the state before any row; the system commits the memory of features as they turn up."""
        return ContestState(
            counts=np.zeros(2),
            sums=np.zeros((n_features, 3)),
            weights=np.zeros((n_features, SIZE)),
            scales=np.ones(SIZE),
            intercepts=np.zeros(SIZE),
            wins=np.zeros(SIZE + 1),
            recent=np.zeros((2, RECENT, SIZE)),
            curvatures=np.zeros(3),
            energy=np.zeros(2),
        )

    def step(self, state: ContestState, rows: Rows, labels: Labels) -> ContestState:
        """Let every candidate score each row in order, be compared on it, and learn it."""
        thin = rows if sparse.issparse(rows) else sparse.csr_array(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            total = state.energy[0] + np.einsum("i,i->", thin.data, thin.data, dtype=np.float64)
        if not total <= LARGEST:
            raise StatisticsOverflow(
                f"the squares of the values sum to {total:.3g}, float64 has room for {LARGEST:g}; "
                "scale the features down"
            )
        contest_pass(kernel_rows(thin), labels, state)
        return state

    def weights(self, state: ContestState) -> Floats:
        """Return the last iterate of the winner; zero until both classes were seen."""
        return _weights_of(state, self.moments(state).winner)

    def moments(self, state: ContestState) -> Standing:
        """Return the standing of the contest."""
        of_pairs, pairs = state.wins[:SIZE], state.wins[SIZE]
        aucs = of_pairs / pairs if pairs > 0.0 else np.full(SIZE, 0.5)
        return Standing(_pair(state.counts), CANDIDATES, tuple(aucs.tolist()), int(np.argmax(aucs)))

    def check_state(self, state: ContestState) -> None:
        """Refuse a state from a file that would lead the kernels astray."""
        if not ((state.counts >= 0.0) & (state.counts < MOST_ROWS)).all():
            raise IncompatibleMoments(f"expected counts of rows, got {state.counts}")

    def summary(self, state: ContestState, weights: Floats) -> ScoreSummary:
        """Return exact counts and mean scores, and variances from the winner's latest scores.

        The variances are progressive estimates: of up to 256 rows a class, as
        they were scored before they were learnt from. Of `weights` they see
        the multiple of the winner's nearest to them: exactly that of the
        weights this learner gives, and zero for zero weights.
        """
        winner = self.moments(state).winner
        share = _multiple(weights, _weights_of(state, winner))
        means, variances = np.zeros(2), np.zeros(2)
        for k in (0, 1):
            if state.counts[k] > 0.0:
                means[k] = state.sums[:, 1 + k] @ weights / state.counts[k]
                latest = state.recent[k, : int(min(state.counts[k], RECENT)), winner]
                with np.errstate(over="ignore"):  # scores of rows 1e150 times as large as those learnt from
                    variances[k] = np.var(share * latest)
        return ScoreSummary(_pair(state.counts), _pair(means), _pair(variances))


def _weights_of(state: ContestState, candidate: int) -> Floats:
    weights: Floats = state.scales[candidate] * state.weights[:, candidate]
    return weights


def _multiple(weights: Floats, unit: Floats) -> float:
    """Return the factor that brings `unit` nearest to `weights`."""
    largest = np.abs(unit).max(initial=0.0)
    if largest == 0.0:
        return 0.0
    direction = unit / largest  # the square of the unit itself might underflow
    return float(weights @ direction) / float(unit @ direction)


def _pair(values: Floats) -> tuple[float, float]:
    return float(values[0]), float(values[1])
