"""Where a published set is distributed, and whether what is found there is the set meant.

The checksum is of the rows and their classes, not of the bytes they come as:
it does not depend on their order, on zeros that are written out or left out,
or on how the file is compressed.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csr_array

from experiments.paper.download import MissingSetError, fetch
from opauc.data import ReadOptions
from opauc.data.open_stream import open_stream
from opauc.errors import InputError

LIBSVM_SITE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
UCI_SITE = "https://archive.ics.uci.edu/ml/machine-learning-databases"


class ClassedRows(NamedTuple):
    """Rows and the class of each, as a whole number."""

    rows: csr_array
    classes: NDArray[np.int16]

    def digest(self) -> str:
        """SHA-256 of all rows with their classes, in whatever order they come; values count to float32.

        >>> one, two = csr_array([[1.0, 0.0], [0.0, 2.0]]), csr_array([[0.0, 2.0], [1.0, 0.0]])
        >>> ClassedRows(one, np.array([1, -1])).digest() == ClassedRows(two, np.array([-1, 1])).digest()
        True
        >>> ClassedRows(one, np.array([1, -1])).digest() == ClassedRows(one, np.array([-1, 1])).digest()
        False
        """
        rows = csr_array(self.rows, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        places, values, classes = rows.indices.astype("<i4"), rows.data.astype("<f4"), self.classes.astype("<i2")
        bounds = zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)
        each = sorted(
            hashlib.sha256(label.tobytes() + places[start:end].tobytes() + values[start:end].tobytes()).digest()
            for label, (start, end) in zip(classes, bounds, strict=True)
        )
        return hashlib.sha256(b"".join(each)).hexdigest()


Reading: TypeAlias = Callable[[Path, int], ClassedRows]


def libsvm_rows(path: Path, n_features: int) -> ClassedRows:
    """The rows of a LIBSVM file, compressed or not."""
    chunks = list(open_stream([path], ReadOptions("libsvm", n_features=n_features)).batches(ahead=False))
    if not chunks:
        raise ValueError("there are no rows in it")
    return ClassedRows(
        csr_array(sparse.vstack([chunk.rows for chunk in chunks], format="csr")),
        np.concatenate([chunk.labels for chunk in chunks]).astype(np.int16),
    )


def table_rows(label: int, delimiter: str | None = None, classes: Mapping[str, int] | None = None) -> Reading:
    """How to read text tables without a head whose column `label` has the class: a number, or one of these words."""

    def read(path: Path, n_features: int) -> ClassedRows:
        table = np.loadtxt(path, str, delimiter=delimiter, ndmin=2)
        if table.shape[1] != n_features + 1:
            raise ValueError(f"expected {n_features + 1} columns, got {table.shape[1]}")
        words = table[:, label].tolist()
        found = [float(word) if classes is None else classes[word] for word in words]
        rows = np.delete(table, label % table.shape[1], axis=1).astype(np.float64)
        return ClassedRows(csr_array(rows), np.array(found, np.int16))

    return read


@dataclass(frozen=True)
class PublicSource:
    """Addresses of the files a set is distributed as, how they are read, and the checksum of all their rows."""

    addresses: tuple[str, ...]
    digest: str
    reading: Reading = libsvm_rows

    def fetched(self, name: str, n_features: int) -> ClassedRows:
        """Download, read and check the rows; `MissingSetError` says at which address something is wrong."""
        with tempfile.TemporaryDirectory() as folder:
            parts = [self._part(name, address, Path(folder), n_features) for address in self.addresses]
        rows = csr_array(sparse.vstack([part.rows for part in parts], format="csr"))
        whole = ClassedRows(rows, np.concatenate([part.classes for part in parts]))
        if (digest := whole.digest()) != self.digest:
            raise MissingSetError(
                f"{name}: the rows of {' and '.join(self.addresses)} have checksum {digest[:16]}…, "
                f"expected {self.digest[:16]}…: not the set meant"
            )
        return whole

    def _part(self, name: str, address: str, folder: Path, n_features: int) -> ClassedRows:
        path = folder / address.rsplit("/", 1)[-1]
        fetch(name, address, path, lambda _: None)
        try:
            return self.reading(path, n_features)
        except (InputError, ValueError, KeyError, OSError, EOFError) as error:
            told = str(error).replace(str(path), path.name)  # the folder is gone by the time it is read
            raise MissingSetError(f"{name}: {address} cannot be read: {told}") from error
