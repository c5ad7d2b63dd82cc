"""From the parameters of linear estimators to the solver they ask for, and to the fit it begins."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from opauc.core.batch import ResumePosition
from opauc.core.fit import Fit, IncompatibleSolverError, Opening, Sharding, ShardPosition
from opauc.core.labels import ClassLabels
from opauc.core.model import RowReading
from opauc.core.parameters import Count, Option, Threads, check_param, from_params, is_whole
from opauc.core.registry import DEVICE_SOLVERS, SOLVERS
from opauc.core.solver import AnySolver, MergeableSolver
from opauc.data.encode.encoder import check_onehot_state
from opauc.data.table_source import Source
from opauc.errors import Parameter, ParameterError, UnsupportedOperationError
from opauc.linear.exact_cv import ExactCV
from opauc.linear.fit import LinearFit, Resolved
from opauc.linear.grid import GridSGD
from opauc.linear.logistic import BALANCED, LOGISTIC, Logistic
from opauc.linear.multiclass.resolve import check_several, multiclass_solver
from opauc.linear.partial_auc import PartialAuc
from opauc.linear.sgd import SGD
from opauc.linear.sketch_grid import SketchedGridSGD
from opauc.linear.within_groups import WithinGroups
from opauc.types import Rows, Settings

# The covariance matrices of one model may take this much memory.
FULL_COVARIANCE_BYTES = 2 * 2**30
# Rank of the sketch where rank="auto" has to have one.
SKETCH_RANK = 50
SELECTION = "progressive_selection"
SOLVER_OPTION = Option(("auto", "exact", "sgd", SELECTION))
# The parameters of OPAUC and their defaults.
DEFAULTS: Settings = {
    "solver": "auto", "alpha": 1e-4, "rank": "auto", "eta0": 1e4, "learning_rate": "curvature", "average": True,
    "standardize": True, "forgetting_factor": 1.0, "horizon": 1000, "n_jobs": None, "random_state": None,
    "loss": "square", "init_size": 16_384, "pairs": "all", "group_weight": "equal", "max_gap": 10_000,
    "objective": "auc", "max_fpr": 0.01,
}  # fmt: skip
PAIRS_OPTION = Option(("all", WithinGroups.name))
OBJECTIVE_OPTION = Option(("auc", "pauc"))
LOSS_OPTION = Option(("square", LOGISTIC, BALANCED))
# What the logistic loss needs of other parameters; the last value is named in the message.
LOGISTIC_NEEDS: dict[str, tuple[object, ...]] = {
    "solver": ("auto", "exact"), "rank": ("auto", None), "forgetting_factor": (1.0,), "criterion": ("pair_loss",),
}  # fmt: skip
CV_SOLVERS: dict[str, type[AnySolver]] = {"exact": ExactCV, "sgd": GridSGD}

# Name of the estimator, its parameters, number of features and type of the rows: the solver.
Resolve: TypeAlias = Callable[[str, Settings, int, str], Resolved]


@dataclass(frozen=True, eq=False)
class LinearFactory:
    """How the parameters of a linear estimator become a fit.

    `resolve` checks every parameter and picks the solver for rows of so many
    features. `shard` is set for the fit of one of several shards, `device` for
    a solver that does its work on a torch device.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.resolve import opauc_factory
    >>> opauc_factory({}).prepare(None, np.empty((0, 1_000_000))).fitted_attributes
    {'solver_': 'progressive_selection', 'rank_': 0}
    """

    estimator: str
    parameters: Settings
    resolve: Resolve
    shard: ShardPosition | None = None
    device: str | None = None
    n_classes: int = 2

    @property
    def several_classes(self) -> bool:
        """Whether files may have more than two classes: where a solver has none, the error says which has."""
        return True

    def resolved(self, n_features: int, dtype: str = "float64") -> Resolved:
        """Return the solver for rows of so many features."""
        resolved = self.resolve(self.estimator, self.parameters, n_features, dtype)
        if self.n_classes > 2:
            most = int(np.sqrt(FULL_COVARIANCE_BYTES / (8 * self.n_classes)))
            check_several(resolved, self.parameters, self.device, self.n_classes, most)
            resolved = resolved._replace(solver=multiclass_solver(resolved.solver, self.n_classes))
            check_covariance_size(
                f"{self.estimator} of {self.n_classes} classes", n_features, n_matrices=resolved.solver.n_covariances
            )
        if self.device is not None:
            resolved = _on_device(resolved, self.device)
        if self.shard is not None:
            solver = shard_solver(resolved).of_shard(self.shard.key, self.shard.number)
            resolved = resolved._replace(solver=solver)
        return resolved

    def prepare(self, fit: Fit | None, rows: Rows, position: ResumePosition | None = None) -> LinearFit:  # noqa: ARG002
        """Return a first fit, or the fit under the parameters of now, as wide as the rows."""
        if fit is None:
            begun = LinearFit.start(self.resolved(rows.shape[1], str(rows.dtype)), rows.shape[1])
            return begun if self.shard is None else begun.shard(self.shard.first_row)
        width = max(rows.shape[1], fit.n_features)
        now = self.under(fit, width, str(rows.dtype))
        return now if width == fit.n_features else now.widen(width)

    def under(self, fit: Fit, n_features: int, dtype: str = "float64") -> LinearFit:
        """Return the fit under the parameters of now, which must ask for the same solver."""
        assert isinstance(fit, LinearFit), "estimators of this family have no other"
        resolved = self.resolved(n_features, dtype)
        if resolved.solver.name != fit.solver.name:
            raise IncompatibleSolverError(fit, resolved.attributes or {})
        return fit.with_solver(resolved)

    def check_resumed(self, fit: Fit, position: ResumePosition) -> None:
        """Raise ValueError where the fit is of another solver than the parameters ask for."""
        if position.encoding is not None:
            check_onehot_state(position.encoding)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever began was warned
            resolved = self.resolved(fit.n_features)
        if (
            not isinstance(fit, LinearFit)
            or type(resolved.solver) is not type(fit.solver)
            or (resolved.attributes or {}) != fit.attributes
        ):
            raise ValueError("its parameters ask for another solver than the one that began")

    def open_files(self, paths: Sequence[Source], reading: RowReading, labels: ClassLabels) -> Opening:  # noqa: ARG002
        """Return what is known before the pass: what the user says."""
        return Opening(self, reading, labels)

    def sharding(self, rows: Rows) -> Sharding:
        """Return what shards must know of each other; raise UnsupportedOperationError where they do not merge."""
        solver = shard_solver(self.resolved(rows.shape[1], str(rows.dtype)))
        return Sharding(solver.shard_key(), solver.numbers_rows, bytes_of_state(solver, rows.shape[1]))

    def for_shard(self, shard: ShardPosition) -> LinearFactory:
        """Return the factory of one of several shards."""
        return replace(self, shard=shard)

    def for_classes(self, n_classes: int) -> LinearFactory:
        """Return the factory of fits of so many classes."""
        return replace(self, n_classes=n_classes)

    def for_segments(self) -> LinearFactory:
        """Return itself: its fits share their parameters alone."""
        return self

    @property
    def begins_fixed(self) -> bool:
        """True: nothing is fixed by rows."""
        return True


def opauc_factory(parameters: Settings, estimator: str = "OPAUC", device: str | None = None) -> LinearFactory:
    """Return how the parameters of `OPAUC` become a fit."""
    return LinearFactory(estimator, parameters, resolve_opauc, device=device)


def opauc_cv_factory(parameters: Settings, estimator: str = "OPAUCCV", device: str | None = None) -> LinearFactory:
    """Return how the parameters of `OPAUCCV` become a fit.

    Examples
    --------
    >>> from opauc.linear.resolve import opauc_cv_factory
    >>> opauc_cv_factory({"cv": 3}).resolved(4).solver.cv
    3
    """
    return LinearFactory(estimator, {"solver": "exact", "rank": None, **parameters}, resolve_opauc_cv, device=device)


def solver_factory(estimator: str, kind: type[AnySolver], parameters: Settings) -> LinearFactory:
    """Return how parameters that have the names of a solver's settings become its fit.

    Examples
    --------
    >>> from opauc.linear.exact import Exact
    >>> from opauc.linear.resolve import solver_factory
    >>> solver_factory("LSSVM", Exact, {"alpha": 0.5}).resolved(3).solver
    Exact(alpha=0.5, forgetting_factor=1.0, n_jobs=1, standardize=False)
    """
    return LinearFactory(estimator, parameters, partial(_resolve_kind, kind))


def fixed_factory(solver: AnySolver, attributes: Settings | None = None) -> LinearFactory:
    """Return the factory of one solver, whatever the rows."""
    resolved = Resolved(solver, attributes=attributes)
    return LinearFactory(solver.name, {}, lambda *_: resolved)


def _resolve_kind(
    kind: type[AnySolver],
    estimator: str,
    parameters: Settings,
    n_features: int,
    _dtype: str,
) -> Resolved:
    solver: AnySolver = from_params(estimator, kind, parameters)
    check_covariance_size(estimator, n_features, n_matrices=solver.n_covariances)
    return Resolved(solver)


def resolve_opauc(estimator: str, parameters: Settings, n_features: int, dtype: str) -> Resolved:
    """Return the solver and rank that the parameters of `OPAUC` ask for, or that suit the number of features."""
    given = {**DEFAULTS, **parameters}
    # Parameters of what is not asked for must be right all the same.
    within = from_params(estimator, WithinGroups, given)
    from_params(estimator, PartialAuc, {name: given[name] for name in ("max_fpr", "init_size")})
    if check_param(estimator, "objective", given["objective"], OBJECTIVE_OPTION) == "pauc":
        return _resolve_partial_auc(estimator, given, n_features)
    if check_param(estimator, "pairs", given["pairs"], PAIRS_OPTION) == WithinGroups.name:
        _check_needs(given, {**LOGISTIC_NEEDS, "loss": ("square",)}, "pairs", "all")
        advice = ". Set pairs='all' and rank to 0 or a small int."
        check_covariance_size("pairs='within_groups'", n_features, advice, within.n_covariances)
        return Resolved(within, attributes={"solver_": within.name, "rank_": None})
    if check_param(estimator, "loss", given["loss"], LOSS_OPTION) != "square":
        return _resolve_logistic(estimator, given, n_features)
    asked = check_param(estimator, "solver", given["solver"], SOLVER_OPTION)
    rank = _rank(estimator, given["rank"], asked, n_features)
    solver = _solver_name(asked, given["rank"], rank)
    check_param(estimator, "n_jobs", given["n_jobs"], Threads())
    check_param(estimator, "horizon", given["horizon"], Count())
    drifts = given["forgetting_factor"] == "auto"
    descent = from_params(estimator, SGD, {**given, "forgetting_factor": 1.0} if drifts else given)
    if drifts and solver != "exact":
        raise ValueError(f"forgetting_factor='auto' needs solver='exact'; here the solver is {solver!r}")
    if rank is not None and (drifts or descent.forgetting_factor != 1.0):
        raise ValueError(
            f"forgetting_factor={given['forgetting_factor']} needs full covariance, rank=None; here the rank is {rank}"
        )
    settings = {**given, "rank": rank, "dtype": dtype}
    found = from_params(estimator, SOLVERS["drifting" if drifts else _registered_name(solver, rank)], settings)
    if drifts:
        check_covariance_size("forgetting_factor='auto'", n_features, ". Give a number.", found.n_covariances)
    return Resolved(found, attributes={"solver_": solver, "rank_": rank})


def resolve_opauc_cv(estimator: str, parameters: Settings, n_features: int, _dtype: str) -> Resolved:
    """Return the solver of `OPAUCCV`; the parameters of both solvers are checked."""
    solver = check_param(estimator, "solver", parameters["solver"], Option(tuple(CV_SOLVERS)))
    if check_param(estimator, "objective", parameters.get("objective", "auc"), OBJECTIVE_OPTION) == "pauc":
        return _resolve_partial_auc(estimator, parameters, n_features)
    if check_param(estimator, "loss", parameters.get("loss", "square"), LOSS_OPTION) != "square":
        return _resolve_logistic(estimator, parameters, n_features)
    solvers = {name: from_params(estimator, kind, parameters) for name, kind in CV_SOLVERS.items()}
    rank = parameters["rank"]
    if rank is None:
        check_covariance_size(
            estimator, n_features, ". Set solver='sgd' and rank to a small int.", solvers[solver].n_covariances
        )
        return Resolved(solvers[solver], attributes={"solver_": solver, "rank_": None})
    if not is_whole(rank) or int(rank) < 0:
        raise ValueError(
            f"The 'rank' parameter of {estimator} must be None or an int in the range [0, inf). Got {rank!r} instead."
        )
    if solver != "sgd":
        raise ValueError(f"rank={rank} needs solver='sgd', here it is {solver!r}")
    sketched = from_params(estimator, SketchedGridSGD, parameters)
    size = bytes_of_state(sketched, n_features)
    if size > FULL_COVARIANCE_BYTES:
        raise ValueError(
            f"the weights of all pairs and sketches of {n_features} features take {size / 2**30:.1f} GiB; {estimator} "
            f"uses at most {FULL_COVARIANCE_BYTES / 2**30:g} GiB. Give fewer etas or alphas, or a smaller rank."
        )
    return Resolved(sketched, attributes={"solver_": solver, "rank_": int(rank)})


def _resolve_logistic(estimator: str, given: Settings, n_features: int) -> Resolved:
    """Return the solver of the logistic loss; raise where other parameters ask for what only the square loss has."""
    _check_needs(given, LOGISTIC_NEEDS, "loss", "square")
    solver = from_params(estimator, Logistic, given)
    advice = ". Set loss='square' and rank to 0 or a small int, or solver='progressive_selection'."
    check_covariance_size(f"loss={given['loss']!r}", n_features, advice, solver.n_covariances)
    return Resolved(solver, attributes={"solver_": solver.name, "rank_": None})


def _resolve_partial_auc(estimator: str, given: Settings, n_features: int) -> Resolved:
    """Return the solver of a partial AUC, which chooses the loss."""
    needs = {**LOGISTIC_NEEDS, "loss": ("square",), "pairs": ("all",)}
    _check_needs(given, needs, "objective", "auc")
    solver = from_params(estimator, PartialAuc, {name: value for name, value in given.items() if name != "loss"})
    advice = ". Set objective='auc'."
    check_covariance_size("objective='pauc'", n_features, advice, solver.n_covariances)
    return Resolved(solver, attributes={"solver_": solver.name, "rank_": None})


def _check_needs(given: Settings, needs: Mapping[str, tuple[object, ...]], name: str, default: str) -> None:
    """Raise where other parameters have values that the parameter `name` has no use for."""
    for other, allowed in needs.items():
        value = given.get(other, allowed[0])
        if value not in allowed:
            raise ValueError(
                f"{name}={given[name]!r} needs {other}={allowed[-1]!r}, here it is {value!r}; or set {name}={default!r}"
            )


def _rank(estimator: str, rank: object, solver: str, n_features: int) -> int | None:
    """Return the rank meant: None for full covariance matrices, which must fit their budget."""
    number = int(rank) if is_whole(rank) else -1
    if not (rank is None or rank == "auto" or number >= 0):
        raise ValueError(
            f"The 'rank' parameter of {estimator} must be None, 'auto' or an int in the range [0, inf). "
            f"Got {rank!r} instead."
        )
    if solver == SELECTION:
        if rank not in ("auto", 0):
            raise ValueError(f"solver={solver!r} keeps no covariance: rank must be 'auto' or 0, got {rank!r}")
        return 0
    if number >= 0:
        if number > n_features:
            warnings.warn(
                f"rank={rank} is more than n_features={n_features}: full covariance, rank=None, is smaller and exact",
                UserWarning,
                stacklevel=7,
            )
        return number
    if rank == "auto" and 16 * n_features**2 > FULL_COVARIANCE_BYTES:
        return SKETCH_RANK if solver == "exact" else 0
    check_covariance_size("rank=None", n_features, ". Set rank to 0 or a small int, or to 'auto'.")
    return None


def _solver_name(asked: str, asked_rank: object, rank: int | None) -> str:
    """Return the solver meant: progressive selection where nothing was asked for and full covariance does not fit."""
    if asked != "auto":
        return asked
    if rank is None:
        return "exact"
    return SELECTION if asked_rank == "auto" else "sgd"


def _registered_name(solver: str, rank: int | None) -> str:
    """Return the registered name of the solver."""
    if rank is None or solver == SELECTION:
        return solver
    return "class_means" if rank == 0 and solver == "sgd" else f"sketched_{solver}"


def _on_device(resolved: Resolved, device: str) -> Resolved:
    """Return the solver that does the same work on a torch device; raise ValueError where there is none."""
    solver, attributes = resolved.solver, resolved.attributes or {}
    if isinstance(solver, Logistic | WithinGroups):
        needed = {"logistic": "loss='square'", "partial_auc": "objective='auc'"}.get(solver.name, "pairs='all'")
        raise ParameterError(Parameter("device", device), f" needs {needed}; leave it None otherwise")
    if solver.name not in DEVICE_SOLVERS:
        needed = "sgd" if isinstance(solver, ExactCV | SketchedGridSGD) else "exact"
        raise ParameterError(
            Parameter("device", device),
            f" needs solver={needed!r} with full covariance, rank=None; here it is "
            f"{attributes.get('solver_')!r} with rank {attributes.get('rank_')}",
        )
    return resolved._replace(solver=DEVICE_SOLVERS[solver.name].of_solver(solver, device))


def takes_several(factory: LinearFactory) -> bool:
    """Tell whether parameters ask for a solver that takes more than two classes; wrong ones do not.

    Examples
    --------
    >>> from opauc.linear.resolve import opauc_factory, takes_several
    >>> takes_several(opauc_factory({})), takes_several(opauc_factory({"solver": "sgd"}))
    (True, False)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fit will warn
        try:
            factory.for_classes(3).resolved(1)
        except ValueError:
            return False
    return True


