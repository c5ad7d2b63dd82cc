"""OPAUC with full covariance matrices on rows mapped to fewer dimensions, as one pass over the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from opauc.core.parameters import Count, Option, check_param
from opauc.core.solver import AnySolver
from opauc.linear.choice import Choice
from opauc.linear.estimator import StreamClassifier
from opauc.linear.maps import LinearMap
from opauc.linear.resolve import OpaucRecipe
from opauc.types import RandomState, Settings


class ProjectedClassifier(StreamClassifier):
    """A classifier whose parameters are those of OPAUC with full covariance, and `n_components`.

    A subclass says in `_map_kind` which kind of map is drawn.
    """

    _map_kind: ClassVar[type[LinearMap]]

    def __init__(
        self,
        *,
        n_components: int = 1000,
        solver: str = "exact",
        alpha: float = 1e-4,
        eta0: float = 1e4,
        learning_rate: str = "theorem",
        average: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.alpha = alpha
        self.eta0 = eta0
        self.learning_rate = learning_rate
        self.average = average
        self.random_state = random_state

    @property
    def map_(self) -> LinearMap:
        """The map of the rows."""
        mapped = self.solution_.map
        assert mapped is not None, "every solution here has one"
        return mapped

    @property
    def n_components_(self) -> int:
        """Dimensions of the mapped rows: `n_components`, or the number of features if that is less."""
        return self.map_.n_features

    def _recipe(self) -> ProjectedRecipe:
        return ProjectedRecipe(type(self).__name__, self.get_params(deep=False), self._map_kind)


@dataclass(frozen=True)
class ProjectedRecipe:
    """OPAUC's learner with full covariance behind a map that is drawn when learning starts."""

    owner: str
    parameters: Settings
    kind: type[LinearMap]

    def choose(self, n_features: int, dtype: str) -> Choice:  # noqa: ARG002
        """Return the learner for mapped rows."""
        size = min(check_param(self.owner, "n_components", self.parameters["n_components"], Count()), n_features)
        learner = full_covariance(self.owner, self.parameters, size)
        return Choice(learner, partial(self.kind.sample, size, self.parameters["random_state"], n_features))


def full_covariance(owner: str, given: Settings, n_components: int) -> AnySolver:
    """Return OPAUC's learner with full covariance for rows of that length, as the paper has it."""
    check_param(owner, "solver", given["solver"], Option(("exact", "sgd")))
    settings = {**given, "rank": None, "standardize": False, "forgetting_factor": 1.0, "n_jobs": None}
    return OpaucRecipe(settings, owner).choose(n_components, "float64").learner
