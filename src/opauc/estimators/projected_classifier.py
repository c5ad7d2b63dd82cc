"""OPAUC with full covariance matrices on rows mapped to fewer dimensions, as one pass over the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from opauc.estimators.parameter_checks import check_count, check_option
from opauc.estimators.stream_classifier import StreamClassifier
from opauc.statistics.chunk_rows import Labels, Rows
from opauc.statistics.score_summary import ScoreSummary
from opauc.training.settings import make_learner

Floats = NDArray[np.float64]

# Mapped rows held at a time.
ROWS_PER_BLOCK = 16384


class Projection(Protocol):
    """A linear map of rows that does not change from chunk to chunk."""

    @classmethod
    def drawn(cls, n_components: int, random_state: Any, n_features: int) -> Projection:
        """Return a random map from `n_features` to as many or fewer dimensions."""

    @property
    def n_components(self) -> int:
        """Dimensions of a mapped row."""

    def project(self, rows: Rows) -> Rows:
        """Return the mapped rows."""

    def weights_of(self, weights: Floats) -> Floats:
        """Return weights that score rows as `weights` score the mapped rows."""


@dataclass(frozen=True, eq=False)
class ProjectedState:
    """The map, and what the learner behind it learnt from mapped rows."""

    projection: Projection
    learner: Any
    inner: Any

    @cached_property
    def inner_weights(self) -> Floats:
        """Weights of the mapped rows."""
        weights: Floats = self.learner.weights(self.inner)
        return weights


@dataclass(frozen=True)
class ProjectedLearner:
    """A learner behind a map that is drawn when learning starts."""

    learner: Any
    draw: Callable[[int], Projection]

    def start(self, n_features: int) -> ProjectedState:
        """Return the state before any row, with its map."""
        projection = self.draw(n_features)
        return ProjectedState(projection, self.learner, self.learner.start(projection.n_components))

    def step(self, state: ProjectedState, rows: Rows, labels: Labels) -> ProjectedState:
        """Return the state after a chunk, mapped a block of rows at a time."""
        inner = state.inner
        for start in range(0, labels.size, ROWS_PER_BLOCK):
            part = slice(start, start + ROWS_PER_BLOCK)
            inner = self.learner.step(inner, state.projection.project(rows[part]), labels[part])
        return ProjectedState(state.projection, self.learner, inner)

    def weights(self, state: ProjectedState) -> Floats:
        """Return the weights of the rows as they were given."""
        return state.projection.weights_of(state.inner_weights)

    def summary(self, state: ProjectedState, _weights: Floats) -> ScoreSummary:
        """Return what the statistics of the mapped rows say of the scores, which are the same for both."""
        summary: ScoreSummary = state.learner.summary(state.inner, state.inner_weights)
        return summary

    def moments(self, state: ProjectedState) -> Any:
        """Return the class statistics of the mapped rows."""
        return state.learner.moments(state.inner)


class ProjectedClassifier(StreamClassifier):
    """A classifier whose parameters are those of OPAUC with full covariance, and `n_components`.

    A subclass says in `_projection` which kind of map it draws.
    """

    _projection: type[Projection]

    def __init__(
        self,
        *,
        n_components: int = 1000,
        solver: str = "exact",
        alpha: float = 1e-4,
        eta0: float = 1e4,
        learning_rate: str = "theorem",
        average: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.alpha = alpha
        self.eta0 = eta0
        self.learning_rate = learning_rate
        self.average = average
        self.random_state = random_state

    @property
    def n_components_(self) -> int:
        """Dimensions of the mapped rows: `n_components`, or the number of features if that is less."""
        projection: Projection = self.solution_.state.projection
        return projection.n_components

    def _learner(self) -> ProjectedLearner:
        owner = type(self).__name__
        size = min(check_count(owner, "n_components", self.n_components), self.n_features_in_)
        learner = full_covariance(owner, self.get_params(deep=False), size)
        return ProjectedLearner(learner, partial(self._projection.drawn, size, self.random_state))


def full_covariance(owner: str, given: Mapping[str, Any], n_components: int) -> Any:
    """Return OPAUC's learner with full covariance for rows of that length, from an estimator's parameters."""
    check_option(owner, "solver", given["solver"], ("exact", "sgd"))
    settings = dict(given) | {"rank": None, "forgetting": 1.0, "n_jobs": None}
    return make_learner(owner, settings, n_components, "float64")[0]
