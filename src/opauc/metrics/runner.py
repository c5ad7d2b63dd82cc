"""Compare methods on the same rows: train, time, and measure the AUC on held-out rows."""

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
from opauc.metrics.comparison import MAX_EXACT_ROWS, Compared, ScoreBuffer, rank_methods
from opauc.metrics.exact_auc import Flags
from opauc.metrics.ranking_metric import RankingMetric
from opauc.metrics.splits import held_out
from opauc.types import Floats, Labels, Rows

Scoring: TypeAlias = Callable[[Rows], Floats]


class Method(Protocol):
    """A method to compare: call `train` with any number of batches, `finish` once, then `scores`.

    A method that cannot handle the rows raises an `OpaucError`; the comparison reports its message.

    Examples
    --------
    >>> from opauc.metrics import FittedMethod, Method
    >>> method: Method = FittedMethod("first feature", lambda rows, labels: lambda rows: rows[:, 0])
    >>> method.fresh().name
    'first feature'
    """

    @property
    def name(self) -> str:
        """Name in tables."""
        ...

    def fresh(self) -> Self:
        """Return an untrained copy with the same settings.

        Returns
        -------
        method : Method
            The copy.
        """
        ...

    def warm_up(self, rows: Rows) -> None:
        """Compile kernels for rows of this type, untimed and without training.

        Parameters
        ----------
        rows : ndarray or csr_array of shape (n_rows, n_features)
            Rows of numbers.
        """

    def train(self, rows: Rows, labels: Labels) -> None:
        """Train on a batch of rows, which may have more features than earlier ones, never fewer.

        Parameters
        ----------
        rows : ndarray or csr_array of shape (n_rows, n_features)
            Rows of numbers.
        labels : ndarray of shape (n_rows,)
            Their labels, 0 and 1; of K classes 0 to K - 1.
        """

    def finish(self) -> None:
        """Finish training after the last batch."""

    def scores(self, rows: Rows) -> Floats:
        """Return the scores of rows with as many features as the widest training rows.

        Parameters
        ----------
        rows : ndarray or csr_array of shape (n_rows, n_features)
            Rows of numbers.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            One score per row; of K > 2 classes one for each class, (n_rows, K).
        """
        ...


@dataclass(eq=False)
class Collected:
    """Batches of rows, for methods that need all rows at once."""

    rows: list[Rows] = field(default_factory=list)
    labels: list[Labels] = field(default_factory=list)

    def add(self, rows: Rows, labels: Labels) -> None:
        """Add a batch."""
        self.rows.append(rows)
        self.labels.append(labels)

    def bytes(self) -> int:
        """Return the memory of the rows in bytes."""
        return sum(_bytes_of(batch) for batch in self.rows)

    def whole(self) -> tuple[Rows, Labels]:
        """Return all rows as one batch; features that appear later are zero in earlier rows."""
        if len(self.rows) == 1:
            return self.rows[0], self.labels[0]
        if not self.rows:
            raise OpaucError("there are no rows to train on")
        labels, width = np.concatenate(self.labels), self.rows[-1].shape[1]
        if not sparse.issparse(self.rows[0]):
            return np.concatenate(self.rows), labels
        return sparse.vstack([widen_rows(batch, width) for batch in self.rows], format="csr"), labels


def _bytes_of(rows: Rows) -> int:
    arrays = [rows] if isinstance(rows, np.ndarray) else [rows.data, rows.indices, rows.indptr]
    return sum(array.nbytes for array in arrays)


def widen_rows(rows: csr_array, width: int) -> csr_array:
    """Return sparse rows with `width` features, the new ones zero."""
    return csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], width))


