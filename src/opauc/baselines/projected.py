"""OPAUC with full covariance matrices on rows mapped to fewer dimensions, in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from opauc.core.parameters import Count, Option, checked
from opauc.core.solver import AnySolver
from opauc.linear.choice import Choice
from opauc.linear.estimator import StreamClassifier
from opauc.linear.maps import LinearMap
from opauc.linear.resolve import OpaucRecipe
from opauc.types import RandomState, Settings


class ProjectedClassifier(StreamClassifier):
    """A classifier with the parameters of OPAUC with full covariance, and `n_components`.

    A subclass sets `_map_kind` to the class of its random map.
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
        """The map of the rows to fewer dimensions."""
        linear_map = self.solution_.map
        assert linear_map is not None, "the solver factory always draws one"
        return linear_map

    @property
    def n_components_(self) -> int:
        """Dimensions of the mapped rows: `n_components`, or the number of features if that is less."""
        return self.map_.n_features

    def _recipe(self) -> ProjectedSolverFactory:
        return ProjectedSolverFactory(type(self).__name__, self.get_params(deep=False), self._map_kind)


@dataclass(frozen=True)
class ProjectedSolverFactory:
    """OPAUC's solver with full covariance behind a map that is drawn when training starts."""

    estimator_name: str
    parameters: Settings
    map_kind: type[LinearMap]

    def choose(self, n_features: int, dtype: str) -> Choice:  # noqa: ARG002
        """Return the solver for mapped rows and the function that draws the map."""
        n_components = checked(self.estimator_name, "n_components", self.parameters["n_components"], Count())
        size = min(n_components, n_features)
        solver = full_covariance_solver(self.estimator_name, self.parameters, size)
        return Choice(solver, partial(self.map_kind.drawn, size, self.parameters["random_state"], n_features))


def full_covariance_solver(estimator_name: str, parameters: Settings, n_components: int) -> AnySolver:
    """Return OPAUC's solver with full covariance and without standardizing, for rows of that length."""
    checked(estimator_name, "solver", parameters["solver"], Option(("exact", "sgd")))
    settings = {**parameters, "rank": None, "standardize": False, "forgetting_factor": 1.0, "n_jobs": None}
    return OpaucRecipe(settings, estimator_name).choose(n_components, "float64").learner
