"""Parts of tables, and what an encoder makes of them."""

import pyarrow as pa

from opauc.core.batch import Position, RawBatch
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns


def part_of(columns, line=0, lines=None, labels=None):
    rows = pa.record_batch(columns) if isinstance(columns, dict) else columns
    size = rows.num_rows if isinstance(rows, pa.RecordBatch) else rows.shape[0]
    return RawBatch(rows, labels, lines, Position(0, line), Position(size, line + size))


def encoded(encoder, columns, bad=None, **place):
    return encoder.encode(part_of(columns, **place), "t.parquet", bad or BadRows())


def features(*names, **more):
    return TableColumns(labeled=False, features=names or None, **more)
