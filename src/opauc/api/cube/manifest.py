"""The manifest of a cube, written last: its keys, its basis, and every file with its checksum."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, NamedTuple, TypedDict

import numpy as np

from opauc.api.cube.keys import Values, part_name, path_of
from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.core.checksummed_file import checksum_of, read_checksummed, write_checksummed
from opauc.core.json_schema import json_as
from opauc.core.model import unreadable
from opauc.errors import InputError, UnreadableFileError
from opauc.types import Json

CUBE, MANIFEST, BASIS, TOTALS = "cube", "manifest.opauc", "basis.opauc", "_totals"
# A file that is to replace another one has this ending until the manifest that names it is written.
NEXT = ".next"
COUNTS = {
    "counts": ArrayRule("float64", "segments 2", low=0),
    "rows": ArrayRule("int64", "segments", low=0),
}


class Entry(NamedTuple):
    """A segment in the manifest: how many rows it has, how many of each class, and the checksum of its file."""

    rows: int
    negative: float
    positive: float
    checksum: str


class ManifestHeader(TypedDict):
    """The header of a manifest."""

    keys: list[str]
    basis: str
    basis_checksum: str
    sample_rows: int
    values: list[list[str]]
    checksums: list[str]
    totals: list[list[str]]
    inputs: list[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Manifest:
    """What a cube consists of. `totals` are the checksums of the sums over all segments that share one value."""

    keys: tuple[str, ...]
    basis: str  # hash of the basis
    basis_checksum: str
    sample_rows: int
    segments: Mapping[Values, Entry]
    totals: Mapping[tuple[str, str], str] = field(default_factory=dict)
    inputs: tuple[Json, ...] = ()

    def write(self, folder: Path) -> None:
        """Write the manifest into the folder of its cube."""
        header: ManifestHeader = {
            "keys": list(self.keys),
            "basis": self.basis,
            "basis_checksum": self.basis_checksum,
            "sample_rows": self.sample_rows,
            "values": [list(values) for values in self.segments],
            "checksums": [entry.checksum for entry in self.segments.values()],
            "totals": [[key, value, checksum] for (key, value), checksum in self.totals.items()],
            "inputs": list(self.inputs),
        }
        entries = self.segments.values()
        counts = np.array([(entry.negative, entry.positive) for entry in entries]).reshape(-1, 2)
        rows = np.array([entry.rows for entry in entries], np.int64)
        write_checksummed(folder / MANIFEST, CUBE, {**header}, {"counts": counts, "rows": rows})


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest in the folder of a cube; raise in one line where there is none, or it is broken."""
    if not folder.is_dir():
        raise InputError(f"{folder}: {'is a file' if folder.exists() else 'no such folder'}, expected that of a cube")
    path = folder / MANIFEST
    if not path.exists():
        raise InputError(f"{folder}: has no {MANIFEST}; it is no cube, or its training did not end")
    kind, header, arrays = read_checksummed(path)
    if kind != CUBE:
        raise UnreadableFileError(f"{path}: holds a {kind}, expected the manifest of a cube")
    with unreadable(path):
        checked = json_as(ManifestHeader, header, "header")
        keys, values = tuple(checked["keys"]), [tuple(one) for one in checked["values"]]
        n_segments = check_arrays(COUNTS, arrays)["segments"]
        is_listed = {len(values), len(set(values)), len(checked["checksums"])} == {n_segments}
        if not (keys and len(set(keys)) == len(keys) and is_listed and all(len(one) == len(keys) for one in values)):
            raise ValueError("expected keys, and values, checksums and counts of each segment")
        if not all(len(total) == 3 and total[0] in keys for total in checked["totals"]):
            raise ValueError("totals: expected keys, their values and checksums")
        entries = zip(arrays["rows"].tolist(), arrays["counts"].tolist(), checked["checksums"], strict=True)
        segments = [Entry(rows, negative, positive, checksum) for rows, (negative, positive), checksum in entries]
        return Manifest(
            keys, checked["basis"], checked["basis_checksum"], checked["sample_rows"],
            dict(zip(values, segments, strict=True)),
            {(key, value): checksum for key, value, checksum in checked["totals"]}, tuple(checked["inputs"]),
        )  # fmt: skip


def segment_path(keys: tuple[str, ...], values: Values) -> PurePath:
    """Return the file of a segment, relative to its cube."""
    return path_of(keys, values)


def total_path(key: str, value: str) -> PurePath:
    """Return the file of the sums over all segments that share a value, relative to the cube."""
    return PurePath(TOTALS, part_name(key, value))


def checked_path(folder: Path, relative: PurePath, checksum: str) -> Path:
    """Return the file of a cube with this checksum: itself, or what was to replace it when a writer was killed."""
    path = folder / relative
    for candidate in (path, path.with_name(path.name + NEXT)):
        if candidate.is_file() and checksum_of(candidate) == checksum:
            return candidate
    if not path.exists():
        raise UnreadableFileError(f"{path}: no such file; the manifest of the cube lists it")
    raise UnreadableFileError(
        f"{path}: is not the file that the manifest of the cube lists; it was changed or replaced"
    )


def replace_files(folder: Path, files: Iterable[PurePath]) -> None:
    """Put files that were to replace others in their places."""
    for relative in files:
        following = folder / relative.with_name(relative.name + NEXT)
        if following.exists():
            os.replace(following, folder / relative)


def settle(folder: Path, manifest: Manifest) -> None:
    """Finish or undo what a killed writer left: files that were to replace others, and are listed or not."""
    listed = {segment_path(manifest.keys, values): entry.checksum for values, entry in manifest.segments.items()}
    listed |= {total_path(*total): checksum for total, checksum in manifest.totals.items()}
    listed[PurePath(BASIS)] = manifest.basis_checksum
    for following in folder.rglob(f"*{NEXT}"):
        path = following.with_name(following.name.removesuffix(NEXT))
        checksum = listed.get(PurePath(path.relative_to(folder)), "")
        if checksum and checksum_of(path) != checksum == checksum_of(following):
            os.replace(following, path)
        else:
            following.unlink()


def cube_of(path: str | os.PathLike[str]) -> Path | None:
    """Return the folder of the cube that a file is in, None where it is in none."""
    absolute = Path(path).absolute()
    return next((folder for folder in absolute.parents if (folder / MANIFEST).is_file()), None)
