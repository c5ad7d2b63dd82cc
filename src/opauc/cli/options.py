"""Options that several verbs share."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opauc.cli.help import LINEAR
from opauc.data.bad_rows import BadRows
from opauc.data.options import ReadOptions
from opauc.errors import InputError, MalformedRowError, Parameter, ParameterError

if TYPE_CHECKING:
    from opauc.metrics.ranking_metric import RankingMetric

READING, ROWS, ENGINES, CHECKPOINTS = "Reading", "Bad rows", "Engines", "Checkpoints"
CONSTRAINTS = "Constraints"

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="Files, glob patterns, folders, or - for standard input: LIBSVM, CSV, TSV, Parquet, Arrow, Feather, JSON "
        "lines, NPZ, NPY; text may be compressed (gz, bz2, xz, zst, zip).",
        show_default=False,
    ),
]
DataOrQuery = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[DATA]...",
        help="Files, glob patterns, folders, or - for standard input: LIBSVM, CSV, TSV, Parquet, Arrow, Feather, JSON "
        "lines, NPZ, NPY; text may be compressed (gz, bz2, xz, zst, zip). On this machine, or by URL: s3://, gs://, "
        "az://, https://. Or a query, see --sql.",
        show_default=False,
    ),
]
Sql = Annotated[
    str | None,
    typer.Option("--sql", metavar="QUERY", rich_help_panel=READING,
                 help="A query in place of files; without --database one of DuckDB, which reads files itself."),
]  # fmt: skip
Database = Annotated[
    str | None,
    typer.Option("--database", metavar="DATABASE", rich_help_panel=READING,
                 help="The database of --sql: a file of DuckDB or SQLite, or postgresql://user@host/name."),
]  # fmt: skip
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File to write.", show_default=False)]
NewModel = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", show_default=False,
                 help="Model file to write. Default: the name of the data with .opauc, in this folder."),
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="Write JSON lines to standard output, for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
CheckpointEvery = Annotated[
    int | None,
    typer.Option(metavar="ROWS", min=1, rich_help_panel=CHECKPOINTS,
                 help="Rows between checkpoints. Default: so many that checkpoints take 2 % of the time."),
]  # fmt: skip
Resume = Annotated[
    bool, typer.Option("--resume", help="Resume from the checkpoint, if there is one.", rich_help_panel=CHECKPOINTS)
]
Engine = Annotated[
    str | None,
    typer.Option("--engine", metavar="ENGINE", rich_help_panel=ENGINES,
                 help="Where to run: dask, spark or cuda. Default: on the cores of this machine."),
]  # fmt: skip
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", rich_help_panel=ENGINES,
                 help="Address of a Dask scheduler or a Spark master. Default: start one on this machine."),
]  # fmt: skip
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="libsvm, csv, tsv, parquet, arrow, jsonl or numpy. Default: inferred from the file name or the first "
        "line.",
        rich_help_panel=READING,
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="Label column, by name or by position from 0. Default: the one named label, target, class or y.",
        rich_help_panel=READING,
    ),
]
Features = Annotated[
    str | None,
    typer.Option("--features", metavar="COLUMNS",
                 help="Columns to train on, separated by commas. Default: all but the label.",
                 rich_help_panel=READING),
]  # fmt: skip
Categorical = Annotated[
    str | None,
    typer.Option("--categorical", metavar="COLUMNS",
                 help="Columns to read as categories whatever is inferred, separated by commas.",
                 rich_help_panel=READING),
]  # fmt: skip
Numeric = Annotated[
    str | None,
    typer.Option("--numeric", metavar="COLUMNS",
                 help="Columns to read as numbers whatever is inferred, separated by commas.",
                 rich_help_panel=READING),
]  # fmt: skip
Drop = Annotated[
    str | None,
    typer.Option(
        "--drop", metavar="COLUMNS", help="Columns to leave out, separated by commas.", rich_help_panel=READING
    ),
]
Increasing = Annotated[
    str | None,
    typer.Option("--increasing", metavar="COLUMNS",
                 help="Numeric columns in which the score never falls, separated by commas.",
                 rich_help_panel=CONSTRAINTS),
]  # fmt: skip
Decreasing = Annotated[
    str | None,
    typer.Option("--decreasing", metavar="COLUMNS",
                 help="Numeric columns in which the score never rises, separated by commas.",
                 rich_help_panel=CONSTRAINTS),
]  # fmt: skip
ExplainColumns = Annotated[
    bool,
    typer.Option("--explain-columns", help="Print the inferred type of each column.", rich_help_panel=READING),
]
Groups = Annotated[
    str | None,
    typer.Option("--groups", metavar="COLUMN",
                 help="Column of groups, by name: with --alpha auto, rows of one group are in one fold. "
                 "It is not a feature.", rich_help_panel=LINEAR),
]  # fmt: skip
Decimal = Annotated[
    str | None,
    typer.Option("--decimal", help="Decimal separator of numbers in text: . or , Default: inferred for each column.",
                 rich_help_panel=READING),
]  # fmt: skip
Missing = Annotated[
    str,
    typer.Option("--missing", help="How linear models treat missing numbers: error, zero, or mean (of the values so "
                 "far). An additive model handles them itself.", rich_help_panel=LINEAR),
]  # fmt: skip
HashBits = Annotated[
    int | None,
    typer.Option("--hash-bits", help="Hash the features into 2^BITS columns, where their number is not bounded.",
                 rich_help_panel=LINEAR),
]  # fmt: skip
NFeatures = Annotated[
    int | None,
    typer.Option("--n-features", help="Number of features of LIBSVM rows. Default: as many as the data has.",
                 rich_help_panel=READING),
]  # fmt: skip
ZeroBased = Annotated[
    bool, typer.Option("--zero-based", help="LIBSVM indices start at 0, not 1.", rich_help_panel=READING)
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", help="Delimiter of a text table. Default: inferred.", rich_help_panel=READING),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line of a text table is a header. Default: inferred.",
                 rich_help_panel=READING),
]  # fmt: skip
Metric = Annotated[
    str | None,
    typer.Option("--metric", metavar="METRICS", show_default=False,
                 help="Further metrics with their intervals, separated by commas: auc, pauc@0.01 (FPR up to .01), "
                 "pauc@0.01:0.5 (and TPR from .5), ap, precision@100, recall@0.01, lift@0.1."),
]  # fmt: skip
DropUnlabeled = Annotated[
    bool,
    typer.Option("--drop-unlabeled", help="Leave out rows without a label, and say how many there were.",
                 rich_help_panel=ROWS),
]  # fmt: skip
OnBadRow = Annotated[
    str,
    typer.Option(
        "--on-bad-row",
        help="What to do with rows that cannot be read: error, or skip (the first are listed).",
        rich_help_panel=ROWS,
    ),
]
MaxBadRows = Annotated[
    int | None,
    typer.Option(
        "--max-bad-rows", help="With --on-bad-row skip: fail after so many bad rows.", rich_help_panel=ROWS, min=0
    ),
]


def given_options(context: typer.Context) -> set[str]:
    """Return the names of the options that the user gave, defaults included."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name.rstrip("_") for name, source in sources.items() if source is not None and source.name != "DEFAULT"}


