"""From what a user names to the files to be read and the format of each."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from pathlib import PurePath

from opauc.core.registry import FORMATS
from opauc.data.formats.format import DataFormat
from opauc.data.sources import STANDARD_INPUT, ByteSource
from opauc.errors import InputError

PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")


def find_sources(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return the files meant by files, patterns and folders, those of a pattern or folder in order of their names.

    In a folder, files of a known ending count, at any depth; hidden ones and those that begin with "_" do not.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from opauc.data.find_sources import find_sources
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.csv", "a.csv", "_SUCCESS"):
    ...         (Path(folder) / name).touch()
    ...     [Path(found).name for found in find_sources([folder])]
    ['a.csv', 'b.csv']
    """
    found = []
    for path in [os.fspath(path) for path in paths]:
        if path == STANDARD_INPUT or os.path.isfile(path):
            found.append(path)
        elif os.path.isdir(path):
            found += _files_of(path)
        elif os.path.exists(path):
            found.append(path)  # a pipe
        else:
            found += _matches(path)
    if found.count(STANDARD_INPUT) > 1:
        raise InputError("standard input can be read only once")
    return found


def format_of(path: str, asked: str | None = None) -> DataFormat:
    """Return the format of a source: the one asked for, else the one inferred from its ending or its first line."""
    formats: Mapping[str, DataFormat] = FORMATS
    if asked is not None:
        if asked not in formats:
            raise InputError(f"format must be one of {', '.join(formats)}, got {asked!r}")
        return formats[asked]
    known = _format_by_ending(path)
    if known is not None:
        return known
    if not os.path.isfile(path):
        name = ByteSource(path).name
        raise InputError(f"{name}: its format cannot be told beforehand; name it, one of {', '.join(formats)}")
    return _format_by_content(path)


def are_tables(paths: Iterable[str | os.PathLike[str]], asked: str | None = None) -> bool:
    """Tell whether what a user names are tables or dense arrays, by the first of them, and not sparse rows."""
    return all(not format_of(path, asked).is_sparse(path) for path in find_sources(paths)[:1])


def _format_by_ending(path: str) -> DataFormat | None:
    name = PurePath(path)
    ending = name.suffix.lower()
    if ending in PACKED:
        ending = name.with_suffix("").suffix.lower()
    return next((kind for kind in FORMATS.values() if ending in kind.endings), None)


def _format_by_content(path: str) -> DataFormat:
    """Return the format that the first line of a text looks like most."""
    block = next(iter(ByteSource(path, block_bytes=2**16).blocks()), None)
    lines = block.data.tobytes().splitlines() if block is not None else []
    first = next((line.split(b"#")[0] for line in lines if line.split(b"#")[0].strip()), b"")
    formats: Mapping[str, DataFormat] = FORMATS
    return max(formats.values(), key=lambda kind: kind.likeness(first))


def _files_of(folder: str) -> list[str]:
    inside = sorted(
        os.path.join(where, name)
        for where, _, names in os.walk(folder)
        for name in names
        if not name.startswith((".", "_")) and _format_by_ending(name) is not None
    )
    if not inside:
        endings = " ".join(ending for kind in FORMATS.values() for ending in kind.endings)
        raise InputError(f"{folder}: no data in this folder; looked for files ending in {endings}")
    return inside


def _matches(pattern: str) -> list[str]:
    matches = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
    if not matches:
        raise InputError(f"{pattern}: no such file")
    return matches
