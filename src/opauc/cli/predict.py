"""`opauc predict`: scores, probabilities or labels, one per line."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Annotated

import typer

from opauc.api.predict import check_response
from opauc.api.scored_stream import Purpose, ScoredBatch, ScoredStream
from opauc.cli import options as shared
from opauc.cli.console import Reporter, json_line, number_of, shown_text
from opauc.core.atomic_write import atomic_write
from opauc.core.labels import shown_label
from opauc.core.model import Model
from opauc.types import Floats

# Endings of files of JSON lines.
JSON_LINES = (".jsonl", ".ndjson")


def command(
    model: shared.Model,
    data: shared.Data,
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
        typer.Option(help="Columns to pass through to the output; text is then CSV with a header."),
    ] = None,
    response: Annotated[
        str, typer.Option(help="What to write: score, probability (of the positive class) or label.")
    ] = "score",
    format_: shared.Format = None,
    on_bad_row: shared.OnBadRow = "error",
    max_bad_rows: shared.MaxBadRows = None,
    json: shared.Json = False,
) -> int:
    """Score rows with a model; labels in the data are ignored and need not be there."""
    check_response(response)
    passthrough = shared.names(keep)
    scored = ScoredStream(model, data, format_, shared.bad_rows(on_bad_row, max_bad_rows), Purpose.PREDICT, passthrough)
    if output is None:
        write(scored, response, json, sys.stdout, passthrough)
    else:
        with atomic_write(output) as temporary:
            if output.suffix == ".parquet":
                write_parquet(scored, response, temporary)
            else:
                with temporary.open("w", encoding="utf-8", newline="") as out:
                    write(scored, response, json or output.suffix in JSON_LINES, out, passthrough)
    scored.report_unknown(Reporter(json))
    skipped = scored.stream.bad_rows
    if skipped.total:
        Reporter(json).say(
            "skipped", f"skipped {number_of(skipped.total, 'bad row')}", rows=skipped.total, first=skipped.first
        )
    return 0


def write(scored: ScoredStream, response: str, as_json: bool, out: IO[str], passthrough: Sequence[str]) -> None:
    """Write one line per row: JSON, the value alone, or CSV with a header where columns are passed through."""
    classes = scored.model.classes.tolist()
    names = [shown_label(label) for label in classes]
    # Labels are escaped on a terminal only.
    names = [shown_text(name) for name in names] if out.isatty() else names
    table = csv.writer(out, lineterminator="\n")
    if passthrough and not as_json:
        table.writerow([*passthrough, response])
    for part in scored.score():
        if as_json:
            out.writelines(json_lines(part, scored.model))
            continue
        values = _values(response, scored.model, names, part.scores)
        if passthrough:
            table.writerows(zip(*part.batch.passthrough_values(), values, strict=True))
        else:
            out.write("".join(f"{value}\n" for value in values))


def write_parquet(scored: ScoredStream, response: str, path: Path) -> None:
    """Write the passthrough columns and the response as Parquet, one row group per batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    scorer, classes = scored.model.scorer, scored.model.classes
    schema, writer = pa.schema([(response, pa.array(classes if response == "label" else [0.0]).type)]), None
    try:
        for part in scored.score():
            values = classes[scored.model.predicted_positive(part.scores).astype(int)]
            if response != "label":
                values = part.scores if response == "score" else scorer.probabilities(part.scores)
            kept = part.batch.passthrough
            columns = {} if kept is None else dict(zip(kept.schema.names, kept.columns, strict=True))
            table = pa.table({**columns, response: values})
            schema = table.schema if writer is None else schema
            writer = writer or pq.ParquetWriter(path, schema)
            writer.write_table(table.cast(schema))
        writer = writer or pq.ParquetWriter(path, schema)
    finally:
        if writer is not None:
            writer.close()


def json_lines(part: ScoredBatch, model: Model) -> Iterator[str]:
    """Yield all that is known of each row, one JSON line per row."""
    probabilities, columns = model.scorer.probabilities(part.scores).tolist(), part.batch.passthrough_values()
    labels = model.classes[model.predicted_positive(part.scores).astype(int)].tolist()
    names = [] if part.batch.passthrough is None else part.batch.passthrough.schema.names
    for i, (score, chance, label) in enumerate(zip(part.scores.tolist(), probabilities, labels, strict=True)):
        facts = (
            {"kept": {name: _plain(column[i]) for name, column in zip(names, columns, strict=True)}} if names else {}
        )
        yield json_line("row", row=part.batch.first_row + i, score=score, probability=chance, label=label, **facts)


def _plain(value: object) -> object:
    """Return a value of a passthrough column as JSON has it: dates and the like as text."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _values(response: str, model: Model, names: list[str], scores: Floats) -> list[object]:
    if response == "label":
        return [names[positive] for positive in model.predicted_positive(scores).tolist()]
    values: list[object] = (scores if response == "score" else model.scorer.probabilities(scores)).tolist()
    return values
