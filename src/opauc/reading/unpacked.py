"""Text as files hold it, compressed, in an archive or in UTF-16, made plain; how it is packed its first bytes tell."""

from __future__ import annotations

import codecs
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

from xopen import xopen

from opauc.errors import InputError

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
    >>> from opauc.reading.unpacked import unpacked
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
