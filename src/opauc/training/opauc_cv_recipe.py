"""What `OPAUCCV` learns with, from its parameters."""

from __future__ import annotations

from dataclasses import dataclass

from opauc.learners.descent_grid import DescentGrid
from opauc.learners.exact_cv import ExactCV
from opauc.learners.learner import AnyLearner
from opauc.learners.parameters import Option, checked, is_whole, made
from opauc.learners.sketched_grid import SketchedGrid
from opauc.rows import Settings
from opauc.training.learner_method import bytes_of_state
from opauc.training.linear_recipe import LinearRecipe
from opauc.training.recipe import FULL_COVARIANCE_BYTES, Choice, refuse_wide

SOLVERS: dict[str, type[AnyLearner]] = {"exact": ExactCV, "sgd": DescentGrid}


@dataclass(frozen=True)
class OpaucCVRecipe(LinearRecipe):
    """The learner of a solver that chooses its settings itself.

    Examples
    --------
    >>> from opauc.training.opauc_cv_recipe import OpaucCVRecipe
    >>> given = {"solver": "sgd", "rank": None, "alphas": [0.1], "etas": [0.01], "folds": 5}
    >>> OpaucCVRecipe(given).choose(3, "float64").learner
    DescentGrid(etas=(0.01,), alphas=(0.1,), average=True)
    """

    parameters: Settings
    owner: str = "OPAUCCV"

    def choose(self, n_features: int, dtype: str) -> Choice:  # noqa: ARG002
        """Return the learner; the parameters of both solvers are checked."""
        solver = checked(self.owner, "solver", self.parameters["solver"], Option(tuple(SOLVERS)))
        found = {name: made(self.owner, kind, self.parameters) for name, kind in SOLVERS.items()}
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
        sketched = made(self.owner, SketchedGrid, self.parameters)
        _refuse_large(self.owner, sketched, n_features)
        return Choice(sketched, published={"solver_": solver, "rank_": int(rank)})


def _refuse_large(owner: str, learner: AnyLearner, n_features: int) -> None:
    """Raise where the weights of all pairs would take too much memory."""
    size = bytes_of_state(learner, n_features)
    if size > FULL_COVARIANCE_BYTES:
        raise ValueError(
            f"the weights of all pairs and sketches of {n_features} features take {size / 2**30:.1f} GiB; {owner} uses "
            f"at most {FULL_COVARIANCE_BYTES / 2**30:g} GiB. Give fewer etas or alphas, or a smaller rank."
        )
