"""What claims are decided by: the cells of the store, their tests, and the points of the figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from experiments.paper.catalogue import Catalogue
from experiments.paper.data_set import DataSet
from experiments.paper.plan import planned
from experiments.paper.protocol import PROFILES
from experiments.paper.store import Line, Store
from experiments.paper.tables import Cell, Distance, cells_of, comparable_cells, compared, curves_of, far_from_print
from opauc.types import Floats

HOLDS, FAILS, UNDECIDED, UNTESTED = "holds", "does not hold", "not decided", "cannot be tested here"
PAPER, OURS = "the paper", "this library"
# The level of significance of all tests, as in the paper.
LEVEL = 0.05
# A difference of AUCs counts if it is significant and larger than this.
MARGIN = 0.005


class Verdict(NamedTuple):
    """Whether a claim holds, and the figures that decide it."""

    verdict: str
    because: str


@dataclass(frozen=True)
class Claim:
    """A statement, where it stands, the criterion it is held to, what decides it, who says it.

    One that is made of several methods or sets is as many claims, each `about` one of them.
    """

    where: str
    statement: str
    criterion: str
    decide: Callable[[Evidence], Verdict]
    by: str = PAPER
    about: str = ""

    @property
    def says(self) -> str:
        """The whole sentence."""
        return f"{self.statement}: {self.about}" if self.about else self.statement


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
    def far_from_print(self) -> tuple[list[Distance], int]:
        """The cells more than two standard errors from print where they may be compared, and how many may be."""
        comparable = [name for name, data in self.sets.items() if data.is_comparable]
        return far_from_print(self.cells, comparable), len(list(comparable_cells(self.cells, comparable)))

    @cached_property
    def sets(self) -> dict[str, DataSet]:
        """Every data set, by name."""
        return self.catalogue.sets()

    @cached_property
    def curves(self) -> list[Line]:
        """Every line with points of a figure."""
        return list(curves_of(self.store, self.profile))

    def names(self, *columns: str, suite: str | None = None) -> list[str]:
        """The sets on which all these columns have an AUC, smallest first; of variants of a set only the first."""
        found = [
            name for name, data in self.sets.items()
            if suite in (None, data.suite) and not data.variant_of
            and all(self.auc(name, column) is not None for column in columns)
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

    def outcome(self, name: str, first: str, second: str, corrected: bool = False, margin: float = 0.0) -> str:
        """ "win", "tie" or "loss" of the first column; empty where it cannot be told.

        By the paper's paired t-test, or with the variance corrected for
        overlapping training rows. Differences within the margin are ties.
        """
        one, other = self.cell(name, first), self.cell(name, second)
        test = compared(one, other, corrected) if one and other else None
        if test is None:
            return ""
        return test.outcome(LEVEL) if abs(test.difference) > margin else "tie"

    def counts(
        self, names: Sequence[str], first: str, second: str, corrected: bool = False, margin: float = 0.0
    ) -> tuple[int, int, int]:
        """Wins, ties and losses of the first column."""
        found = [self.outcome(name, first, second, corrected, margin) for name in names]
        return found.count("win"), found.count("tie"), found.count("loss")

    def points(self, name: str, column: str) -> Floats | None:
        """The points of a figure, the AUC averaged over the folds that have it; None where there is none."""
        found = [np.array(line.curve) for line in self.curves if (line.set, line.method) == (name, column)]
        return np.mean(found, axis=0) if found else None


def decided(holds: bool, because: str) -> Verdict:
    """A verdict from a comparison."""
    return Verdict(HOLDS if holds else FAILS, because)


def tested(holds: bool, p_value: float, because: str) -> Verdict:
    """A verdict that a test decides; not decided where it does not exclude chance."""
    told = f"{because}; p = {p_value:.2g}"
    return decided(holds, told) if p_value < LEVEL else Verdict(UNDECIDED, told)


def majority(n_for: int, n_all: int, because: str) -> Verdict:
    """A verdict on what is said of most sets: not decided where as many for it would come by chance of one half.

    >>> majority(11, 18, "on 11 of 18 sets").verdict, majority(16, 18, "on 16 of 18 sets").verdict
    ('not decided', 'holds')
    """
    return tested(2 * n_for > n_all, float(binomtest(n_for, n_all).pvalue), because)


def untested(why: str) -> Verdict:
    """No verdict, and why."""
    return Verdict(UNTESTED, why)


NOT_COMPUTED = "its cells are not computed"
