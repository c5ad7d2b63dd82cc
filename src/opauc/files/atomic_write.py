"""Write a file that is there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opauc.files.workshop import sweep, workshop


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name on the same disk; once the body is done, put that file in the place of `path`.

    If the body raises, the temporary file is removed and `path` is as it was;
    what a killed process left behind is removed by the next one that writes
    there. What was written is on the disk before the name changes, so that a
    crash of the machine leaves the old file or the new one. Permissions are
    those of the file replaced, or of any new file.

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
    target = file_behind(path)
    sweep(target)
    with workshop(target) as folder:
        temporary = folder / "file"
        temporary.touch()
        mode = (target if target.exists() else temporary).stat().st_mode & 0o777
        yield temporary
        # Afterwards: whoever wrote it may have put another file in its place.
        temporary.chmod(mode)
        _flush(temporary)
        temporary.replace(target)
    _flush(target.parent)


def file_behind(path: str | os.PathLike[str]) -> Path:
    """Return the file that is written where `path` is asked for: links are followed, devices and folders refused.

    Examples
    --------
    >>> from opauc.files import file_behind
    >>> file_behind("/dev/null")
    Traceback (most recent call last):
        ...
    OSError: /dev/null: not a regular file
    """
    target = Path(path)
    if target.is_symlink():
        try:
            target = target.resolve()
            loops = target.is_symlink()
        except (OSError, RuntimeError):
            loops = True
        if loops:
            raise OSError(f"{path}: a link that leads back to itself")
    if target.exists() and not target.is_file():
        raise OSError(f"{path}: not a regular file")
    return target


def _flush(path: Path) -> None:
    """Wait until what is written to a file or folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
