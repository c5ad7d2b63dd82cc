"""Rows drawn from all over files, as numbers: what the columns are is found by looking at all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from opauc.features.number_reading import NumberReading
from opauc.features.numbers_encoder import NumbersEncoder
from opauc.reading.bad_rows import BadRows
from opauc.reading.encoder import EncodedRows
from opauc.reading.file_sample import SampledFiles, SampledPart

if TYPE_CHECKING:
    from pyarrow import RecordBatch


class DrawnRows(NamedTuple):
    """Rows as numbers with their labels, the source of each part, and the encoder that knows their columns."""

    parts: list[EncodedRows]
    sources: list[str]
    encoder: NumbersEncoder


def drawn_rows(files: SampledFiles, reading: NumberReading, n_rows: int, seed: int) -> DrawnRows:
    """Return about so many rows from all over the files; those that cannot be read are left out.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.features.drawn_rows import drawn_rows
    >>> from opauc.features.number_reading import NumberReading
    >>> from opauc.reading import ReadOptions
    >>> from opauc.reading.file_sample import SampledFiles
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n" + b"30,no\\n?,yes\\n" * 500), file.flush()
    ...     drawn = drawn_rows(SampledFiles.of([file.name], ReadOptions()), NumberReading(ReadOptions()), 96, seed=0)
    >>> [part.rows.shape for part in drawn.parts], drawn.encoder.findings[0].kind
    ([(96, 1)], 'number')
    """
    encoder, skipped = reading.encoder(), BadRows("skip")
    parts = list(files.sampled(reading.asked_columns(), n_rows, seed))
    tables = [one for one in parts if one.part.columns is not None]
    if tables:
        encoder.look(_joined(tables), tables[0].part.columns, tables[0].source)
    encoded = [encoder.encode(part, source, skipped) for part, source in parts]
    return DrawnRows(encoded, [source for _, source in parts], encoder)


def _joined(parts: Sequence[SampledPart]) -> RecordBatch:
    """Return the rows of all parts that have the columns of the first, of the same types."""
    import pyarrow as pa

    batches = [cast("RecordBatch", part.rows) for part, _ in parts]
    first = batches[0].schema
    table = pa.Table.from_batches([batch for batch in batches if batch.schema.equals(first)])
    [joined] = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=first)]
    return joined
