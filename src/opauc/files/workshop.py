"""Folders in which files are made, and the removal of those whose maker was killed."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":  # which has no such locks: nothing is swept there
    import fcntl

ENDING = ".part"


@contextmanager
def workshop(target: Path) -> Iterator[Path]:
    """Give an empty folder beside `target`, closed to others, that is gone afterwards.

    It is locked for as long as the process lives, and the system takes the
    lock off whatever ends it: so `sweep` knows which ones nobody works in.
    """
    folder, handle = _locked_folder(target)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def sweep(target: Path) -> None:
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
        # Another process may sweep it away before it is locked: then it takes another one.
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
