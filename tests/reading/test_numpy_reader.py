import io
import itertools
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from scipy import sparse

from opauc.errors import InputChanged, InputError
from opauc.features.table_encoder import TableEncoder
from opauc.reading import array_rows
from opauc.reading.bad_rows import BadRows
from opauc.reading.byte_source import ByteSource
from opauc.reading.labelled_chunk import BEGINNING
from opauc.reading.numpy_reader import NumpyReader
from opauc.reading.table_columns import TableColumns

N = 300


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(array_rows, "PART_BYTES", 4096)


def numbers(dtype=np.float64, seed=0):
    return (np.random.default_rng(seed).normal(size=(N, 5)) * 9).astype(dtype)


LABELS = {"numbers": np.arange(N) % 3, "words": np.where(np.arange(N) % 2, "yes", "no"), "bools": np.arange(N) % 2 == 0}


def parts_of(path, columns=None, place=BEGINNING):
    return list(NumpyReader(columns or TableColumns()).parts(ByteSource(str(path)), place, BadRows()))


def joined(parts):
    stack = sparse.vstack if sparse.issparse(parts[0].rows) else np.concatenate
    labels = None if parts[0].labels is None else np.concatenate([part.labels for part in parts])
    return stack([part.rows for part in parts]), labels


def same_from_every_part(path, parts, columns=None):
    assert len(parts) > 2
    assert all(left.after == right.before for left, right in itertools.pairwise(parts))
    for number, part in enumerate(parts):
        rest = parts_of(path, columns, part.after)
        assert [(p.before, p.after) for p in rest] == [(p.before, p.after) for p in parts[number + 1 :]]
        for left, right in zip(rest, parts[number + 1 :], strict=True):
            assert (left.rows != right.rows).sum() == 0
            np.testing.assert_array_equal(left.labels, right.labels)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_rows_and_labels_of_an_archive_come_in_parts_and_go_on_from_each(tmp_path, save, labels):
    path = tmp_path / "data.npz"
    save(path, X=numbers(), y=labels)
    parts = parts_of(path)
    rows, found = joined(parts)
    np.testing.assert_array_equal(rows, numbers())
    np.testing.assert_array_equal(found, labels)
    same_from_every_part(path, parts)


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [("f4", "f4"), (">f4", "f4"), ("f2", "f4"), ("i2", "f4"), ("u1", "f4"), ("f8", "f8"), ("i4", "f8"), ("i8", "f8")],
)
def test_values_keep_their_size_in_the_narrowest_float(tmp_path, dtype, wanted):
    path = tmp_path / "data.npz"
    given = np.abs(numbers()).astype(dtype)
    np.savez(path, X=given, y=LABELS["numbers"])
    rows, _ = joined(parts_of(path))
    assert rows.dtype == np.dtype(wanted)
    np.testing.assert_array_equal(rows, given)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_single_array_has_its_label_in_a_column(tmp_path, order):
    path = tmp_path / "data.npy"
    np.save(path, np.array(numbers(), order=order))
    columns = TableColumns(label=-1)
    parts = parts_of(path, columns)
    rows, labels = joined(parts)
    np.testing.assert_array_equal(rows, numbers()[:, :-1])
    np.testing.assert_array_equal(labels, numbers()[:, -1])
    assert all(part.rows.flags.c_contiguous for part in parts)
    same_from_every_part(path, parts, columns)
    chosen, _ = joined(parts_of(path, TableColumns(label=1, features=[3, 0])))
    np.testing.assert_array_equal(chosen, numbers()[:, [3, 0]])
    every, none = joined(parts_of(path, TableColumns(labelled=False)))
    assert every.shape == (N, 5)
    assert none is None
    with pytest.raises(InputError, match=r"name the label \(label=\.\.\.\), one of 0, 1, 2, 3, 4"):
        parts_of(path)


@pytest.mark.parametrize("label", [0, -1])
def test_the_next_array_and_arrays_to_be_scored_are_read_as_the_first(tmp_path, label):
    path, unlabelled = tmp_path / "data.npy", tmp_path / "unlabelled.npy"
    np.save(path, numbers())
    np.save(unlabelled, np.delete(numbers(), label, axis=1))
    encoder = TableEncoder(TableColumns(label=label))
    first = [encoder.encode(part, "", BadRows()).rows for part in parts_of(path, encoder.columns)]
    again = [encoder.encode(part, "", BadRows()).rows for part in parts_of(path, encoder.pinned_columns)]
    np.testing.assert_array_equal(np.concatenate(again), np.concatenate(first))
    scoring = TableEncoder(TableColumns(label=label, labelled=False)).with_state(encoder.state(), frozen=True)
    for file in (path, unlabelled):
        rows = [scoring.encode(part, "", BadRows()).rows for part in parts_of(file, scoring.pinned_columns)]
        np.testing.assert_array_equal(np.concatenate(rows), np.concatenate(first))


