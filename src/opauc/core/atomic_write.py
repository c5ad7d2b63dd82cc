"""Write files atomically: whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":  # which has no such locks: stale files stay there
    import fcntl

ENDING = ".part"


@contextmanager
def temporary_directory(target: Path) -> Iterator[Path]:
    """Give an empty folder next to `target`, closed to others, that is removed afterwards.

    It is locked for as long as the process lives, and the system takes the
    lock off whatever ends it: so `remove_stale_files` knows which ones nobody works in.
    """
    folder, handle = _locked_folder(target)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def remove_stale_files(target: Path) -> None:
    """Remove the folders in which one's own processes made `target` when they were killed."""
    if sys.platform == "win32":
        return
    pattern = re.compile(re.escape(f".{target.name}.") + r"[a-z0-9_]{8}" + re.escape(ENDING))
    with os.scandir(target.parent) as entries:
        left = [Path(entry.path) for entry in entries if pattern.fullmatch(entry.name) and _is_own_folder(entry)]
    for folder in left:
        with suppress(OSError):  # gone meanwhile, or on a disk without locks, where nobody can tell
            handle = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


def _locked_folder(target: Path) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=ENDING, dir=target.parent))
        # Another process may remove it before it is locked: then another one is made.
        with suppress(FileNotFoundError):
            handle = os.open(folder, os.O_RDONLY)
            if _lock(handle) and folder.exists():
                return folder, handle
            os.close(handle)


def _lock(handle: int) -> bool:
    """Lock a folder of one's own, where the disk knows locks; return False where another process was faster."""
    try:
        if sys.platform != "win32":
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _is_own_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except OSError:
        return False


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
    >>> from opauc.core.atomic_write import atomic_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "greeting.txt"
    ...     with atomic_write(target) as temporary:
    ...         _ = temporary.write_text("hello")
    ...     target.read_text()
    'hello'
    """
    target = file_behind(path)
    remove_stale_files(target)
    with temporary_directory(target) as folder:
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
    """Return the file that `path` leads to: links are followed; devices and folders raise OSError.

    Examples
    --------
    >>> from opauc.core.atomic_write import file_behind
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
