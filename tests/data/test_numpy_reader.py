import itertools
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from scipy import sparse

from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.encode.onehot import OneHotEncoder
from opauc.data.formats import numpy as array_rows
from opauc.errors import InputError
from tests.data.numpy_parts import LABELS, N, joined, numbers, parts_of, sparse_rows


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(array_rows, "BATCH_BYTES", 4096)


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
    every, none = joined(parts_of(path, TableColumns(labeled=False)))
    assert every.shape == (N, 5)
    assert none is None
    with pytest.raises(InputError, match=r"name the label \(label=\.\.\.\), one of 0, 1, 2, 3, 4"):
        parts_of(path)


@pytest.mark.parametrize("label", [0, -1])
def test_the_next_array_and_arrays_to_be_scored_are_read_as_the_first(tmp_path, label):
    path, unlabeled = tmp_path / "data.npy", tmp_path / "unlabeled.npy"
    np.save(path, numbers())
    np.save(unlabeled, np.delete(numbers(), label, axis=1))
    encoder = OneHotEncoder(TableColumns(label=label))
    first = [encoder.encode(part, "", BadRows()).rows for part in parts_of(path, encoder.columns)]
    again = [encoder.encode(part, "", BadRows()).rows for part in parts_of(path, encoder.pinned_columns)]
    np.testing.assert_array_equal(np.concatenate(again), np.concatenate(first))
    scoring = OneHotEncoder(TableColumns(label=label, labeled=False)).with_state(encoder.state(), frozen=True)
    for file in (path, unlabeled):
        rows = [scoring.encode(part, "", BadRows()).rows for part in parts_of(file, scoring.pinned_columns)]
        np.testing.assert_array_equal(np.concatenate(rows), np.concatenate(first))


def test_an_array_stored_by_columns_is_read_where_it_is_not_compressed(tmp_path):
    path = tmp_path / "data.npz"
    by_columns = np.asfortranarray(numbers())
    np.savez(path, X=by_columns, y=LABELS["numbers"])
    np.testing.assert_array_equal(joined(parts_of(path))[0], by_columns)
    np.savez_compressed(path, X=by_columns, y=LABELS["numbers"])
    with pytest.raises(InputError) as error:
        parts_of(path)
    wanted = "array X: stored by columns (Fortran order) and compressed; save it in row order (C)"
    assert str(error.value) == f"{path}, {wanted}"


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
    assert (joined(parts_of(path, TableColumns(labeled=False)))[0] != sparse_rows()).nnz == 0
    with pytest.raises(InputError, match="all columns are features, and the labels are an array y"):
        parts_of(path)
    sparse.save_npz(path, sparse_rows().tocsc())
    with pytest.raises(InputError, match="sparse arrays must be in CSR format"):
        parts_of(path, TableColumns(labeled=False))


def test_unsorted_and_double_entries_are_put_in_order(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, data=[1.0, 2.0, 3.0], indices=[2, 0, 2], indptr=[0, 3], shape=(1, 3), y=[1])
    [part] = parts_of(path)
    assert part.rows.toarray().tolist() == [[2, 0, 4]]
    assert part.rows.has_canonical_format


def test_a_label_may_be_an_array_by_another_name(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, X=numbers(), target=LABELS["words"])
    np.testing.assert_array_equal(joined(parts_of(path, TableColumns(label="target")))[1], LABELS["words"])


def test_an_archive_with_a_member_of_another_kind_is_read(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, X=numbers(), y=LABELS["numbers"])
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("notes.txt", "hello")
    assert joined(parts_of(path))[0].shape == (N, 5)


MEMORY = """
import sys
from opauc.data.bad_rows import BadRows
from opauc.data.sources import ByteSource
from opauc.core.batch import BEGINNING
from opauc.data.formats.numpy import NumpyReader
peaks = []
for path in sys.argv[1:]:
    for part in NumpyReader().batches(ByteSource(path), BEGINNING, BadRows()):
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
