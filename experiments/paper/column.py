"""A column of the tables: a method, the settings it chooses from, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np

from experiments.paper.data_set import BENCHMARK, HIGH_DIMENSION, DataSet, Shape, Task
from experiments.splits import Evaluator, Split, SplitAucs, compare_on_splits
from opauc.metrics import Method, exact_auc
from opauc.types import Floats, Labels, Rows

ONLINE, BATCH, PROJECTED, OURS, STUDY = "online", "batch", "projected", "ours", "study"
BOTH = (BENCHMARK, HIGH_DIMENSION)
# The paper's grids: step sizes of online methods, penalties of OPAUC and of batch methods.
STEPS = tuple(2.0**k for k in range(-12, 11))
RIDGES = tuple(2.0**k for k in range(-10, 3))
BATCH_RIDGES = tuple(2.0**k for k in range(-10, 11))

Setting: TypeAlias = dict[str, float]
Grid: TypeAlias = Mapping[str, Sequence[float]]


class Context(NamedTuple):
    """What a method may depend on beside its setting: the kind of set, and the number of the trial."""

    suite: str
    trial: int


# The weights of many settings learned from the same rows, one after the other; None where a setting fails.
Family: TypeAlias = Callable[[Sequence[Setting], Rows, Labels, Context], Iterable[Floats | None]]
RowMap: TypeAlias = Callable[[Rows, Context], Rows]
# Points of a figure from the rows learned and those held out: places on its axes, and an AUC at the end of each.
Curve: TypeAlias = list[list[float]]
Trace: TypeAlias = Callable[[Setting, Context, Task, Task], Curve]


@dataclass(frozen=True)
class Cost:
    """What learning costs on one core of 2026: microseconds a row and a fit of one setting.

    `share` is what a setting costs where many are learned together, `passes`
    how many of a grid's settings have to be paid for: those that diverge leave early.
    """

    row: Callable[[Shape], float]
    fit: Callable[[Shape], float] = lambda shape: 300.0 + 0.02 * shape.n_features
    share: float = 1.0
    passes: float = 1.0
    mapping: Callable[[Shape], float] = lambda shape: 0.0  # noqa: ARG005

    def alone(self, shape: Shape, n_rows: float) -> float:
        """Seconds of learning one setting from so many rows."""
        return 1e-6 * (self.fit(shape) + n_rows * (self.row(shape) + self.mapping(shape)))

    def together(self, shape: Shape, n_rows: float, n_settings: int) -> float:
        """Seconds of learning all settings of a grid from so many rows."""
        each = self.passes * self.fit(shape) + n_rows * self.passes * self.share * self.row(shape)
        return 1e-6 * (n_settings * each + n_rows * self.mapping(shape))


@dataclass(frozen=True)
class Column:
    """One method of the evaluation, found in `methods/`.

    `made` gives the method with one setting. Where there is a `grid`, the
    setting is chosen by cross-validation; where a `family` learns all settings
    together, it serves that. `row_map` maps the rows before a choice is made,
    for methods that work on mapped rows. `most_rows` are learned from at most.
    `trace` gives the points of a figure in the first trial; a study is nothing else.
    `worth` is a factor on the budget: what all others are compared with is thinned least.
    `sets` are the names of the sets it is computed on; where it is empty, all of its suites.
    """

    name: str
    kind: str
    suites: tuple[str, ...]
    made: Callable[[Setting, Context], Method]
    cost: Cost
    grid: Grid = field(default_factory=dict)
    family: Family | None = None
    row_map: RowMap | None = None
    most_rows: int | None = None
    trace: Trace | None = None
    worth: float = 1.0
    about: str = ""
    sets: tuple[str, ...] = ()

    def applies_to(self, data: DataSet) -> bool:
        """Whether the column is computed on a set: both may name those of the other they are restricted to."""
        return (
            data.suite in self.suites
            and (not self.sets or data.name in self.sets)
            and (not data.columns or self.name in data.columns)
        )

    def evaluator(self, settings: Sequence[Setting], context: Context) -> Evaluator:
        """Return the function that computes the AUC of all settings on splits."""

        def evaluate(methods: Sequence[Method], rows: Rows, labels: Labels, splits: Iterable[Split]) -> SplitAucs:
            mapped = rows if self.row_map is None else self.row_map(rows, context)
            family = self.family
            if family is None:
                return compare_on_splits(methods, mapped, labels, splits)
            aucs = []
            for train, held_out in splits:
                candidates = family(settings, mapped[train], labels[train], context)
                aucs.append([_auc(weights, mapped[held_out], labels[held_out]) for weights in candidates])
            return _without_times(tuple(map(str, settings)), np.array(aucs).T)

        return evaluate


def settings_of(grid: Grid) -> list[Setting]:
    """Every combination of a grid; one without anything set where it is empty.

    >>> settings_of({"eta0": (1.0, 2.0), "alpha": (3.0,)})
    [{'eta0': 1.0, 'alpha': 3.0}, {'eta0': 2.0, 'alpha': 3.0}]
    """
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def _without_times(names: tuple[str, ...], aucs: Floats) -> SplitAucs:
    return SplitAucs(names, aucs, np.zeros(aucs.shape), (("no weights",) * aucs.shape[1],) * aucs.shape[0])


def _auc(weights: Floats | None, rows: Rows, labels: Labels) -> float:
    if weights is None:
        return float("nan")
    scores = rows @ weights
    return exact_auc(labels, scores) if np.isfinite(scores).all() else float("nan")
