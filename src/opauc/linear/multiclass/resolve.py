"""From the solver of two classes that parameters ask for to the one of several classes."""

from __future__ import annotations

from opauc.core.fit import only_two_classes
from opauc.core.solver import AnySolver
from opauc.errors import Parameter
from opauc.linear.exact import Exact
from opauc.linear.exact_cv import ExactCV
from opauc.linear.fit import Resolved
from opauc.linear.multiclass.solver import MulticlassExact
from opauc.linear.multiclass.solver_cv import MulticlassExactCV
from opauc.types import Settings

# Parameters that several classes leave no choice about, and the value that works for them.
NEEDS = {"objective": "auc", "pairs": "all", "loss": "square"}


def multiclass_solver(solver: AnySolver, n_classes: int) -> AnySolver:
    """Return the solver of so many classes with the settings of one of two.

    Examples
    --------
    >>> from opauc.linear.exact import Exact
    >>> from opauc.linear.multiclass.resolve import multiclass_solver
    >>> multiclass_solver(Exact(alpha=0.5), 4)
    MulticlassExact(n_classes=4, alpha=0.5, forgetting_factor=1.0, n_jobs=1, standardize=False)
    """
    kind = MulticlassExactCV if isinstance(solver, ExactCV) else MulticlassExact
    return kind(n_classes, **solver.settings())


def check_several(
    resolved: Resolved, parameters: Settings, device: str | None, n_classes: int, most_features: int
) -> None:
    """Raise UnsupportedOperationError unless a solver exists for several classes, with what to set.

    Full covariance matrices of so many classes take `most_features`.
    """
    for name, value in NEEDS.items():
        if parameters.get(name, value) != value:
            raise only_two_classes(Parameter(name, parameters[name]), n_classes, "set ", Parameter(name, value))
    if device is not None:
        raise only_two_classes(Parameter("device", device), n_classes, "leave it out")
    if parameters.get("forgetting_factor") == "auto":
        raise only_two_classes(Parameter("forgetting_factor", "auto"), n_classes, "give a number")
    if type(resolved.solver) in (Exact, ExactCV):
        return
    exact, solver, rank = Parameter("solver", "exact"), parameters.get("solver", "auto"), parameters.get("rank", "auto")
    if solver not in ("auto", "exact"):
        raise only_two_classes(Parameter("solver", solver), n_classes, "set ", exact)
    if rank not in ("auto", None):
        raise only_two_classes(Parameter("rank", rank), n_classes, "set ", exact, " with full covariance, rank=None")
    raise only_two_classes(
        "the solver of so many features", n_classes,
        f"full covariance matrices of these take up to {most_features:,} features",
    )  # fmt: skip
