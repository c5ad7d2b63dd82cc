"""FSAUC: SOLAM's saddle point in stages of shrinking steps and balls (Liu, Zhang, Chen, Wang, Yang 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from opauc.baselines.solam import check_saddle_overflow, clip, saddle_gradient
from opauc.core.kernels.compile import kernel
from opauc.core.mergeable import ScoreSummary
from opauc.core.parameters import POSITIVE, Count, parameter
from opauc.core.row_blocks import row_weights, sparse_blocks, sum_row_squares
from opauc.core.solver import Solver
from opauc.core.transaction import Rollback
from opauc.estimators.docstrings import own_docstrings
from opauc.linear.estimator import StreamClassifier
from opauc.linear.kernels.means import (
    FACTOR,
    FACTOR_SUM,
    SMALLEST_FACTOR,
    SUMS,
    WEIGHT,
    WEIGHT_SUM,
    add_score,
    move_records,
    rescale,
)
from opauc.linear.means import progressive_summary
from opauc.types import ClassCounts, Floats, Labels, Rows

# Column of `records` after the sums of both classes: the weights at the start of the stage.
START = 4
# Positions in `scalars`, after FACTOR and FACTOR_SUM.
START_FACTOR, START_FACTOR_SUM, STAGE_WEIGHT, MOVED, ALONG, START_NORM = 2, 3, 4, 5, 6, 7
LONGEST, DUAL, START_DUAL, STAGE, STAGE_ROWS = 8, 9, 10, 11, 12


class StagedState(NamedTuple):
    """The weights w = s + z with s those at the start of the stage and z = h s + a v, and the rest of the saddle.

    The sum of z over the iterates of the stage is h_sum s + a_sum v + u. Index 0
    is the negative class, 1 the positive.
    """

    records: np.ndarray  # (d, 5) per feature: v, u, sums of the rows of each class, s
    counts: np.ndarray  # (2,) total sample weight of each class
    n_rows: np.ndarray  # (2,) number of rows of each class
    centres: np.ndarray  # (2,) b and a, which converge to the mean score of each class
    start_centres: np.ndarray  # (2,) at the start of the stage
    centre_sums: np.ndarray  # (2,) over the iterates of the stage
    spreads: np.ndarray  # (2, 3) of the scores, see `add_score`
    # (13,) a, a_sum, h, h_sum, sample weight of the stage, |z|^2, z.s, |s|^2, largest |x|, dual variable now and at the
    # start of the stage, number of the stage, its rows so far
    scalars: np.ndarray


class Stages(NamedTuple):
    """How rows are divided: stage k has about size * growth^k rows; n_stages = 0 means without end."""

    size: float
    growth: float
    shrink: float  # factor on the radius of the ball from stage to stage
    n_stages: float


@kernel
def staged_pass(rows, labels, row_weights, first_step, radius, stages, state):
    """Update `state` in place with sparse rows in order; the step halves from stage to stage."""
    scalars, counts, centres = state.scalars, state.counts, state.centres
    for i in range(labels.size):
        k = labels[i]
        weight = row_weights[i] if row_weights.size else 1.0
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        dot, rest, start, square = add_staged_row(rows, begin, end, k, weight, state.records)
        counts[k] += weight
        state.n_rows[k] += 1.0
        number = state.n_rows[0] + state.n_rows[1]
        scalars[LONGEST] = max(scalars[LONGEST], np.sqrt(square))
        score = (1.0 + scalars[START_FACTOR]) * start + scalars[FACTOR] * dot
        mean_score = start
        if scalars[STAGE_WEIGHT] > 0.0:
            total = scalars[START_FACTOR_SUM] * start + scalars[FACTOR_SUM] * dot + rest
            mean_score += total / scalars[STAGE_WEIGHT]
        add_score(k, mean_score, weight * number * number, state.spreads)
        step = weight * first_step * 0.5 ** scalars[STAGE]
        along, center, dual = saddle_gradient(k, score, centres[k], scalars[DUAL], counts[1] / (counts[0] + counts[1]))
        bound = radius * scalars[LONGEST]
        move_staged_weights(rows, begin, end, -step * along, score, start, square, radius, state)
        centres[k] = clip(centres[k] - step * center, bound)
        scalars[DUAL] = clip(scalars[DUAL] + step * dual, 2.0 * bound)
        # |(w, a, b)| <= radius sqrt(1 + 2 largest^2): the first ball has twice this radius.
        wide = np.sqrt(1.0 + 2.0 * scalars[LONGEST] * scalars[LONGEST])
        ball = 2.0 * wide * radius * stages.shrink ** scalars[STAGE]
        project_on_ball(ball, state)
        reach = 2.0 * np.sqrt(2.0) * scalars[LONGEST] * ball
        scalars[DUAL] = scalars[START_DUAL] + clip(scalars[DUAL] - scalars[START_DUAL], reach)
        add_iterate(weight, state)
        scalars[STAGE_ROWS] += 1.0
        last = stages.n_stages > 0.0 and scalars[STAGE] + 1.0 >= stages.n_stages
        if scalars[STAGE_ROWS] >= np.floor(stages.size * stages.growth ** scalars[STAGE]) and not last:
            restart(state)


@kernel
def add_staged_row(rows, begin, end, k, weight, records):
    """Add weight times a sparse row to the sums of class k; return its products with v, u and s, and |x|^2."""
    dot, dot_sum, start, square = 0.0, 0.0, 0.0, 0.0
    for at in range(begin, end):
        x, record = np.float64(rows.data[at]), records[rows.indices[at]]
        dot += record[WEIGHT] * x
        dot_sum += record[WEIGHT_SUM] * x
        start += record[START] * x
        square += x * x
        record[SUMS + k] += weight * x
    return dot, dot_sum, start, square


@kernel
def move_staged_weights(rows, begin, end, move, score, start, square, radius, state):
    """Move the weights along a sparse row, then project them onto the ball of the given radius around zero."""
    scalars = state.scalars
    change = move / scalars[FACTOR]
    move_records(rows.data, rows.indices, begin, end, change, -scalars[FACTOR_SUM] * change, state.records)
    scalars[MOVED] = max(0.0, scalars[MOVED] + move * (2.0 * (score - start) + move * square))
    scalars[ALONG] += move * start
    length = scalars[START_NORM] + 2.0 * scalars[ALONG] + scalars[MOVED]
    if length > radius * radius:
        # w becomes c w, so z becomes (c - 1) s + c z.
        c = radius / np.sqrt(length)
        less = c - 1.0
        scalars[MOVED] = max(
            0.0, less * less * scalars[START_NORM] + 2.0 * less * c * scalars[ALONG] + c * c * scalars[MOVED]
        )
        scalars[ALONG] = less * scalars[START_NORM] + c * scalars[ALONG]
        scalars[START_FACTOR] = less + c * scalars[START_FACTOR]
        scalars[FACTOR] *= c
    if scalars[FACTOR] < SMALLEST_FACTOR:
        rescale(state)


@kernel
def project_on_ball(ball, state):
    """Project (w, a, b) onto the ball of that radius around the start of the stage."""
    scalars, total = state.scalars, state.scalars[MOVED]
    for k in range(2):
        total += (state.centres[k] - state.start_centres[k]) ** 2
    if total > ball * ball:
        c = ball / np.sqrt(total)
        scalars[FACTOR] *= c
        scalars[START_FACTOR] *= c
        scalars[ALONG] *= c
        scalars[MOVED] *= c * c
        for k in range(2):
            state.centres[k] = state.start_centres[k] + c * (state.centres[k] - state.start_centres[k])
        if scalars[FACTOR] < SMALLEST_FACTOR:
            rescale(state)


@kernel
def add_iterate(weight, state):
    """Add the iterate, times the sample weight, to the sums of the stage."""
    scalars = state.scalars
    scalars[FACTOR_SUM] += weight * scalars[FACTOR]
    scalars[START_FACTOR_SUM] += weight * scalars[START_FACTOR]
    scalars[STAGE_WEIGHT] += weight
    for k in range(2):
        state.centre_sums[k] += weight * state.centres[k]


@kernel
def restart(state):
    """Begin the next stage at the mean of the iterates; the dual variable at its optimum for these weights."""
    scalars, records, counts = state.scalars, state.records, state.counts
    total, dual = 0.0, 0.0
    weight = max(scalars[STAGE_WEIGHT], 1e-300)
    for j in range(records.shape[0]):
        record = records[j]
        moved = scalars[START_FACTOR_SUM] * record[START] + scalars[FACTOR_SUM] * record[WEIGHT] + record[WEIGHT_SUM]
        record[START] += moved / weight
        record[WEIGHT] = 0.0
        record[WEIGHT_SUM] = 0.0
        total += record[START] * record[START]
        for k in range(2):
            if counts[k] > 0.0:
                dual += (1.0 - 2.0 * k) * record[START] * record[SUMS + k] / counts[k]
    for k in range(2):
        if scalars[STAGE_WEIGHT] > 0.0:
            state.centres[k] = state.centre_sums[k] / weight
        state.start_centres[k] = state.centres[k]
        state.centre_sums[k] = 0.0
    if counts[0] > 0.0 and counts[1] > 0.0:
        scalars[DUAL] = dual
    scalars[START_DUAL] = scalars[DUAL]
    scalars[FACTOR] = 1.0
    scalars[START_NORM] = total
    scalars[STAGE] += 1.0
    for at in (FACTOR_SUM, START_FACTOR, START_FACTOR_SUM, STAGE_WEIGHT, MOVED, ALONG, STAGE_ROWS):
        scalars[at] = 0.0


@dataclass(frozen=True)
class FSAUCSolver(Solver[StagedState]):
    """Solver of `FSAUC`, which has the formulas.

    All projections are factors on two vectors, so a row costs O(its non-zeros);
    each of the O(log n) restarts costs O(n_features). The sample weight of a row
    multiplies its step, its part in p and its iterate's in the mean. `step`
    updates its state in place.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.fsauc import FSAUCSolver
    >>> solver = FSAUCSolver(eta0=0.1, radius=10.0)
    >>> state = solver.step(solver.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> solver.weights(state).tolist()
    [0.1]
    """

    name: ClassVar[str] = "fsauc"

    eta0: float = parameter(0.03, POSITIVE)
    radius: float = parameter(1.0, POSITIVE)
    stage_size: int = parameter(1000, Count(1))
    n_rows: int = parameter(0, Count(0))

    def start(self, n_features: int) -> StagedState:
        """Return the state before any row."""
        scalars = np.zeros(13)
        scalars[FACTOR] = 1.0
        centres, starts, sums, counts, n_rows = np.zeros((5, 2))
        return StagedState(
            np.zeros((n_features, 5)), counts, n_rows, centres, starts, sums, np.zeros((2, 3)), scalars
        )  # fmt: skip

    def stages(self) -> Stages:
        """Return how the rows are divided into stages."""
        if self.n_rows < 4:
            return Stages(float(self.stage_size), 2.0, np.sqrt(0.5), 0.0)
        n_stages = max(1, int(0.5 * np.log2(2.0 * self.n_rows / np.log2(self.n_rows))) - 1)
        return Stages(float(self.n_rows // n_stages), 1.0, 0.5, float(n_stages))

    def step(self, state: StagedState, rows: Rows, labels: Labels, weight: Floats | None = None) -> StagedState:
        """Take one step per row, in order."""
        weights = row_weights(weight)
        longest = max(state.scalars[LONGEST], np.sqrt(sum_row_squares(rows)))
        check_saddle_overflow(self.eta0, self.radius, longest, weights.max(initial=1.0))
        for part, block in sparse_blocks(rows):
            staged_pass(
                block, labels[part], weights[part], float(self.eta0), float(self.radius), self.stages(), state
            )  # fmt: skip
        return state

    def weights(self, state: StagedState) -> Floats:
        """Return the mean of the iterates of the present stage, which began at that of the stage before."""
        scalars, records = state.scalars, state.records
        if scalars[STAGE_WEIGHT] == 0.0:
            return records[:, START].copy()
        moved = scalars[START_FACTOR_SUM] * records[:, START] + scalars[FACTOR_SUM] * records[:, WEIGHT]
        mean: Floats = records[:, START] + (moved + records[:, WEIGHT_SUM]) / scalars[STAGE_WEIGHT]
        return mean

    def counts(self, state: StagedState) -> ClassCounts:
        """Return the total sample weight of each class."""
        return ClassCounts(*state.counts.tolist())

    def summary(self, state: StagedState, weights: Floats) -> ScoreSummary:
        """Return exact counts and mean scores, and progressive estimates of the variances."""
        return progressive_summary(state.counts, state.records[:, SUMS:START], state.spreads, weights)

    def rollback(self, state: StagedState, rows: Rows) -> Rollback:  # noqa: ARG002
        """Return a rollback of the whole state, because a restart changes all features."""
        return Rollback().keep(*state)


@own_docstrings("opauc.baselines")
class FSAUC(StreamClassifier):
    """Linear scorer that minimizes the square pair loss as a saddle point in stages, in one pass.

    The saddle point is that of SOLAM: with p the share of positive rows so far,
    a positive row x has

        G(w, a, b; alpha) = (1 - p) ((w.x - a)^2 - 2 (1 + alpha) w.x) - p (1 - p) alpha^2,

    a negative one p ((w.x - b)^2 + 2 (1 + alpha) w.x) - p (1 - p) alpha^2. Each
    row is one step down in v = (w, a, b) and up in alpha, of a size that is
    constant in a stage, then projections: to |w| <= radius, |a|, |b| <= radius k
    and |alpha| <= 2 radius k with k the largest |x|; then v to distance r, and
    alpha to distance 2 sqrt(2) k r, from where the stage began. The next stage
    begins at the mean iterate of this one, alpha at its optimum
    w.(mean negative row - mean positive row), with half the step and a smaller r;
    the first r is 2 radius sqrt(1 + 2 k^2). The excess loss after n rows is
    O(log(n) / n), without strong convexity. A row costs O(its non-zeros).

    Source: M. Liu, X. Zhang, Z. Chen, X. Wang and T. Yang, "Fast stochastic AUC
    maximization with O(1/n)-convergence rate", ICML 2018.

    Differences from the publication: the publication needs the number n of rows
    beforehand, for m = floor(log2(2 n / log2 n) / 2) - 1 stages of n / m rows
    with r halved from stage to stage; set `n_rows` for these. Without it, as on
    a stream, each stage is twice as long as the one before and r shrinks by
    sqrt(2), which keeps the step at the order of 1/n; the guarantee was not
    proved for this. The ball of w is that of the Euclidean norm instead of the
    sum of absolute values, k is the largest |x| so far, the step halves exactly
    and alpha's distance has no confidence term.

    Step and radius have the units of the features: scale the features to about
    one, and tune both.

    Parameters
    ----------
    eta0 : float, default=0.03
        Step size of the first stage.
    radius : float, default=1.0
        Bound on |w|.
    stage_size : int, default=1000
        Rows of the first stage, if `n_rows` is 0.
    n_rows : int, default=0
        Number of rows of the whole pass, 0 if not known; below 4 it does not
        count as known. Rows beyond it belong to the last stage.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The class labels, the positive class last.
    coef_ : ndarray of shape (1, n_features)
        Weights of the scorer.
    intercept_ : ndarray of shape (1,)
        Intercept of the scorer, midway between the class means of the scores.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had string column names.

    Examples
    --------
    >>> from opauc.baselines import FSAUC
    >>> model = FSAUC().partial_fit([[0.0], [1.0]], ["ham", "ham"], classes=["ham", "spam"])
    >>> model.partial_fit([[2.0], [4.0]], ["spam", "spam"]).predict([[3.5]])
    array(['spam'], dtype='<U4')
    """

    _solver = FSAUCSolver

    def __init__(
        self, *, eta0: float = 0.03, radius: float = 1.0, stage_size: int = 1000, n_rows: int = 0
    ) -> None:  # fmt: skip
        self.eta0 = eta0
        self.radius = radius
        self.stage_size = stage_size
        self.n_rows = n_rows
