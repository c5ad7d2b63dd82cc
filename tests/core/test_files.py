import json
import os
import resource
import stat
import struct
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

from opauc.core.atomic_write import atomic_write
from opauc.core.checksummed_file import VERSION, read_checksummed, write_checksummed
from opauc.errors import UnreadableFileError
from tests.core.hostile_files import mutate, write_hostile


def test_a_file_is_replaced_only_once_it_is_whole(tmp_path):
    target = tmp_path / "target"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic_write(target) as temporary:
        temporary.write_text(str(1 / 0))
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    with atomic_write(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"


def test_permissions_are_those_of_any_new_file_or_of_the_one_replaced(tmp_path):
    target, plain = tmp_path / "target", tmp_path / "plain"
    plain.touch()
    with atomic_write(target):
        pass
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    target.chmod(0o640)
    with atomic_write(target):
        pass
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_sealed_file_has_the_permissions_of_any_new_file_or_of_the_one_replaced(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        write_checksummed(tmp_path / "file", "kind", {}, {"a": np.ones(3)})
        assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode
        (tmp_path / "file").chmod(0o640)
        write_checksummed(tmp_path / "file", "kind", {}, {"a": np.ones(3)})
        assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
    finally:
        os.umask(before)


WRITE_AND_WAIT = """
import sys
from opauc.core.atomic_write import atomic_write
with atomic_write(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print("writing", flush=True)
    sys.stdin.read()
"""


def writer(target):
    """Start a process that is in the midst of writing a file."""
    command = [sys.executable, "-c", WRITE_AND_WAIT, str(target)]
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "writing\n"
    return running


def test_what_a_killed_process_left_is_swept_and_what_a_living_one_makes_is_not(tmp_path):
    target = tmp_path / "target"
    (tmp_path / ".target.notes.part").mkdir()
    with writer(target) as killed, writer(target) as living:
        killed.kill()
        killed.wait()
        assert len(list(tmp_path.iterdir())) == 3
        with atomic_write(target) as temporary:
            temporary.write_text("whole")
        assert target.read_text() == "whole"
        assert len(list(tmp_path.iterdir())) == 3
        living.communicate("")
        assert living.returncode == 0
    assert target.read_text() == "half"
    assert sorted(os.listdir(tmp_path)) == [".target.notes.part", "target"]


def test_a_link_to_itself_and_a_device_are_refused(tmp_path):
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    for path, why in ((tmp_path / "one", "a link that leads back to itself"), ("/dev/null", "not a regular file")):
        with pytest.raises(OSError, match=f"{path}: {why}"), atomic_write(path):
            pass


def test_a_link_stays_a_link_and_a_folder_is_not_replaced(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    target.write_text("old")
    with atomic_write(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    with pytest.raises(OSError, match="not a regular file"), atomic_write(tmp_path):
        pass


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int8", "uint64", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (0, 4)])
def test_what_is_written_is_read_to_the_last_bit(tmp_path, dtype, shape):
    array = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    header = {"text": 'λ ⟨&⟩ "', "numbers": [1, 2.5, None, True], "nested": {"a": {"b": []}}}
    write_checksummed(tmp_path / "file", "kind", header, {"array": array, "fortran": array.copy(order="F")})
    kind, found, arrays = read_checksummed(tmp_path / "file")
    assert (kind, found) == ("kind", header)
    for each in arrays.values():
        assert each.dtype == array.dtype
        assert each.shape == array.shape
        assert each.tobytes() == array.tobytes()


def test_every_damage_to_a_file_is_noticed(tmp_path):
    path = tmp_path / "file"
    write_checksummed(path, "kind", {"alpha": 0.25}, {"a": np.arange(6.0), "b": np.arange(4, dtype=np.int8)})
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(2000):
        damaged = mutate(rng, whole)
        if damaged == whole:
            continue
        path.write_bytes(damaged)
        with pytest.raises(UnreadableFileError, match="file: "):
            read_checksummed(path)


def sealed_by_hand(path, described):
    save_file(
        {"a": np.zeros(1)}, path, metadata={"opauc": json.dumps({"sha256": "", "content": json.dumps(described)})}
    )


def test_strange_files_are_refused_in_one_line(tmp_path):
    path = tmp_path / "file"
    with pytest.raises(UnreadableFileError, match="no such file"):
        read_checksummed(path)
    with pytest.raises(UnreadableFileError, match="not a regular file"):
        read_checksummed(tmp_path)
    path.write_bytes(b"")
    with pytest.raises(UnreadableFileError, match="broken, or not a file of opauc"):
        read_checksummed(path)
    path.write_bytes(struct.pack("<Q", 2**63) + b"{}")
    with pytest.raises(UnreadableFileError, match="broken, or not a file of opauc"):
        read_checksummed(path)
    save_file({"a": np.zeros(1)}, path)
    with pytest.raises(UnreadableFileError, match="a safetensors file, but not one of opauc"):
        read_checksummed(path)
    sealed_by_hand(path, {"format": "opauc", "version": VERSION + 1})
    with pytest.raises(UnreadableFileError, match=r"made by a newer opauc \(file version 2, this one reads up to 1\)"):
        read_checksummed(path)
    sealed_by_hand(path, {"format": "opauc", "version": VERSION, "kind": "model", "header": {}})
    with pytest.raises(UnreadableFileError, match="checksum does not match"):
        read_checksummed(path)
    deep = '{"sha256": "", "content": ' + "[" * 100_000 + "]" * 100_000 + "}"
    save_file({"a": np.zeros(1)}, path, metadata={"opauc": deep})
    with pytest.raises(UnreadableFileError, match="broken, or not a file of opauc"):
        read_checksummed(path)


@pytest.mark.parametrize(
    ("described", "said"),
    [
        ({"header": {}}, "content: lacks kind"),
        ({"kind": 7, "header": {}}, "content: kind: expected text, got 7"),
        ({"kind": "model"}, "content: lacks header"),
        ({"kind": "model", "header": []}, r"content: header: expected names with values, got \[\]"),
    ],
)
def test_a_file_that_does_not_say_what_it_is_is_refused_in_one_line(tmp_path, described, said):
    write_hostile(tmp_path / "file", {"format": "opauc", "version": 1, **described}, {"a": np.zeros(2)})
    with pytest.raises(UnreadableFileError, match=f"file: cannot be used: {said}"):
        read_checksummed(tmp_path / "file")


WRITE_BEYOND_THE_LIMIT = """
import resource, sys
import numpy as np
from opauc.core.checksummed_file import write_checksummed
resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, 2**16))
try:
    write_checksummed(sys.argv[1], "kind", {}, {"a": np.ones(100_000)})
except OSError as error:
    print(error)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="the system cannot limit the size of files")
def test_a_disk_that_takes_no_more_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    write_checksummed(path, "old", {}, {})
    done = subprocess.run(
        [sys.executable, "-c", WRITE_BEYOND_THE_LIMIT, str(path)], capture_output=True, text=True, check=True
    )
    assert "File too large" in done.stdout
    assert read_checksummed(path)[0] == "old"
    assert os.listdir(tmp_path) == ["file"]
