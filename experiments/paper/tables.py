"""The paper's tables from the store: mean and deviation of each cell, tests against OPAUC, wins, ties and losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from experiments.paper.catalogue import Catalogue
from experiments.paper.column import BATCH, ONLINE, OURS, PROJECTED
from experiments.paper.data_set import BENCHMARK, HIGH_DIMENSION
from experiments.paper.plan import FIRST
from experiments.paper.printed import Printed, printed_table
from experiments.paper.protocol import FOLDS, PROFILES, thinned
from experiments.paper.store import Line, Store
from experiments.paper.trial import CHOICE
from experiments.splits import PairedTest, paired_t_test
from opauc.types import Floats

Runs = dict[tuple[int, int], float]
# Five trials of five folds.
PRINTED_RUNS = 25
# Wins, ties and losses.
Counts = tuple[int, int, int]


@dataclass(frozen=True)
class Cell:
    """One column on one set: the AUCs of its runs by trial and fold, and what there is to say about them.

    `planned` is how many runs there are to be.
    """

    lines: Sequence[Line]
    planned: int = 0

    @cached_property
    def runs(self) -> Runs:
        """AUC of every run that worked."""
        return {(line.trial, line.fold): line.auc for line in self.lines if line.auc is not None}

    @property
    def is_whole(self) -> bool:
        """Whether nothing more is to come: all runs are there, a limit was passed, or no setting could be chosen."""
        if any(line.not_available or (line.fold == CHOICE and line.setting is None) for line in self.lines):
            return True
        return sum(line.fold != CHOICE for line in self.lines) >= self.planned

    @property
    def aucs(self) -> Floats:
        """The AUCs alone."""
        return np.array(list(self.runs.values()))

    @property
    def auc(self) -> float | None:
        """The mean over the runs; None where there is none."""
        return float(self.aucs.mean()) if self.runs else None

    @property
    def deviation(self) -> float | None:
        """The deviation over the runs, with their number less one as divisor."""
        return float(self.aucs.std(ddof=1)) if len(self.runs) > 1 else None

    @property
    def seconds(self) -> float | None:
        """The mean processor time of learning."""
        times = [line.seconds for line in self.lines if line.seconds is not None and line.auc is not None]
        return float(np.mean(times)) if times else None

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules by which the protocol was thinned."""
        return tuple(self.lines[0].rules)

    @property
    def why_not(self) -> str:
        """Why runs are missing, in the words of the first that failed."""
        for line in self.lines:
            if line.not_available or line.error or line.trouble:
                return f"N/A after {line.not_available}" if line.not_available else line.error or line.trouble
        return ""


def compared(one: Cell, other: Cell) -> PairedTest | None:
    """The paired test of two whole cells over the runs both have; None with fewer than two."""
    if not (one.is_whole and other.is_whole):
        return None
    both = sorted(one.runs.keys() & other.runs.keys())
    if len(both) < 2:
        return None
    return paired_t_test(*(np.array([cell.runs[run] for run in both]) for cell in (one, other)))


def standard_errors_apart(ours: Cell, printed: Printed) -> float:
    """How far our mean is above the published one, in standard errors of the difference of two means of 25 runs each.

    The published deviation is over 25 runs as well.

    >>> runs = [Line("paper", "a9a", "OPAUC", 0, fold, auc=auc) for fold, auc in enumerate((0.88, 0.9, 0.92))]
    >>> round(standard_errors_apart(Cell(runs), Printed(0.9, 0.02, "")), 9)
    0.0
    """
    if ours.auc is None or ours.deviation is None or printed.auc is None or printed.deviation is None:
        return float("nan")
    error = np.hypot(ours.deviation / np.sqrt(len(ours.runs)), printed.deviation / np.sqrt(PRINTED_RUNS))
    return float((ours.auc - printed.auc) / error)