def reading_options(
    *,
    format: str | None,  # noqa: A002
    label: str | None,
    features: str | None,
    categorical: str | None,
    numeric: str | None,
    drop: str | None,
    delimiter: str | None,
    groups: str | None = None,
    **others: Any,
) -> ReadOptions:
    """Return the options of a verb as the readers take them: lists with commas become tuples of columns."""
    try:
        return ReadOptions(
            format=format,
            label=None if label is None else column(label),
            features=None if features is None else columns(features),
            categorical=columns(categorical or ""),
            drop=columns(drop or ""),
            numeric=columns(numeric or ""),
            groups=groups,
            delimiter={"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter),
            **others,
        )
    except InputError:
        raise
    except ValueError as error:
        raise InputError(str(error)) from error


def number_or_auto(name: str, text: str) -> float | str:
    """Return a number, or the string auto."""
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise ParameterError(Parameter(name), f" must be a number or auto, got {text!r}") from None


def rank(text: str) -> str | int | None:
    """Return the rank of a sketch: a number, None or auto."""
    if text in ("none", "None"):
        return None
    return text if text == "auto" or not text.lstrip("-").isdigit() else int(text)


class SkippableRows(BadRows):
    """Bad rows of a verb: an error without another hint names the option that skips them."""

    def handle(self, row: MalformedRowError) -> None:
        """Count a bad row; raise where it is an error or one too many."""
        if self.policy == "error" and not row.advice:
            skip = ("; ", Parameter("on_bad_row", "skip"), " leaves such rows out")
            raise MalformedRowError(row.source, row.line, row.reason, *skip, column=row.column) from row
        super().handle(row)


def bad_rows(policy: str, most: int | None, drop_unlabeled: bool = False) -> BadRows:
    """Return the policy for bad rows."""
    try:
        return SkippableRows(policy, most, drop_unlabeled=drop_unlabeled)
    except ValueError as error:
        raise InputError(f"--on-bad-row: {error}") from error


def column(text: str) -> str | int:
    """Return a column by its position where the text is a whole number, else by its name, which may be quoted.

    >>> from opauc.cli.options import column
    >>> column("-1"), column("age"), column('"7"')
    (-1, 'age', '7')
    """
    quoted = re.fullmatch(r'"((?:[^"]|"")*)"', text)
    if quoted:
        return quoted[1].replace('""', '"')
    return int(text) if re.fullmatch(r"-?\d+", text, re.ASCII) else text


def columns(text: str) -> tuple[str | int, ...]:
    """Return the columns of a list with commas; a name that holds one is quoted, as in CSV.

    >>> from opauc.cli.options import columns
    >>> columns('age, "last, first",3')
    ('age', 'last, first', 3)
    """
    parts = [part.strip() for part in re.findall(r'\s*(?:"(?:[^"]|"")*"\s*(?=,|$)|[^,]*)', text)]
    return tuple(column(part) for part in parts if part)


def names(text: str | None) -> tuple[str, ...]:
    """Return the names of a list with commas, those that are numbers too."""
    return tuple(str(part) for part in columns(text or ""))


def metrics(text: str | None) -> list[RankingMetric]:
    """Return the metrics of a list with commas."""
    from opauc.metrics.metric_names import ranking_metrics  # only where needed: the command starts faster so

    return ranking_metrics([part for part in (text or "").split(",") if part.strip()])


def class_names(text: str | None) -> list[str] | list[float] | None:
    """Return the classes of a list with commas, as numbers where they are."""
    if text is None:
        return None
    names = [part.strip() for part in text.split(",")]
    with suppress(ValueError):
        return [float(name) for name in names]
    return names
