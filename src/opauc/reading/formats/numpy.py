"""Arrays of NumPy, dense or as the arrays of a CSR matrix."""

from opauc.reading.data_format import DataFormat, Reader
from opauc.reading.encoder import Encoder
from opauc.reading.extent import Extent
from opauc.reading.read_options import ReadOptions


def _reader(_: ReadOptions, encoder: Encoder) -> Reader:
    from opauc.reading.numpy_reader import NumpyReader

    return NumpyReader(encoder.pinned_columns)


def _extents(path: str, size: int) -> list[Extent]:
    from opauc.reading.numpy_reader import array_extents

    return array_extents(path, size)


def _is_sparse(path: str) -> bool:
    from opauc.reading.numpy_reader import has_sparse_rows

    return has_sparse_rows(path)


NUMPY = DataFormat("numpy", (".npz", ".npy"), _reader, has_names=False, extents=_extents, is_sparse=_is_sparse)
