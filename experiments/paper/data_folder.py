"""Where the data sets are: in a folder, with scikit-learn, on a server that has the same archives, or where published.

`OPAUC_DATA` is the folder (`../shared/data` where it is not set),
`OPAUC_DATA_URL` the address of a server. Without one, published sets come
from where they are distributed. What was fetched is kept in the user's cache.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from experiments.datasets import FOLDER, sparse_or_dense
from experiments.paper.data_set import DataSet, Task
from experiments.paper.download import MissingSetError, fetch
from experiments.paper.public_source import ClassedRows, PublicSource
from opauc.core.atomic_write import atomic_write
from opauc.types import Arrays

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "opauc" / "data"


def load_task(found: DataSet) -> Task:
    """The rows and labels of a set.

    >>> from experiments.paper.catalogue import Catalogue
    >>> load_task(Catalogue().sets()["breast_cancer"]).rows.shape
    (569, 30)
    """
    return found.task(arrays_of(found))


def arrays_of(found: DataSet) -> Arrays:
    """The arrays of a set as distributed."""
    if found.bundled is not None:
        return found.bundled()
    if archive := _archive_here(found):
        return _sealed(archive, found.sha256)
    if (address := os.environ.get("OPAUC_DATA_URL", "")) or found.public is None:
        return _sealed(downloaded(found, address, CACHE), found.sha256)
    return _published(found, found.public)


def is_here(found: DataSet) -> bool:
    """Whether a set can be read without a network."""
    return found.bundled is not None or _archive_here(found) is not None or _kept(found).exists()


def classed_rows(found: DataSet, arrays: Arrays) -> ClassedRows:
    """The arrays of a set as rows and classes, as its public checksum is of."""
    return ClassedRows(csr_array(sparse_or_dense(arrays, np.float32)), arrays[found.label_array].astype(np.int16))


def _archive_here(found: DataSet) -> Path | None:
    return next((folder / found.archive for folder in (FOLDER, CACHE) if (folder / found.archive).exists()), None)


def _kept(found: DataSet) -> Path:
    """Where rows from their public source are kept: another file than the archive, with a checksum of its own."""
    return CACHE / f"public-{found.archive}"


def _sealed(path: Path, sha256: str) -> Arrays:
    refuse_corrupted(path, sha256)
    return _loaded(path)


def _loaded(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


def _published(found: DataSet, source: PublicSource) -> Arrays:
    path = _kept(found)
    if path.exists():
        arrays = _loaded(path)
        if classed_rows(found, arrays).digest() != source.digest:
            raise MissingSetError(
                f"{path}: not the rows of {found.name} that were kept there; delete it to fetch them anew"
            )
        return arrays
    try:
        rows, classes = source.fetched(found.name, found.shape.n_features)
    except MissingSetError as error:
        raise MissingSetError(f"{error}; {_what_to_set(found)}") from error
    arrays = {found.label_array: classes}
    if found.is_dense:
        arrays["X"] = rows.toarray().astype(np.float32)
    else:
        arrays |= {"data": rows.data.astype(np.float32), "indices": rows.indices, "indptr": rows.indptr}
        arrays["shape"] = np.array(rows.shape)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as partial, open(partial, "wb") as out:
        np.savez_compressed(out, **arrays)
    return arrays


def downloaded(found: DataSet, address: str, folder: Path) -> Path:
    """Fetch a set's archive from a server into a folder; it appears there whole and right, or not at all."""
    if not address:
        raise MissingSetError(f"{found.name}: {found.archive} is not in {FOLDER}; {_what_to_set(found)}")
    path, url = folder / found.archive, f"{address.rstrip('/')}/{found.archive}"
    fetch(found.name, url, path, lambda partial: refuse_corrupted(partial, found.sha256, name=url))
    return path


def _what_to_set(found: DataSet) -> str:
    return (
        f"set OPAUC_DATA to a folder that has {found.archive}, or OPAUC_DATA_URL to the address of a server that does"
    )


def refuse_corrupted(path: Path, sha256: str, name: str = "") -> None:
    """Raise if a file is not the one that was meant."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != sha256:
        raise MissingSetError(
            f"{name or path}: expected SHA-256 {sha256[:16]}…, got {digest[:16]}…: not the file meant"
        )
