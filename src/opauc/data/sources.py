"""Files, pipes and standard input as blocks of whole lines: decompressed, hashed and read once."""

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
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import IO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from xopen import xopen

from opauc.core.batch import BEGINNING, Position
from opauc.data.byte_ranges import ByteRange, records_of, split_evenly
from opauc.data.remote import FileState, RemoteFile, is_url, shown_url
from opauc.data.storage import file_size, file_state, is_file, open_file
from opauc.errors import InputChangedError, InputError

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdError
else:
    from backports.zstd import ZstdError

BROKEN: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, lzma.LZMAError, ZstdError, zipfile.BadZipFile)
# Faster decompressors, which xopen prefers where they are installed, have errors of their own.
for name in ("isal.isal_zlib", "zlib_ng.zlib_ng"):
    with suppress(ImportError):
        BROKEN = (*BROKEN, import_module(name).error)
COMPRESSED = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}
ARCHIVE, UTF16 = "zip", "utf-16"
SIGNATURES = {**COMPRESSED, b"PK\x03\x04": ARCHIVE, codecs.BOM_UTF16_LE: UTF16, codecs.BOM_UTF16_BE: UTF16}
# A file that every Excel workbook has, and a folder that macOS adds to archives.
WORKBOOK_FILE, MACOS_FOLDER = "[Content_Types].xml", "__MACOSX/"
PIECE_BYTES = 2**16


def compression_of(raw: io.BufferedReader) -> str | None:
    """Return the compression or encoding of a file, None if it is plain; the file position does not move."""
    begin = raw.peek(6)[:6]
    return next((name for signature, name in SIGNATURES.items() if begin.startswith(signature)), None)


@contextmanager
def decompressed(raw: io.BufferedReader, source: str) -> Iterator[IO[bytes]]:
    """Open the decompressed content of an open file, as UTF-8; the file stays open.

    Examples
    --------
    >>> import gzip, io
    >>> from opauc.data.sources import decompressed
    >>> for content in (b"a,b", gzip.compress(b"a,b"), "a,b".encode("utf-16")):
    ...     with decompressed(io.BufferedReader(io.BytesIO(content)), "rows.csv") as stream:
    ...         print(stream.read())
    b'a,b'
    b'a,b'
    b'a,b'
    """
    with _decompressed_bytes(raw, source) as stream:
        yield io.BufferedReader(_Utf16Text(stream)) if compression_of(stream) == UTF16 else stream


@contextmanager
def _decompressed_bytes(raw: io.BufferedReader, source: str) -> Iterator[io.BufferedReader]:
    compression = compression_of(raw)
    if compression == ARCHIVE:
        with _only_file(raw, source) as stream:
            yield io.BufferedReader(cast(io.RawIOBase, stream))
    elif compression in COMPRESSED.values():
        with xopen(raw, "rb", threads=0, format=compression) as stream:
            yield io.BufferedReader(cast(io.RawIOBase, stream))
    else:
        yield raw


def _only_file(raw: io.BufferedReader, source: str) -> IO[bytes]:
    """Open the only file of an archive."""
    if not raw.seekable():
        raise InputError(f"{source}: a zip archive cannot be read from a pipe; unpack it first")
    archive = zipfile.ZipFile(raw)
    files = [
        file for file in archive.infolist() if not file.is_dir() and not file.filename.startswith((MACOS_FOLDER, "."))
    ]
    if any(file.filename == WORKBOOK_FILE for file in files):
        raise InputError(f"{source}: a workbook is not read; save the sheet as CSV")
    if len(files) != 1:
        names = ", ".join(file.filename for file in files[:3]) + (", ..." if len(files) > 3 else "")
        raise InputError(f"{source}: one file was expected in the archive, it has {len(files)} ({names}); unpack it")
    try:
        return archive.open(files[0])
    except (RuntimeError, NotImplementedError) as error:  # it needs a password, or an unknown compression
        raise InputError(f"{source}: {error}") from error


class _Utf16Text(io.RawIOBase):
    """UTF-16 text as UTF-8; invalid characters are replaced."""

    def __init__(self, raw: io.BufferedReader) -> None:
        super().__init__()
        self._raw, self._ready = raw, b""
        self._decoder = codecs.getincrementaldecoder(UTF16)("replace")

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


