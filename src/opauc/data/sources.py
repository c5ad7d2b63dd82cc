"""Files, pipes and standard input as blocks of whole lines, unpacked, hashed and read once."""

from __future__ import annotations

import codecs
import hashlib
import io
import lzma
import os
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from xopen import xopen

from opauc.core.batch import BEGINNING, Place
from opauc.data.byte_ranges import ByteRange, even_extents, records_of
from opauc.errors import InputChangedError, InputError

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdError
else:
    from backports.zstd import ZstdError

BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, ZstdError, zipfile.BadZipFile)
COMPRESSED = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}
ARCHIVE, WIDE = "zip", "utf-16"
SIGNATURES = {**COMPRESSED, b"PK\x03\x04": ARCHIVE, codecs.BOM_UTF16_LE: WIDE, codecs.BOM_UTF16_BE: WIDE}
# A file that every workbook has, and what its maker adds to archives.
OF_WORKBOOKS, OF_MACHINES = "[Content_Types].xml", "__MACOSX/"
PIECE_BYTES = 2**16


def packing_of(raw: io.BufferedReader) -> str | None:
    """Return how the content is packed, None if it is plain, without moving on."""
    begin = raw.peek(6)[:6]
    return next((name for signature, name in SIGNATURES.items() if begin.startswith(signature)), None)


@contextmanager
def unpacked(raw: io.BufferedReader, source: str) -> Iterator[IO[bytes]]:
    """Open the content of a file that is open; the file stays so.

    Examples
    --------
    >>> import gzip, io
    >>> from opauc.data.sources import unpacked
    >>> for packed in (b"a,b", gzip.compress(b"a,b"), "a,b".encode("utf-16")):
    ...     with unpacked(io.BufferedReader(io.BytesIO(packed)), "rows.csv") as stream:
    ...         print(stream.read())
    b'a,b'
    b'a,b'
    b'a,b'
    """
    with _decompressed(raw, source) as stream:
        yield io.BufferedReader(_NarrowedText(stream)) if packing_of(stream) == WIDE else stream


@contextmanager
def _decompressed(raw: io.BufferedReader, source: str) -> Iterator[io.BufferedReader]:
    packing = packing_of(raw)
    if packing == ARCHIVE:
        with _only_file(raw, source) as stream:
            yield io.BufferedReader(cast(io.RawIOBase, stream))
    elif packing in COMPRESSED.values():
        with xopen(raw, "rb", threads=0, format=packing) as stream:
            yield io.BufferedReader(cast(io.RawIOBase, stream))
    else:
        yield raw


def _only_file(raw: io.BufferedReader, source: str) -> IO[bytes]:
    """Open the only file of an archive."""
    if not raw.seekable():
        raise InputError(f"{source}: a zip archive cannot be read from a pipe; unpack it first")
    archive = zipfile.ZipFile(raw)
    files = [
        file for file in archive.infolist() if not file.is_dir() and not file.filename.startswith((OF_MACHINES, "."))
    ]
    if any(file.filename == OF_WORKBOOKS for file in files):
        raise InputError(f"{source}: a workbook is not read; save the sheet as CSV")
    if len(files) != 1:
        names = ", ".join(file.filename for file in files[:3]) + (", ..." if len(files) > 3 else "")
        raise InputError(f"{source}: one file was expected in the archive, it has {len(files)} ({names}); unpack it")
    try:
        return archive.open(files[0])
    except (RuntimeError, NotImplementedError) as error:  # a password is wanted; a way to compress is not known
        raise InputError(f"{source}: {error}") from error


class _NarrowedText(io.RawIOBase):
    """Text in UTF-16 as UTF-8; what is no text is replaced."""

    def __init__(self, raw: io.BufferedReader) -> None:
        super().__init__()
        self._raw, self._ready = raw, b""
        self._decoder = codecs.getincrementaldecoder(WIDE)("replace")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        piece = b"more"
        while piece and not self._ready:
            piece = self._raw.read(PIECE_BYTES)
            self._ready = self._decoder.decode(piece, final=not piece).encode(errors="replace")
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


# Content is cut at the last end of line before each multiple of this, however the file is packed.
BLOCK_BYTES = 4 * 2**20
LONGEST_LINE = 256 * 2**20
# Text shorter than this is read in plain Python, sooner than machine code for it is loaded.
SMALL_TEXT = 2**17
STANDARD_INPUT, IN_MEMORY = "-", "data in memory"


class Block(NamedTuple):
    """Whole lines of a source; only the last block may lack its end of line."""

    data: NDArray[np.uint8]
    begin: int
    sha256: str  # of all content up to the end of this block

    @property
    def end(self) -> int:
        """Offset of the first byte after the block."""
        return self.begin + self.data.size


def is_small(n_bytes: int) -> bool:
    """Tell whether text is too short to be worth loading a kernel for."""
    return n_bytes < SMALL_TEXT


