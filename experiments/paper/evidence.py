"""What claims are decided by: the cells of the store, their tests, and the points of the figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from experiments.paper.catalogue import Catalogue
from experiments.paper.data_set import DataSet
from experiments.paper.plan import planned
from experiments.paper.protocol import PROFILES
from experiments.paper.store import Line, Store
from experiments.paper.tables import Cell, cells_of, compared, curves_of
from opauc.types import Floats

HOLDS, FAILS, UNTESTED = "holds", "does not hold", "cannot be tested here"


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds, and the figures that decide it."""

    verdict: str
    because: str


@dataclass(frozen=True)
class Claim:
    """A sentence, where it stands, the criterion it is held to, and what decides it."""

    where: str
    says: str
    criterion: str
    decide: Callable[[Evidence], Verdict]


@dataclass(frozen=True)
class Evidence:
    """The store of one profile, as claims ask it."""

    store: Store
    profile: str
    catalogue: Catalogue

    @cached_property
    def cells(self) -> dict[tuple[str, str], Cell]:
        """Every cell, by set and column."""
        return cells_of(self.store, self.profile, self.catalogue)

    @cached_property
    def n_planned(self) -> int:
        """How many cells there are to be."""
        work = planned(PROFILES[self.profile], self.catalogue)
        return len({(one.data.name, one.column.name) for one in work})

    @property
    def n_whole(self) -> int:
        """How many cells have all their runs."""
        return sum(cell.is_whole for cell in self.cells.values())

    def cell(self, name: str, column: str) -> Cell | None:
        """A cell that has all its runs: nothing is decided by others."""
        found = self.cells.get((name, column))
        return found if found is not None and found.is_whole else None

    @cached_property
    def sets(self) -> dict[str, DataSet]:
        """Every data set, by name."""
        return self.catalogue.sets()

    @cached_property
    def curves(self) -> list[Line]:
        """Every line with points of a figure."""
        return list(curves_of(self.store, self.profile))

    def names(self, *columns: str, suite: str | None = None) -> list[str]:
        """The sets on which all these columns have an AUC, smallest first."""
        found = [
            name for name, data in self.sets.items()
            if (suite is None or data.suite == suite) and all(self.auc(name, column) is not None for column in columns)
        ]  # fmt: skip
        return sorted(found, key=lambda name: self.sets[name].shape.n_rows)

    def auc(self, name: str, column: str) -> float | None:
        """The mean AUC of a column on a set."""
        cell = self.cell(name, column)
        return None if cell is None else cell.auc

    def seconds(self, name: str, column: str) -> float:
        """The mean time of learning; NaN where there is none."""
        cell = self.cell(name, column)
        return float("nan") if cell is None or cell.seconds is None else cell.seconds

    def outcome(self, name: str, first: str, second: str) -> str:
        """ "win", "tie" or "loss" of the first column; empty where it cannot be told."""
        one, other = self.cell(name, first), self.cell(name, second)
        test = compared(one, other) if one and other else None
        return test.outcome() if test else ""

    def counts(self, names: Sequence[str], first: str, second: str) -> tuple[int, int, int]:
        """Wins, ties and losses of the first column."""
        found = [self.outcome(name, first, second) for name in names]
        return found.count("win"), found.count("tie"), found.count("loss")

    def points(self, name: str, column: str) -> Floats | None:
        """The points of a figure, the AUC averaged over the folds that have it; None where there is none."""
        found = [np.array(line.curve) for line in self.curves if (line.set, line.method) == (name, column)]
        return np.mean(found, axis=0) if found else None


def decided(holds: bool, because: str) -> Verdict:
    """A verdict from a comparison."""
    return Verdict(HOLDS if holds else FAILS, because)


def untested(why: str) -> Verdict:
    """No verdict, and why."""
    return Verdict(UNTESTED, why)


NOT_COMPUTED = "its cells are not computed"
