"""Output on the terminal: messages, tables and a progress bar for people, JSON lines for programs.

`rich` is imported when something is drawn: a verb that only writes numbers starts faster without it.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opauc.api.observer import Show

# The exit code after Ctrl-C.
INTERRUPTED = 130
# A program that reads JSON lines gets one this often.
SECONDS_BETWEEN_LINES = 1.0
# Longer names in a table are cut, so that there is space for their values.
MAX_NAME_LENGTH = 40
# Control characters, direction marks, line and paragraph separators and surrogates: a terminal acts on them.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
MAX_LENGTH = 400


class Reporter:
    """Reports what goes on: messages and a progress bar on a terminal, or JSON lines."""

    def __init__(self, as_json: bool, quiet: bool = False) -> None:
        self.as_json: bool = as_json
        self.quiet: bool = quiet
        self._compiling = False

    def say(self, event: str, text: str, listed: Iterable[str] = (), **facts: object) -> None:
        """Write one message with lines below it to standard error, or its event and facts as a JSON line."""
        if self.as_json:
            emit(event, **facts)
        elif not self.quiet:
            print(shown_text(text), *(f"\n  {shown_text(line)}" for line in listed), sep="", file=sys.stderr)

    def warn(self, text: str) -> None:
        """Write a warning, with `quiet` too."""
        if self.as_json:
            emit("warning", text=text)
        else:
            print(f"opauc: warning: {shown_text(text)}", file=sys.stderr)

    def skipped(self, rows: int, first: Sequence[str]) -> None:
        """Report how many rows were skipped, and the first of them."""
        if rows:
            text = f"skipped {number_of(rows, 'bad row')}, the first of them:"
            self.say("skipped", text, first, rows=rows, first=list(first))

    def unlabeled(self, rows: int) -> None:
        """Report how many rows were left out because they have no label."""
        if rows:
            self.say("unlabeled", f"left out {number_of(rows, 'row')} without a label", rows=rows)

    def compiling(self, sentence: str) -> None:
        """Report, once, that kernels are being compiled."""
        if not self._compiling:
            self._compiling = True
            self.say("compiling", sentence, message=sentence)

    @contextmanager
    def progress(self, title: str, total_bytes: int | None) -> Iterator[Show]:
        """Give a function of (rows, bytes_read, auc) that shows how far the work is; compiling is not counted."""
        from opauc.api.observer import stopwatch

        with stopwatch(self.compiling) as seconds:
            if self.as_json:
                yield _JsonProgress(total_bytes, seconds)
                return
            with progress_bar(title, total_bytes, self.quiet, seconds) as show:
                yield show


class _JsonProgress:
    """Writes a JSON line with the progress, at most once a second."""

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
    sys.stdout.write(json_line(event, **facts))
    sys.stdout.flush()


def json_line(event: str, **facts: object) -> str:
    """Return an event and its facts as a JSON line."""
    return json.dumps({"event": event, **facts}) + "\n"


def number_of(count: int, thing: str) -> str:
    """Return a count with its noun, in the plural where it is not one.

    >>> from opauc.cli.console import number_of
    >>> number_of(1, "bad row"), number_of(2000, "bad row")
    ('1 bad row', '2,000 bad rows')
    """
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def command_line() -> str:
    """Return the command line that is running, as a shell takes it."""
    return shlex.join(["opauc", *sys.argv[1:]])


def show_table(title: str, rows: Mapping[str, object]) -> None:
    """Print names and values to standard output, one pair per line."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Rich wraps long text letter by letter: ten million letters would take a minute.
    heading = Text(shorten(shown_text(title)))
    table = Table(title=heading, title_justify="left", show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(Text(shorten(shown_text(name), MAX_NAME_LENGTH)), Text(shorten(shown_text(value))))
    Console(highlight=False).print(table)


@contextmanager
def progress_bar(title: str, total_bytes: int | None, quiet: bool, seconds: Callable[[], float]) -> Iterator[Show]:
    """Give a function of (rows, bytes_read, auc) that moves a bar on a terminal; elsewhere it shows nothing."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        """Rows, rows and megabytes per second, and the running AUC."""

        def render(self, task: Task) -> Text:
            seconds = max(1e-9, task.fields["seconds"]())
            rows, auc = task.fields["rows"], task.fields["auc"]
            parts = [f"{rows:,} rows", f"{rows / seconds:,.0f} rows/s"] if rows else []  # a cluster reports only bytes
            parts.append(f"{task.completed / seconds / 1e6:,.1f} MB/s")
            if auc is not None:
                parts.append(f"AUC {auc:.4f}")
            return Text("  ".join(parts))

    screen = Console(stderr=True, highlight=False)
    bar = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), Rate(), TimeRemainingColumn(),
        console=screen, transient=True, disable=quiet or not screen.is_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task(title, total=total_bytes, rows=0, auc=None, seconds=seconds)

        def update(rows: int, bytes_read: int, auc: float | None = None) -> None:
            bar.update(task, completed=bytes_read, rows=rows, auc=auc)

        yield update


def shown_text(text: object) -> str:
    """Return text with every character that a terminal would act on escaped.

    Examples
    --------
    >>> from opauc.cli.console import shown_text
    >>> shown_text("Zürich\\x1b[2J")
    'Zürich\\\\x1b[2J'
    """
    return UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), str(text))


def shorten(text: object, max_length: int = MAX_LENGTH) -> str:
    """Return the text up to a length, and how long it is where there is more.

    Examples
    --------
    >>> from opauc.cli.console import shorten
    >>> shorten("feature", max_length=4)
    'feat… (7 characters)'
    """
    whole = str(text)
    return whole if len(whole) <= max_length else f"{whole[:max_length]}… ({len(whole):,} characters)"
