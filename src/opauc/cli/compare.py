"""`opauc compare`: every method on the same rows, and on the same rows held out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from opauc.cli import options as shared
from opauc.cli.compared_methods import WantedMethods
from opauc.cli.compared_rows import FeaturePasses, Passes, TablePasses
from opauc.cli.console import Reporter, emit
from opauc.cli.shown_text import shown_text
from opauc.cli.train_report import report_columns
from opauc.core.labels import ClassLabels
from opauc.data.find_sources import are_tables
from opauc.data.sources import STANDARD_INPUT
from opauc.errors import InputError
from opauc.metrics import Compared, HeldOut, compare_on_stream
from opauc.types import Json

# Options by which linear scorers read rows: whoever gives one has every method learn the same features.
FEATURE_OPTIONS = {"missing", "hash_bits", "n_features", "zero_based"}


def command(
    context: typer.Context,
    data: shared.Data,
    held_out: Annotated[float, typer.Option(help="Share of the rows held out for scoring.")] = 0.2,
    seed: Annotated[int, typer.Option(help="Seed of the random split.", min=0)] = 0,
    learners: Annotated[
        str | None, typer.Option(help="Methods to compare, separated by commas. Default: all but slow ones.")
    ] = None,
    positive: Annotated[str | None, typer.Option(help="Label of the positive rows; all others are negative.")] = None,
    format_: shared.Format = None,
    label: shared.Label = None,
    features: shared.Features = None,
    categorical: shared.Categorical = None,
    numeric: shared.Numeric = None,
    drop: shared.Drop = None,
    explain_columns: shared.ExplainColumns = False,
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
    """Train methods, with default settings, on the same rows and score the same held-out rows.

    Of tables, gam (the additive model that `train` takes for them) learns the
    columns as they come; all others learn features made of them. Sparse rows,
    and rows read with --missing or --hash-bits, are features as they are.
    The data is read twice: once for training, once for scoring. Logistic
    regression of scikit-learn, where installed, keeps its rows in memory and
    is left out beyond 1 GiB of them.
    """
    if STANDARD_INPUT in data:
        raise InputError("comparing reads the data twice, which standard input does not allow; name a file")
    if not 0.0 < held_out < 1.0:
        raise InputError(f"--held-out must lie between 0 and 1, got {held_out}")
    wanted, bad_rows = WantedMethods.of(learners), shared.bad_rows(on_bad_row, max_bad_rows)
    options, labels = shared.reading_options(locals()), ClassLabels.announced(positive=positive)
    reporter = Reporter(json, quiet)
    passes: Passes
    if shared.given_options(context) & FEATURE_OPTIONS or not are_tables(data, options.format):
        passes = FeaturePasses(data, options, bad_rows, labels, reporter)
    else:
        passes = TablePasses(data, options, bad_rows, labels, reporter, wanted.of_tables)
        report_columns(passes.column_profiles, explain_columns, reporter)
    of_tables = wanted.table_methods(passes.categorical)
    choice = HeldOut(held_out, seed)
    show(compare_on_stream(wanted.feature_methods(), passes.read, choice, of_tables=of_tables), json)
    return 0


def show(found: Sequence[Compared], as_json: bool) -> None:
    """Print one line a method, the best one first."""
    table = Table(box=None, pad_edge=False)
    for title in ("method", "AUC", "95 % interval", "p against the best", "seconds", ""):
        table.add_column(title, justify="left" if title in ("method", "") else "right")
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