def shard_solver(resolved: Resolved) -> MergeableSolver[Any]:
    """Return the solver; raise UnsupportedOperationError unless the sums of shards add up to those of all rows."""
    solver = resolved.solver
    if not isinstance(solver, MergeableSolver) or resolved.draw is not None:
        name = (resolved.attributes or {}).get("solver_", solver.name)
        raise UnsupportedOperationError(
            f"{name!r} processes rows one after the other, here they are processed in shards; that takes solver='exact'"
        )
    if not solver.shards_merge:
        raise UnsupportedOperationError(solver.shards_refusal)
    return solver


def bytes_of_state(solver: AnySolver, width: int) -> float:
    """Return the size of the state, from those of narrow ones: a polynomial of second degree in the width."""
    widths = (16, 32, 48)
    sizes = [sum(array.nbytes for array in solver.to_arrays(solver.start(narrow)).values()) for narrow in widths]
    return float(np.polyval(np.polyfit(widths, sizes, 2), width))


def check_covariance_size(what: str, n_features: int, advice: str = "", n_matrices: int = 2) -> None:
    """Raise ValueError where so many covariance matrices would take too much memory.

    >>> from opauc.linear.resolve import check_covariance_size
    >>> check_covariance_size("OPAUCCV", 8_000, n_matrices=10)
    Traceback (most recent call last):
        ...
    ValueError: 10 covariance matrices of 8000 features take 4.8 GiB; OPAUCCV uses at most 2 GiB
    """
    size = 8 * n_matrices * n_features**2
    if size > FULL_COVARIANCE_BYTES:
        raise ValueError(
            f"{'two' if n_matrices == 2 else n_matrices} covariance matrices of {n_features} features take "
            f"{size / 2**30:.1f} GiB; {what} uses at most {FULL_COVARIANCE_BYTES / 2**30:g} GiB{advice}"
        )
