"""The methods that `opauc compare` knows: learners, and those of other kinds, found in their folders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opauc.api.competitors import feature_method_names, find_feature_method, find_table_method, table_method_names
from opauc.api.solver_method import SolverMethod
from opauc.core.registry import SOLVERS
from opauc.errors import InputError
from opauc.metrics import Method
from opauc.metrics.exact_auc import Flags


class WantedMethods(NamedTuple):
    """Names of methods that are there: those that learn features, and those that learn columns of tables.

    Examples
    --------
    >>> from opauc.api.compare_methods import WantedMethods
    >>> wanted = WantedMethods.of(["exact", "gam"])
    >>> wanted
    WantedMethods(of_features=['exact'], of_tables=['gam'])
    >>> [method.name for method in wanted.feature_methods() + wanted.table_methods(None)]
    ['exact', 'gam']
    """

    of_features: list[str]
    of_tables: list[str]

    @classmethod
    def of(cls, names: Sequence[str] | None) -> WantedMethods:
        """Return the methods of these names; where that is None, all that are installed and not slow."""
        learners, tables = SOLVERS, table_method_names()
        known = [*tables, *learners, *feature_method_names()]
        quick = [name for name in known if name not in learners or not learners[name].is_slow]
        wanted = quick if names is None else list(dict.fromkeys(names))
        strangers = [name for name in wanted if name not in known]
        if strangers:
            raise InputError(f"no method is called {strangers[0]!r}; there are {', '.join(known)}")
        absent = [name for name in wanted if not _is_installed(name)]
        if absent and names is not None:
            raise InputError(f"{absent[0]} needs a package that is not installed")
        there = [name for name in wanted if name not in absent]
        return cls([name for name in there if name not in tables], [name for name in there if name in tables])

    def feature_methods(self) -> list[Method]:
        """Return the methods that learn features, learners with their default settings."""
        learners = SOLVERS
        found = [
            SolverMethod(name, learners[name]()) if name in learners else find_feature_method(name)
            for name in self.of_features
        ]
        return [method for method in found if method is not None]

    def table_methods(self, categorical: Flags | None) -> list[Method]:
        """Return the methods that learn tables, of which these columns hold numbers of categories."""
        found = [find_table_method(name) for name in self.of_tables]
        return [make(categorical) for make in found if make is not None]


def _is_installed(name: str) -> bool:
    if name in SOLVERS:
        return True
    return (find_table_method(name) if name in table_method_names() else find_feature_method(name)) is not None
