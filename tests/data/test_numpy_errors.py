"""Arrays that are no labeled rows, and files that are broken, are refused with the reason."""

import io

import numpy as np
import pytest

from opauc.core.batch import BEGINNING
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.formats import numpy as array_rows
from opauc.data.formats.numpy import NumpyReader
from opauc.data.sources import ByteSource
from opauc.errors import InputChangedError, InputError
from tests.data.numpy_parts import LABELS, numbers, parts_of, sparse_rows


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(array_rows, "BATCH_BYTES", 4096)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"indices": [0, 3]}, "column indices must lie between 0 and 2, got 0 to 3"),
        ({"indices": [0, -1]}, "column indices must lie between 0 and 2, got -1 to 0"),
        ({"indptr": [1, 1, 2]}, "row ends (indptr) must start at 0 and grow up to the number of entries"),
        ({"indptr": [0, 9, 2]}, "row ends (indptr) must start at 0 and grow up to the number of entries"),
        ({"indptr": [0, 1, 3]}, "row ends (indptr) must start at 0 and grow up to the number of entries"),
        ({"indptr": [0.0, 1.0, 2.0]}, "the arrays indices and indptr must hold integers"),
        (
            {"indptr": [0, 2]},
            "2 rows need as many and one row ends (indptr) and as many column indices as values, got 2",
        ),
        ({"shape": [2, 3, 4]}, "the arrays data, indices and indptr must be flat and shape must be two numbers"),
        ({"data": ["a", "b"]}, "expected numbers, got an array of <U1"),
    ],
)
def test_sparse_arrays_that_do_not_fit_together_are_refused(tmp_path, change, reason):
    path = tmp_path / "data.npz"
    fitting = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 2], "shape": [2, 3], "y": [0, 1]}
    np.savez(path, **{**fitting, **change})
    with pytest.raises(InputError) as error:
        parts_of(path)
    assert str(error.value).startswith(f"{path}: {reason}")


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"A": [1]}, ": expected an array X or arrays data, indices, indptr, shape, found A"),
        ({"X": [1.0], "y": [1]}, ", array X: expected an array of rows and columns, its shape is (1,)"),
        ({"X": [[1.0]], "y": [1, 2]}, ", array y: expected 1 labels, its shape is (2,)"),
        ({"X": [[1j]], "y": [1]}, ", array X: holds complex128, expected numbers or text"),
        ({"X": np.array([[None]]), "y": [1]}, ", array X: "),
        ({"X": [["a"]], "y": [1]}, ", array X: expected numbers, got an array of <U1"),
        ({"X": [[1.0]], "y": [b"a"]}, ", array y: expected numbers or text, got bytes (|S1)"),
    ],
)
def test_arrays_that_are_no_rows_are_refused(tmp_path, arrays, reason):
    path = tmp_path / "data.npz"
    np.savez(path, **arrays)
    with pytest.raises(InputError) as error:
        parts_of(path)
    assert str(error.value).startswith(f"{path}{reason}")


def test_a_shape_the_file_cannot_hold_is_refused_before_anything_is_read(tmp_path):
    path = tmp_path / "data.npy"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**15, 10**3)})
    path.write_bytes(header.getvalue() + bytes(80))
    with pytest.raises(InputError, match="takes 8000000000000000128 bytes, there are 208"):
        parts_of(path, TableColumns(labeled=False))


def test_categories_and_standard_input_are_refused(tmp_path):
    path = tmp_path / "data.npy"
    np.save(path, numbers())
    with pytest.raises(InputError, match="arrays have no categorical columns"):
        parts_of(path, TableColumns(label=0, categorical=[1]))
    with pytest.raises(InputError, match="standard input: arrays of NumPy are read from files"):
        parts_of("-")
    with pytest.raises(InputError, match=r"none\.npy: No such file"):
        parts_of(tmp_path / "none.npy")


@pytest.mark.parametrize("name", ["data.npy", "data.npz"])
def test_another_file_in_its_place_is_refused(tmp_path, name):
    path = tmp_path / name

    def save(values):
        np.save(path, values) if name == "data.npy" else np.savez(path, X=values, y=LABELS["numbers"])

    columns = TableColumns(label=0) if name == "data.npy" else TableColumns()
    save(numbers())
    parts, size = parts_of(path, columns), path.stat().st_size
    save(numbers(seed=1))
    assert path.stat().st_size == size
    with pytest.raises(InputChangedError, match="is not the file whose first"):
        parts_of(path, columns, parts[0].after)
    reading = NumpyReader(columns).batches(ByteSource(str(path)), BEGINNING, BadRows())
    next(reading)
    with open(path, "ab") as file:
        file.write(b"x")
    with pytest.raises(InputChangedError, match="the file changed while it was read"):
        list(reading)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_broken_archives_are_refused_and_never_crash(tmp_path, save):
    path, rows = tmp_path / "data.npz", sparse_rows()
    random = np.random.default_rng(0)
    refused = 0
    for arrays in (
        {"X": numbers()},
        {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": rows.shape},
    ):
        save(path, **arrays, y=LABELS["words"])
        whole = path.read_bytes()
        for _ in range(60):
            broken = bytearray(whole)
            for at in random.integers(0, len(broken), 6):
                broken[at] = random.integers(256)
            path.write_bytes(broken[: random.choice([len(broken), random.integers(len(broken))])])
            try:
                parts_of(path)
            except InputError as error:
                refused += 1
                assert str(error).startswith(str(path))  # noqa: PT017
    assert refused > 100  # each array has a checksum
