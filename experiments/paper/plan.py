"""What is to be computed: columns on sets, trial by trial, the most wanted first, with what it will cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from experiments.paper.catalogue import Catalogue
from experiments.paper.column import BATCH, OURS, PROJECTED, STUDY, Column
from experiments.paper.data_set import BENCHMARK, HIGH_DIMENSION, DataSet
from experiments.paper.protocol import Profile, Thinning, estimated_seconds, thinned

# Where the task is the printed one, classes and all: what a reader looks at first.
WANTED = ("diabetes", "fourclass", "german", "splice", "magic04", "ijcnn1", "a9a", "connect-4", "w8a", "covtype")
FIRST = ("OPAUC", "exact")
WIDE = 256


@dataclass(frozen=True)
class Work:
    """One trial of one column on one set: what a worker takes at a time."""

    data: DataSet
    column: Column
    thinning: Thinning
    trial: int

    @property
    def seconds(self) -> float:
        """What the model of costs says for one trial."""
        return estimated_seconds(self.column, self.data.shape, self.thinning) / self.thinning.trials


def planned(
    profile: Profile, catalogue: Catalogue, sets: Sequence[str] = (), columns: Sequence[str] = ()
) -> list[Work]:
    """All work of a profile, or that on the sets and columns named, in the order it is taken up."""
    work = [
        one
        for data in catalogue.sets().values()
        if not sets or data.name in sets
        for column in catalogue.columns().values()
        if column.applies_to(data) and (not columns or column.name in columns)
        for one in _trials(data, column, profile)
    ]
    return sorted(work, key=_order)


def _trials(data: DataSet, column: Column, profile: Profile) -> Iterator[Work]:
    thinning = thinned(column, data.shape, profile)
    if estimated_seconds(column, data.shape, thinning) > profile.dearest:
        return
    for trial in range(thinning.trials):
        yield Work(data, column, thinning, trial)


def one_trial(profile: Profile, catalogue: Catalogue, names: tuple[str, str], trial: int) -> Work:
    """The work of that trial of a column on a set, found by the names of both."""
    data, column = catalogue.sets()[names[0]], catalogue.columns()[names[1]]
    return Work(data, column, thinned(column, data.shape, profile), trial)


def _order(work: Work) -> tuple[int, float, str, str, int]:
    size = work.data.shape.n_rows * work.data.shape.n_features if work.data.suite == BENCHMARK else work.seconds
    return _stage(work.data, work.column), size, work.data.name, work.column.name, work.trial


def _stage(data: DataSet, column: Column) -> int:
    if data.name in WANTED and column.name in FIRST:
        return 0
    if column.kind == PROJECTED:
        return 7
    if data.suite == HIGH_DIMENSION:
        return 3 if data.shape.n_rows < 100_000 else 5
    stage = {BATCH: 4, OURS: 2, STUDY: 2}.get(column.kind, 1)
    return stage if data.shape.n_features < WIDE else stage + 5
