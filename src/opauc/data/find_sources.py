"""The files that paths, patterns and folders stand for, and the format of each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from opauc.core.registry import FORMATS
from opauc.data.formats.format import DataFormat
from opauc.data.remote import is_url, path_of, shown_url
from opauc.data.sources import STANDARD_INPUT, ByteSource
from opauc.data.storage import find_local, find_remote, glob_pattern, is_file
from opauc.data.table_source import ResolvedSource, Source, TableSource
from opauc.errors import InputError, Parameter, ParameterError, unknown_name

COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".zip")


def find_sources(paths: Iterable[Source]) -> list[ResolvedSource]:
    """Return the files of paths, patterns and folders; those of a pattern or folder are sorted by name. Tables stay.

    In a folder, files of a known ending count, at any depth; hidden ones and those that begin with "_" do not.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from opauc.data.find_sources import find_sources
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.csv", "a.csv", "_SUCCESS"):
    ...         (Path(folder) / name).touch()
    ...     [Path(path).name for path in find_sources([folder])]
    ['a.csv', 'b.csv']
    """
    sources = list[ResolvedSource]()
    for path in [path if isinstance(path, TableSource) else _local(os.fspath(path)) for path in paths]:
        if isinstance(path, TableSource) or path == STANDARD_INPUT or os.path.isfile(path):
            sources.append(path)
        elif is_url(path):
            sources += _remote_files(path)
        elif os.path.isdir(path):
            sources += _files_of(path)
        elif os.path.exists(path):
            sources.append(path)  # a pipe
        else:
            sources += _matches(path)
    if sources.count(STANDARD_INPUT) > 1:
        raise InputError("standard input can be read only once")
    return sources


def format_of(path: ResolvedSource, requested: str | None = None) -> DataFormat:
    """Return the format of a source: the one requested, else inferred from its file ending or first line."""
    if isinstance(path, TableSource):
        from opauc.data.formats.table import TABLE  # pyarrow, which text does not wait for

        return TABLE
    formats: Mapping[str, DataFormat] = FORMATS
    if requested is not None:
        if requested not in formats:
            raise ParameterError(Parameter("format"), f": {unknown_name('format', requested, formats)}")
        return formats[requested]
    by_ending = _format_by_ending(path)
    if by_ending is not None:
        return by_ending
    if not is_file(path):
        name = ByteSource(path).name
        raise InputError(f"{name}: its format cannot be inferred before reading; name it, one of {', '.join(formats)}")
    return _format_by_content(path)


def are_tables(paths: Iterable[Source], requested: str | None = None) -> bool:
    """Tell whether sources are tables or dense arrays, by the first of them, and not sparse rows."""
    return all(
        isinstance(path, TableSource) or not format_of(path, requested).is_sparse(path)
        for path in find_sources(paths)[:1]
    )


def name_of(source: ResolvedSource) -> str:
    """Return what a model records of where its rows came from: the path of a file, the name of a table."""
    return source.record if isinstance(source, TableSource) else shown_url(source)


def can_read_again(source: ResolvedSource) -> bool:
    """Tell whether a source can be read again: a file, but no pipe; a table, but no stream."""
    return source.repeatable if isinstance(source, TableSource) else is_file(source)


def _format_by_ending(path: str) -> DataFormat | None:
    name = PurePath(path_of(path))
    ending = name.suffix.lower()
    if ending in COMPRESSED_SUFFIXES:
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
    return _data_files(folder, _everything_in(folder))


def _everything_in(folder: str) -> list[str]:
    return sorted(os.path.join(where, name) for where, _, names in os.walk(folder) for name in names)


def _data_files(folder: str, inside: Iterable[str]) -> list[str]:
    """Return the files in a folder that have data, by their names; raise where there are none."""
    names = {path: PurePath(path_of(path)).name for path in inside}
    files = [
        path for path, name in names.items() if not name.startswith((".", "_")) and _format_by_ending(name) is not None
    ]
    if not files:
        endings = " ".join(ending for kind in FORMATS.values() for ending in kind.endings)
        raise InputError(f"{shown_url(folder)}: no data in this folder; looked for files ending in {endings}")
    return files


def _matches(pattern: str) -> list[str]:
    matches = find_local(pattern)
    if not matches:
        raise InputError(f"{pattern}: no such file")
    if os.path.isfile(matches[0]):
        return matches
    return _data_files(pattern, [file for folder in matches for file in _everything_in(folder)])


def _remote_files(url: str) -> list[str]:
    files = find_remote(url)
    if not files:
        raise InputError(f"{shown_url(url)}: no such file")
    return files if files == [url] or _matches_files(url, files) else _data_files(url, files)


def _matches_files(url: str, files: Sequence[str]) -> bool:
    """Tell whether a pattern matches files and not the folders that they are in."""
    return glob_pattern(path_of(url)).fullmatch(path_of(files[0])) is not None


def _local(path: str) -> str:
    """Return a file:// URL as a path, anything else as it is."""
    return path_of(path) if path.startswith("file://") else path


def is_paths(data: object) -> bool:
    """Tell whether data is the path of a file or a sequence of such."""
    if isinstance(data, str | os.PathLike):
        return True
    return isinstance(data, list | tuple) and bool(data) and all(isinstance(one, str | os.PathLike) for one in data)


def paths_of(data: Any) -> list[str]:
    """Return the path, or the sequence of paths, as strings."""
    return [os.fspath(path) for path in ([data] if isinstance(data, str | os.PathLike) else data)]
