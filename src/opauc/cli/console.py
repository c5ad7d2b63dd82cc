"""What a person sees while work goes on, and what a machine reads instead.

What draws on the terminal is imported when something is drawn: a verb that only writes numbers need not wait for it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from opauc.cli.shown_text import shortened, shown_text

# A machine that reads JSON lines gets one this often.
SECONDS_BETWEEN_LINES = 1.0
# Of a name so much is shown that its value has room beside it.
LONGEST_NAME = 40


class Show(Protocol):
    """Shows how far the work is."""

    def __call__(self, rows: int, bytes_read: int, auc: float | None = None) -> None:
        """Show so many rows, bytes of the files and the running AUC."""


class Reporter:
    """Tell how far the work is: a bar on a terminal, JSON lines where asked for, else nothing."""

    def __init__(self, as_json: bool, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet
        self._compiling = False

    def say(self, event: str, text: str, listed: Iterable[str] = (), **facts: object) -> None:
        """Tell one fact: the text, and what is listed below it, to a person on the error stream; facts to a machine."""
        if self.as_json:
            emit(event, **facts)
        elif not self.quiet:
            print(shown_text(text), *(f"\n  {shown_text(line)}" for line in listed), sep="", file=sys.stderr)

    def warn(self, text: str) -> None:
        """Tell what may be wrong, also to those who want to hear nothing but errors."""
        if self.as_json:
            emit("warning", text=text)
        else:
            print(f"opauc: warning: {shown_text(text)}", file=sys.stderr)

    def skipped(self, rows: int, first: Sequence[str]) -> None:
        """Tell how many rows could not be used, and which were the first."""
        if rows:
            text = f"skipped {number_of(rows, 'bad row')}, the first of them:"
            self.say("skipped", text, first, rows=rows, first=list(first))

    def compiling(self, sentence: str) -> None:
        """Tell, once, that the wait is for the compiler."""
        if not self._compiling:
            self._compiling = True
            self.say("compiling", sentence, message=sentence)

    @contextmanager
    def progress(self, title: str, total_bytes: int | None) -> Iterator[Show]:
        """Give a function of (rows, bytes_read, auc) that shows how far the work is; compiling is not counted."""
        from opauc.api.stopwatch import stopwatch

        with stopwatch(self.compiling) as seconds:
            if self.as_json:
                yield _JsonProgress(total_bytes, seconds)
                return
            from opauc.cli.progress_bar import progress_bar

            with progress_bar(title, total_bytes, self.quiet, seconds) as show:
                yield show


class _JsonProgress:
    """A JSON line with the state of the work, once a second."""

    def __init__(self, total_bytes: int | None, seconds: Callable[[], float]) -> None:
        self._total, self._seconds, self._last = total_bytes, seconds, 0.0

    def __call__(self, rows: int, bytes_read: int, auc: float | None = None) -> None:
        seconds = self._seconds()
        if seconds - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = seconds
        left = seconds * (self._total - bytes_read) / bytes_read if self._total and bytes_read else None
        emit("progress", rows=rows, bytes=bytes_read, seconds=round(seconds, 3), auc=auc, seconds_left=left)


def emit(event: str, **facts: object) -> None:
    """Write one JSON line to standard output."""
    sys.stdout.write(json.dumps({"event": event, **facts}) + "\n")
    sys.stdout.flush()


def number_of(count: int, thing: str) -> str:
    """Return how many there are of a thing.

    >>> from opauc.cli.console import number_of
    >>> number_of(1, "bad row"), number_of(2000, "bad row")
    ('1 bad row', '2,000 bad rows')
    """
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def show_table(title: str, rows: Mapping[str, object]) -> None:
    """Print names and values to standard output, one a line."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # A terminal folds long text letter by letter: a name of ten million would take it a minute.
    heading = Text(shortened(shown_text(title)))
    table = Table(title=heading, title_justify="left", show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(Text(shortened(shown_text(name), LONGEST_NAME)), Text(shortened(shown_text(value))))
    Console(highlight=False).print(table)