@dataclass(frozen=True)
class Table:
    """Cells by set and column, the column all others are tested against, and the printed cells."""

    title: str
    reference: str
    columns: Sequence[str]
    sets: Sequence[str]
    cells: Mapping[tuple[str, str], Cell]
    printed: Mapping[tuple[str, str], Printed]
    printed_names: Mapping[str, str]

    def cell(self, name: str, column: str) -> Cell | None:
        """Our cell, if it is there."""
        return self.cells.get((name, column))

    def printed_cell(self, name: str, column: str) -> Printed | None:
        """The printed cell of the same task, if there is one."""
        return self.printed.get((self.printed_names.get(name, ""), column))

    def test(self, name: str, column: str) -> PairedTest | None:
        """The reference against a column on a set."""
        one, other = self.cell(name, self.reference), self.cell(name, column)
        return compared(one, other) if one and other and column != self.reference else None

    def outcome(self, name: str, column: str) -> str:
        """ "win", "tie" or "loss" of the reference; empty where it cannot be told."""
        test = self.test(name, column)
        return test.outcome() if test else ""

    def counts(self, column: str) -> Counts:
        """Our wins, ties and losses of the reference."""
        return _counts(self.outcome(name, column) for name in self.sets)

    def counts_in_print(self, column: str) -> Counts:
        """Ours on the sets that the paper has too."""
        return _counts(self.outcome(name, column) for name in self.sets if self.printed_cell(name, column))

    def printed_counts(self, column: str) -> Counts:
        """The printed ones, over all sets of the paper."""
        return _counts(cell.outcome for (_, method), cell in self.printed.items() if method == column)

    def printed_counts_here(self, column: str) -> Counts:
        """The printed ones over the sets that are in our table too, and computed."""
        names = [name for name in self.sets if self.outcome(name, column)]
        found = (self.printed_cell(name, column) for name in names)
        return _counts(cell.outcome for cell in found if cell)


def _counts(outcomes: Iterator[str]) -> Counts:
    found = list(outcomes)
    return found.count("win"), found.count("tie"), found.count("loss")


def cells_of(store: Store, profile: str, catalogue: Catalogue) -> dict[tuple[str, str], Cell]:
    """Every cell of a profile, by set and column."""
    sets, columns = catalogue.sets(), catalogue.columns()

    def planned(name: str, method: str) -> int:
        if name not in sets or method not in columns:
            return 0
        return FOLDS * thinned(columns[method], sets[name].shape, PROFILES[profile]).trials

    lines: dict[tuple[str, str], list[Line]] = {}
    for line in sorted(store.lines(profile), key=lambda line: line.key):
        lines.setdefault((line.set, line.method), []).append(line)
    return {names: Cell(found, planned(*names)) for names, found in lines.items()}


def all_tables(store: Store, profile: str, catalogue: Catalogue) -> list[Table]:
    """Table 2, 3 and 5 of the paper, and our own columns on both kinds of sets."""
    cells, sets, columns = cells_of(store, profile, catalogue), catalogue.sets(), catalogue.columns()
    names = {name: data.printed_as for name, data in sets.items() if data.printed_as}

    def table(title: str, reference: str, suite: str, kinds: tuple[str, ...], printed: str) -> Table:
        wanted = [
            column.name for column in columns.values()
            if column.kind in kinds and suite in column.suites and column.name != reference
        ]  # fmt: skip
        given = printed_table(printed) if printed else {}
        order = [method for _, method in given] + wanted
        chosen = (reference, *sorted(wanted, key=lambda name: (name not in FIRST, order.index(name))))
        rows = [data for data in sets.values() if data.suite == suite and (data.name, reference) in cells]
        rows.sort(key=lambda data: (data.printed_as is None, data.shape.n_rows))
        return Table(title, reference, chosen, [data.name for data in rows], cells, given, names)

    return [
        table("Table 2: online methods", "OPAUC", BENCHMARK, (ONLINE,), "online"),
        table("Table 3: batch methods, 8,000 rows", "OPAUC", BENCHMARK, (BATCH,), "batch"),
        table("Table 5: high dimension", "OPAUCr", HIGH_DIMENSION, (ONLINE, PROJECTED), "high_dimension"),
        table("Beyond the paper: benchmark sets", "OPAUC", BENCHMARK, (OURS,), ""),
        table("Beyond the paper: high dimension", "OPAUCr", HIGH_DIMENSION, (OURS,), ""),
    ]


def curves_of(store: Store, profile: str) -> Iterator[Line]:
    """Every line with points of a figure."""
    return (line for line in store.lines(profile) if line.curve and line.fold != CHOICE)
