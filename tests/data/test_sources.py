import bz2
import gzip
import hashlib
import io
import lzma
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xopen import xopen

from opauc.core.batch import BEGINNING, Position
from opauc.data.sources import ByteSource
from opauc.errors import InputChangedError, InputError

PACKERS = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def blocks_of(path, block_bytes=16, place=BEGINNING):
    return list(ByteSource(str(path), block_bytes).blocks(place))


@given(content=st.lists(st.sampled_from([b"a", b"bcd", b"\n", b"0123456789abcdefghij"]), max_size=60).map(b"".join))
@settings(max_examples=200)
def test_blocks_are_whole_lines_of_the_content_and_go_on_from_any_of_their_ends(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("bytes") / "content"
    path.write_bytes(content)
    blocks = blocks_of(path)
    assert b"".join(block.data.tobytes() for block in blocks) == content
    assert all(block.data.tobytes().endswith(b"\n") for block in blocks[:-1])
    for number, block in enumerate(blocks):
        assert block.sha256 == hashlib.sha256(content[: block.end]).hexdigest()
        rest = blocks_of(path, place=Position(block.end, 0, block.sha256))
        assert [(b.begin, b.data.tobytes()) for b in rest] == [
            (b.begin, b.data.tobytes()) for b in blocks[number + 1 :]
        ]


@pytest.mark.parametrize("packing", ["plain", "gz", "bz2", "xz", "zst"])
def test_compressed_content_gives_the_blocks_of_the_plain_one(tmp_path, packing):
    content = b"".join(b"%d 1:2\n" % i for i in range(5000))
    plain, packed = tmp_path / "plain", tmp_path / "packed"  # no suffix: the first bytes tell
    plain.write_bytes(content)
    if packing == "zst":
        with xopen(packed, "wb", format="zst", threads=0) as file:
            file.write(content)
    else:
        packed.write_bytes(PACKERS[packing](content))
    wanted = [(block.begin, block.data.tobytes(), block.sha256) for block in blocks_of(plain, 1000)]
    assert [(block.begin, block.data.tobytes(), block.sha256) for block in blocks_of(packed, 1000)] == wanted


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz", "zst"])
def test_broken_packing_is_an_input_error_with_the_name(tmp_path, packing):
    path = tmp_path / f"broken.{packing}"
    with xopen(path, "wb", threads=0) as file:
        file.write(bytes(range(256)) * 1000)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=f"broken.{packing}: "):
        blocks_of(path, 1000)


def test_standard_input_is_read_through_a_pipe(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"a\nb\n"))))
    assert [block.data.tobytes() for block in blocks_of("-")] == [b"a\nb\n"]


def test_a_file_that_changed_before_the_resume_position_is_refused(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"0123456\n" * 10)
    first = blocks_of(path)[0]
    path.write_bytes(b"0123457\n" * 10)
    with pytest.raises(InputChangedError, match="first 16 bytes are not those read before"):
        blocks_of(path, place=Position(first.end, 2, first.sha256))
    path.write_bytes(b"0123456\n")
    with pytest.raises(InputChangedError, match="ends 8 bytes before the position"):
        blocks_of(path, place=Position(first.end, 2, first.sha256))


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"0123456\n" * 10)
    blocks = ByteSource(str(path), 16).blocks()
    next(blocks)
    with path.open("ab") as file:
        file.write(b"more\n")
    with pytest.raises(InputChangedError, match="changed while it was read"):
        list(blocks)


def test_missing_files_and_folders_are_input_errors(tmp_path):
    with pytest.raises(InputError, match=r"nothing\.txt: No such file"):
        blocks_of(tmp_path / "nothing.txt")
    with pytest.raises(InputError, match="Is a directory"):
        blocks_of(tmp_path)
