"""From the solver of two classes that parameters ask for to the one of several classes."""

from __future__ import annotations

from opauc.core.fit import only_two_classes
from opauc.core.solver import AnySolver
from opauc.errors import Parameter
from opauc.linear.exact import Exact
from opauc.linear.exact_cv import ExactCV
from opauc.linear.fit import Resolved
from opauc.linear.several.solver import SeveralExact
from opauc.linear.several.solver_cv import SeveralExactCV
from opauc.types import Settings

# Parameters that several classes leave no choice about, and the value that works for them.
NEEDS = {"objective": "auc", "pairs": "all", "loss": "square"}


def several_solver(solver: AnySolver, n_classes: int) -> AnySolver:
    """Return the solver of so many classes with the settings of one of two.

    Examples
    --------
    >>> from opauc.linear.exact import Exact
    >>> from opauc.linear.several.resolve import several_solver
    >>> several_solver(Exact(alpha=0.5), 4)
    SeveralExact(n_classes=4, alpha=0.5, forgetting_factor=1.0, n_jobs=1, standardize=False)
    """
    kind = SeveralExactCV if isinstance(solver, ExactCV) else SeveralExact
    return kind(n_classes, **solver.settings())


def check_several(resolved: Resolved, parameters: Settings, device: str | None, n_classes: int) -> None:
    """Raise UnsupportedOperationError unless a solver exists for several classes, with what to set."""
    for name, value in NEEDS.items():
        if parameters.get(name, value) != value:
            raise only_two_classes(Parameter(name, parameters[name]), n_classes, "set ", Parameter(name, value))
    if device is not None:
        raise only_two_classes(Parameter("device", device), n_classes, "leave it out")
    if parameters.get("forgetting_factor") == "auto":
        raise only_two_classes(Parameter("forgetting_factor", "auto"), n_classes, "give a number")
    if type(resolved.solver) not in (Exact, ExactCV):
        attributes = resolved.attributes or {}
        rank = attributes.get("rank_")
        if attributes.get("solver_") == "exact":
            raise only_two_classes(Parameter("rank", rank), n_classes, "set rank=None")
        solver = Parameter("solver", attributes.get("solver_", resolved.solver.name))
        if rank is None:
            raise only_two_classes(solver, n_classes, "set ", Parameter("solver", "exact"))
        what = "a sketch, or class means alone" if rank or solver.value == "sgd" else "what suits so many features"
        raise only_two_classes(
            what, n_classes, "set ", Parameter("solver", "exact"), " with full covariance, rank=None"
        )
