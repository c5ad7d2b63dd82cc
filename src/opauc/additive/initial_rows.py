"""Rows of the initial sample as hashes: by them a model tells which rows it forgets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from opauc.additive.kernels.rows import write_row_keys
from opauc.core.model import never_added
from opauc.types import Floats, Labels

Mask = NDArray[np.bool_]

# Tells the hash of a positive row from that of a negative one with the same values.
POSITIVE_KEY = np.uint64(0x9E3779B97F4A7C15)
# First bits of a hash by which most rows outside of a sample differ from all rows of it.
PREFIX_BITS = 20
PREFIX_SHIFT = np.uint64(64 - PREFIX_BITS)


@dataclass(frozen=True, eq=False)
class RowFingerprints:
    """Hashes (64 bits) of the rows of an initial sample whose values no other row of the sample has.

    All rows are processed after the initial sample was drawn from them. Rows of
    the sample must not count as validation rows then: the basis fits them better
    than rows it has never seen. Values that several rows of the sample have are
    common, and most rows that have them are not in the sample: without those
    the validation rows would be the rare ones.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.initial_rows import RowFingerprints
    >>> sample = RowFingerprints.of(np.array([[1.0, np.nan], [2.0, 5.0]]))
    >>> sample.fresh(np.array([[2.0, 5.0], [2.0, 6.0], [1.0, np.nan]]))
    array([False,  True, False])
    """

    keys: NDArray[np.uint64]  # sorted

    @classmethod
    def of(cls, rows: Floats) -> Self:
        """Return the fingerprints of an initial sample."""
        keys, counts = np.unique(row_keys(rows), return_counts=True)
        return cls(keys[counts == 1])

    def fresh(self, rows: Floats) -> Mask:
        """Tell which rows are not in the initial sample."""
        keys = row_keys(rows)
        possible = np.flatnonzero(self._prefixes[keys >> PREFIX_SHIFT])
        found = keys[possible]
        places = np.minimum(np.searchsorted(self.keys, found), self.keys.size - 1)
        fresh = np.ones(len(rows), np.bool_)
        fresh[possible] = self.keys[places] != found
        return fresh

    @cached_property
    def _prefixes(self) -> Mask:
        """Which first bits of keys there are: most other rows have none of them, and are not searched for."""
        prefixes = np.zeros(2**PREFIX_BITS, np.bool_)
        prefixes[self.keys >> PREFIX_SHIFT] = True
        return prefixes


@dataclass(frozen=True, eq=False)
class InitialRows:
    """Hashes (64 bits) of the rows that a basis was fitted to, with their labels; one for each of several equal rows.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.initial_rows import InitialRows
    >>> rows, labels = np.array([[1.0], [1.0], [2.0]]), np.array([0, 0, 1], np.int8)
    >>> found, rest = InitialRows.of(rows[1:], labels[1:]).take(rows, labels)
    >>> found.tolist(), rest.keys.size
    ([True, False, True], 0)
    """

    keys: NDArray[np.uint64]  # sorted

    @classmethod
    def of(cls, rows: Floats, labels: Labels) -> Self:
        """Return the hashes of labeled rows."""
        return cls(np.sort(labeled_keys(rows, labels)))

    @classmethod
    def empty(cls) -> Self:
        """Return the hashes of no rows."""
        return cls(np.empty(0, np.uint64))

    def merge(self, other: Self) -> Self:
        """Return the hashes of the rows of both."""
        return type(self)(np.sort(np.concatenate([self.keys, other.keys])))

    def without(self, other: Self) -> Self:
        """Return the hashes of the rows that are not in `other`; raise unless it has no more of any."""
        at = match_once(self.keys, other.keys)
        if (at < 0).any():
            raise never_added(f"{np.count_nonzero(at < 0):,} of them are not among the rows of the initial sample")
        return type(self)(np.delete(self.keys, at))

    def take(self, rows: Floats, labels: Labels) -> tuple[Mask, Self]:
        """Tell which labeled rows are among these, each at most once, and return the others of these."""
        at = match_once(self.keys, labeled_keys(rows, labels))
        return at >= 0, type(self)(np.delete(self.keys, at[at >= 0]))


def category_keys(categories: Iterable[NDArray[np.int64]], keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of the rows that have the same categories as each row, from the hashes of all rows."""
    of_categories = np.zeros_like(keys)
    for codes in categories:
        sums = np.zeros(codes.max(initial=0) + 1, np.uint64)
        np.add.at(sums, codes, keys)
        of_categories = of_categories * np.uint64(3) + sums[codes]
    return of_categories


def labeled_keys(rows: Floats, labels: Labels) -> NDArray[np.uint64]:
    """Return a hash of each row with its label."""
    return row_keys(rows) ^ (labels.astype(np.uint64) * POSITIVE_KEY)


def match_once(known: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the position of each key among sorted known ones, none of which is used twice; -1 where none is left."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    repetition = np.arange(keys.size) - np.searchsorted(ordered, ordered)
    at = np.searchsorted(known, ordered) + repetition
    positions = np.full(keys.size, -1)
    positions[order] = np.where(at < np.searchsorted(known, ordered, "right"), at, -1)
    return positions


def row_keys(rows: Floats) -> NDArray[np.uint64]:
    """Return a hash of each row."""
    odd = np.random.default_rng(0).integers(2**63, size=rows.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    keys = np.empty(len(rows), np.uint64)
    write_row_keys(np.ascontiguousarray(rows, np.float64).view(np.uint64), odd, keys)
    return keys
