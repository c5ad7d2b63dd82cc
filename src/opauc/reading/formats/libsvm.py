"""LIBSVM (svmlight) text."""

from opauc.reading.byte_source import text_extents
from opauc.reading.data_format import DataFormat, Reader
from opauc.reading.encoder import Encoder
from opauc.reading.read_options import ReadOptions


def _reader(options: ReadOptions, encoder: Encoder) -> Reader:
    from opauc.reading.libsvm_reader import LibsvmReader

    return LibsvmReader(options.n_features, options.zero_based, encoder.hashing)


def _likeness(line: bytes) -> int:
    """All that follows the label are entries index:value; a label without entries is a number."""
    label, *entries = line.split() or [b"0"]
    if entries:
        return 3 if all(b":" in entry for entry in entries) and b"," not in line else 0
    try:
        float(label)
    except ValueError:
        return 0
    return 3


LIBSVM = DataFormat(
    "libsvm",
    (".libsvm", ".svm", ".svmlight"),
    _reader,
    is_text=True,
    has_names=False,
    is_encoded=True,
    likeness=_likeness,
    extents=text_extents,
    is_sparse=lambda _: True,
)
