"""Where the data sets are: in a folder, with scikit-learn, or on a server that has the same archives.

`OPAUC_DATA` is the folder (`../shared/data` where it is not set),
`OPAUC_DATA_URL` the address of a server; what it gives is kept in the folder,
or in a folder of the user's cache where that cannot be written to.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np

from experiments.datasets import FOLDER
from experiments.paper.data_set import DataSet, Task
from opauc.errors import OpaucError
from opauc.files.atomic_write import atomic_write
from opauc.rows import Arrays

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "opauc" / "data"
PATIENCE_SECONDS = 60.0


class MissingSet(OpaucError):
    """A data set is neither in the folder nor to be had."""


def load_task(found: DataSet) -> Task:
    """The rows and labels of a set.

    >>> from experiments.paper.catalogue import Catalogue
    >>> load_task(Catalogue().sets()["breast_cancer"]).rows.shape
    (569, 30)
    """
    return found.task(arrays_of(found))


def arrays_of(found: DataSet) -> Arrays:
    """The arrays of a set as distributed."""
    return found.bundled() if found.bundled is not None else _archive(found)


def is_here(found: DataSet) -> bool:
    """Whether a set can be read without a network."""
    return found.bundled is not None or any((folder / found.archive).exists() for folder in _folders())


def _archive(found: DataSet) -> Arrays:
    path = next((folder / found.archive for folder in _folders() if (folder / found.archive).exists()), None)
    if path is None:
        path = downloaded(found, os.environ.get("OPAUC_DATA_URL", ""), CACHE)
    refuse_corrupted(path, found.sha256)
    with np.load(path, allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


def _folders() -> Iterator[Path]:
    yield FOLDER
    yield CACHE


def downloaded(found: DataSet, address: str, folder: Path) -> Path:
    """Fetch a set's archive from a server into a folder; it appears there whole and right, or not at all."""
    if not address:
        raise MissingSet(
            f"{found.name}: {found.archive} is not in {FOLDER}; set OPAUC_DATA to a folder that has it, "
            "or OPAUC_DATA_URL to the address of a server that does"
        )
    folder.mkdir(parents=True, exist_ok=True)
    path, url = folder / found.archive, f"{address.rstrip('/')}/{found.archive}"
    try:
        with atomic_write(path) as partial, urlopen(url, timeout=PATIENCE_SECONDS) as answer:
            with open(partial, "wb") as out:
                shutil.copyfileobj(answer, out)
            refuse_corrupted(partial, found.sha256, name=url)
    except (URLError, OSError) as error:
        raise MissingSet(f"{found.name}: cannot fetch {url}: {error}") from error
    return path


def refuse_corrupted(path: Path, sha256: str, name: str = "") -> None:
    """Raise if a file is not the one that was meant."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != sha256:
        raise MissingSet(f"{name or path}: expected SHA-256 {sha256[:16]}…, got {digest[:16]}…: not the file meant")
