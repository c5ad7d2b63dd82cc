"""Online Uni-Exp: the exponential loss of single rows, both classes weighing the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from opauc.baselines.solvers.univariate import UnivariateSolver


@dataclass(frozen=True)
class UniExp(UnivariateSolver):
    """Descend on the exponential loss of each row, weighted so that both classes count alike.

    A row x with label y moves the weights by

        w += step omega y exp(-y w.x) x,    omega = rows / (2 rows of the class of x),

    from the counts so far, this row included; no step is taken until both
    classes were seen (Kotlowski, Dembczynski, Huellermeier 2011, online as in
    the study of OPAUC). The exponent is held at ten: where a row is that far
    on the wrong side the printed step is beyond all bounds. `UnivariateSolver` tells
    of step sizes, averaging and weights.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.solvers.uni_exp import UniExp
    >>> learner = UniExp(eta0=0.1, learning_rate="constant", average=False)
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).tolist()
    [0.2]
    """

    name: ClassVar[str] = "uni_exp"

    exponential = True
