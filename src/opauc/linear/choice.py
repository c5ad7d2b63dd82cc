"""From the parameters of an estimator to the learner they ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from opauc.core.parameters import from_params
from opauc.core.solver import AnySolver
from opauc.linear.maps import LinearMap
from opauc.types import Settings

# The covariance matrices of one model may take this much memory.
FULL_COVARIANCE_BYTES = 2 * 2**30


class Choice(NamedTuple):
    """A learner, what draws the map of rows before it, and what to publish of the choice."""

    learner: AnySolver
    draw: Callable[[], LinearMap] | None = None
    published: Settings | None = None


class Recipe(Protocol):
    """How rows are to be learned: every parameter is checked when it is asked."""

    def choose(self, n_features: int, dtype: str) -> Choice:
        """Return the learner for rows of so many features."""


@dataclass(frozen=True)
class LearnerRecipe:
    """Always the same learner, with the parameters of an estimator that have the names of its settings.

    Examples
    --------
    >>> from opauc.linear.exact import Exact
    >>> from opauc.linear.choice import LearnerRecipe
    >>> LearnerRecipe("LSSVM", Exact, {"alpha": 0.5}).choose(3, "float64").learner
    Exact(alpha=0.5, forgetting_factor=1.0, n_jobs=1, standardize=False)
    """

    owner: str
    learner: type[AnySolver]
    parameters: Settings = field(default_factory=dict)

    def choose(self, n_features: int, dtype: str) -> Choice:  # noqa: ARG002
        """Return the learner, which must be able to keep its matrices."""
        learner = from_params(self.owner, self.learner, self.parameters)
        refuse_wide(self.owner, n_features, n_matrices=learner.n_covariances)
        return Choice(learner)


@dataclass(frozen=True)
class SameLearner:
    """The learner that a model began with."""

    learner: AnySolver
    published: Settings = field(default_factory=dict)

    def choose(self, n_features: int, dtype: str) -> Choice:  # noqa: ARG002
        """Return the learner, whatever the rows."""
        return Choice(self.learner, published=self.published)


def refuse_wide(owner: str, n_features: int, advice: str = "", n_matrices: int = 2) -> None:
    """Raise where so many covariance matrices would take too much memory.

    >>> from opauc.linear.choice import refuse_wide
    >>> refuse_wide("OPAUCCV", 8_000, n_matrices=10)
    Traceback (most recent call last):
        ...
    ValueError: 10 covariance matrices of 8000 features take 4.8 GiB; OPAUCCV uses at most 2 GiB
    """
    size = 8 * n_matrices * n_features**2
    if size > FULL_COVARIANCE_BYTES:
        raise ValueError(
            f"{'two' if n_matrices == 2 else n_matrices} covariance matrices of {n_features} features take "
            f"{size / 2**30:.1f} GiB; {owner} uses at most {FULL_COVARIANCE_BYTES / 2**30:g} GiB{advice}"
        )
