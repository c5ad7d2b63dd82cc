"""What a person sees while work goes on, and what a machine reads instead."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

# A machine that reads JSON lines gets one this often.
SECONDS_BETWEEN_LINES = 1.0


class Reporter:
    """Tell how far the work is: a bar on a terminal, JSON lines where asked for, else nothing."""

    def __init__(self, as_json: bool, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet
        self._screen = Console(stderr=True, highlight=False)

    def say(self, event: str, text: str, **facts: Any) -> None:
        """Tell one fact: the text to a person on the error stream, the facts to a machine."""
        if self.as_json:
            emit(event, **facts)
        elif not self.quiet:
            self._screen.print(text, soft_wrap=True, markup=False)

    @contextmanager
    def progress(self, title: str, total_bytes: int | None) -> Iterator[Any]:
        """Give a function of (rows, bytes_read, auc) that shows how far the work is."""
        if self.as_json:
            yield _JsonProgress(total_bytes)
            return
        bar = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), _Rate(), TimeRemainingColumn(),
            console=self._screen, transient=True, disable=self.quiet or not self._screen.is_terminal,
        )  # fmt: skip
        with bar:
            task = bar.add_task(title, total=total_bytes, rows=0, auc=None, began=time.perf_counter())

            def update(rows: int, bytes_read: int, auc: float | None = None) -> None:
                bar.update(task, completed=bytes_read, rows=rows, auc=auc)

            yield update


class _Rate(ProgressColumn):
    """Rows, rows and megabytes a second, and the running AUC."""

    def render(self, task: Task) -> Text:
        seconds = max(1e-9, time.perf_counter() - task.fields["began"])
        rows, auc = task.fields["rows"], task.fields["auc"]
        parts = [f"{rows:,} rows", f"{rows / seconds:,.0f} rows/s", f"{task.completed / seconds / 1e6:,.1f} MB/s"]
        if auc is not None:
            parts.append(f"AUC {auc:.4f}")
        return Text("  ".join(parts))


class _JsonProgress:
    """A JSON line with the state of the work, once a second."""

    def __init__(self, total_bytes: int | None) -> None:
        self._total, self._began, self._last = total_bytes, time.perf_counter(), 0.0

    def __call__(self, rows: int, bytes_read: int, auc: float | None = None) -> None:
        seconds = time.perf_counter() - self._began
        if seconds - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = seconds
        left = seconds * (self._total - bytes_read) / bytes_read if self._total and bytes_read else None
        emit("progress", rows=rows, bytes=bytes_read, seconds=round(seconds, 3), auc=auc, seconds_left=left)


def emit(event: str, **facts: Any) -> None:
    """Write one JSON line to standard output."""
    sys.stdout.write(json.dumps({"event": event, **facts}) + "\n")
    sys.stdout.flush()


def show_table(title: str, rows: Mapping[str, Any]) -> None:
    """Print names and values to standard output, one a line."""
    table = Table(title=title, title_justify="left", show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(Text(str(name)), Text(str(value)))
    Console(highlight=False).print(table)
