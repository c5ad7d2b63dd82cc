"""Parquet, Arrow IPC (Feather version 2) and Arrow streams; which of them a file is, its first bytes tell."""

from opauc.reading.data_format import DataFormat, Reader
from opauc.reading.encoder import Encoder
from opauc.reading.extent import Extent
from opauc.reading.read_options import ReadOptions


def _reader(_: ReadOptions, encoder: Encoder) -> Reader:
    from opauc.reading.arrow_reader import ArrowReader

    return ArrowReader(encoder.pinned_columns)


def _extents(path: str, size: int) -> list[Extent]:
    from opauc.reading.arrow_reader import table_extents

    return table_extents(path, size)


PARQUET = DataFormat("parquet", (".parquet", ".pq"), _reader, extents=_extents)
ARROW = DataFormat("arrow", (".arrow", ".feather", ".ipc"), _reader, extents=_extents)
