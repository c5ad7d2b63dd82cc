"""Features of an open vocabulary in a fixed number of columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.data.kernels.rows import write_columns

MAX_BITS = 30  # column numbers are int32
CACHED_NAMES = 2**18


@lru_cache(maxsize=CACHED_NAMES)
def name_key(name: str) -> int:
    """Return the key of a feature name: a negative number, unlike the numbers of features.

    It is -1 - h // 2, where h is the BLAKE2b hash of eight bytes of the name in UTF-8, read in little-endian order.
    """
    return -1 - int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little") // 2


@dataclass(frozen=True)
class HashedFeatures:
    """Any feature number or name in one of 2**bits columns, with a sign.

    Column and sign are a function of the feature and the seed alone, on every
    machine. Values of features that fall into the same column are added with
    their signs, so that over seeds the inner product of two hashed rows is on
    average that of the rows themselves.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from opauc.data.encode.hashing import HashedFeatures
    >>> hashing = HashedFeatures(bits=3)
    >>> hashing.hash_rows(csr_array([[0.0, 5.0, 0.0, 7.0]])).toarray()
    array([[5., 7., 0., 0., 0., 0., 0., 0.]])
    >>> columns, signs = hashing.columns_of(hashing.keys_of(["color=red", "color=blue", "color=red"]))
    >>> columns.tolist(), signs.tolist()
    ([7, 6, 7], [-1, -1, -1])
    """

    bits: int
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= MAX_BITS:
            raise ValueError(f"bits must be between 1 and {MAX_BITS}, got {self.bits}")
        if not 0 <= self.seed < 2**64:
            raise ValueError(f"seed must be between 0 and 2**64 - 1, got {self.seed}")

    @property
    def n_columns(self) -> int:
        """Number of columns of a hashed row."""
        return int(2**self.bits)

    def key_of(self, name: str) -> int:
        """Return the key of a feature name."""
        return name_key(name)

    def keys_of(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Return the keys of feature names; those of numbered features are the numbers."""
        return np.fromiter(map(name_key, names), np.int64)

    def columns_of(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Return the column and the sign of each key."""
        columns, signs = np.empty(keys.size, np.int32), np.empty(keys.size, np.int8)
        write_columns(keys.view(np.uint64), np.uint64(self.seed), self.bits, columns, signs)
        return columns, signs

    def hash_entries(self, keys: NDArray[np.int64], values: NDArray[np.floating], ends: NDArray[np.int32]) -> csr_array:
        """Return the rows, canonical, whose entries are given by their keys; `ends` is the indptr of a CSR array."""
        columns, signs = self.columns_of(keys)
        signed = values * signs.astype(values.dtype)
        rows = csr_array((signed, columns, ends.copy()), shape=(ends.size - 1, self.n_columns))
        rows.sum_duplicates()  # in place
        return rows

    def hash_rows(self, rows: csr_array) -> csr_array:
        """Return sparse rows with the feature of each entry hashed, canonical."""
        return self.hash_entries(rows.indices.astype(np.int64), rows.data, rows.indptr)
