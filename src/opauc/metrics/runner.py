"""Methods compared on the same rows: learned from some, judged by the AUC of others, timed, refusals kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from opauc.errors import InputError, OpaucError, UnsupportedOperationError
from opauc.metrics.comparison import EXACT_ROWS, Compared, KeptScores, ranked
from opauc.metrics.exact_auc import Flags
from opauc.metrics.splits import held_out
from opauc.types import Floats, Labels, Rows

Scoring: TypeAlias = Callable[[Rows], Floats]


class Method(Protocol):
    """A way from labeled rows to scores: `learn` any number of times, `finish` once, then `scores`.

    What it cannot do it refuses by an `OpaucError`; the runner then leaves it out and keeps the reason.
    """

    @property
    def name(self) -> str:
        """What the method is called in tables."""

    def fresh(self) -> Self:
        """Return the method with the same settings and nothing learned."""

    def warm_up(self, rows: Rows) -> None:
        """Compile what rows of this kind will need: it is not timed, and leaves nothing learned."""

    def learn(self, rows: Rows, labels: Labels) -> None:
        """Learn a chunk of rows, which may have more features than those before, never fewer."""

    def finish(self) -> None:
        """Work out what scores, after the last chunk."""

    def scores(self, rows: Rows) -> Floats:
        """Return the scores of rows as wide as the widest learned."""


@dataclass(eq=False)
class Collected:
    """Chunks of rows kept until all are there, for methods that need them at once."""

    rows: list[Rows] = field(default_factory=list)
    labels: list[Labels] = field(default_factory=list)

    def add(self, rows: Rows, labels: Labels) -> None:
        """Keep a chunk."""
        self.rows.append(rows)
        self.labels.append(labels)

    def bytes(self) -> int:
        """Return how much memory the rows take."""
        return sum(_bytes_of(part) for part in self.rows)

    def whole(self) -> tuple[Rows, Labels]:
        """Return all rows as one chunk; those of features that turned up late were zero before."""
        if len(self.rows) == 1:
            return self.rows[0], self.labels[0]
        if not self.rows:
            raise OpaucError("there are no rows to learn from")
        labels, width = np.concatenate(self.labels), self.rows[-1].shape[1]
        if not sparse.issparse(self.rows[0]):
            return np.concatenate(self.rows), labels
        return sparse.vstack([widened(part, width) for part in self.rows], format="csr"), labels


def _bytes_of(rows: Rows) -> int:
    parts = [rows] if isinstance(rows, np.ndarray) else [rows.data, rows.indices, rows.indptr]
    return sum(part.nbytes for part in parts)


def widened(rows: csr_array, width: int) -> csr_array:
    """Return sparse rows with room for more features."""
    return csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], width))


@dataclass(eq=False)
class FittedMethod:
    """A method that is one function: from all rows and labels to a function that scores.

    A `ValueError` of the function is the method's refusal. It also refuses to
    keep rows of more than `most_bytes`.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.metrics import FittedMethod
    >>> method = FittedMethod("first feature", lambda rows, labels: lambda rows: rows[:, 0])
    >>> method.learn(np.array([[0.0], [1.0]]), np.array([0, 1], np.int8))
    >>> method.finish()
    >>> method.scores(np.array([[3.0]])).tolist()
    [3.0]
    """

    name: str
    fit: Callable[[Rows, Labels], Scoring]
    most_bytes: float = np.inf
    collected: Collected = field(default_factory=Collected, repr=False)
    scoring: Scoring | None = field(default=None, repr=False)

    def fresh(self) -> Self:
        """Return the method with nothing learned."""
        return type(self)(self.name, self.fit, self.most_bytes)

    def warm_up(self, rows: Rows) -> None:
        """Do nothing: a function that compiles has to be called before."""

    def learn(self, rows: Rows, labels: Labels) -> None:
        """Keep the rows."""
        self.collected.add(rows, labels)
        if self.collected.bytes() > self.most_bytes:
            self.collected = Collected()
            raise UnsupportedOperationError(
                f"needs all rows in memory and takes at most {self.most_bytes / 2**30:g} GiB"
            )

    def finish(self) -> None:
        """Fit, and let go of the rows."""
        rows, labels = self.collected.whole()
        self.collected = Collected()
        try:
            self.scoring = self.fit(rows, labels)
        except ValueError as error:
            raise OpaucError(str(error)) from error

    def scores(self, rows: Rows) -> Floats:
        """Return the scores of rows."""
        if self.scoring is None:
            raise ValueError(f"{self.name}: finish must be called before scores")
        return self.scoring(rows)


# What tells the time in seconds: that on the wall, or `time.thread_time` where other programs run beside.
Clock: TypeAlias = Callable[[], float]


def wall_clock() -> float:
    """Return seconds since some moment."""
    return time.perf_counter()


class NumberedRows(NamedTuple):
    """A chunk of a stream: the number of its first row, the rows as features, and their labels.

    Where the rows are those of a table, `table` has its columns as they come: nan where a value is missing, and
    categories by their numbers.
    """

    first_row: int
    rows: Rows
    labels: Labels
    table: Floats | None = None

    def taken(self, chosen: Flags) -> NumberedRows:
        """Return some of the rows."""
        table = None if self.table is None else self.table[chosen]
        return NumberedRows(self.first_row, self.rows[chosen], self.labels[chosen], table)


class HeldOut(NamedTuple):
    """The choice of the rows of a stream that are scored and not learned."""

    share: float = 0.2
    seed: int = 0

    def of(self, chunk: NumberedRows) -> Flags:
        """Tell which rows of a chunk are held out."""
        return held_out(chunk.first_row, chunk.labels.size, self.share, self.seed)


class Trial:
    """One method on its way through the rows: `seconds` it learned, and in `trouble` why it was left out."""

    def __init__(self, method: Method, clock: Clock = wall_clock, of_table: bool = False) -> None:
        self.method, self.seconds, self.trouble = method.fresh(), 0.0, ""
        self._warm, self._clock, self._of_table = False, clock, of_table

    def rows_of(self, chunk: NumberedRows) -> Rows:
        """Return the rows of a chunk as the method takes them."""
        return chunk.table if self._of_table and chunk.table is not None else chunk.rows

    def learn(self, rows: Rows, labels: Labels) -> None:
        """Learn rows; compiling is not timed."""
        if not self._warm and labels.size:
            with self._or_trouble():
                self.method.warm_up(rows)
            self._warm = True
        if not self.trouble:
            with self._or_trouble(timed=True):
                self.method.learn(rows, labels)

    def finish(self) -> None:
        """Work out what scores."""
        if not self.trouble:
            with self._or_trouble(timed=True):
                self.method.finish()

    def scores(self, rows: Rows) -> Floats | None:
        """Return the scores of rows, None from a method that is left out."""
        scores = None
        if not self.trouble:
            with self._or_trouble():
                scores = self.method.scores(rows)
                if np.isnan(scores).any():
                    raise OpaucError("gave scores that are not numbers")
        return None if self.trouble else scores

    @contextmanager
    def _or_trouble(self, timed: bool = False) -> Iterator[None]:
        began = self._clock()
        try:
            yield
        except OpaucError as error:
            self.trouble = str(error)
        if timed:
            self.seconds += self._clock() - began


def compare_on_stream(
    methods: Sequence[Method],
    read: Callable[[], Iterable[NumberedRows]],
    choice: HeldOut,
    exact_rows: int = EXACT_ROWS,
    of_tables: Sequence[Method] = (),
) -> list[Compared]:
    """Learn and score in two passes, in memory that does not grow with the rows; return the best method first.

    `read` is called for each pass. In the first, chunks must not become
    narrower; in the second they have as many features as the last of the
    first. The methods `of_tables` take the columns of a table where there are
    any, all others features. With more than `exact_rows` rows held out,
    intervals are those of a streaming AUC and there is no test.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.metrics import FittedMethod, HeldOut, NumberedRows, compare_on_stream
    >>> rng = np.random.default_rng(0)
    >>> labels = (rng.random(1000) < 0.5).astype(np.int8)
    >>> rows = np.stack([rng.normal(size=1000) + labels, rng.normal(size=1000)], axis=1)
    >>> methods = [FittedMethod(f"feature {j}", lambda rows, labels, j=j: lambda rows: rows[:, j]) for j in (0, 1)]
    >>> found = compare_on_stream(methods, lambda: [NumberedRows(0, rows, labels)], HeldOut(share=0.5))
    >>> [one.name for one in found], found[0].p_value is None, bool(found[1].p_value < 0.001)
    (['feature 0', 'feature 1'], True, True)
    """
    trials = [Trial(method) for method in methods] + [Trial(method, of_table=True) for method in of_tables]
    for chunk in read():
        learned = chunk.taken(~choice.of(chunk))
        for trial in trials:
            trial.learn(trial.rows_of(learned), learned.labels)
    for trial in trials:
        trial.finish()
    found = [KeptScores(exact_rows) for _ in trials]
    counts = np.zeros(2, np.int64)
    for chunk in read():
        asked = chunk.taken(choice.of(chunk))
        counts += np.bincount(asked.labels, minlength=2)
        for trial, kept_scores in zip(trials, found, strict=True):
            if (scores := trial.scores(trial.rows_of(asked))) is not None:
                kept_scores.add(asked.labels, scores)
    if not counts.all():
        raise InputError(
            f"comparing needs rows of two classes held out, got {counts[1]} positives and {counts[0]} negatives"
        )
    return ranked([(trial.method.name, trial.seconds, trial.trouble) for trial in trials], found)