class ByteSource:
    """A file by its path, or standard input as "-", its content unpacked (see `unpacked`).

    Examples
    --------
    >>> import tempfile
    >>> from opauc.data.sources import ByteSource
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"one\\ntwo\\n"), file.flush()
    ...     [block.data.tobytes() for block in ByteSource(file.name).blocks()]
    [b'one\\ntwo\\n']
    """

    def __init__(self, path: str, block_bytes: int | None = None, byte_range: ByteRange | None = None) -> None:
        self.path, self.block_bytes, self.byte_range = path, block_bytes or BLOCK_BYTES, byte_range
        self.passed = 0  # bytes of the file, compressed as it is, that reading has come to

    @property
    def size(self) -> int:
        """Bytes of the file as it is on the disk; 0 for what is no file."""
        return os.path.getsize(self.path) if os.path.isfile(self.path) else 0

    @property
    def name(self) -> str:
        """How messages call the source."""
        return "standard input" if self.path == STANDARD_INPUT else self.path

    def blocks(self, place: Place = BEGINNING) -> Iterator[Block]:
        """Yield the blocks from `place` on; the same blocks that a reading from the start would give.

        What comes before `place` is read too, to know that it did not change;
        where the source has an byte_range, only its lines are, and hashed.
        """
        with self._opened() as (raw, stream):
            hasher, end = hashlib.sha256(), sys.maxsize
            if self.byte_range is None:
                _pass_over(stream, place.offset, hasher.update, self.name)
                if place.offset and hasher.hexdigest() != place.sha256:
                    raise InputChangedError(f"{self.name}: the first {place.offset} bytes are not those read before")
                begin = place.offset
            else:
                begin, end = records_of(raw, self.byte_range)
                stream.seek(begin)
            kept = b""
            goal = -(-begin // self.block_bytes) * self.block_bytes + self.block_bytes
            while True:
                wanted = min(goal, end) - begin - len(kept)
                piece = _read_fully(stream, wanted)
                at_end = len(piece) < wanted or goal >= end
                joined, goal = kept + piece, goal + self.block_bytes
                cut = len(joined) if at_end else joined.rfind(b"\n") + 1
                if cut:
                    self.passed = _position(raw, begin + cut)
                    hasher.update(memoryview(joined)[:cut])
                    yield Block(np.frombuffer(joined, np.uint8, cut), begin, hasher.hexdigest())
                if at_end:
                    return
                begin, kept = begin + cut, joined[cut:]
                if len(kept) > LONGEST_LINE:
                    raise InputError(f"{self.name}: a line is longer than {LONGEST_LINE // 2**20} MiB")

    @contextmanager
    def _opened(self) -> Iterator[tuple[io.BufferedReader, IO[bytes]]]:
        """Open the source, as it is and unpacked; afterwards make sure that a file is still the one opened."""
        try:
            with self._raw() as raw:
                before = _state_of(raw)
                with unpacked(raw, self.name) as stream:
                    yield raw, stream
                if _state_of(raw) != before:
                    raise InputChangedError(f"{self.name}: the file changed while it was read")
        except BROKEN as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise InputError(f"{self.name}: {reason}") from error

    def _raw(self) -> io.BufferedReader | _Borrowed:
        if self.path == STANDARD_INPUT:
            return _Borrowed(_standard_input())
        return io.BufferedReader(io.FileIO(self.path), 2**20)


def text_byte_ranges(path: str, size: int) -> list[ByteRange]:
    """Cut a text into stretches of `size` bytes; one that is packed, or no file, cannot be."""
    if not os.path.isfile(path):
        return []
    with open(path, "rb") as raw:
        return [] if packing_of(raw) else even_extents(os.path.getsize(path), size)


def _standard_input() -> io.BufferedReader:
    """Return standard input through a buffer of our own.

    Python waits for the lock of its own buffer when it ends, and a reader that
    nobody sends anything to would hold it for ever.
    """
    try:
        return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False), 2**20)
    except (AttributeError, OSError):
        return cast(io.BufferedReader, sys.stdin.buffer)


class _Borrowed:
    """A stream that stays open when its user is done with it."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream

    def __enter__(self) -> io.BufferedReader:
        return self._stream

    def __exit__(self, *_: object) -> None:
        pass


def _state_of(raw: io.BufferedReader) -> tuple[int, int] | None:
    """Return size and time of change of a regular file; a pipe has none."""
    try:
        state = os.fstat(raw.fileno())
    except (OSError, AttributeError, ValueError):
        return None
    return (state.st_size, state.st_mtime_ns) if stat.S_ISREG(state.st_mode) else None


def _position(raw: io.BufferedReader, otherwise: int) -> int:
    """Return how far a file was read; of a pipe only what came out of it is known."""
    try:
        return int(raw.tell())
    except OSError:
        return otherwise


def _read_fully(stream: IO[bytes], size: int) -> bytes:
    """Read `size` bytes, fewer only at the end: a pipe may give less than asked for."""
    first = stream.read(size)
    if len(first) == size or not first:
        return first
    pieces, missing = [first], size - len(first)
    while missing and (more := stream.read(missing)):
        pieces.append(more)
        missing -= len(more)
    return b"".join(pieces)


def _pass_over(stream: IO[bytes], size: int, hash_also: Callable[[bytes], None], name: str) -> None:
    while size:
        piece = stream.read(min(size, BLOCK_BYTES))
        if not piece:
            raise InputChangedError(f"{name}: ends {size} bytes before the place to go on from")
        hash_also(piece)
        size -= len(piece)
