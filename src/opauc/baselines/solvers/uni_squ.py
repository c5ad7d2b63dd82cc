"""Online Uni-Squ: the square loss of single rows, both classes weighing the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from opauc.baselines.solvers.univariate import UnivariateSolver


@dataclass(frozen=True)
class UniSqu(UnivariateSolver):
    """Descend on the square loss of each row, weighted so that both classes count alike.

    A row x with label y moves the weights by

        w += step omega (y - w.x) x,    omega = rows / (2 rows of the class of x),

    from the counts so far, this row included; no step is taken until both
    classes were seen (Kotlowski, Dembczynski, Huellermeier 2011, online as in
    the study of OPAUC). `UnivariateSolver` tells
    of step sizes, averaging and weights.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.solvers.uni_squ import UniSqu
    >>> learner = UniSqu(eta0=0.1, learning_rate="constant", average=False)
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).tolist()
    [0.2]
    """

    name: ClassVar[str] = "uni_squ"

    exponential = False
