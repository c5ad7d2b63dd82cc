"""Text tables written, and read back part by part."""

import numpy as np

from opauc.core.batch import BEGINNING
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.formats.csv.reader import CsvReader
from opauc.data.sources import ByteSource

COLUMNS = TableColumns("label", ["a"], ["w"])


def written(tmp_path, content, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def parts_of(path, reader=None, block_bytes=4096, place=BEGINNING, bad=None):
    return list((reader or CsvReader()).batches(ByteSource(str(path), block_bytes), place, bad or BadRows()))


def lines_of(part):
    return (part.before.line + 1 + np.arange(part.rows.num_rows) if part.lines is None else part.lines).tolist()


def columns_of(parts):
    tables = [part.rows.to_pydict() for part in parts]
    return {name: [value for table in tables for value in table[name]] for name in tables[0]}
