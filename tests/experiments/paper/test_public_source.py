"""Published sets come from where they are distributed, and are the rows meant or none."""

import bz2
import gzip
from dataclasses import replace
from string import ascii_uppercase

import numpy as np
import pytest
from experiments.paper import data_folder
from experiments.paper.catalogue import Catalogue
from experiments.paper.data_folder import arrays_of, classed_rows, is_here, load_task
from experiments.paper.data_set import BENCHMARK, DataSet, Shape, class_halves
from experiments.paper.download import MissingSetError
from experiments.paper.public_source import ClassedRows, PublicSource, libsvm_rows, table_rows
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from tests.experiments.paper.local_server import serving

SETS = Catalogue().sets()
PUBLISHED = {name: data for name, data in SETS.items() if data.public is not None}
CLASSES = np.array([1, 1, -1, 1, -1, -1], np.int16)
ROWS = np.array([[1.5, 0, 0], [0, -2, 0], [0, 0, 0.1], [1.5, 0, 0], [3, 0, 1], [0, 0, 0]])


def digest(rows, classes=CLASSES):
    return ClassedRows(sparse.csr_array(rows), np.asarray(classes)).digest()


def libsvm(path, rows, classes):
    dump_svmlight_file(rows, classes, str(path), zero_based=False)
    return path.read_bytes()


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Neither a folder nor a server of ours has anything; what is fetched is kept in `cache`."""
    monkeypatch.setattr(data_folder, "FOLDER", tmp_path / "empty")
    monkeypatch.setattr(data_folder, "CACHE", tmp_path / "cache")
    monkeypatch.delenv("OPAUC_DATA_URL", raising=False)
    (tmp_path / "site").mkdir()
    return tmp_path


def from_params(addresses, checksum, reading=libsvm_rows, entries=3.0, labelling=None):
    public = PublicSource(addresses, checksum, reading)
    shape = Shape(6, 3, entries)
    return DataSet("made", BENCHMARK, shape, "made", archive="made.npz", labelling=labelling, public=public)


@given(order=st.permutations(range(6)), copies=st.integers(0, 3))
def test_the_checksum_knows_rows_and_classes_but_not_their_order(order, copies):
    rows, classes = np.tile(ROWS, (copies + 1, 1)), np.tile(CLASSES, copies + 1)
    whole = digest(rows, classes)
    again = [*order, *range(6, rows.shape[0])]
    assert digest(rows[again], classes[again]) == whole
    swapped = classes[again].copy()
    swapped[[order.index(0), order.index(2)]] = swapped[[order.index(2), order.index(0)]]
    assert digest(rows[again], swapped) != whole
    assert digest(rows[:-1], classes[:-1]) != whole


@pytest.mark.parametrize("place", [(0, 0), (2, 2), (5, 1)])
def test_the_checksum_knows_every_value_to_float32(place):
    other, nearly = ROWS.copy(), ROWS.copy()
    other[place] += 1e-5
    nearly[place] += 1e-12 * ROWS[place]
    assert digest(other) != digest(ROWS)
    assert digest(nearly) == digest(ROWS)


def test_zeros_written_out_change_no_checksum():
    full = sparse.csr_array((ROWS.ravel(), np.tile(np.arange(3), 6), np.arange(0, 19, 3)), shape=(6, 3))
    assert full.nnz == 18
    assert digest(full) == digest(ROWS)


@pytest.mark.parametrize("entries", [3.0, 1.2])
def test_a_set_in_two_files_packed_or_not_is_fetched_once_and_kept(nowhere, entries):
    site = nowhere / "site"
    libsvm(site / "first", ROWS[:4], CLASSES[:4])
    (site / "second.bz2").write_bytes(bz2.compress(libsvm(nowhere / "plain", ROWS[4:], CLASSES[4:])))
    with serving(site) as address:
        found = from_params((f"{address}/first", f"{address}/second.bz2"), digest(ROWS), entries=entries)
        assert not is_here(found)
        task = load_task(found)
    assert is_here(found)
    for rows, labels in (task, load_task(found)):  # the server is gone by now
        assert sparse.issparse(rows) == (entries < 3)
        np.testing.assert_array_equal(rows.toarray() if sparse.issparse(rows) else rows, ROWS.astype(np.float32))
        assert labels.tolist() == [1, 1, 0, 1, 0, 0]
    kept = nowhere / "cache" / "public-made.npz"
    np.savez(kept, **(arrays_of(found) | {"y": -CLASSES}))
    with pytest.raises(MissingSetError, match=r"public-made\.npz: not the rows of made .* delete it"):
        load_task(found)


@pytest.mark.parametrize(("delimiter", "end"), [(",", "\n"), (None, " \n")])
def test_tables_of_text_are_read_with_words_as_classes(nowhere, delimiter, end):
    words = {1: "g", -1: "h"}
    lines = [
        (delimiter or " ").join([*map(str, row), words[label]]) + end
        for row, label in zip(ROWS.tolist(), CLASSES.tolist(), strict=True)
    ]
    (nowhere / "site" / "made.data").write_text("".join(lines))
    with serving(nowhere / "site") as address:
        reading = table_rows(-1, delimiter, {"g": 1, "h": -1})
        found = from_params((f"{address}/made.data",), digest(ROWS), reading, labelling=class_halves)
        arrays = arrays_of(found)
    np.testing.assert_array_equal(arrays["X"], ROWS.astype(np.float32))
    np.testing.assert_array_equal(arrays["y_multiclass"], CLASSES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:1\n-1 2:2\n", "expected 0{16}…: not the set meant"),
        ("1 1:1\n-1 9:2\n", r"/made cannot be read: made, line 2: .*"),
        ("<html>moved</html>\n", r"/made cannot be read: made, line 1: .*"),
        ("", "/made cannot be read: there are no rows in it"),
    ],
)
def test_another_set_or_a_page_in_its_place_is_refused_and_nothing_is_kept(nowhere, text, message):
    (nowhere / "site" / "made").write_text(text)
    with (
        serving(nowhere / "site") as address,
        pytest.raises(MissingSetError, match=f"made: .*{message}; set OPAUC_DATA"),
    ):
        load_task(from_params((f"{address}/made",), "0" * 64))
    assert not (nowhere / "cache").exists()


@pytest.mark.parametrize("path", ["cut/made", "absent", "cut/made.bz2"])
def test_a_download_cut_short_or_missing_is_told_with_its_address(nowhere, path):
    plain = libsvm(nowhere / "site" / "made", np.tile(ROWS, (99, 1)), np.tile(CLASSES, 99))
    (nowhere / "site" / "made.bz2").write_bytes(bz2.compress(plain))
    with serving(nowhere / "site") as address, pytest.raises(MissingSetError) as raised:
        load_task(from_params((f"{address}/{path}",), "0" * 64))
    assert f"made: cannot fetch {address}/{path}: " in str(raised.value)
    assert ("404" if path == "absent" else "bytes early") in str(raised.value)


def test_a_server_of_ours_comes_before_the_public_one(nowhere, monkeypatch):
    with serving(nowhere / "site") as address:
        monkeypatch.setenv("OPAUC_DATA_URL", address)
        with pytest.raises(MissingSetError, match=r"cannot fetch http://127\.0\.0\.1:\d+/made\.npz"):
            load_task(from_params((f"{address}/public",), "0" * 64))


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_the_declared_checksum_is_that_of_the_set(name):
    found = SETS[name]
    if not is_here(found):
        pytest.skip(f"{found.archive} is not here; set OPAUC_DATA to the folder that holds it")
    assert classed_rows(found, arrays_of(found)).digest() == found.public.digest


@pytest.mark.parametrize("name", ["a9a", "german", "splice", "connect-4", "letter", "usps"])
def test_files_made_from_a_set_give_the_same_task_back(name, tmp_path, monkeypatch):
    found = SETS[name]
    if not is_here(found):
        pytest.skip(f"{found.archive} is not here; set OPAUC_DATA to the folder that holds it")
    (rows, classes), task = classed_rows(found, arrays_of(found)), load_task(found)
    site = tmp_path / "site"
    site.mkdir()
    paths = [site / address.rsplit("/", 1)[-1] for address in found.public.addresses]
    for path, part in zip(paths, np.array_split(np.arange(classes.size), len(paths)), strict=True):
        write = libsvm if found.public.reading is libsvm_rows else table
        write(path, rows[part], classes[part])
    monkeypatch.setattr(data_folder, "FOLDER", tmp_path / "empty")
    monkeypatch.setattr(data_folder, "CACHE", tmp_path / "cache")
    monkeypatch.delenv("OPAUC_DATA_URL", raising=False)
    with serving(site) as address:
        moved = replace(found.public, addresses=tuple(f"{address}/{path.name}" for path in paths))
        again = load_task(replace(found, public=moved))
    np.testing.assert_array_equal(again.labels, task.labels)
    assert sparse.issparse(again.rows) == sparse.issparse(task.rows)
    assert abs(again.rows - task.rows).max() == 0.0


def table(path, rows, classes):
    """As letter and usps are distributed: the class first, letters or numbers."""
    is_letter = path.suffix == ".data"
    names = [ascii_uppercase[one - 1] if is_letter else f"{one:.4f}" for one in classes.tolist()]
    lines = [
        ("," if is_letter else " ").join([name, *(f"{value:.9g}" for value in row)])
        for name, row in zip(names, rows.toarray().tolist(), strict=True)
    ]
    text = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
