"""Whether a file can be written, found out before the work and not after it."""

from __future__ import annotations

from pathlib import Path

from opauc.errors import InputError


def refuse_unwritable(target: Path) -> None:
    """Say now, not after hours, that a file cannot be written there."""
    if target.is_dir():
        raise InputError(f"{target}: is a folder, expected the name of a file")
    if not target.parent.is_dir():
        raise InputError(f"{target}: there is no folder {target.parent}")
    probe = target.with_name(f".{target.name}.probe")
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {error.strerror}") from error
