"""The options of training from files, and the fit factory they resolve to."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

from opauc.api import engines
from opauc.api.cube.policy import CUBE_POLICY
from opauc.core.fit import FitFactory
from opauc.core.labels import ClassLabels
from opauc.core.parameters import ALL_CORES
from opauc.core.registry import FACTORIES
from opauc.data.find_sources import are_tables
from opauc.data.options import ReadOptions
from opauc.data.table_source import Source
from opauc.errors import InputError, Parameter, ParameterError, unknown_name
from opauc.types import Json

AUTO, GAM, SELECTION = "auto", "gam", "progressive_selection"
SOLVERS = (GAM, AUTO, "exact", "sgd", SELECTION)
# Options of linear solvers only: one of them selects a linear model.
LINEAR_OPTIONS = (
    "alpha", "rank", "eta0", "learning_rate", "average", "standardize", "forgetting_factor", "horizon", "cv",
    "criterion", "one_standard_error", "loss", "pairs",
    "group_weight", "max_gap",
)  # fmt: skip
LINEAR_READING = ("groups", "missing", "hash_bits", "n_features", "zero_based")
ADDITIVE_OPTIONS = ("init_size", "trees", "effort")
CONSTRAINT_OPTIONS = ("increasing", "decreasing")
# Linear options that additive models have too, where they are asked for by the solver.
WITHIN_OPTIONS = ("pairs", "groups")
# Options of choosing the penalty by cross-validation.
CV_OPTIONS = ("cv", "criterion", "one_standard_error")


@dataclass(frozen=True)
class TrainOptions:
    """How to train from files or frames.

    Parameters
    ----------
    solver : str, optional
        "gam" (`OnePassGAM`), or a linear solver: "exact", "sgd", "progressive_selection", or "auto", whichever suits
        the number of features. By default "gam" for tables; "auto" for sparse rows, and wherever an option of the
        linear solvers is given.
    alpha : float or "auto"
        Ridge penalty of linear solvers; "auto" chooses it by cross-validation inside the pass.
    rank : "auto", None or int
        None keeps full covariance matrices, an int a sketch of that rank.
    eta0 : float
        Step size of "sgd", as in `OPAUC`.
    learning_rate : {"curvature", "constant", "invsqrt"}
        Schedule of the step size.
    average : bool
        Whether "sgd" gives the mean of its iterates.
    standardize : bool
        Whether features are divided by their standard deviation.
    forgetting_factor : float or "auto"
        Factor on the weight of all earlier rows at each new row.
    horizon : int
        With forgetting_factor="auto": rows between two updates of the weights.
    cv : int
        With alpha="auto": number of folds.
    criterion : {"pair_loss", "auc"}
        With alpha="auto": what the folds are judged by.
    one_standard_error : bool
        With alpha="auto": whether to take the largest penalty within one standard error of the best.
    objective : {"auc", "pauc"}
        As in `OnePassGAM` and `OPAUC`.
    max_fpr : float, optional
        As in `OnePassGAM` and `OPAUC`.
    pairs : str
        As in `OPAUC`, with the column `groups`. With solver "gam", "within_groups" is what `groups` are in
        `OnePassGAM.fit`.
    group_weight : str
        As in `OPAUC`.
    max_gap : float, optional
        As in `OPAUC`.
    loss : {"square", "logistic", "balanced_logistic"}
        As in `OPAUC`; the penalty of a logistic loss is always chosen inside the pass.
    init_size : "auto" or int
        Rows of the initial sample of "gam".
    trees : bool
        Whether a tree ensemble may join "gam".
    effort : {"normal", "high"}
        How slowly the trees of "gam" grow.
    increasing, decreasing : list of str
        Numeric columns in which the score of "gam" never falls, or never rises.
    max_columns : int
        Columns of the basis of "gam"; with `by` the default is 300.
    random_state : int
        Seed of the initial sample, or of the random signs of a sketch.
    n_jobs : int, optional
        Threads, or workers of a cluster; -1 uses all cores. By default "gam" reads rows in order and uses all cores
        for its sums, and linear solvers use one. With a number other than 1, "gam" and "exact" read and process
        shards of the files apart.
    positive : str, optional
        Label of the positive rows; all others are negative.
    classes : sequence of labels, optional
        All class labels: two, or more for an additive model and the solver "exact". By default they are those of the
        initial sample or of the first batch of rows (of the first batches, as long as these have one label).
    basis_from : path, optional
        A model of `OnePassGAM` whose basis and reading to use: models trained so can be merged.
    checkpoint : path, optional
        Checkpoint file. By default the output with ".checkpoint" appended.
    checkpoint_every : int, optional
        Rows between two checkpoints. By default as many as keep their cost at 2 % of the time.
    resume : bool
        Whether to resume from the checkpoint, if there is one.
    max_seconds : float, optional
        Time budget: no batch of rows is begun after so many seconds, without those of compiling. The model is that of
        the rows so far, and the checkpoint stays, from which `resume` goes on.
    engine : {"dask", "spark", "cuda"}, optional
        Where the work is done; by default on this machine.
    scheduler : str, optional
        Address of a Dask scheduler or a Spark master.
    by : str or sequence of str, optional
        Columns of keys, such as days and regions: the output is a folder, a cube with the sums of each segment.
    sample_rows : int
        With `by`: rows of each segment that are kept in its file to evaluate models of other segments, half of each
        class; 0 keeps none.

    Examples
    --------
    >>> from opauc.api.options import TrainOptions
    >>> TrainOptions(alpha=0.5).factory().parameters["alpha"]
    0.5
    >>> TrainOptions(alpha="auto").factory().estimator
    'OPAUCCV'
    """

    solver: str | None = None
    alpha: float | str = 1e-4
    rank: str | int | None = AUTO
    eta0: float = 1e4
    learning_rate: str = "curvature"
    average: bool = True
    standardize: bool = True
    forgetting_factor: float | str = 1.0
    horizon: int = 1000
    cv: int = 5
    criterion: str = "pair_loss"
    one_standard_error: bool = False
    loss: str = "square"
    objective: str = "auc"
    max_fpr: float = 0.01
    pairs: str = "all"
    group_weight: str = "equal"
    max_gap: int = 10_000
    init_size: str | int = AUTO
    trees: bool = True
    effort: str = "normal"
    increasing: Sequence[str | int] = ()  # the command makes whole numbers of digits
    decreasing: Sequence[str | int] = ()
    max_columns: int = 1500
    random_state: int = 0
    n_jobs: int | None = None
    positive: str | None = None
    classes: Sequence[str] | Sequence[float] | None = None
    basis_from: str | os.PathLike[str] | None = None
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_every: int | None = None
    resume: bool = False
    max_seconds: float | None = None
    engine: str | None = None
    scheduler: str | None = None
    by: str | Sequence[str] | None = None
    sample_rows: int = CUBE_POLICY.sample_rows

    def __post_init__(self) -> None:
        if self.solver is not None and self.solver not in SOLVERS:
            raise ParameterError(Parameter("solver"), f": {unknown_name('solver', self.solver, SOLVERS)}")
        if self.n_jobs == 0:
            raise ParameterError(Parameter("n_jobs"), " must be a number other than 0; -1 uses all cores")
        if self.max_seconds is not None and not self.max_seconds > 0.0:
            raise ParameterError(Parameter("max_seconds"), f": expected seconds above 0, got {self.max_seconds:g}")

    @property
    def additive_jobs(self) -> int:
        """The `n_jobs` of additive models, of which it changes no bit: by default all cores."""
        return ALL_CORES if self.n_jobs is None else self.n_jobs

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of keys, if a cube is trained."""
        return (self.by,) if isinstance(self.by, str) else tuple(self.by or ())

    @property
    def in_shards(self) -> bool:
        """Whether shards of files are to be processed apart, on threads or on a cluster."""
        return self.engine in engines.CLUSTERS or (self.engine is None and self.n_jobs not in (None, 1))

    def given(self) -> set[str]:
        """Return the names of the options that differ from their defaults."""
        return {
            field.name
            for field in fields(self)
            if field.default is not MISSING and getattr(self, field.name) != field.default
        }

    def labels(self, several: bool = False) -> ClassLabels:
        """Return the classes as far as they are given; more than two only with `several`."""
        try:
            return ClassLabels.announced(self.classes, self.positive, several)
        except ValueError as error:
            raise ParameterError(Parameter("classes"), f": {error}") from error

    def _linear(self, given: Collection[str]) -> list[str]:
        """Return the options of linear models that a user gave, without those that the solver has too."""
        shared = WITHIN_OPTIONS if self.solver == GAM or self.basis_from is not None else ()
        return [name for name in (*LINEAR_OPTIONS, *LINEAR_READING) if name in given and name not in shared]

    def is_additive_table(self, given: Collection[str]) -> bool:
        """Tell whether to train an additive model on a table: unless something asks for a linear one."""
        linear = self._linear(given)
        if linear and self.solver == GAM:
            raise ParameterError(Parameter(linear[0]), " is for linear solvers; an additive model takes none")
        return self.solver == GAM or (self.solver is None and not linear)

    def is_additive(self, paths: Sequence[Source], reading: ReadOptions, given: Collection[str]) -> bool:
        """Tell whether to train an additive model: on request, or for a table where no option says otherwise."""
        linear = self._linear(given)
        if linear and (self.solver == GAM or self.basis_from is not None):
            raise ParameterError(Parameter(linear[0]), " is for linear solvers; an additive model takes none")
        if self.basis_from is not None:
            if self.solver not in (None, GAM):
                raise ParameterError(
                    Parameter("basis_from"), " is for additive models; ", Parameter("solver", self.solver),
                    " trains a linear model",
                )  # fmt: skip
            return True
        if self.solver is not None or linear:
            return self.solver == GAM
        return bool(reading.numeric) or are_tables(paths, reading.format)

    def factory(self, additive: bool = False, given: Collection[str] = ()) -> FitFactory:
        """Return the fit factory of the options; raise for options that have no effect with the others."""
        if additive:
            parameters = {name: getattr(self, name) for name in (*ADDITIVE_OPTIONS, "random_state")}
            parameters["monotone_constraints"] = self._directions()
            if self.max_columns != TrainOptions.max_columns:
                parameters["max_columns"] = self.max_columns
            parameters |= self._objective(given)
            gam: Any = FACTORIES["OnePassGAM"](parameters)
            try:
                gam.settings()  # before anything is read
            except ValueError as error:
                raise InputError(str(error)) from error
            additive_factory: FitFactory = replace(gam, has_groups=self._has_groups(given))
            return additive_factory
        for name in (*ADDITIVE_OPTIONS, *CONSTRAINT_OPTIONS, "max_columns"):
            if name in given:
                raise ParameterError(Parameter(name), " is for additive models; this is a linear one")
        solver = self.solver or AUTO
        if "standardize" in given and (self.rank not in (AUTO, None) or solver == SELECTION):
            raise ParameterError(
                Parameter("standardize"), " is for full covariance; a sketch and progressive selection train in the "
                "units of the data",
            )  # fmt: skip
        within = self._is_within(given)
        for name in ("group_weight", "max_gap"):
            if name in self.given() and not within:
                raise ParameterError(Parameter(name), " is for ", Parameter("pairs", "within_groups"))
        if self.alpha == AUTO:
            if within:
                raise ParameterError(Parameter("pairs", self.pairs), " takes a number as ", Parameter("alpha"))
            return self._choosing(solver, given)
        for name, default in (("loss", "square"), ("objective", "auc")):
            value = getattr(self, name)
            if value != default and "alpha" in given:
                raise ParameterError(Parameter("alpha"), " is chosen inside the pass with ", Parameter(name, value))
        self._check_cv_options("a penalty to be chosen; add ", Parameter("alpha", AUTO))
        if "groups" in given and not within:
            raise ParameterError(Parameter("groups"), " is for a penalty to be chosen; add ", Parameter("alpha", AUTO))
        of_linear: Json = {
            "alpha": self.alpha, "solver": solver, "rank": self.rank, "eta0": self.eta0,
            "learning_rate": self.learning_rate, "average": self.average, "standardize": self.standardize,
            "forgetting_factor": self.forgetting_factor, "n_jobs": self.n_jobs,
            **({"horizon": self.horizon} if self.forgetting_factor == AUTO else {}),
            **self._objective(given),
            **({name: getattr(self, name) for name in ("pairs", "group_weight", "max_gap")} if within else {}),
            "random_state": self.random_state,
        }  # fmt: skip
        return self._on_device("OPAUC", of_linear)

    def _is_within(self, given: Collection[str]) -> bool:
        """Tell whether rows are ranked within groups; raise without the column of these."""
        if self.pairs != "all" and "groups" not in given:
            raise ParameterError(
                Parameter("pairs", self.pairs), " needs the column of groups: ", Parameter("groups", ...)
            )
        return self.pairs != "all"

    def _has_groups(self, given: Collection[str]) -> bool:
        """Tell whether an additive model ranks within groups; raise for options that it has not with these."""
        within = self._is_within(given)
        if within and self.basis_from is not None:
            raise ParameterError(Parameter("pairs", self.pairs), " is fixed by the model of ", Parameter("basis_from"))
        if "groups" in given and not within:
            raise ParameterError(
                Parameter("groups"), " alone is for linear models; an additive model ranks within groups by ",
                Parameter("pairs", "within_groups"),
            )  # fmt: skip
        for name, default in (("objective", "auc"), ("increasing", ()), ("decreasing", ())):
            if within and getattr(self, name) != default:
                raise ParameterError(Parameter("pairs", self.pairs), " of an additive model takes no ", Parameter(name))
        return within

    def _directions(self) -> dict[str | int, int] | None:
        """Return the columns in which the score of an additive model rises (1) or falls (-1); None without any."""
        for name in CONSTRAINT_OPTIONS:
            for column in getattr(self, name):
                if not isinstance(column, str):
                    raise ParameterError(Parameter(name), f": expected names of columns, got {column!r}")
        for column in self.increasing:
            if column in self.decreasing:
                raise ParameterError(
                    f"{column!r} cannot be in both ", Parameter("increasing"), " and ", Parameter("decreasing"),
                    "; take one of them",
                )  # fmt: skip
        directions = dict.fromkeys(self.increasing, 1) | dict.fromkeys(self.decreasing, -1)
        return directions or None

    def _objective(self, given: Collection[str]) -> Json:
        """Return the loss and the objective where they are not the defaults."""
        if self.objective == "auc" and "max_fpr" in given:
            raise ParameterError(Parameter("max_fpr"), " is for ", Parameter("objective", "pauc"))
        if self.objective != "auc" and self.basis_from is not None:
            raise ParameterError(Parameter("objective"), " is fixed by the model of ", Parameter("basis_from"))
        found: Json = {} if self.loss == "square" else {"loss": self.loss}
        return found if self.objective == "auc" else {**found, "objective": self.objective, "max_fpr": self.max_fpr}

    def _choosing(self, solver: str, given: Collection[str]) -> FitFactory:
        """Return the factory that chooses the penalty inside the pass, and the step size of sgd too."""
        for name, allowed in (("solver", (AUTO, "exact", "sgd")), ("forgetting_factor", (1.0,))):
            value = solver if name == "solver" else self.forgetting_factor
            if value not in allowed:
                raise ParameterError(
                    Parameter("alpha", AUTO), " is for solver exact or sgd, and forgets nothing; leave ",
                    Parameter(name), " out",
                )  # fmt: skip
        solver = "sgd" if solver == "sgd" else "exact"
        parameters: Json = {"solver": solver, "alphas": None, "rank": None if self.rank == AUTO else self.rank}
        parameters["n_jobs"] = self.n_jobs
        parameters |= self._objective(given)
        if solver == "exact":
            if self.rank not in (AUTO, None):
                raise ParameterError(
                    Parameter("alpha", AUTO), " with a ", Parameter("rank"), " needs ", Parameter("solver", "sgd")
                )
            parameters |= {name: getattr(self, name) for name in (*CV_OPTIONS, "standardize")}
        else:
            parameters["average"] = self.average
            self._check_cv_options("", Parameter("solver", "exact"))
            if "groups" in given:
                raise ParameterError(Parameter("groups"), " is for ", Parameter("solver", "exact"))
        return self._on_device("OPAUCCV", {**parameters, "random_state": self.random_state})

    def _check_cv_options(self, needed: str, *parts: Parameter) -> None:
        for name in CV_OPTIONS:
            if name in self.given():
                raise ParameterError(Parameter(name), f" is for {needed}", *parts)

    def _on_device(self, estimator: str, parameters: Json) -> FitFactory:
        device = engines.DEVICE if self.engine == engines.DEVICE else None
        factory: Any = FACTORIES[estimator](parameters, device=device)
        if device is not None and estimator == "OPAUCCV" and parameters["solver"] != "sgd":
            raise ParameterError(
                Parameter("engine", engines.DEVICE), " with ", Parameter("alpha", AUTO), " needs ",
                Parameter("solver", "sgd"), "; or leave ", Parameter("alpha", AUTO), " out",
            )  # fmt: skip
        if device is not None:
            from opauc.engines.torch.rows import checked_device

            checked_device(device)  # before anything is read
        resolved: FitFactory = factory
        return resolved


def split_options(options: Json) -> tuple[ReadOptions, TrainOptions]:
    """Return keyword arguments as options of reading and of training; an unknown name is a TypeError."""
    import difflib

    reading, training = ({field.name for field in fields(kind)} for kind in (ReadOptions, TrainOptions))
    for name in options:
        if name not in reading | training:
            near = difflib.get_close_matches(name, sorted(reading | training), 1)
            raise TypeError(f"unknown option {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    try:
        read = ReadOptions(**{name: value for name, value in options.items() if name in reading})
    except InputError:
        raise
    except ValueError as error:
        raise InputError(str(error)) from error
    return read, replace(TrainOptions(), **{name: value for name, value in options.items() if name in training})
