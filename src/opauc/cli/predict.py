"""`opauc predict`: scores, probabilities or labels, one per line."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from opauc.api.class_columns import LABEL, prediction_columns, prediction_names
from opauc.api.predict import check_response
from opauc.api.scored_stream import Purpose, ScoredBatch, ScoredStream
from opauc.api.tables import data_or_query, sources_of
from opauc.cli import options as shared
from opauc.cli.console import Reporter, json_line, number_of, shown_text
from opauc.core.atomic_write import atomic_write
from opauc.core.labels import shown_label
from opauc.core.model import Model
from opauc.types import Floats, Json

if TYPE_CHECKING:  # scores without reasons need no terms
    from opauc.api.reasons import RowReasons

# Endings of files of JSON lines.
JSON_LINES = (".jsonl", ".ndjson")
REASONS = "Reasons"


def command(
    model: shared.Model,
    data: shared.DataOrQuery = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write; Parquet or JSON lines if its name ends in .parquet, .jsonl or .ndjson. Default: "
            "standard output.",
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="Columns to pass through to the output, separated by commas; text is then CSV with a header.",
        ),
    ] = None,
    response: Annotated[
        str,
        typer.Option(
            help="What to write: score, probability (of the positive class) or label. With more than two classes: the "
            "label, and a score or probability of each class; text is then CSV with a header."
        ),
    ] = "score",
    reasons: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="K",
            help="Write the names of the K terms that lower the score of a row most, as "
            "columns reason_1 and so on; for additive models. Text is then CSV with a header.",
            rich_help_panel=REASONS,
        ),
    ] = None,
    reference: Annotated[
        str,
        typer.Option(
            help="What a row is compared with: mean (of the training rows) or best (the highest value of each term).",
            rich_help_panel=REASONS,
        ),
    ] = "mean",
    direction: Annotated[
        str, typer.Option(help="Whether reasons lower the score, or raise it: lower or raise.", rich_help_panel=REASONS)
    ] = "lower",
    reasons_by: Annotated[
        str,
        typer.Option(
            help="What a reason is: term, or feature (a column, with its part of pairs and trees).",
            rich_help_panel=REASONS,
        ),
    ] = "term",
    sql: shared.Sql = None,
    database: shared.Database = None,
    format_: shared.Format = None,
    on_bad_row: shared.OnBadRow = "error",
    max_bad_rows: shared.MaxBadRows = None,
    json: shared.Json = False,
) -> int:
    """Score rows with a model; labels in the data are ignored and need not be there.

    Example: opauc predict orders.opauc new.csv -o scores.txt
    Example: opauc predict orders.opauc new.csv --keep order > scores.csv
    """
    check_response(response)
    sources = sources_of(data_or_query(data, sql, database, model))
    passthrough, found = shared.names(keep), None
    scored = ScoredStream(
        model, sources, format_, shared.bad_rows(on_bad_row, max_bad_rows), Purpose.PREDICT, passthrough
    )
    if reasons is not None:
        from opauc.api.reasons import ReasonOptions, RowReasons

        found = RowReasons.of(scored.model, ReasonOptions(reasons, reference, direction, reasons_by))
    if output is None:
        write(scored, response, json, sys.stdout, passthrough, found)
    else:
        with atomic_write(output) as temporary:
            if output.suffix == ".parquet":
                write_parquet(scored, response, temporary, found)
            else:
                with temporary.open("w", encoding="utf-8", newline="") as out:
                    write(scored, response, json or output.suffix in JSON_LINES, out, passthrough, found)
    scored.report_unknown(Reporter(json))
    skipped = scored.stream.bad_rows
    if skipped.total:
        Reporter(json).say(
            "skipped", f"skipped {number_of(skipped.total, 'bad row')}", rows=skipped.total, first=skipped.first
        )
    return 0


def write(
    scored: ScoredStream,
    response: str,
    as_json: bool,
    out: IO[str],
    passthrough: Sequence[str],
    reasons: RowReasons | None = None,
) -> None:
    """Write one line per row: JSON, the value alone, or CSV with a header where there are more columns."""
    classes = scored.model.classes.tolist()
    names = [shown_label(label) for label in classes]
    # Labels and names are escaped on a terminal only.
    shown = shown_text if out.isatty() else str
    names, table = [shown(name) for name in names], csv.writer(out, lineterminator="\n")
    more = [] if reasons is None else reasons.options.columns
    predictions = prediction_names(response, scored.model.classes)
    in_columns = bool(passthrough or more or len(predictions) > 1)
    if in_columns and not as_json:
        table.writerow([*passthrough, *map(shown, predictions), *more])
    for part in scored.score():
        found = [] if reasons is None else reasons.column_values(part.rows)
        if as_json:
            out.writelines(json_lines(part, scored.model, dict(zip(more, found, strict=True))))
            continue
        columns = _values(response, scored.model, names, part.scores)
        if in_columns:
            texts = [[None if name is None else shown(name) for name in column] for column in found]
            table.writerows(zip(*part.batch.passthrough_values(), *columns, *texts, strict=True))
        else:
            out.write("".join(f"{value}\n" for value in columns[0]))


def write_parquet(scored: ScoredStream, response: str, path: Path, reasons: RowReasons | None = None) -> None:
    """Write the passthrough columns, the response and the reasons as Parquet, one row group per batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    scorer, classes = scored.model.scorer, scored.model.classes
    more = [] if reasons is None else reasons.options.columns
    predictions = prediction_names(response, classes)
    types = [
        *((name, pa.array(classes if name == LABEL else [0.0]).type) for name in predictions),
        *((name, pa.string()) for name in more),
    ]
    schema, writer = pa.schema(types), None
    try:
        for part in scored.score():
            values = classes[scored.model.predicted(part.scores)]
            if response != "label":
                values = part.scores if response == "score" else scorer.probabilities(part.scores)
            kept = part.batch.passthrough
            columns = {} if kept is None else dict(zip(kept.schema.names, kept.columns, strict=True))
            found = [] if reasons is None else reasons.column_values(part.rows)
            texts = {name: pa.array(column, pa.string()) for name, column in zip(more, found, strict=True)}
            found_values = prediction_columns(response, classes, part.scores, values)
            table = pa.table({**columns, **dict(zip(predictions, found_values, strict=True)), **texts})
            schema = table.schema if writer is None else schema
            writer = writer or pq.ParquetWriter(path, schema)
            writer.write_table(table.cast(schema))
        writer = writer or pq.ParquetWriter(path, schema)
    finally:
        if writer is not None:
            writer.close()


