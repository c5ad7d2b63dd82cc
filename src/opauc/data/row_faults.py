"""What is wrong with the rows of one part, to be refused or skipped in their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from opauc.core.batch import Part, RawLabels
from opauc.data.bad_rows import BadRows
from opauc.errors import Hint, MalformedRowError

Mask = NDArray[np.bool_]
FILLED, GONE_WITHOUT = Hint("missing"), Hint("missing", "zero or mean")
MISSING_LABEL = "the label is missing"
# What a model that refuses missing values says of them.
TRAINED_WITHOUT = (
    "and the model was trained to refuse missing values; to score such rows, train it with missing values taken as "
    f"zero or as the mean {FILLED}"
)


class RowFaults:
    """The first complaint about each row of a part; `trained` says that the way of reading it is that of a model.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.data.bad_rows import BadRows
    >>> from opauc.core.batch import Part, Place
    >>> from opauc.data.row_faults import RowFaults
    >>> part = Part(np.zeros((3, 1)), None, None, Place(line=10), Place(line=13))
    >>> faults = RowFaults(part, "a.npy")
    >>> faults.add(np.array([False, True, False]), "the value is missing", "0")
    >>> bad = BadRows("skip")
    >>> faults.kept(3, bad), bad.first
    (array([ True, False,  True]), ['a.npy, line 12, column 0: the value is missing'])
    """

    def __init__(self, part: Part, source: str, trained: bool = False) -> None:
        self._part, self._source, self._trained = part, source, trained
        self._complaints: dict[int, tuple[str, str, tuple[Hint, ...]]] = {}

    def add(self, bad: Mask, reason: str, column: str, *hints: Hint) -> None:
        """Complain about rows because of one column."""
        for row in np.flatnonzero(bad).tolist():
            self._complaints.setdefault(row, (reason, column, hints))

    def add_cells(self, bad: Mask, values: NDArray[np.floating], names: Sequence[str]) -> None:
        """Complain about the first bad cell of each row: a missing value or one that is not finite."""
        for row in np.flatnonzero(bad.any(axis=1)).tolist():
            column = int(bad[row].argmax())
            self.add_cell(row, float(values[row, column]), names[column])

    def add_cell(self, row: int, value: float, name: str) -> None:
        """Complain about one value that is missing or not finite."""
        if not np.isnan(value):
            self._complaints.setdefault(row, (f"{value} is not a finite number", name, ()))
            return
        advice = f"; missing values can be taken as zero or as the mean {FILLED}"
        reason = "the value is missing" + (f", {TRAINED_WITHOUT}" if self._trained else advice)
        self._complaints.setdefault(row, (reason, name, (FILLED,)))

    def add_missing_labels(self, labels: RawLabels, column: str) -> None:
        """Complain about rows whose label says nothing: nan among numbers, the empty word among words."""
        if labels.dtype.kind == "f":
            self.add(np.isnan(labels), MISSING_LABEL, column)
        elif labels.dtype.kind == "U":
            self.add(labels == "", MISSING_LABEL, column)

    def add_missing_categories(self, missing: Mask, column: str) -> None:
        """Complain about rows that have no category in a column."""
        if self._trained:
            self.add(missing, f"the category is missing, {TRAINED_WITHOUT}", column, FILLED)
        else:
            self.add(missing, f"the category is missing; a row can go without one {GONE_WITHOUT}", column, GONE_WITHOUT)

    def kept(self, n_rows: int, bad_rows: BadRows) -> Mask | None:
        """Meet the bad rows in their order; tell which rows are left, None where all are."""
        if not self._complaints:
            return None
        kept = np.ones(n_rows, dtype=bool)
        for row in sorted(self._complaints):
            reason, column, hints = self._complaints[row]
            bad_rows.meet(MalformedRowError(self._source, self._line(row), reason, column, hints))
            kept[row] = False
        return kept

    def lines_of(self, kept: Mask | None) -> NDArray[np.int64] | None:
        """Return the lines of the rows that are left, None where they simply follow the place of the part."""
        lines = self._part.lines
        if kept is None:
            return lines
        return (self._part.before.line + 1 + np.arange(kept.size) if lines is None else lines)[kept]

    def _line(self, row: int) -> int:
        lines = self._part.lines
        return self._part.before.line + 1 + row if lines is None else int(lines[row])
