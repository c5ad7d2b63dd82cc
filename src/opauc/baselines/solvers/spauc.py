"""SPAUC: the square pair loss from rows less the mean of their own class, in O(entries) a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opauc.baselines.kernels.centered_descent import centered_pass
from opauc.core.parameters import NON_NEGATIVE, POSITIVE, SWITCH, Option, parameter
from opauc.core.row_blocks import row_weights, sparse_blocks, sum_row_squares
from opauc.linear.means import MeansSolver, MeansState
from opauc.linear.sgd import LEARNING_RATES
from opauc.types import Floats, Labels, Rows


@dataclass(frozen=True)
class SPAUC(MeansSolver):
    """Descend along an estimate of the gradient of the pair loss that needs the class means alone.

    With p the share of positive rows, c the mean of the class of x and q the
    share of the other class, d the difference of the class means, all of the
    rows so far, this one included, a row x moves the weights by

        w <- (w - step (q w.(x - c) (x - c) - p (1 - p) (1 - w.d) d)) / (1 + step alpha)

    (Lei and Ying 2021; the division is the proximal step of a ridge). The
    expectation is the gradient of the square pair loss times p (1 - p), so
    `alpha` compares with p (1 - p) times that of OPAUC.

    Step sizes "constant" and "invsqrt" are eta0 and eta0 / sqrt(t);
    "theorem" is 1 / (1 + sqrt(1 + t / eta0)) over the largest curvature so
    far: it does not depend on the units of the features and cannot diverge.
    With `average`, the weights are the mean of the iterates, iterate t
    weighted by t^2. Rows are not centered, or they would not be sparse: see
    `ClassMeans` for what that costs far from zero. The weight of a row is a
    factor on its part in means and shares and on its step, the division apart;
    a step "theorem" is held at one over the curvature. `step` writes into the
    state it is given.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.solvers.spauc import SPAUC
    >>> learner = SPAUC(alpha=0.0, eta0=0.4, learning_rate="constant", average=False)
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).tolist()
    [0.2]
    """

    name: ClassVar[str] = "spauc"

    alpha: float = parameter(0.0, NON_NEGATIVE)
    eta0: float = parameter(1e4, POSITIVE)
    learning_rate: str = parameter("theorem", Option(tuple(LEARNING_RATES)))
    average: bool = parameter(True, SWITCH)

    def step(self, state: MeansState, rows: Rows, labels: Labels, weight: Floats | None = None) -> MeansState:
        """Take a step on each row in order."""
        relative, sizes = self.step_sizes(state.parts, labels.size)
        weights, alpha = row_weights(weight), float(self.alpha)
        sum_row_squares(rows)
        # Beyond the range of float64 only plain Python, where nothing is compiled, would warn.
        with np.errstate(over="ignore", invalid="ignore"):
            for part, block in sparse_blocks(rows):
                centered_pass(block, labels[part], weights[part], sizes[part], relative, alpha, state.parts)
        if not relative:
            self.check_divergence(state.parts)
        return state

    def kept(self, decay: Floats) -> Floats:
        """Return the factors on w of steps with step * alpha = `decay`."""
        return 1.0 / (1.0 + decay)
