"""Bad rows: raised at once, or counted, listed and skipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from opauc.core.batch import RawBatch, RawLabels
from opauc.data.schema.numbers import MISSING_LABELS
from opauc.errors import MalformedRowError, Parameter, Part, TooManyBadRowsError

LISTED = 20
Mask = NDArray[np.bool_]
FILL_MISSING = Parameter("missing", ...)
ZERO_OR_MEAN: tuple[Part, ...] = (Parameter("missing", "zero"), " or ", Parameter("missing", "mean"))
MISSING_LABEL, DROP_UNLABELED = "the label is missing", Parameter("drop_unlabeled", True)
# What a model that was trained without missing values says of them.
TRAINED_WITHOUT: tuple[Part, ...] = (
    ", and the model was trained to refuse missing values; to score such rows, train it with missing values taken as "
    "zero or as the mean (", FILL_MISSING, ")",
)  # fmt: skip
FILL: tuple[Part, ...] = ("; missing values can be taken as zero or as the mean (", FILL_MISSING, ")")


class BadRows:
    """Raise the first bad row, or skip up to `most` of them and list the first.

    Parameters
    ----------
    policy : {"error", "skip"}, default="error"
        What happens to a row that cannot be read.
    most : int, default=None
        With "skip": raise `TooManyBadRowsError` beyond so many.
    total : int, default=0
        Number of bad rows so far.
    first : sequence of str, default=()
        Messages of the first ones.
    drop_unlabeled : bool, default=False
        Whether rows without a label are left out; they are an error otherwise.

    Examples
    --------
    >>> from opauc.data.bad_rows import BadRows
    >>> from opauc.errors import MalformedRowError
    >>> bad = BadRows("skip", most=1)
    >>> bad.handle(MalformedRowError("a.csv", 7, "'x' is not a number"))
    >>> bad.total, bad.first
    (1, ["a.csv, line 7: 'x' is not a number"])
    >>> bad.handle(MalformedRowError("a.csv", 9, "'?' is not a number"))
    Traceback (most recent call last):
        ...
    opauc.errors.TooManyBadRowsError: 2 bad rows, at most 1 may be skipped; the last: a.csv, line 9: '?' is not a number
    """

    def __init__(
        self,
        policy: str = "error",
        most: int | None = None,
        total: int = 0,
        first: Sequence[str] = (),
        drop_unlabeled: bool = False,
    ) -> None:
        if policy not in ("error", "skip"):
            raise ValueError(f"bad rows can be 'error' or 'skip', got {policy!r}")
        self.policy: str = policy
        self.most: int | None = most
        self.total: int = total
        self.first: list[str] = list(first)
        # Whether rows without a label are left out, and how many.
        self.drop_unlabeled: bool = drop_unlabeled
        self.unlabeled: int = 0

    def fresh_copy(self) -> Self:
        """Return the same policy before any row."""
        return type(self)(self.policy, self.most, drop_unlabeled=self.drop_unlabeled)

    def handle(self, row: MalformedRowError) -> None:
        """Raise a bad row, or count it; raise if there are too many."""
        if self.policy == "error":
            raise row
        self.total += 1
        if len(self.first) < LISTED:
            self.first.append(str(row.parts[0]))  # without advice
        if self.most is not None and self.total > self.most:
            message = f"{self.total} bad rows, at most {self.most} may be skipped; the last: "
            raise TooManyBadRowsError(message, *row.parts) from row


def missing_labels(labels: RawLabels) -> Mask:
    """Return which labels are missing: nan among numbers, a missing-value marker among strings.

    >>> import numpy as np
    >>> from opauc.data.bad_rows import missing_labels
    >>> missing_labels(np.array(["yes", "NA", "-"])), missing_labels(np.array([1.0, np.nan]))
    (array([False,  True, False]), array([False,  True]))
    """
    if labels.dtype.kind == "U":
        return np.isin(np.char.strip(labels), list(MISSING_LABELS))
    return np.isnan(labels) if labels.dtype.kind == "f" else np.zeros(labels.shape, np.bool_)


class RowErrors:
    """The first error of each row of a raw batch; `trained` says that a trained model reads it.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.core.batch import Position, RawBatch
    >>> from opauc.data.bad_rows import BadRows, RowErrors
    >>> raw = RawBatch(np.zeros((3, 1)), None, None, Position(line=10), Position(line=13))
    >>> errors = RowErrors(raw, "a.npy")
    >>> errors.add(np.array([False, True, False]), "the value is missing", "0")
    >>> bad = BadRows("skip")
    >>> errors.handle(3, bad), bad.first
    (array([ True, False,  True]), ['a.npy, line 12, column 0: the value is missing'])
    """

    def __init__(self, raw: RawBatch, source: str, trained: bool = False) -> None:
        self._raw, self._source, self._trained = raw, source, trained
        self._errors: dict[int, tuple[str, str, tuple[Part, ...]]] = {}

    def add(self, bad: Mask, reason: str, column: str, *advice: Part) -> None:
        """Record an error of the rows of a mask in one column."""
        for row in np.flatnonzero(bad).tolist():
            self.add_row(row, reason, column, *advice)

    def add_row(self, row: int, reason: str, column: str, *advice: Part) -> None:
        """Record an error of one row."""
        self._errors.setdefault(row, (reason, column, advice))

    def add_cells(self, bad: Mask, values: NDArray[np.floating], names: Sequence[str]) -> None:
        """Record the first bad cell of each row: a missing value or one that is not finite."""
        for row in np.flatnonzero(bad.any(axis=1)).tolist():
            column = int(bad[row].argmax())
            self.add_cell(row, float(values[row, column]), names[column])

    def add_cell(self, row: int, value: float, name: str) -> None:
        """Record one value that is missing or not finite."""
        if not np.isnan(value):
            self.add_row(row, f"{value} is not a finite number", name)
        else:
            self.add_row(row, "the value is missing", name, *(TRAINED_WITHOUT if self._trained else FILL))

    def add_missing_labels(self, missing: Mask, column: str) -> None:
        """Record rows without a label."""
        n_others = int(missing.sum()) - 1
        others = f", as in {n_others:,} more of {missing.size:,} rows" if n_others else ""
        self.add(missing, MISSING_LABEL, column, others, "; leave such rows out (", DROP_UNLABELED, ")")

    def add_missing_categories(self, missing: Mask, column: str) -> None:
        """Record rows that have no category in a column."""
        skip = ("; a row can go without one (", *ZERO_OR_MEAN, ")")
        self.add(missing, "the category is missing", column, *(TRAINED_WITHOUT if self._trained else skip))

    def handle(self, n_rows: int, bad_rows: BadRows) -> Mask | None:
        """Raise or skip the bad rows in their order; return which rows are good, None where all are."""
        if not self._errors:
            return None
        good = np.ones(n_rows, dtype=bool)
        for row in sorted(self._errors):
            reason, column, advice = self._errors[row]
            good[row] = False
            if reason == MISSING_LABEL and bad_rows.drop_unlabeled:
                bad_rows.unlabeled += 1
            else:
                bad_rows.handle(MalformedRowError(self._source, self._line(row), reason, *advice, column=column))
        return good

    def lines_of(self, good: Mask | None) -> NDArray[np.int64] | None:
        """Return the lines of the good rows, None where they follow the position before the batch one by one."""
        lines = self._raw.lines
        if good is None:
            return lines
        return (self._raw.before.line + 1 + np.arange(good.size) if lines is None else lines)[good]

    def _line(self, row: int) -> int:
        lines = self._raw.lines
        return self._raw.before.line + 1 + row if lines is None else int(lines[row])
