"""Files by path or URL: whether there are any, how large they are, whether they changed, and opening them."""

from __future__ import annotations

import glob
import io
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opauc.data.remote import FileState, RemoteFile, failure, is_url, is_web, path_of, store_of
from opauc.errors import InputError

if TYPE_CHECKING:
    from pyarrow import NativeFile

# Bytes that are read at once: of a file, and of a URL, where each request costs as long as reading a megabyte.
BUFFER_BYTES, REMOTE_BUFFER_BYTES = 2**20, 2**23
WILDCARD = re.compile(r"[*?\[]")
# Sizes of the files of URLs that were found last: to ask for them again would take a request each.
_sizes: dict[str, int] = {}
MAX_SIZES = 100_000


def is_file(path: str) -> bool:
    """Tell whether a path is that of a regular file, or the URL of one that was found.

    >>> from opauc.data.storage import is_file
    >>> is_file("no-such-file.csv"), is_file("-")
    (False, False)
    """
    return path in _sizes or find_remote(path) == [path] if is_url(path) else os.path.isfile(path)


def file_size(path: str) -> int:
    """Return the size of a file in bytes; that of a URL is the one when it was last looked for."""
    if not is_url(path):
        return os.path.getsize(path)
    if path not in _sizes:
        find_remote(path)
    return _sizes[path]


def file_state(path: str) -> FileState:
    """Return what changes with a file: its size, and the time at which it was written, of a URL its ETag."""
    if is_url(path):
        return RemoteFile(path).state
    state = os.stat(path)
    return FileState(state.st_size, state.st_mtime_ns)


def open_file(path: str) -> io.BufferedReader:
    """Open a file for reading."""
    if is_url(path):
        return io.BufferedReader(RemoteFile(path), REMOTE_BUFFER_BYTES)
    return io.BufferedReader(io.FileIO(path), BUFFER_BYTES)


@contextmanager
def arrow_file(path: str) -> Iterator[NativeFile]:
    """Open a file for pyarrow, which reads it in ranges of its own."""
    import pyarrow as pa

    file = pa.PythonFile(RemoteFile(path), "r") if is_url(path) else pa.OSFile(path, "rb")
    with file:
        yield file


def find_remote(url: str) -> list[str]:
    """Return the files that a URL stands for: itself, those of a folder, or those that a pattern matches, sorted.

    A pattern that ends with a slash, or that matches no file, stands for the folders that it matches.

    Examples
    --------
    >>> import fsspec
    >>> from opauc.data.storage import find_remote
    >>> for name in ("day=1/a.csv", "day=2/b.csv", "x.csv"):
    ...     with fsspec.open(f"memory://shop/{name}", "wb") as file:
    ...         _ = file.write(b"a")
    >>> find_remote("memory://shop/day=*/"), find_remote("memory://shop/*.csv")
    (['memory://shop/day=1/a.csv', 'memory://shop/day=2/b.csv'], ['memory://shop/x.csv'])
    """
    try:
        path = path_of(url)
        if is_web(url) or not WILDCARD.search(path):
            found = store_of(url).find(url)
            return _noted(found) if found is not None else []
        base = url[: WILDCARD.search(url).start()].rpartition("/")[0]  # type: ignore[union-attr]
        found = store_of(url).find(f"{base}/") or []
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise failure(url, error) from error
    pattern = glob_pattern(path.rstrip("/"))
    names = {path_of(one): (one, size) for one, size in found}
    whole = [] if path.endswith("/") else [pair for name, pair in names.items() if pattern.fullmatch(name)]
    inside = [pair for name, pair in names.items() if any(map(pattern.fullmatch, _folders(name)))]
    return _noted(whole or inside)


def _noted(found: Iterable[tuple[str, int]]) -> list[str]:
    if len(_sizes) > MAX_SIZES:
        _sizes.clear()
    _sizes.update(found)
    return sorted(url for url, _ in found)


def _folders(name: str) -> Iterator[str]:
    """Yield the folders that a file is in."""
    while "/" in name.rstrip("/"):
        name = name.rpartition("/")[0]
        yield name


def glob_pattern(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern of paths, in which "**" stands for folders of any depth.

    >>> from opauc.data.storage import glob_pattern
    >>> [bool(glob_pattern("b/**/day=?/*.csv").fullmatch(name)) for name in ("b/day=1/x.csv", "b/a/day=12/x.csv")]
    [True, False]
    """
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^/\]]+\])", pattern)
    meanings = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(
        meanings.get(part) or (part.replace("[!", "[^", 1) if number % 2 else re.escape(part))
        for number, part in enumerate(parts)
    ))  # fmt: skip


def find_local(pattern: str) -> list[str]:
    """Return the files or the folders that a pattern of local paths matches, sorted; folders where no file does."""
    matches = sorted(glob.glob(pattern, recursive=True))
    return [path for path in matches if os.path.isfile(path)] or [path for path in matches if os.path.isdir(path)]
