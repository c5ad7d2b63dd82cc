"""Write the segments of a cube, the totals over them, and last of all the manifest."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path, PurePath

import numpy as np
from numpy.typing import NDArray

from opauc.api.cube.keys import Values, check_value, natural_order
from opauc.api.cube.manifest import (
    BASIS,
    NEXT,
    Entry,
    Manifest,
    checked_path,
    replace_files,
    segment_path,
    settle,
    total_path,
)
from opauc.api.cube.policy import CUBE_POLICY, CubePolicy
from opauc.api.cube.segment_file import Segment, SegmentSample, read_segment, write_segment
from opauc.core.checksummed_file import checksum_of
from opauc.core.fit import Fit
from opauc.core.model import Model, different_bases, save_model
from opauc.core.packed_sums import SegmentSums
from opauc.errors import InputError, Parameter, ParameterError
from opauc.types import Json, Labels, Rows


class CubeWriter:
    """Adds rows to the segments of a cube in a folder; nothing is part of the cube before `finish` has ended.

    Files of segments that the cube has already stay as they are until then: what is to replace them lies next to them.

    Parameters
    ----------
    folder : Path
        The folder, which exists.
    keys : sequence of str
        Names of the keys.
    before : Manifest, optional
        What the cube consists of so far.
    sample_rows : int
        How many rows of each segment are kept.
    policy : CubePolicy
        Limits.
    """

    def __init__(
        self,
        folder: Path,
        keys: Sequence[str],
        before: Manifest | None = None,
        sample_rows: int = CUBE_POLICY.sample_rows,
        policy: CubePolicy = CUBE_POLICY,
    ) -> None:
        self.folder: Path = folder
        self.keys: tuple[str, ...] = tuple(keys)
        self._before, self._policy = before, policy
        self._sample_rows = sample_rows if before is None else before.sample_rows
        self._entries: dict[Values, Entry] = {} if before is None else dict(before.segments)
        self._written: set[Values] = set()
        self._key = "" if before is None else before.basis
        if before is not None:
            settle(folder, before)

    @property
    def n_segments(self) -> int:
        """Number of segments, with those that the cube had before."""
        return len(self._entries)

    @property
    def n_rows(self) -> int:
        """Number of rows of all segments."""
        return sum(entry.rows for entry in self._entries.values())

    def add(self, values: Values, fit: Fit, rows: Rows, labels: Labels, row_numbers: NDArray[np.int64]) -> None:
        """Add the fit of rows to a segment; `row_numbers` are those of the rows among all of the cube."""
        for key, value in zip(self.keys, values, strict=True):
            check_value(key, value, self._policy)
        self._key = self._key or fit.basis_key()
        sample = SegmentSample.of(rows, labels, row_numbers, self._sample_rows)
        segment = Segment(self._key, self.keys, values, labels.size, fit.segment_sums(), sample)
        entry, (negative, positive, *_) = self._entries.get(values), fit.counts
        if entry is not None:
            segment = self._read(values, fit).merge(segment, fit, self._sample_rows)
            negative, positive = negative + entry.negative, positive + entry.positive
        elif len(self._entries) >= self._policy.max_segments:
            raise ParameterError(
                Parameter("by", list(self.keys)),
                f": more than {self._policy.max_segments:,} segments; keys are columns of few values, such as days and "
                "regions",
            )  # fmt: skip
        path = self.folder / self._target(values)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_segment(path, segment)
        self._written.add(values)
        self._entries[values] = Entry(segment.rows, negative, positive, checksum_of(path))

    def finish(self, basis: Model, inputs: Iterable[Json] = ()) -> Manifest:
        """Write the basis, the totals and the manifest; now the cube has what was added."""
        key = basis.fit.basis_key()
        if key != self._key:
            raise different_bases()
        basis_path = self.folder / (BASIS if self._before is None else BASIS + NEXT)
        save_model(basis, basis_path)
        totals = self._write_totals(basis.fit)
        manifest = Manifest(
            self.keys, key, checksum_of(basis_path), self._sample_rows,
            {values: self._entries[values] for values in sorted(self._entries, key=_in_order)},
            totals, (*(() if self._before is None else self._before.inputs), *inputs),
        )  # fmt: skip
        manifest.write(self.folder)
        replaced = [segment_path(self.keys, values) for values in self._written]
        replace_files(self.folder, [PurePath(BASIS), *replaced, *(total_path(*total) for total in totals)])
        return manifest

    def _write_totals(self, basis: Fit) -> dict[tuple[str, str], str]:
        """Write the sums over all segments that share a value, where they are several, and return their checksums."""
        before = {} if self._before is None else self._before.totals
        totals: dict[tuple[str, str], str] = {}
        for position, name in enumerate(self.keys if len(self.keys) > 1 else ()):
            members: dict[str, list[Values]] = {}
            for values in self._entries:
                members.setdefault(values[position], []).append(values)
            for value, segments in members.items():
                if len(segments) < 2:
                    continue
                if (name, value) in before and self._written.isdisjoint(segments):
                    totals[name, value] = before[name, value]
                    continue
                totals[name, value] = self._write_total(name, value, segments, basis)
        return totals

    def _write_total(self, name: str, value: str, segments: Collection[Values], basis: Fit) -> str:
        samples, n_rows, largest = list[SegmentSample](), 0, self._policy.sample_rows_of_totals

        def sums() -> Iterable[tuple[SegmentSums, float]]:
            nonlocal n_rows
            for values in segments:
                segment = self._read(values, basis)
                samples.append(segment.sample)
                n_rows += segment.rows
                yield segment.sums, 1.0

        total = basis.sum_segments(sums()).segment_sums()
        size = largest if self._sample_rows else 0
        sample = SegmentSample.merge_all(samples, size)
        relative = total_path(name, value)
        has_one = self._before is not None and (name, value) in self._before.totals
        path = self.folder / (relative.with_name(relative.name + NEXT) if has_one else relative)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_segment(path, Segment(self._key, (name,), (value,), n_rows, total, sample))
        return checksum_of(path)

    def _target(self, values: Values) -> PurePath:
        """Return where a segment is written: next to its file, where the cube has one."""
        relative = segment_path(self.keys, values)
        has_one = self._before is not None and values in self._before.segments
        return relative.with_name(relative.name + NEXT) if has_one else relative

    def _read(self, values: Values, basis: Fit) -> Segment:
        path = checked_path(self.folder, segment_path(self.keys, values), self._entries[values].checksum)
        return read_segment(path, basis, self._key)


def _in_order(values: Values) -> tuple[object, ...]:
    return tuple(map(natural_order, values))


def check_new_cube(target: Path) -> None:
    """Raise where the folder of a new cube exists already."""
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise InputError(f"{target}: exists already; add rows to a cube with opauc update {target}, or write another")
    if not target.absolute().parent.is_dir():
        raise InputError(f"{target}: there is no folder {target.absolute().parent}")
