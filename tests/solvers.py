"""An instance of every registered solver, for laws that all of them obey."""

from opauc.core.registry import SOLVERS
from opauc.core.solver import AnySolver
from opauc.linear.logistic import Logistic
from opauc.linear.partial_auc import PartialAuc


def every_solver() -> dict[str, AnySolver]:
    """Return solvers by name; of those that keep first rows, one that soon stops and one that keeps all of a test."""
    solvers: dict[str, AnySolver] = {name: make() for name, make in SOLVERS.items()}
    return {
        **solvers,
        "logistic": Logistic(init_size=30),
        "logistic, first rows": Logistic(init_size=1000),
        "partial_auc": PartialAuc(max_fpr=0.2, init_size=30),
    }