# Content is cut at the last end of line before each multiple of this, however the file is compressed.
BLOCK_BYTES = 4 * 2**20
LONGEST_LINE = 256 * 2**20
# Text shorter than this is read in plain Python, which is faster than loading the compiled kernel.
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
    """A file by its path, or standard input as "-", its content decompressed (see `decompressed`).

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
        self.path: str = path
        self.block_bytes: int = block_bytes or BLOCK_BYTES
        self.byte_range: ByteRange | None = byte_range
        self.passed: int = 0  # bytes of the file, as stored on disk, that were read

    @property
    def size(self) -> int:
        """Bytes of the file on disk; 0 for what is not a file."""
        return file_size(self.path) if is_file(self.path) else 0

    @property
    def name(self) -> str:
        """The name of the source in messages."""
        return "standard input" if self.path == STANDARD_INPUT else shown_url(self.path)

    def blocks(self, position: Position = BEGINNING) -> Iterator[Block]:
        """Yield the blocks from `position` on: the same blocks as when reading from the start.

        The content before `position` is read too, to check its hash. Of a byte
        range only the lines that begin in it are read and hashed.
        """
        with self._opened() as (raw, stream):
            hasher, end = hashlib.sha256(), sys.maxsize
            if self.byte_range is None:
                _skip(stream, position.offset, hasher.update, self.name)
                if position.offset and hasher.hexdigest() != position.sha256:
                    raise InputChangedError(f"{self.name}: the first {position.offset} bytes are not those read before")
                begin = position.offset
            else:
                begin, end = records_of(raw, self.byte_range)
                stream.seek(begin)
            rest = b""
            goal = -(-begin // self.block_bytes) * self.block_bytes + self.block_bytes
            while True:
                n_bytes = min(goal, end) - begin - len(rest)
                piece = _read_fully(stream, n_bytes)
                at_end = len(piece) < n_bytes or goal >= end
                joined, goal = rest + piece, goal + self.block_bytes
                cut = len(joined) if at_end else joined.rfind(b"\n") + 1
                if cut:
                    self.passed = _position(raw, begin + cut)
                    hasher.update(memoryview(joined)[:cut])
                    yield Block(np.frombuffer(joined, np.uint8, cut), begin, hasher.hexdigest())
                if at_end:
                    return
                begin, rest = begin + cut, joined[cut:]
                if len(rest) > LONGEST_LINE:
                    raise InputError(f"{self.name}: a line is longer than {LONGEST_LINE // 2**20} MiB")

    @contextmanager
    def _opened(self) -> Iterator[tuple[io.BufferedReader, IO[bytes]]]:
        """Open the source, raw and decompressed; afterwards check that a file did not change."""
        try:
            with self._raw() as raw:
                before = _state_of(raw)
                with decompressed(raw, self.name) as stream:
                    yield raw, stream
                if _state_of(raw) != before:
                    raise InputChangedError(f"{self.name}: the file changed while it was read")
        except BROKEN as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise InputError(f"{self.name}: {reason}") from error

    def _raw(self) -> io.BufferedReader | _Borrowed:
        if self.path == STANDARD_INPUT:
            return _Borrowed(_standard_input())
        return open_file(self.path)


def text_byte_ranges(path: str, size: int) -> list[ByteRange]:
    """Cut a text into byte ranges of `size` bytes; a compressed text, or a pipe, has none."""
    if not is_file(path):
        return []
    with open_file(path) as raw:
        return [] if compression_of(raw) else split_evenly(file_size(path), size)


def _standard_input() -> io.BufferedReader:
    """Return standard input through a separate buffer.

    At exit Python waits for the lock of its own buffer, which a reader of an
    idle pipe would hold forever.
    """
    if sys.stdin is None:
        raise InputError("standard input is closed")
    try:
        return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False), 2**20)
    except (AttributeError, OSError):
        return cast(io.BufferedReader, sys.stdin.buffer)


class _Borrowed:
    """A stream that stays open after the `with` statement."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream

    def __enter__(self) -> io.BufferedReader:
        return self._stream

    def __exit__(self, *_: object) -> None:
        pass


def _state_of(raw: io.BufferedReader) -> FileState | None:
    """Return size and modification time of a regular file, or the ETag of a URL; None for a pipe."""
    if isinstance(remote := getattr(raw, "raw", None), RemoteFile):
        return file_state(remote.url)
    try:
        state = os.fstat(raw.fileno())
    except (OSError, AttributeError, ValueError):
        return None
    return FileState(state.st_size, state.st_mtime_ns) if stat.S_ISREG(state.st_mode) else None


def _position(raw: io.BufferedReader, otherwise: int) -> int:
    """Return how far a file was read; for a pipe, `otherwise`."""
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


def _skip(stream: IO[bytes], size: int, update_hash: Callable[[bytes], None], name: str) -> None:
    while size:
        piece = stream.read(min(size, BLOCK_BYTES))
        if not piece:
            raise InputChangedError(f"{name}: ends {size} bytes before the position to resume from")
        update_hash(piece)
        size -= len(piece)


@dataclass(frozen=True)
class Fingerprint:
    """The hash that identifies a file, and its size and modification time while it is read.

    `sha256` covers the file's size and a few of its bytes, chosen by the reader
    such that other content is likely to change them: to hash every byte of a
    table would cost more than to train on it.
    """

    path: str
    sha256: str
    state: FileState

    @classmethod
    def of(cls, path: str, content: bytes) -> Fingerprint:
        """Return the fingerprint of a file from some of its bytes."""
        state = _stored_state(path)
        return cls(path, hashlib.sha256(b"%d\n" % state[0] + content).hexdigest(), state)

    def check_start(self, position: Position) -> None:
        """Raise unless this is the file that was read up to `position`."""
        if position.offset and position.sha256 != self.sha256:
            name = shown_url(self.path)
            raise InputChangedError(f"{name}: is not the file whose first {position.offset} rows were read before")

    def check_unchanged(self, at_end: bool = False) -> None:
        """Raise if the file was written to meanwhile; that of a URL is asked only at the end."""
        if (at_end or not is_url(self.path)) and _stored_state(self.path) != self.state:
            raise InputChangedError(f"{shown_url(self.path)}: the file changed while it was read")


def _stored_state(path: str) -> FileState:
    try:
        return file_state(path)
    except OSError as error:
        raise InputChangedError(f"{shown_url(path)}: {error.strerror}") from error