@dataclass(eq=False)
class FittedMethod:
    """A method given by one function `fit(rows, labels)` that returns a scoring function.

    A `ValueError` from `fit` counts as a failure of the method, and so do rows
    of more than `most_bytes` in memory.

    Attributes
    ----------
    name : str
        The name in tables.
    fit : callable
        Takes rows and labels, returns a function from rows to scores.
    most_bytes : int
        Largest size of all rows in memory.
    collected : Collected
        The rows so far.
    scoring : callable or None
        What `fit` returned.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.metrics import FittedMethod
    >>> method = FittedMethod("first feature", lambda rows, labels: lambda rows: rows[:, 0])
    >>> method.train(np.array([[0.0], [1.0]]), np.array([0, 1], np.int8))
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
        """Return an untrained copy.

        Returns
        -------
        method : FittedMethod
            The copy.
        """
        return type(self)(self.name, self.fit, self.most_bytes)

    def warm_up(self, rows: Rows) -> None:
        """Do nothing: compile `fit` before the comparison if it needs that.

        Parameters
        ----------
        rows : ndarray or csr_array of shape (n_rows, n_features)
            Rows of numbers.
        """

    def train(self, rows: Rows, labels: Labels) -> None:
        """Collect the rows.

        Parameters
        ----------
        rows : ndarray or csr_array of shape (n_rows, n_features)
            Rows of numbers.
        labels : ndarray of shape (n_rows,)
            Their labels, 0 and 1.
        """
        self.collected.add(rows, labels)
        if self.collected.bytes() > self.most_bytes:
            self.collected = Collected()
            raise UnsupportedOperationError(
                f"needs all rows in memory and takes at most {self.most_bytes / 2**30:g} GiB"
            )

    def finish(self) -> None:
        """Call `fit` and release the rows."""
        rows, labels = self.collected.whole()
        self.collected = Collected()
        try:
            self.scoring = self.fit(rows, labels)
        except ValueError as error:
            raise OpaucError(str(error)) from error

    def scores(self, rows: Rows) -> Floats:
        """Return the scores of rows.

        Parameters
        ----------
        rows : ndarray or csr_array of shape (n_rows, n_features)
            Rows of numbers.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            One score per row.
        """
        if self.scoring is None:
            raise ValueError(f"{self.name}: finish must be called before scores")
        return self.scoring(rows)


# Returns seconds: `wall_clock`, or `time.thread_time` on a machine shared with other programs.
Clock: TypeAlias = Callable[[], float]


def wall_clock() -> float:
    """Return the wall-clock time in seconds."""
    return time.perf_counter()


class NumberedRows(NamedTuple):
    """A batch of a stream: the number of its first row, the rows as features, and their labels.

    For rows of a table, `table` has its raw columns: NaN for missing values and category codes.

    Attributes
    ----------
    first_row : int
        Number of the first row.
    rows : ndarray or csr_array
        The rows as features.
    labels : ndarray
        Their labels, 0 and 1.
    table : ndarray or None
        The raw columns of a table.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.metrics import NumberedRows
    >>> batch = NumberedRows(100, np.eye(2), np.array([0, 1], np.int8))
    >>> batch.take(np.array([False, True])).labels.tolist()
    [1]
    """

    first_row: int
    rows: Rows
    labels: Labels
    table: Floats | None = None

    def take(self, mask: Flags) -> NumberedRows:
        """Return the rows selected by a boolean mask.

        Parameters
        ----------
        mask : ndarray of bool
            The rows to keep.

        Returns
        -------
        batch : NumberedRows
            These rows.
        """
        table = None if self.table is None else self.table[mask]
        return NumberedRows(self.first_row, self.rows[mask], self.labels[mask], table)


class HeldOut(NamedTuple):
    """Which rows of a stream are held out: a share of them, chosen by row number and seed.

    Attributes
    ----------
    share : float
        Share of the rows held out.
    seed : int
        Seed of the split.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.metrics import HeldOut, NumberedRows
    >>> batch = NumberedRows(0, np.eye(8), np.zeros(8, np.int8))
    >>> HeldOut(share=0.3, seed=1).of(batch).nonzero()[0].tolist()
    [0, 5, 7]
    """

    share: float = 0.2
    seed: int = 0

    def of(self, batch: NumberedRows) -> Flags:
        """Return which rows of a batch are held out.

        Parameters
        ----------
        batch : NumberedRows
            A batch of the stream.

        Returns
        -------
        mask : ndarray of bool
            Which of its rows are held out.
        """
        return held_out(batch.first_row, batch.labels.size, self.share, self.seed)


class Trial:
    """One method in a comparison: its training time in `seconds`, its error message in `trouble`."""

    def __init__(self, method: Method, clock: Clock = wall_clock, of_table: bool = False) -> None:
        self.method: Method = method.fresh()
        self.seconds: float = 0.0
        self.trouble: str = ""
        self._warm, self._clock, self._of_table = False, clock, of_table

    def rows_of(self, batch: NumberedRows) -> Rows:
        """Return the rows of a batch in the form the method uses: features or table columns."""
        return batch.table if self._of_table and batch.table is not None else batch.rows

    def train(self, rows: Rows, labels: Labels) -> None:
        """Train on rows; compilation is not timed."""
        if not self._warm and labels.size:
            with self._catch_trouble():
                self.method.warm_up(rows)
            self._warm = True
        if not self.trouble:
            with self._catch_trouble(timed=True):
                self.method.train(rows, labels)

    def finish(self) -> None:
        """Finish training."""
        if not self.trouble:
            with self._catch_trouble(timed=True):
                self.method.finish()

    def scores(self, rows: Rows) -> Floats | None:
        """Return the scores of rows; None if the method has failed."""
        scores = None
        if not self.trouble:
            with self._catch_trouble():
                scores = self.method.scores(rows)
                if np.isnan(scores).any():
                    raise OpaucError("gave scores that are not numbers")
        return None if self.trouble else scores

    @contextmanager
    def _catch_trouble(self, timed: bool = False) -> Iterator[None]:
        start = self._clock()
        try:
            yield
        except OpaucError as error:
            self.trouble = str(error)
        if timed:
            self.seconds += self._clock() - start


def compare_on_stream(
    methods: Sequence[Method],
    read: Callable[[], Iterable[NumberedRows]],
    choice: HeldOut,
    exact_rows: int = MAX_EXACT_ROWS,
    of_tables: Sequence[Method] = (),
    metrics: Sequence[RankingMetric] = (),
) -> list[Compared]:
    """Train and evaluate methods in two passes over a stream in fixed memory; return the best method first.

    Parameters
    ----------
    methods : sequence of Method
        Methods that take features.
    read : callable
        Returns the batches of the stream; called once per pass. In the first pass, batches must not lose features; in
        the second, they have as many features as the last batch of the first.
    choice : HeldOut
        Which rows are held out.
    exact_rows : int
        With more held-out rows, intervals come from a streaming AUC and there is no test.
    of_tables : sequence of Method
        Methods that take table columns where there are any.
    metrics : sequence of RankingMetric
        Further metrics; the first, by default the AUC, says which method is best.

    Returns
    -------
    compared : list of Compared
        The results, the best first and failed methods last.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.metrics import FittedMethod, HeldOut, NumberedRows, compare_on_stream
    >>> rng = np.random.default_rng(0)
    >>> labels = (rng.random(1000) < 0.5).astype(np.int8)
    >>> rows = np.stack([rng.normal(size=1000) + labels, rng.normal(size=1000)], axis=1)
    >>> methods = [FittedMethod(f"feature {j}", lambda rows, labels, j=j: lambda rows: rows[:, j]) for j in (0, 1)]
    >>> results = compare_on_stream(methods, lambda: [NumberedRows(0, rows, labels)], HeldOut(share=0.5))
    >>> [result.name for result in results], results[0].p_value is None, bool(results[1].p_value < 0.001)
    (['feature 0', 'feature 1'], True, True)
    """
    trials = train_methods(methods, of_tables, (batch.take(~choice.of(batch)) for batch in read()))
    buffers = [ScoreBuffer(exact_rows) for _ in trials]
    counts = np.zeros(2, np.int64)
    for batch in read():
        test = batch.take(choice.of(batch))
        counts += np.bincount(test.labels, minlength=2)
        for trial, buffer in zip(trials, buffers, strict=True):
            if (scores := trial.scores(trial.rows_of(test))) is not None:
                buffer.add(test.labels, scores)
    if not counts.all():
        raise InputError(
            f"comparing needs rows of two classes held out, got {counts[1]} positives and {counts[0]} negatives"
        )
    return rank_methods([(trial.method.name, trial.seconds, trial.trouble) for trial in trials], buffers, metrics)


def train_methods(
    methods: Sequence[Method], of_tables: Sequence[Method], batches: Iterable[NumberedRows]
) -> list[Trial]:
    """Train methods, those of features first, on the same batches of rows."""
    trials = [Trial(method) for method in methods] + [Trial(method, of_table=True) for method in of_tables]
    for batch in batches:
        for trial in trials:
            trial.train(trial.rows_of(batch), batch.labels)
    for trial in trials:
        trial.finish()
    return trials
