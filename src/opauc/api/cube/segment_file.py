"""The file of one segment: the sums of its rows, and a few of the rows to evaluate models of other segments."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TypedDict, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from opauc.api.cube.keys import Values
from opauc.core.array_schema import ArrayRule, add_prefix, check_arrays, with_prefix
from opauc.core.checksummed_file import read_checksummed, write_checksummed
from opauc.core.fit import Fit
from opauc.core.json_schema import json_as
from opauc.core.model import unreadable
from opauc.core.packed_sums import PackedArray, SegmentSums
from opauc.core.row_blocks import widen_rows
from opauc.errors import UnreadableFileError
from opauc.types import Arrays, Floats, Labels, NamedArrays, Rows

SEGMENT = "segment"
SUMS, SAMPLE = "sums.", "sample."
MAX_FEATURES = 2**31 - 1
NO_LIMIT = np.iinfo(np.uint64).max
SAMPLE_SCHEMA = {
    "limits": ArrayRule("uint64", "2"),
    "order": ArrayRule("uint64", "rows"),
    "labels": ArrayRule("int8", "rows", low=0, high=1),
    "data": ArrayRule("float64", "entries", missing=True),
    "indices": ArrayRule("int32", "entries", low=0, below="features"),
    "indptr": ArrayRule("int64", "rows+1", ends="entries"),
}


class SegmentHeader(TypedDict):
    """The header of the file of a segment: a hash of its basis, its keys, and how many rows it has."""

    basis: str
    keys: list[list[str]]
    n_features: int
    rows: int


@dataclass(frozen=True, eq=False)
class SegmentSample:
    """Some rows of a segment with their labels: of each class those of the smallest random numbers, up to a limit.

    A row's number depends on its place in the data alone, so that the rows of several samples up to the smallest of
    their limits are a sample of all their rows.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.api.cube.segment_file import SegmentSample
    >>> rows, labels = np.arange(8.0).reshape(4, 2), np.array([0, 0, 1, 1], np.int8)
    >>> SegmentSample.of(rows, labels, np.arange(4), size=2).labels.tolist()
    [0, 1]
    """

    limits: NDArray[np.uint64]  # (2,): of each class all rows up to this number are here
    order: NDArray[np.uint64]
    labels: Labels
    rows: csr_array

    @classmethod
    def of(cls, rows: Rows, labels: Labels, row_numbers: NDArray[np.int64], size: int) -> Self:
        """Return a sample of rows, at most `size`, half of each class."""
        entries = csr_array(np.asarray(rows, np.float64)) if isinstance(rows, np.ndarray) else csr_array(rows)
        return cls(np.full(2, NO_LIMIT), _scramble(row_numbers), labels, entries).cut(size)

    @classmethod
    def merge_all(cls, samples: Sequence[Self], size: int) -> Self:
        """Return the sample of all rows of several samples, at least one."""
        width = max(sample.rows.shape[1] for sample in samples)
        rows = csr_array(vstack([widen_rows(sample.rows, width) for sample in samples], format="csr"))
        order, labels = (np.concatenate([getattr(one, name) for one in samples]) for name in ("order", "labels"))
        return cls(np.min([sample.limits for sample in samples], axis=0), order, labels, rows).cut(size)

    def cut(self, size: int) -> Self:
        """Return the rows up to the limits, at most `size`, half of each class."""
        limits, kept = self.limits.copy(), list[NDArray[np.int64]]()
        for label in (0, 1):
            at = np.flatnonzero((self.labels == label) & (self.order <= limits[label]))
            at = at[np.argsort(self.order[at], kind="stable")]
            if at.size > size // 2:
                at = at[: size // 2]
                limits[label] = self.order[at[-1]] if at.size else 0
            kept.append(at)
        chosen = np.concatenate(kept)
        return type(self)(limits, self.order[chosen], self.labels[chosen], csr_array(self.rows[chosen]))

    def dense(self, n_features: int) -> Floats:
        """Return the rows as an array; features that came later are zero in them."""
        rows: Floats = cast(csr_array, widen_rows(self.rows, n_features)).toarray()
        return rows

    def to_arrays(self) -> Arrays:
        """Return the sample as arrays, for a file."""
        return {
            "limits": self.limits,
            "order": self.order,
            "labels": self.labels,
            "data": np.asarray(self.rows.data, np.float64),
            "indices": self.rows.indices.astype(np.int32),
            "indptr": self.rows.indptr.astype(np.int64),
        }

    @classmethod
    def from_arrays(cls, n_features: int, arrays: NamedArrays) -> Self:
        """Return the sample from `to_arrays`, checked."""
        check_arrays(SAMPLE_SCHEMA, arrays, {"features": n_features})
        limits, order, labels, data, indices, indptr = (arrays[name] for name in SAMPLE_SCHEMA)
        return cls(limits, order, labels, csr_array((data, indices, indptr), shape=(labels.size, n_features)))


@dataclass(frozen=True, eq=False)
class Segment:
    """The sums of the rows of one segment, and a sample of them. `basis` is the hash of the basis of its cube."""

    basis: str
    keys: tuple[str, ...]
    values: Values
    rows: int
    sums: SegmentSums
    sample: SegmentSample

    def merge(self, other: Segment, basis: Fit, sample_rows: int) -> Segment:
        """Return the segment of the rows of both."""
        sums = basis.sum_segments([(self.sums, 1.0), (other.sums, 1.0)]).segment_sums()
        sample = SegmentSample.merge_all([self.sample, other.sample], sample_rows)
        return replace(self, rows=self.rows + other.rows, sums=sums, sample=sample)


def write_segment(path: str | os.PathLike[str], segment: Segment) -> None:
    """Write the file of a segment, whole or not at all."""
    header: SegmentHeader = {
        "basis": segment.basis,
        "keys": [list(pair) for pair in zip(segment.keys, segment.values, strict=True)],
        "n_features": segment.sums.n_features,
        "rows": segment.rows,
    }
    arrays = add_prefix(SAMPLE, segment.sample.to_arrays())
    for name, packed in segment.sums.arrays.items():
        arrays |= add_prefix(f"{SUMS}{name}.", packed.to_arrays())
    write_checksummed(path, SEGMENT, {**header}, arrays)


def read_segment(path: str | os.PathLike[str], basis: Fit, key: str) -> Segment:
    """Return the segment in a file; raise UnreadableFileError unless it is one of this basis, whose hash is `key`."""
    kind, header, arrays = read_checksummed(path)
    if kind != SEGMENT:
        raise UnreadableFileError(f"{path}: holds a {kind}, expected a segment of a cube")
    with unreadable(path):
        checked = json_as(SegmentHeader, header, "header")
        if checked["basis"] != key:
            raise ValueError("it is a segment of another basis than that of this cube")
        keys, values = _names_and_values(checked["keys"])
        n_features, rows = checked["n_features"], checked["rows"]
        if not 0 < n_features <= MAX_FEATURES or rows < 0:
            raise ValueError(f"expected features and rows, got {n_features} and {rows}")
        sample = SegmentSample.from_arrays(n_features, with_prefix(SAMPLE, arrays))
        sums = _sums_in(arrays, basis, n_features)
        return Segment(key, keys, values, rows, SegmentSums(n_features, sums), sample)


def _sums_in(arrays: NamedArrays, basis: Fit, n_features: int) -> dict[str, PackedArray]:
    """Return the sums of a file; raise ValueError unless they are those of the basis and nothing else is there."""
    sizes = basis.segment_sizes(n_features)
    parts: dict[str, Arrays] = {name: {} for name in sizes}
    for full_name, array in arrays.items():
        name, _, part = full_name.removeprefix(SUMS).rpartition(".")
        if full_name.startswith(SUMS):
            if name not in parts:
                raise ValueError(f"it has sums {name!r} that the basis has not")
            parts[name][part] = array
        elif not full_name.startswith(SAMPLE):
            raise ValueError(f"it has arrays {full_name!r} that are none of a segment")
    return {name: PackedArray.from_arrays(size, parts[name]) for name, size in sizes.items()}


def _names_and_values(pairs: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], Values]:
    if not all(len(pair) == 2 for pair in pairs):
        raise ValueError("keys: expected pairs of a name and a value")
    return tuple(name for name, _ in pairs), tuple(value for _, value in pairs)


def _scramble(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a random number of each row number (SplitMix64), the same on every machine."""
    word = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = word ^ (word >> np.uint64(31))
    return mixed
