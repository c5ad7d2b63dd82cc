"""The bar that shows how far the work is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from opauc.cli.console import Show


@contextmanager
def progress_bar(title: str, total_bytes: int | None, quiet: bool, seconds: Callable[[], float]) -> Iterator[Show]:
    """Give a function of (rows, bytes_read, auc) that moves a bar on a terminal; elsewhere it shows nothing."""
    screen = Console(stderr=True, highlight=False)
    bar = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), _Rate(), TimeRemainingColumn(),
        console=screen, transient=True, disable=quiet or not screen.is_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task(title, total=total_bytes, rows=0, auc=None, seconds=seconds)

        def update(rows: int, bytes_read: int, auc: float | None = None) -> None:
            bar.update(task, completed=bytes_read, rows=rows, auc=auc)

        yield update


class _Rate(ProgressColumn):
    """Rows, rows and megabytes a second, and the running AUC."""

    def render(self, task: Task) -> Text:
        seconds = max(1e-9, task.fields["seconds"]())
        rows, auc = task.fields["rows"], task.fields["auc"]
        parts = [f"{rows:,} rows", f"{rows / seconds:,.0f} rows/s"] if rows else []  # a cluster tells only of bytes
        parts.append(f"{task.completed / seconds / 1e6:,.1f} MB/s")
        if auc is not None:
            parts.append(f"AUC {auc:.4f}")
        return Text("  ".join(parts))
