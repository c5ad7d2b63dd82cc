"""Rows that cannot be read: refused at once, or counted, listed and skipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from opauc.errors import MalformedRowError, TooManyBadRowsError

LISTED = 20


class BadRows:
    """Raise the first bad row, or skip up to `most` of them and remember what they were.

    Examples
    --------
    >>> from opauc.data.bad_rows import BadRows
    >>> from opauc.errors import MalformedRowError
    >>> bad = BadRows("skip", most=1)
    >>> bad.meet(MalformedRowError("a.csv", 7, "'x' is not a number"))
    >>> bad.total, bad.first
    (1, ["a.csv, line 7: 'x' is not a number"])
    >>> bad.meet(MalformedRowError("a.csv", 9, "'?' is not a number"))
    Traceback (most recent call last):
        ...
    opauc.errors.TooManyBadRowsError: 2 bad rows, at most 1 may be skipped; the last: a.csv, line 9: '?' is not a number
    """

    def __init__(
        self, policy: str = "error", most: int | None = None, total: int = 0, first: Sequence[str] = ()
    ) -> None:
        if policy not in ("error", "skip"):
            raise ValueError(f"bad rows can be 'error' or 'skip', got {policy!r}")
        self.policy, self.most = policy, most
        self.total, self.first = total, list(first)

    def anew(self) -> Self:
        """Return the same policy before any row."""
        return type(self)(self.policy, self.most)

    def meet(self, row: MalformedRowError) -> None:
        """Take note of a bad row; raise if it is one too many."""
        if self.policy == "error":
            raise row
        self.total += 1
        if len(self.first) < LISTED:
            self.first.append(str(row))
        if self.most is not None and self.total > self.most:
            message = f"{self.total} bad rows, at most {self.most} may be skipped; the last: {row}"
            raise TooManyBadRowsError(message, *row.hints) from row
