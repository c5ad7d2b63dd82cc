"""OPAUC with full covariance matrices on rows mapped to fewer dimensions, in one pass."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from opauc.core.fit import Fit
from opauc.core.parameters import Count, Option, check_param
from opauc.core.solver import AnySolver
from opauc.linear.estimator import StreamClassifier
from opauc.linear.fit import LinearFit, Resolved
from opauc.linear.maps import LinearMap
from opauc.linear.resolve import LinearFactory, resolve_opauc
from opauc.types import RandomState, Settings


class ReducedParameters:
    """The parameters of OPAUC with full covariance in `n_components` dimensions."""

    def __init__(
        self,
        *,
        n_components: int = 1000,
        solver: str = "exact",
        alpha: float = 1e-4,
        eta0: float = 1e4,
        learning_rate: str = "curvature",
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


class ProjectedClassifier(ReducedParameters, StreamClassifier):
    """OPAUC with full covariance on randomly mapped rows; a subclass sets `_map_kind` to the class of its map."""

    _map_kind: ClassVar[type[LinearMap]]

    @property
    def map_(self) -> LinearMap:
        """The map of the rows to fewer dimensions."""
        linear_map = self._fitted.map
        assert linear_map is not None, "the solver factory always draws one"
        return linear_map

    @property
    def n_components_(self) -> int:
        """Dimensions of the mapped rows: `n_components`, or the number of features if that is less."""
        return self.map_.n_features

    def _factory(self) -> LinearFactory:
        resolve = partial(_resolve_projected, self._map_kind)
        return LinearFactory(type(self).__name__, self.get_params(deep=False), resolve)

    def _check_fit(self, fit: Fit) -> None:
        super()._check_fit(fit)
        if not isinstance(fit, LinearFit) or fit.map is None:
            raise ValueError(f"{type(self).__name__} maps its rows, but there is no map")


def _resolve_projected(
    map_kind: type[LinearMap],
    estimator: str,
    parameters: Settings,
    n_features: int,
    _dtype: str,
) -> Resolved:
    """Return OPAUC's solver with full covariance behind a map that is drawn when training starts."""
    size = min(check_param(estimator, "n_components", parameters["n_components"], Count()), n_features)
    solver = full_covariance_solver(estimator, parameters, size)
    return Resolved(solver, partial(map_kind.sample, size, parameters["random_state"], n_features))


def full_covariance_solver(estimator: str, parameters: Settings, n_components: int) -> AnySolver:
    """Return OPAUC's solver with full covariance and without standardizing, for rows of that length."""
    check_param(estimator, "solver", parameters["solver"], Option(("exact", "sgd")))
    settings = {**parameters, "rank": None, "standardize": False, "forgetting_factor": 1.0, "n_jobs": None}
    return resolve_opauc(estimator, settings, n_components, "float64").solver
