"""What `OPAUC` learns with, from its parameters and the number of features."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import cast

from opauc.core.batch import ResumePosition
from opauc.core.fit import Learned
from opauc.core.parameters import Count, Option, Threads, check_param, from_params, is_whole
from opauc.core.registry import SOLVERS
from opauc.core.solver import AnySolver
from opauc.data.encode.encoder import check_onehot_state
from opauc.linear.choice import FULL_COVARIANCE_BYTES, Choice, refuse_wide
from opauc.linear.exact_cv import ExactCV
from opauc.linear.fit import Solution
from opauc.linear.grid import GridSGD
from opauc.linear.model_file import Model
from opauc.linear.sgd import SGD
from opauc.linear.sketch_grid import SketchedGridSGD
from opauc.linear.training import Training, bytes_of_state
from opauc.types import Array, Settings


class LinearRecipe:
    """From the parameters of an estimator to the learner they ask for, and to the loop it learns in."""

    owner: str
    parameters: Settings

    @abstractmethod
    def choose(self, n_features: int, dtype: str) -> Choice:
        """Return the learner for rows of so many features."""

    def training(self, solution: Learned | None) -> Training:
        """Return the loop in which a solution goes on learning, or a first one begins."""
        return Training(self, cast(Solution | None, solution))

    def model(self, solution: Learned, classes: Array) -> Model:
        """Return the model of what has been learned."""
        return Model(self.owner, dict(self.parameters), cast(Solution, solution), classes, solution.n_features)

    def refuse_other(self, solution: Learned, resume_position: ResumePosition) -> None:
        """Raise where what was learned, up to that resume_position, is of another learner."""
        if resume_position.encoding is not None:
            check_onehot_state(resume_position.encoding)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever began was warned
            choice = self.choose(solution.n_features, "float64")
        known = cast(Solution, solution)
        if type(choice.learner) is not type(known.learner) or (choice.published or {}) != known.published:
            raise ValueError("its parameters ask for another learner than the one that began")


CV_SOLVERS: dict[str, type[AnySolver]] = {"exact": ExactCV, "sgd": GridSGD}


@dataclass(frozen=True)
class OpaucCVRecipe(LinearRecipe):
    """The learner of a solver that chooses its settings itself.

    Examples
    --------
    >>> from opauc.linear.resolve import OpaucCVRecipe
    >>> given = {"solver": "sgd", "rank": None, "alphas": [0.1], "etas": [0.01], "cv": 5}
    >>> OpaucCVRecipe(given).choose(3, "float64").learner
    GridSGD(etas=(0.01,), alphas=(0.1,), average=True)
    """

    parameters: Settings
    owner: str = "OPAUCCV"

    def choose(self, n_features: int, dtype: str) -> Choice:  # noqa: ARG002
        """Return the learner; the parameters of both solvers are checked."""
        solver = check_param(self.owner, "solver", self.parameters["solver"], Option(tuple(CV_SOLVERS)))
        found = {name: from_params(self.owner, kind, self.parameters) for name, kind in CV_SOLVERS.items()}
        rank = self.parameters["rank"]
        if rank is None:
            learner = found[solver]
            refuse_wide(
                self.owner, n_features, ". Set solver='sgd' and rank to a small int.", n_matrices=learner.n_covariances
            )
            return Choice(learner, published={"solver_": solver, "rank_": None})
        if not is_whole(rank) or int(rank) < 0:
            raise ValueError(
                f"The 'rank' parameter of {self.owner} must be None or an int in the range [0, inf). "
                f"Got {rank!r} instead."
            )
        if solver != "sgd":
            raise ValueError(f"rank={rank} needs solver='sgd', here it is {solver!r}")
        sketched = from_params(self.owner, SketchedGridSGD, self.parameters)
        _refuse_large(self.owner, sketched, n_features)
        return Choice(sketched, published={"solver_": solver, "rank_": int(rank)})


def _refuse_large(owner: str, learner: AnySolver, n_features: int) -> None:
    """Raise where the weights of all pairs would take too much memory."""
    size = bytes_of_state(learner, n_features)
    if size > FULL_COVARIANCE_BYTES:
        raise ValueError(
            f"the weights of all pairs and sketches of {n_features} features take {size / 2**30:.1f} GiB; {owner} uses "
            f"at most {FULL_COVARIANCE_BYTES / 2**30:g} GiB. Give fewer etas or alphas, or a smaller rank."
        )


# Rank of the sketch where rank="auto" has to have one.
SKETCH_RANK = 50
SELECTION = "progressive_selection"
SOLVER_OPTION = Option(("auto", "exact", "sgd", SELECTION))
# The parameters of OPAUC and what they are unless given.
DEFAULTS: Settings = {
    "solver": "auto", "alpha": 1e-4, "rank": "auto", "eta0": 1e4, "learning_rate": "theorem", "average": True,
    "standardize": True, "forgetting_factor": 1.0, "horizon": 1000, "n_jobs": None, "random_state": None,
}  # fmt: skip


@dataclass(frozen=True)
class OpaucRecipe(LinearRecipe):
    """The solver and rank that the parameters ask for, or that suit the number of features.

    Examples
    --------
    >>> from opauc.linear.resolve import OpaucRecipe
    >>> choice = OpaucRecipe({}).choose(1_000_000, "float64")
    >>> choice.published
    {'solver_': 'progressive_selection', 'rank_': 0}
    """

    parameters: Settings
    owner: str = "OPAUC"

    def choose(self, n_features: int, dtype: str) -> Choice:
        """Return the learner for rows of so many features, with its solver and rank."""
        given = {**DEFAULTS, **self.parameters}
        asked = check_param(self.owner, "solver", given["solver"], SOLVER_OPTION)
        rank = self._rank(given["rank"], asked, n_features)
        solver = _solver(asked, given["rank"], rank)
        check_param(self.owner, "n_jobs", given["n_jobs"], Threads())
        check_param(self.owner, "horizon", given["horizon"], Count())
        fading = given["forgetting_factor"] == "auto"
        # Whatever the solver takes no notice of must be right all the same.
        descent = from_params(self.owner, SGD, {**given, "forgetting_factor": 1.0} if fading else given)
        if fading and solver != "exact":
            raise ValueError(f"forgetting_factor='auto' needs solver='exact'; here the solver is {solver!r}")
        if rank is not None and (fading or descent.forgetting_factor != 1.0):
            raise ValueError(
                f"forgetting_factor={given['forgetting_factor']} needs full covariance, rank=None; here the rank is {rank}"
            )
        settings = {**given, "rank": rank, "dtype": dtype}
        learner = from_params(self.owner, SOLVERS["drifting" if fading else _file_name(solver, rank)], settings)
        if fading:
            refuse_wide("forgetting_factor='auto'", n_features, ". Give a number.", n_matrices=learner.n_covariances)
        return Choice(learner, published={"solver_": solver, "rank_": rank})

    def _rank(self, rank: object, solver: str, n_features: int) -> int | None:
        """Return the rank meant: None for full covariance matrices, which must fit their budget."""
        number = int(rank) if is_whole(rank) else -1
        if not (rank is None or rank == "auto" or number >= 0):
            raise ValueError(
                f"The 'rank' parameter of {self.owner} must be None, 'auto' or an int in the range [0, inf). "
                f"Got {rank!r} instead."
            )
        if solver == SELECTION:
            if rank not in ("auto", 0):
                raise ValueError(f"solver={solver!r} keeps no covariance: rank must be 'auto' or 0, got {rank!r}")
            return 0
        if number >= 0:
            if number > n_features:
                warnings.warn(
                    f"rank={rank} is more than n_features={n_features}: full covariance, rank=None, is smaller and "
                    "exact",
                    UserWarning,
                    stacklevel=7,
                )
            return number
        if rank == "auto" and 16 * n_features**2 > FULL_COVARIANCE_BYTES:
            return SKETCH_RANK if solver == "exact" else 0
        refuse_wide("rank=None", n_features, ". Set rank to 0 or a small int, or to 'auto'.")
        return None


def _solver(asked: str, asked_rank: object, rank: int | None) -> str:
    """Return the solver meant: selection is what serves best where nothing was asked for and nothing full fits."""
    if asked != "auto":
        return asked
    if rank is None:
        return "exact"
    return SELECTION if asked_rank == "auto" else "sgd"


def _file_name(solver: str, rank: int | None) -> str:
    """Return the name of the learner's file."""
    if rank is None or solver == SELECTION:
        return solver
    return "class_means" if rank == 0 and solver == "sgd" else f"sketched_{solver}"


def recipe_of(estimator: str, parameters: Settings) -> LinearRecipe:
    """Return how an estimator that learns from files does so.

    Examples
    --------
    >>> from opauc.linear.resolve import recipe_of
    >>> recipe_of("OPAUCCV", {"cv": 3}).choose(4, "float64").learner.cv
    3
    """
    if estimator == "OPAUCCV":
        return OpaucCVRecipe({"solver": "exact", "rank": None, **parameters})
    if estimator != "OPAUC":
        raise ValueError(f"{estimator} does not learn from files")
    return OpaucRecipe(parameters)
