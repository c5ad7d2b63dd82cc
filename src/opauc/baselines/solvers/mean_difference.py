"""The difference of the class means: what every other learner has to improve on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opauc.core.solver import MergeableSolver
from opauc.linear.moments.features import FeatureMoments
from opauc.types import Floats, Labels, Rows


@dataclass(frozen=True)
class MeanDifference(MergeableSolver[FeatureMoments]):
    """Take the difference of the class means for weights; two numbers a feature and class are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.solvers.mean_difference import MeanDifference
    >>> learner = MeanDifference()
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).tolist()
    [2.0]
    """

    name: ClassVar[str] = "mean_difference"

    def start(self, n_features: int) -> FeatureMoments:
        """Return statistics of no rows."""
        return FeatureMoments.empty(n_features)

    def step(self, state: FeatureMoments, rows: Rows, labels: Labels, weight: Floats | None = None) -> FeatureMoments:
        """Return the statistics with the chunk in them."""
        return state.update(rows, labels, weight)

    def weights(self, state: FeatureMoments) -> Floats:
        """Return the difference of the class means; zero until both classes were seen."""
        return state.mean_difference() if state.counts.both else np.zeros(state.n_features)
