"""Some whole records from all over a text, as if they were all of it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import numpy as np
from numpy.typing import NDArray

from opauc.reading.byte_source import ByteSource
from opauc.reading.csv_records import CsvRecords, whole_records
from opauc.reading.extent import even_extents, records_of, states_after, with_quoting

QUOTE = b'"'
# Bytes that the first record is looked for in, and those that are read for a few records.
HEAD_BYTES, LEAST_BYTES = 2**20, 2**10
# Of places that lines are taken from, so many may turn out to lie within quotes: the others are as good a sample.
STRAYS = 0.01


class SampledText(ByteSource):
    """A text of which only some records are read; its name is that of the file.

    Examples
    --------
    >>> from opauc.reading.sampled_text import SampledText
    >>> [block.data.tobytes() for block in SampledText("a.csv", b"age,label\\n30,no\\n").blocks()]
    [b'age,label\\n30,no\\n']
    """

    def __init__(self, path: str, text: bytes) -> None:
        super().__init__(path)
        self._text = text

    @contextmanager
    def _opened(self) -> Iterator[tuple[io.BufferedReader, IO[bytes]]]:
        with io.BytesIO(self._text) as stream:
            yield io.BufferedReader(stream), stream


def sampled_text(path: str, size: int, places: NDArray[np.float64], lines_each: int, delimiter: int | None) -> bytes:
    """Return the first record of a text, which may be its header, and some that follow places between 0 and 1.

    Where quotes may enclose ends of line, `delimiter` is what stands between fields: if lines that were met look as
    if they did, the text is followed from quote to quote.
    """
    with open(path, "rb") as file:
        head = file.read(min(size, HEAD_BYTES))
        first = _first_record(head, delimiter)
        pieces, end = [], first
        for place in np.sort(places).tolist():  # no line is taken twice
            pieces.append(_lines_from(file, int(place * size), end, lines_each))
            end = max(end, file.tell())
        whole = pieces if delimiter is None else [piece for piece in pieces if not _is_within_quotes(piece)]
        if delimiter is not None and len(pieces) - len(whole) > STRAYS * len(pieces):
            whole = _records_after(path, file, size, delimiter, len(pieces), lines_each)
    return b"".join(map(_ended, [head[:first], *(piece for piece in whole if piece.strip())]))


def drawn_text(source: ByteSource, n_records: int, delimiter: str, random: np.random.Generator) -> bytes:
    """Return the first record of a text that can only be read in order, and so many others, any as likely as another.

    It is read once, and no more of it is kept than twice as many records and a block.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.reading.sampled_text import SampledText, drawn_text
    >>> rows = SampledText("a.csv", b"age,label\\n" + b"30,no\\n" * 1000)
    >>> drawn_text(rows, 2, ",", np.random.default_rng(0))
    b'age,label\\n30,no\\n30,no\\n'
    """
    first, kept, keys, highest = b"", list[bytes](), np.empty(0), 1.0
    for stretch in whole_records(source, delimiter):
        records = stretch.records or CsvRecords.of(stretch.text, delimiter)
        if not first and records.size:
            first, records = records.text_of(stretch.text, 0), records.between(1, records.size)
        drawn = random.random(records.size)
        chosen = np.flatnonzero(drawn < highest)
        kept += [records.text_of(stretch.text, at) for at in chosen.tolist()]
        keys = np.concatenate([keys, drawn[chosen]])
        if keys.size > n_records:
            highest = float(np.partition(keys, n_records)[n_records])
            kept = [record for record, stays in zip(kept, (keys < highest).tolist(), strict=True) if stays]
            keys = keys[keys < highest]
    return b"".join(map(_ended, [first, *kept]))


def _ended(text: bytes) -> bytes:
    return text if not text or text.endswith(b"\n") else text + b"\n"


def _first_record(head: bytes, delimiter: int | None) -> int:
    """Return where the first record that is not empty ends."""
    if delimiter is None:
        return head.find(b"\n") + 1 or len(head)
    few = head[: max(head.find(b"\n", len(head) - len(head.lstrip())) + 1, 1)]
    text = few if few.count(QUOTE) % 2 == 0 and few.strip() else head
    records = CsvRecords.of(text, chr(delimiter))
    return int(records.edges[1]) if records.size else len(head)


def _lines_from(file: IO[bytes], offset: int, end: int, wanted: int) -> bytes:
    """Return some lines from the first that begins at `offset` or later; another line ends at `end`."""
    file.seek(max(offset - 1, end))
    if offset > end:
        file.readline()
    return b"".join(file.readline() for _ in range(wanted))


def _is_within_quotes(piece: bytes) -> bool:
    return any(line.count(QUOTE) % 2 for line in piece.split(b"\n"))


def _records_after(path: str, file: IO[bytes], size: int, delimiter: int, n_places: int, wanted: int) -> list[bytes]:
    """Return some records after evenly spread places of a text whose records may have several lines."""
    extents = even_extents(size, -(-size // n_places))
    states = [states_after(path, delimiter, extent) for extent in extents]
    pieces = []
    for extent in with_quoting(extents, delimiter, states)[1:]:
        begin, end = records_of(file, extent)
        file.seek(begin)
        text = file.read(max(end - begin, LEAST_BYTES) if end > begin else 0)[: max(0, end - begin)]
        records = CsvRecords.of(text, chr(delimiter))
        pieces.append(text[: records.edges[min(wanted, records.size)]] if records.size else b"")
    return [piece.replace(b"\r\n", b"\n") for piece in pieces]