def json_lines(part: ScoredBatch, model: Model, reasons: Mapping[str, list[str | None]]) -> Iterator[str]:
    """Yield all that is known of each row, one JSON line per row."""
    probabilities, columns = _by_row(model, model.scorer.probabilities(part.scores)), part.batch.passthrough_values()
    labels = model.classes[model.predicted(part.scores)].tolist()
    names = [] if part.batch.passthrough is None else part.batch.passthrough.schema.names
    scores = _by_row(model, part.scores)
    for i, (score, chance, label) in enumerate(zip(scores, probabilities, labels, strict=True)):
        facts: Json = {name: column[i] for name, column in reasons.items()}
        if names:
            facts["kept"] = {name: _plain(column[i]) for name, column in zip(names, columns, strict=True)}
        yield json_line("row", row=part.batch.first_row + i, score=score, probability=chance, label=label, **facts)


def _plain(value: object) -> object:
    """Return a value of a passthrough column as JSON has it: dates and the like as text."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _by_row(model: Model, values: Floats) -> list[object]:
    """Return the value of each row, or with several classes those of each class by its label."""
    if values.ndim == 1:
        return list(values.tolist())
    names = [shown_label(label) for label in model.classes.tolist()]
    return [dict(zip(names, row, strict=True)) for row in values.tolist()]


def _values(response: str, model: Model, names: list[str], scores: Floats) -> list[list[object]]:
    """Return the columns of predictions, labels by their names."""
    labels = [names[number] for number in model.predicted(scores).tolist()]
    if response == LABEL:
        return [labels]
    values = scores if response == "score" else model.scorer.probabilities(scores)
    return [values.tolist()] if values.ndim == 1 else [labels, *values.T.tolist()]
