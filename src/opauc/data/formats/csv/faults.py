"""What is wrong with the records of some text: each by itself, and the columns of words all at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opauc.data.bad_rows import BadRows
from opauc.data.columns import about_columns, listed
from opauc.errors import Hint, MalformedRowError

NO_NUMBER = "a column of words must be declared categorical"
FILLED = Hint("missing", "zero or mean")


class RecordFaults:
    """The first complaint about each record of some text; `whole` are those with as many fields as there should be.

    Where the first bad row is refused, the message names every column that holds
    words where numbers should be, and those in which values are missing if those
    would be refused next: `missing_too` says so.
    """

    def __init__(
        self, source: str, fields: NDArray[np.int64], width: int, lines: NDArray[np.int64], missing_too: bool = False
    ) -> None:
        self._source, self._lines, self._missing_too = source, lines, missing_too
        self.whole = np.flatnonzero(fields == width)
        self._complaints: dict[int, tuple[str, str | None]] = {
            record: (_miscounted(int(fields[record]), width), None)
            for record in np.flatnonzero(fields != width).tolist()
        }
        self._words: dict[str, None] = {}
        self._missing: dict[str, None] = {}

    def add(self, row: int, reason: str, column: str) -> None:
        """Complain about one of the whole records."""
        self._complaints.setdefault(int(self.whole[row]), (reason, column))

    def add_word(self, row: int, reason: str, column: str) -> None:
        """Complain about a field of one of the whole records that should be a number."""
        self.add(row, reason, column)
        self._words.setdefault(column)

    def note_missing(self, column: str) -> None:
        """Note that values of a column are missing, which is no fault of a record by itself."""
        self._missing.setdefault(column)

    def clear(self, bad_rows: BadRows) -> NDArray[np.bool_]:
        """Meet the bad records in their order; tell which of the whole ones are left."""
        for record in sorted(self._complaints):
            reason, column = self._complaints[record]
            hints: tuple[Hint, ...] = ()
            if column in self._words:
                advice, hints = self.advice(column) if bad_rows.policy == "error" else (f"; {NO_NUMBER}", ())
                reason += advice
            bad_rows.meet(MalformedRowError(self._source, int(self._lines[record]), reason, column, hints))
        return np.array([record not in self._complaints for record in self.whole.tolist()], dtype=bool)

    def advice(self, first: str | None = None) -> tuple[str, tuple[Hint, ...]]:
        """Return what can be done about the columns at fault, to follow what is wrong with one field of the `first`."""
        words = list(self._words)
        text, hints = "", []
        if words:
            others = [name for name in words if name != first]
            declared, left_out = about_columns("categorical", words), about_columns("drop", words)
            hints += [declared, left_out]
            if not others:
                text = f"; {NO_NUMBER} {declared} or left out {left_out}"
            elif first is None:
                text = (
                    f"; columns {listed(words)} hold words: declare them categorical {declared} or drop them {left_out}"
                )
            else:
                plural = "s" if len(others) > 1 else ""
                text = (
                    f", nor are values of column{plural} {listed(others)}; columns of words must be declared "
                    f"categorical {declared} or left out {left_out}"
                )
        if self._missing_too and self._missing:
            hints.append(FILLED)
            text += f"; values are missing in {listed(list(self._missing))} {FILLED}"
        return text, tuple(hints)


def _miscounted(found: int, width: int) -> str:
    return f"{found} field{'s' if found > 1 else ''}, expected {width}"
