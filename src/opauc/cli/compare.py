"""`opauc compare`: every learner on the same rows, and on the same rows held out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from opauc.cli import options as shared
from opauc.cli.console import Reporter, emit
from opauc.cli.shown_text import shown_text
from opauc.errors import InputError
from opauc.evaluation import Compared, HeldOut, Method, NumberedRows, compare_on_stream
from opauc.features import open_stream
from opauc.learners import find_learners
from opauc.reading import BadRows, Encoding, ReadOptions
from opauc.reading.byte_source import STANDARD_INPUT
from opauc.rivals import find_rival, rival_names
from opauc.rows import Json
from opauc.training.class_labels import ClassLabels
from opauc.training.label_queue import chunks_of_known_classes
from opauc.training.learner_method import LearnerMethod
from opauc.training.training import as_wide


def command(
    data: shared.Data,
    held_out: Annotated[float, typer.Option(help="Share of the rows held out for scoring.")] = 0.2,
    seed: Annotated[int, typer.Option(help="Seed of the random split.", min=0)] = 0,
    learners: Annotated[
        str | None, typer.Option(help="Learners to compare, separated by commas. Default: all but slow ones.")
    ] = None,
    positive: Annotated[str | None, typer.Option(help="Label of the positive rows; all others are negative.")] = None,
    format_: shared.Format = None,
    label: shared.Label = None,
    features: shared.Features = None,
    categorical: shared.Categorical = None,
    drop: shared.Drop = None,
    missing: shared.Missing = "error",
    hash_bits: shared.HashBits = None,
    n_features: shared.NFeatures = None,
    zero_based: shared.ZeroBased = False,
    delimiter: shared.Delimiter = None,
    header: shared.Header = None,
    decimal: shared.Decimal = ".",
    on_bad_row: shared.OnBadRow = "error",
    max_bad_rows: shared.MaxBadRows = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Train learners, with default settings, on the same rows and score the same held-out rows.

    The data is read twice: once for training, once for scoring. Logistic
    regression of scikit-learn, where installed, keeps its rows in memory and
    is left out beyond 1 GiB of them.
    """
    if STANDARD_INPUT in data:
        raise InputError("comparing reads the data twice, which standard input does not allow; name a file")
    if not 0.0 < held_out < 1.0:
        raise InputError(f"--held-out must lie between 0 and 1, got {held_out}")
    bad_rows = shared.bad_rows(on_bad_row, max_bad_rows)
    labels, reporter = ClassLabels.announced(positive=positive), Reporter(json, quiet)
    passes = Passes(data, shared.reading_options(locals()), bad_rows, labels, reporter)
    show(compare_on_stream(methods(learners), passes.read, HeldOut(held_out, seed)), json)
    return 0


def methods(names: str | None) -> list[Method]:
    """Return the learners and rivals of those names; where none is named, all that are installed and not slow."""
    learners = find_learners()
    known = [*learners, *rival_names()]
    quick = [name for name in known if name not in learners or not learners[name].is_slow]
    wanted = quick if names is None else [name.strip() for name in names.split(",")]
    strangers = [name for name in wanted if name not in known]
    if strangers:
        raise InputError(f"no learner is called {strangers[0]!r}; there are {', '.join(known)}")
    found = {name: method_of(name) for name in wanted}
    absent = [name for name, method in found.items() if method is None]
    if absent and names is not None:
        raise InputError(f"{absent[0]} needs a package that is not installed")
    return [method for method in found.values() if method is not None]


def method_of(name: str) -> Method | None:
    """Return the learner of that name with its default settings, or the rival, None where it is not installed."""
    learners = find_learners()
    return LearnerMethod(name, learners[name]()) if name in learners else find_rival(name)


@dataclass
class Passes:
    """The same data read several times; the first time shows which classes, features and categories there are."""

    data: Sequence[str]
    reading: ReadOptions
    bad_rows: BadRows
    labels: ClassLabels
    reporter: Reporter
    encoding: Encoding | None = None
    width: int = 1
    title: str = "learning"

    def read(self) -> Iterator[NumberedRows]:
        """Yield the chunks with their labels as 0 and 1, as wide as all before."""
        bad_rows = BadRows(self.bad_rows.policy, self.bad_rows.most)
        stream = open_stream(self.data, self.reading, bad_rows=bad_rows, encoding=self.encoding)
        learnt = None
        with self.reporter.progress(self.title, stream.total_bytes) as show:
            for chunk, labels in chunks_of_known_classes(stream.chunks(), self.labels):
                self.labels, self.width = labels, max(self.width, chunk.rows.shape[1])
                rows, learnt = as_wide(chunk.rows, self.width), chunk.bookmark.learnt
                yield NumberedRows(chunk.first_row, rows, labels.encoded(chunk))
                show(chunk.first_row + rows.shape[0], chunk.bytes_read)
        self.encoding, self.title = None if learnt is None else learnt(), "scoring"


def show(found: Sequence[Compared], as_json: bool) -> None:
    """Print one line a learner, the best one first."""
    table = Table(box=None, pad_edge=False)
    for title in ("learner", "AUC", "95 % interval", "p against the best", "seconds", ""):
        table.add_column(title, justify="left" if title in ("learner", "") else "right")
    for one in found:
        facts: Json = {"learner": one.name, "seconds": round(one.seconds, 3), "trouble": one.trouble}
        facts |= {"auc": one.auc, "low": one.low, "high": one.high, "p": one.p_value}
        if as_json:
            emit("compared", **{name: value for name, value in facts.items() if value is not None})
        table.add_row(
            one.name,
            "" if one.auc is None else f"{one.auc:.4f}",
            "" if one.low is None else f"{one.low:.4f} to {one.high:.4f}",
            "" if one.p_value is None else f"{one.p_value:.2g}",
            f"{one.seconds:.3g}",
            Text(shown_text(one.trouble)),
        )
    if not as_json:
        Console(highlight=False).print(table)
