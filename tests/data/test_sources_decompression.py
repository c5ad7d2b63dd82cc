"""Compressed files and archives, and their content."""

import io
import os
import zipfile

import numpy as np
import pytest
from xopen import xopen

from opauc.data.sources import ByteSource, decompressed
from opauc.errors import InputError

TEXT = "größe;€;label\n" + "".join(f"{i};ü{i};{i % 2}\n" for i in range(30_000))


def archive_of(path, **files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def text_of(path, block_bytes=10_000):
    return b"".join(block.data.tobytes() for block in ByteSource(str(path), block_bytes).blocks()).decode()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_known_by_its_mark(tmp_path, encoding):
    path = tmp_path / "rows.csv"
    path.write_bytes(("\ufeff" + TEXT).encode(encoding))
    assert text_of(path) == TEXT


def test_utf16_that_is_cut_or_no_text_is_replaced_and_not_lost():
    packed = "\ufeffa,b\n".encode("utf-16-le") + b"\x00\xd8" + "\n1".encode("utf-16-le") + b"\x00"
    with decompressed(io.BufferedReader(io.BytesIO(packed)), "rows.csv") as stream:
        assert stream.read().decode() == "a,b\n\ufffd\n1\ufffd"


def test_the_only_file_of_an_archive_is_read_whatever_else_machines_put_there(tmp_path):
    path = archive_of(tmp_path / "a.zip", **{"data/": "", "data/rows.csv": TEXT, "__MACOSX/data/._rows.csv": "x"})
    assert text_of(path) == TEXT
    first, *rest = ByteSource(str(path), 10_000).blocks()
    again = ByteSource(str(path), 10_000).blocks(type("", (), {"offset": first.end, "sha256": first.sha256}))
    assert [block.sha256 for block in again] == [block.sha256 for block in rest]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.csv": "1", "b.csv": "2"}, r"one file was expected in the archive, it has 2 \(a.csv, b.csv\); unpack it"),
        ({str(i): "" for i in range(5)}, r"it has 5 \(0, 1, 2, ...\); unpack it"),
        ({"[Content_Types].xml": "", "xl/workbook.xml": ""}, "a workbook is not read; save the sheet as CSV"),
    ],
)
def test_other_archives_are_refused_with_what_is_in_them(tmp_path, files, message):
    with pytest.raises(InputError, match=message):
        text_of(archive_of(tmp_path / "a.zip", **files))


def test_archives_that_are_broken_or_locked_are_refused_by_name(tmp_path):
    path = archive_of(tmp_path / "a.zip", **{"rows.csv": TEXT})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"a\.zip: File is not a zip file"):
        text_of(path)
    locked = bytearray(whole)
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(signature) + flags] |= 1
    path.write_bytes(locked)
    with pytest.raises(InputError, match="password required"):
        text_of(path)
    wrong = bytearray(whole)
    wrong[200:220] = bytes(20)
    path.write_bytes(wrong)
    with pytest.raises(InputError, match=r"a\.zip: "):
        text_of(path)


def test_an_archive_from_a_pipe_is_refused(tmp_path):
    path = archive_of(tmp_path / "a.zip", **{"rows.csv": "a,label\n1,0\n"})
    end, begin = os.pipe()
    os.write(begin, path.read_bytes())
    os.close(begin)
    with (
        io.BufferedReader(io.FileIO(end)) as pipe,
        pytest.raises(InputError, match="cannot be read from a pipe"),
        decompressed(pipe, "standard input"),
    ):
        pass


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zst"])
def test_damaged_compressed_text_is_refused_by_name_or_read(tmp_path, ending):
    path, random = tmp_path / f"rows.csv.{ending}", np.random.default_rng(0)
    with xopen(path, "wb", threads=0) as stream:
        stream.write(TEXT.encode())
    compressed, messages = path.read_bytes(), []
    for _ in range(30):
        damaged = bytearray(compressed)
        for at in random.integers(6, len(damaged), size=3):
            damaged[at] ^= int(random.integers(1, 256))
        path.write_bytes(damaged[: random.integers(len(damaged) // 2, 2 * len(damaged))])
        try:
            list(ByteSource(str(path)).blocks())
        except InputError as error:
            messages.append(str(error))
    assert messages
    assert all(message.startswith(f"{path}: ") for message in messages)
