"""What the runner compares: anything that learns from labelled rows and scores others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from opauc.errors import OpaucError, UnsupportedOperation
from opauc.rows import Floats, Labels, Rows

Scoring: TypeAlias = Callable[[Rows], Floats]


class Method(Protocol):
    """A way from labelled rows to scores: `learn` any number of times, `finish` once, then `scores`.

    What it cannot do it refuses by an `OpaucError`; the runner then leaves it out and keeps the reason.
    """

    @property
    def name(self) -> str:
        """What the method is called in tables."""

    def fresh(self) -> Self:
        """Return the method with the same settings and nothing learnt."""

    def warm_up(self, rows: Rows) -> None:
        """Compile what rows of this kind will need: it is not timed, and leaves nothing learnt."""

    def learn(self, rows: Rows, labels: Labels) -> None:
        """Learn a chunk of rows, which may have more features than those before, never fewer."""

    def finish(self) -> None:
        """Work out what scores, after the last chunk."""

    def scores(self, rows: Rows) -> Floats:
        """Return the scores of rows as wide as the widest learnt."""


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
    >>> from opauc.evaluation import FittedMethod
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
        """Return the method with nothing learnt."""
        return type(self)(self.name, self.fit, self.most_bytes)

    def warm_up(self, rows: Rows) -> None:
        """Do nothing: a function that compiles has to be called before."""

    def learn(self, rows: Rows, labels: Labels) -> None:
        """Keep the rows."""
        self.collected.add(rows, labels)
        if self.collected.bytes() > self.most_bytes:
            self.collected = Collected()
            raise UnsupportedOperation(f"needs all rows in memory and takes at most {self.most_bytes / 2**30:g} GiB")

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
