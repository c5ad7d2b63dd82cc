"""Write a file that is there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name in the same folder; once the body is done, put that file in the place of `path`.

    If the body raises, the temporary file is removed and `path` is as it was.
    What was written is on the disk before the name changes, so that a crash of
    the machine leaves the old file or the new one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from opauc.files import atomic_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "greeting.txt"
    ...     with atomic_write(target) as temporary:
    ...         _ = temporary.write_text("hello")
    ...     target.read_text()
    'hello'
    """
    target = Path(path)
    # A link keeps pointing to the file it names, and a device or pipe is never replaced by a file.
    target = target.resolve() if target.is_symlink() else target
    if target.exists() and not target.is_file():
        raise OSError(f"{target}: not a regular file")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        temporary.chmod(_mode(target))
        yield temporary
        _flush(temporary)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush(target.parent)


def _mode(target: Path) -> int:
    """Return the permissions of the file to be replaced, or those of any new file."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _flush(path: Path) -> None:
    """Wait until what is written to a file or folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
