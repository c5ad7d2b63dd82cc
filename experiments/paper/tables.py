"""The paper's tables from the store: mean and deviation of each cell, tests against OPAUC, wins, ties and losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from experiments.paper.catalogue import Catalogue
from experiments.paper.column import BATCH, ONLINE, OURS, PROJECTED, Grid
from experiments.paper.data_set import BENCHMARK, HIGH_DIMENSION
from experiments.paper.plan import FIRST
from experiments.paper.printed import Printed, printed_table
from experiments.paper.protocol import FOLDS, PROFILES, thinned
from experiments.paper.store import Line, Store
from experiments.paper.trial import CHOICE
from experiments.splits import PairedTest, corrected_t_test, paired_t_test
from opauc.types import Floats

Runs = dict[tuple[int, int], float]
# Five trials of five folds.
PRINTED_RUNS = 25
# Wins, ties and losses.
Counts = tuple[int, int, int]
# Parameters as the paper writes them.
SYMBOLS = {"eta0": "η", "alpha": "λ", "C": "C", "radius": "R"}
# A run that loses at least so much AUC against the median of its cell may have collapsed.
COLLAPSE = 0.03
FEWEST_RUNS = 5


@dataclass(frozen=True)
class Cell:
    """One column on one set: the AUCs of its runs by trial and fold, and what there is to say about them.

    `planned` is how many runs there are to be, `grid` what settings are chosen from.
    """

    lines: Sequence[Line]
    planned: int = 0
    grid: Grid = field(default_factory=dict)

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
    def edges(self) -> dict[str, int]:
        """How many runs have the smallest or the largest value of a grid, by "λ↓", "η↑" and so on.

        >>> run = Line("paper", "a9a", "OPAUC", 0, 0, auc=0.9, setting={"alpha": 0.25, "eta0": 1.0})
        >>> Cell([run], 1, {"alpha": (0.25, 0.5), "eta0": (0.5, 1.0, 2.0)}).edges
        {'λ↓': 1}
        """
        found: dict[str, int] = {}
        for line in self.lines:
            for name, value in (line.setting or {}).items() if line.auc is not None else ():
                values = self.grid.get(name, ())
                if len(values) > 1 and value in (min(values), max(values)):
                    edge = f"{SYMBOLS[name]}{'↓' if value == min(values) else '↑'}"
                    found[edge] = found.get(edge, 0) + 1
        return found

    @property
    def why_not(self) -> str:
        """Why runs are missing, in the words of the first that failed."""
        for line in self.lines:
            if line.not_available or line.error or line.trouble:
                return f"N/A after {line.not_available}" if line.not_available else line.error or line.trouble
        return ""


def compared(one: Cell, other: Cell, corrected: bool = False) -> PairedTest | None:
    """The paired test of two whole cells over the runs both have, or the corrected one; None with fewer than two."""
    if not (one.is_whole and other.is_whole):
        return None
    both = sorted(one.runs.keys() & other.runs.keys())
    if len(both) < 2:
        return None
    test = corrected_t_test if corrected else paired_t_test
    return test(*(np.array([cell.runs[run] for run in both]) for cell in (one, other)))


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
    """Cells by set and column, the column all others are tested against, and the printed cells.

    `comparable` names the sets whose task is the published one, `counted` those
    that wins, ties and losses are counted on.
    """

    title: str
    reference: str
    columns: Sequence[str]
    sets: Sequence[str]
    cells: Mapping[tuple[str, str], Cell]
    printed: Mapping[tuple[str, str], Printed]
    comparable: Sequence[str] = ()
    counted: Sequence[str] = ()

    def cell(self, name: str, column: str) -> Cell | None:
        """Our cell, if it is there."""
        return self.cells.get((name, column))

    def printed_cell(self, name: str, column: str) -> Printed | None:
        """The printed cell of the same task, if there is one."""
        return self.printed.get((name, column)) if name in self.comparable else None

    def test(self, name: str, column: str, corrected: bool = False) -> PairedTest | None:
        """The reference against a column on a set."""
        one, other = self.cell(name, self.reference), self.cell(name, column)
        return compared(one, other, corrected) if one and other and column != self.reference else None

    def outcome(self, name: str, column: str, corrected: bool = False) -> str:
        """ "win", "tie" or "loss" of the reference; empty where it cannot be told."""
        test = self.test(name, column, corrected)
        return test.outcome() if test else ""

    def counts(self, column: str, corrected: bool = False) -> Counts:
        """Our wins, ties and losses of the reference."""
        return _counts(self.outcome(name, column, corrected) for name in self.counted)

    def counts_in_print(self, column: str) -> Counts:
        """Ours on the sets whose task is the published one."""
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

    def cell(name: str, method: str, found: list[Line]) -> Cell:
        if name not in sets or method not in columns:
            return Cell(found)
        thinning = thinned(columns[method], sets[name].shape, PROFILES[profile])
        return Cell(found, FOLDS * thinning.trials, thinning.grid(columns[method]))

    lines: dict[tuple[str, str], list[Line]] = {}
    for line in sorted(store.lines(profile), key=lambda line: line.key):
        lines.setdefault((line.set, line.method), []).append(line)
    return {names: cell(*names, found) for names, found in lines.items()}


def all_tables(store: Store, profile: str, catalogue: Catalogue) -> list[Table]:
    """Table 2, 3 and 5 of the paper, and our own columns on both kinds of sets."""
    cells, sets, columns = cells_of(store, profile, catalogue), catalogue.sets(), catalogue.columns()
    comparable = [name for name, data in sets.items() if data.is_comparable]

    def table(title: str, reference: str, suite: str, kinds: tuple[str, ...], printed: str) -> Table:
        wanted = [
            column.name for column in columns.values()
            if column.kind in kinds and suite in column.suites and column.name != reference
        ]  # fmt: skip
        given = printed_table(printed) if printed else {}
        order = [method for _, method in given] + wanted
        chosen = (reference, *sorted(wanted, key=lambda name: (name not in FIRST, order.index(name))))
        rows = [data for data in sets.values() if data.suite == suite and (data.name, reference) in cells]
        rows.sort(key=lambda data: (not data.is_comparable, data.printed_as is None, data.shape.n_rows))
        counted = [data.name for data in rows if not data.variant_of]
        return Table(title, reference, chosen, [data.name for data in rows], cells, given, comparable, counted)

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


class Collapse(NamedTuple):
    """A run far below the others of its cell, where other methods do as well as elsewhere."""

    set: str
    method: str
    trial: int
    fold: int
    auc: float
    median: float


def collapsed_runs(cells: Mapping[tuple[str, str], Cell]) -> list[Collapse]:
    """Every run below the median of its cell by more than `COLLAPSE`, and six typical deviations, more than is usual.

    Usual is the median over all methods of how far they are below theirs in the
    same run: some folds are hard for all.
    """
    below: dict[str, dict[tuple[int, int], list[float]]] = {}
    for (name, _), cell in cells.items():
        for run, auc in cell.runs.items():
            below.setdefault(name, {}).setdefault(run, []).append(float(np.median(cell.aucs)) - auc)
    found = []
    for (name, method), cell in sorted(cells.items()):
        if len(cell.runs) < FEWEST_RUNS:
            continue
        middle = float(np.median(cell.aucs))
        typical = 1.4826 * float(np.median(np.abs(cell.aucs - middle)))
        for (trial, fold), auc in cell.runs.items():
            if middle - auc - float(np.median(below[name][trial, fold])) > max(COLLAPSE, 6.0 * typical):
                found.append(Collapse(name, method, trial, fold, auc, middle))
    return found


class Distance(NamedTuple):
    """A cell of ours that is far from the published one, and the column of ours that explains it, if one does."""

    set: str
    method: str
    ours: Cell
    printed: Printed
    errors: float
    explanation: str


# What may explain a distance: columns in which one thing is done otherwise.
VARIANTS = {
    "OAM_seq": ("OAM_seq, twice C", "OAM_seq, smaller C"),
    "OAM_gra": ("OAM_gra, twice C", "OAM_gra, smaller C"),
    "online Uni-Exp": ("online Uni-Exp, unweighted", "online Uni-Exp, intercept"),
    "online Uni-Squ": ("online Uni-Squ, unweighted", "online Uni-Squ, intercept"),
    "batch LS-SVM": ("LS-SVM, all rows",),
    "batch Uni-Squ": ("batch Uni-Squ, unweighted", "Uni-Squ, all rows"),
    "batch Uni-Log": ("batch Uni-Log, unweighted", "LogisticRegression"),
}
FAR = 2.0


class Published(NamedTuple):
    """A whole cell of ours on a set whose task is the published one, and the published cell."""

    set: str
    method: str
    ours: Cell
    printed: Printed


def comparable_cells(cells: Mapping[tuple[str, str], Cell], comparable: Sequence[str]) -> Iterator[Published]:
    """Every cell of Tables 2 and 3 that may be compared with print; that of OPAUC, which is in both, once."""
    for (name, method), printed in {**printed_table("online"), **printed_table("batch")}.items():
        cell = cells.get((name, method))
        if name in comparable and cell is not None and cell.is_whole:
            yield Published(name, method, cell, printed)


def far_from_print(cells: Mapping[tuple[str, str], Cell], comparable: Sequence[str]) -> list[Distance]:
    """Every cell more than two standard errors from print on a set whose task is the published one, farthest first."""
    found = []
    for one in comparable_cells(cells, comparable):
        errors = standard_errors_apart(one.ours, one.printed)
        if abs(errors) > FAR:
            found.append(Distance(*one, errors, _explanation(cells, one.set, one.method, one.printed)))
    return sorted(found, key=lambda one: -abs(one.errors))


def _explanation(cells: Mapping[tuple[str, str], Cell], name: str, method: str, printed: Printed) -> str:
    """The variant that is within two standard errors of print, or on its other side; empty where there is none."""
    ours = standard_errors_apart(cells[name, method], printed)
    for variant in VARIANTS.get(method, ()):
        cell = cells.get((name, variant))
        if cell is None or not cell.is_whole:
            continue
        errors = standard_errors_apart(cell, printed)
        if abs(errors) <= FAR:
            return f"reproduced by “{variant}” ({errors:+.1f})"
        if errors * ours < 0.0:
            return f"between ours and “{variant}” ({errors:+.1f})"
    return ""