def test_an_array_stored_by_columns_is_read_where_it_is_not_packed(tmp_path):
    path = tmp_path / "data.npz"
    by_columns = np.asfortranarray(numbers())
    np.savez(path, X=by_columns, y=LABELS["numbers"])
    np.testing.assert_array_equal(joined(parts_of(path))[0], by_columns)
    np.savez_compressed(path, X=by_columns, y=LABELS["numbers"])
    with pytest.raises(InputError) as error:
        parts_of(path)
    wanted = "array X: stored by columns (Fortran order) and packed; save it in row order (C)"
    assert str(error.value) == f"{path}, {wanted}"


def sparse_rows(density=0.2, seed=0):
    rows = sparse.random_array((N, 40), density=density, rng=seed, format="csr")
    rows.data[:] = np.random.default_rng(seed).normal(size=rows.nnz)
    return rows


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_sparse_rows_of_an_archive_come_in_parts_and_go_on_from_each(tmp_path, save):
    path, rows = tmp_path / "data.npz", sparse_rows()
    save(path, data=rows.data, indices=rows.indices, indptr=rows.indptr, shape=rows.shape, format=b"csr",
         y=LABELS["words"])  # fmt: skip
    parts = parts_of(path)
    found, labels = joined(parts)
    assert (found != rows).nnz == 0
    assert all(part.rows.has_canonical_format for part in parts)
    np.testing.assert_array_equal(labels, LABELS["words"])
    same_from_every_part(path, parts)


def test_what_scipy_saves_is_read_where_no_labels_are_asked_for(tmp_path):
    path = tmp_path / "data.npz"
    sparse.save_npz(path, sparse_rows())
    assert (joined(parts_of(path, TableColumns(labelled=False)))[0] != sparse_rows()).nnz == 0
    with pytest.raises(InputError, match="all columns are features, and the labels are an array y"):
        parts_of(path)
    sparse.save_npz(path, sparse_rows().tocsc())
    with pytest.raises(InputError, match="sparse arrays must be in CSR format"):
        parts_of(path, TableColumns(labelled=False))


def test_unsorted_and_double_entries_are_put_in_order(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, data=[1.0, 2.0, 3.0], indices=[2, 0, 2], indptr=[0, 3], shape=(1, 3), y=[1])
    [part] = parts_of(path)
    assert part.rows.toarray().tolist() == [[2, 0, 4]]
    assert part.rows.has_canonical_format


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


def test_a_label_may_be_an_array_by_another_name(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, X=numbers(), target=LABELS["words"])
    np.testing.assert_array_equal(joined(parts_of(path, TableColumns(label="target")))[1], LABELS["words"])


def test_a_shape_the_file_cannot_hold_is_refused_before_anything_is_read(tmp_path):
    path = tmp_path / "data.npy"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**15, 10**3)})
    path.write_bytes(header.getvalue() + bytes(80))
    with pytest.raises(InputError, match="takes 8000000000000000128 bytes, there are 208"):
        parts_of(path, TableColumns(labelled=False))


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
    with pytest.raises(InputChanged, match="is not the file whose first"):
        parts_of(path, columns, parts[0].after)
    reading = NumpyReader(columns).parts(ByteSource(str(path)), BEGINNING, BadRows())
    next(reading)
    with open(path, "ab") as file:
        file.write(b"x")
    with pytest.raises(InputChanged, match="the file changed while it was read"):
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


def test_an_archive_with_a_member_of_another_kind_is_read(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, X=numbers(), y=LABELS["numbers"])
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("notes.txt", "hello")
    assert joined(parts_of(path))[0].shape == (N, 5)


MEMORY = """
import sys
from opauc.reading.bad_rows import BadRows
from opauc.reading.byte_source import ByteSource
from opauc.reading.labelled_chunk import BEGINNING
from opauc.reading.numpy_reader import NumpyReader
peaks = []
for path in sys.argv[1:]:
    for part in NumpyReader().parts(ByteSource(path), BEGINNING, BadRows()):
        pass
    with open("/proc/self/status") as status:
        peaks.append(next(row.split()[1] for row in status if row.startswith("VmHWM")))
print(*peaks)
"""


def test_memory_does_not_grow_with_the_arrays(tmp_path):
    paths = [str(tmp_path / f"{n_rows}.npz") for n_rows in (600_000, 4_000_000)]
    for path, n_rows in zip(paths, (600_000, 4_000_000), strict=True):
        np.savez_compressed(path, X=np.zeros((n_rows, 4)), y=np.zeros(n_rows))
    done = subprocess.run([sys.executable, "-c", MEMORY, paths[0], *paths], capture_output=True, text=True, check=True)
    _, small, large = map(int, done.stdout.split())  # the first reading warms up
    assert large - small < 30_000  # KiB, of arrays of 160,000
