"""What an estimator has learnt."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from opauc.scorers import LinearScorer


@dataclass(frozen=True, eq=False)
class Solution:
    """A learner and its state; weights are worked out when first asked for, then kept."""

    learner: Any
    state: Any

    @cached_property
    def moments(self) -> Any:
        """Class statistics of the rows learnt from."""
        return self.learner.moments(self.state)

    @cached_property
    def scorer(self) -> LinearScorer:
        """The linear scorer."""
        weights = self.learner.weights(self.state)
        weights.flags.writeable = False
        return LinearScorer.of(weights, self.learner.summary(self.state, weights))
