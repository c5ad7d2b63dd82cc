"""Data sets come from a folder, from scikit-learn or from a server, and are the ones meant or none."""

import hashlib
import io

import numpy as np
import pytest
from experiments.paper import data_folder
from experiments.paper.catalogue import Catalogue
from experiments.paper.data_folder import downloaded, is_here, load_task
from experiments.paper.data_set import BENCHMARK, DataSet, Shape, class_halves, largest_class
from experiments.paper.download import MissingSetError
from scipy import sparse

from tests.experiments.paper.local_server import serving

SETS = Catalogue().sets()


@pytest.fixture
def archive():
    made = io.BytesIO()
    np.savez(made, X=np.arange(6.0).reshape(3, 2), y=np.array([1, -1, 1], np.int8))
    return made.getvalue()


@pytest.fixture
def server(tmp_path, archive):
    folder = tmp_path / "server"
    folder.mkdir()
    (folder / "made.npz").write_bytes(archive)
    with serving(folder) as address:
        yield f"{address}/"


def from_params(sha256, archive="made.npz"):
    return DataSet("made", BENCHMARK, Shape(3, 2, 2), "made", archive=archive, sha256=sha256)


def test_a_set_that_is_nowhere_is_fetched_once_and_kept(server, archive, tmp_path, monkeypatch):
    monkeypatch.setattr(data_folder, "FOLDER", tmp_path / "empty")
    monkeypatch.setattr(data_folder, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("OPAUC_DATA_URL", server)
    found = from_params(hashlib.sha256(archive).hexdigest())
    assert not is_here(found)
    task = load_task(found)
    assert task.rows.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert task.labels.tolist() == [1, 0, 1]
    monkeypatch.setenv("OPAUC_DATA_URL", "http://127.0.0.1:9/")
    assert load_task(found).labels.tolist() == [1, 0, 1]


def test_another_file_than_the_one_meant_is_refused_and_not_kept(server, tmp_path):
    with pytest.raises(MissingSetError, match=r"made\.npz: expected SHA-256 0000000000000000…, got [0-9a-f]{16}…"):
        downloaded(from_params("0" * 64), server, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_file_that_the_server_lacks_is_told_with_its_address(server, tmp_path):
    with pytest.raises(MissingSetError, match=r"made: cannot fetch http://127\.0\.0\.1:\d+/other\.npz: .*404"):
        downloaded(from_params("0" * 64, "other.npz"), server, tmp_path / "cache")


def test_without_a_server_the_message_says_what_to_set(tmp_path):
    with pytest.raises(MissingSetError, match=r"set OPAUC_DATA to a folder that has made\.npz, or OPAUC_DATA_URL"):
        downloaded(from_params("0" * 64), "", tmp_path)


def test_a_corrupted_file_in_the_folder_is_refused(tmp_path, archive, monkeypatch):
    monkeypatch.setattr(data_folder, "FOLDER", tmp_path)
    (tmp_path / "made.npz").write_bytes(archive[:-1])
    with pytest.raises(MissingSetError, match="not the file meant"):
        load_task(from_params(hashlib.sha256(archive).hexdigest()))


@pytest.mark.parametrize("name", sorted(SETS))
def test_every_set_is_what_its_file_says(name):
    found = SETS[name]
    if not is_here(found):
        pytest.skip(f"{found.archive} is not here; set OPAUC_DATA to the folder that holds it")
    if found.shape.n_rows * found.shape.entries > 5e6:
        pytest.skip(f"{name} is large; the runner reads it")
    rows, labels = load_task(found)
    assert rows.shape == found.shape[:2]
    assert set(np.unique(labels)) == {0, 1}
    assert labels.size == rows.shape[0]
    if sparse.issparse(rows):
        assert rows.nnz / rows.shape[0] == pytest.approx(found.shape.entries, rel=0.01)
        assert np.abs(rows.data).max() <= 1 + 1e-6
    else:
        assert rows.min() == -1.0
        assert rows.max() == 1.0


def test_substitutes_stand_beside_no_printed_number():
    assert not any(data.printed_as for data in SETS.values() if "substitute" in data.about or "rebuilt" in data.about)
    assert SETS["a9a"].printed_as == "a9a"


def test_classes_are_split_in_two_and_the_largest_is_found():
    classes = {"y_multiclass": np.repeat(np.arange(7), [5, 1, 9, 1, 1, 1, 1])}
    labels = class_halves(classes)
    assert np.unique(classes["y_multiclass"][labels == 1]).size == 3
    np.testing.assert_array_equal(labels, class_halves(classes))
    assert (largest_class(classes) == (classes["y_multiclass"] == 2)).all()
