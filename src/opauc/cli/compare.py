"""`opauc compare`: train methods on the same rows and score the same held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from opauc.api.compare import FEATURE_OPTIONS, run_comparison
from opauc.cli import options as shared
from opauc.cli.console import Reporter, emit, shown_text
from opauc.cli.train_report import show_columns
from opauc.core.labels import ClassLabels
from opauc.metrics import Compared, HeldOut, MetricInterval
from opauc.types import Json


def command(
    context: typer.Context,
    data: shared.Data,
    held_out: Annotated[float, typer.Option(help="Share of the rows held out for scoring.")] = 0.2,
    seed: Annotated[int, typer.Option(help="Seed of the random split.", min=0)] = 0,
    methods: Annotated[
        str | None, typer.Option(help="Methods to compare, separated by commas. Default: all but slow ones.")
    ] = None,
    metric: shared.Metric = None,
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
    decimal: shared.Decimal = None,
    drop_unlabeled: shared.DropUnlabeled = False,
    on_bad_row: shared.OnBadRow = "error",
    max_bad_rows: shared.MaxBadRows = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Train methods with default settings on the same rows and score the same held-out rows.

    gam and lightgbm take the columns of a table; all other methods take features
    encoded from them. With sparse rows, --missing or --hash-bits, all methods take
    features. The data is read twice: once for training, once for scoring. Methods
    of other libraries keep their rows in memory and are left out beyond 1 GiB. The first
    metric of --metric, by default the AUC, orders the methods and is tested. With
    more than two classes that is the mean AUC over pairs of classes.

    Example: opauc compare orders.csv --label returned
    Example: opauc compare orders.csv --label returned --methods gam,lightgbm
    """
    reading = shared.reading_options(
        format=format_, label=label, features=features, categorical=categorical, numeric=numeric, drop=drop,
        missing=missing, hash_bits=hash_bits, n_features=n_features, zero_based=zero_based, delimiter=delimiter,
        header=header, decimal=decimal, drop_unlabeled=drop_unlabeled,
    )  # fmt: skip
    names = None if methods is None else [name.strip() for name in methods.split(",")]
    reporter = Reporter(json, quiet)
    results = run_comparison(
        data, reading, names, HeldOut(held_out, seed), ClassLabels.announced(positive=positive, several=True),
        shared.bad_rows(on_bad_row, max_bad_rows), reporter,
        features_only=bool(shared.given_options(context) & FEATURE_OPTIONS),
        on_columns=partial(show_columns, reporter=reporter) if explain_columns else None,
        metrics=shared.metrics(metric),
    )  # fmt: skip
    show(results, json)
    return 0


def show(results: Sequence[Compared], as_json: bool) -> None:
    """Print one line per method, the best first."""
    table = Table(box=None, pad_edge=False)
    names = list(next((one.metrics for one in results if not one.trouble), ()))
    titles = [part for name in names for part in (name, "95 % interval")]
    for title in ("method", "AUC", "95 % interval", *titles, "p against the best", "seconds", ""):
        table.add_column(title, justify="left" if title in ("method", "") else "right")
    for one in results:
        facts: Json = {"method": one.name, "seconds": round(one.seconds, 3), "trouble": one.trouble}
        facts |= {"auc": one.auc, "low": one.low, "high": one.high, "p": one.p_value}
        if one.metrics:
            facts["metrics"] = {name: value._asdict() for name, value in one.metrics.items()}
        if as_json:
            emit("compared", **{name: value for name, value in facts.items() if value is not None})
        table.add_row(
            one.name,
            "" if one.auc is None else f"{one.auc:.4f}",
            "" if one.low is None else f"{one.low:.4f} to {one.high:.4f}",
            *(text for name in names for text in interval_texts(one.metrics.get(name))),
            "" if one.p_value is None else f"{one.p_value:.2g}",
            f"{one.seconds:.3g}",
            Text(shown_text(one.trouble)),
        )
    if not as_json:
        Console(highlight=False).print(table)


def interval_texts(metric: MetricInterval | None) -> tuple[str, str]:
    """Return the value and the interval of a metric as text, empty where there is none."""
    return ("", "") if metric is None else (f"{metric.value:.4f}", f"{metric.low:.4f} to {metric.high:.4f}")
