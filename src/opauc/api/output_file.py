"""Check before the work that its output can be written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opauc.core.atomic_write import file_behind
from opauc.errors import InputError

MODEL_SUFFIX = ".opauc"


def named_after(data: Sequence[str]) -> Path:
    """Return the default model file, in this folder: the name of the data up to the first dot.

    Examples
    --------
    >>> from opauc.api.output_file import named_after
    >>> str(named_after(["tables/titanic.csv.gz"])), str(named_after(["-"])), str(named_after(["logs/*.csv", "x.csv"]))
    ('titanic.opauc', 'model.opauc', 'model.opauc')
    """
    stem = Path(data[0]).absolute().name.partition(".")[0]
    is_name = len(data) == 1 and stem.strip("-") and not any(sign in stem for sign in "*?[")
    return Path(f"{stem if is_name else 'model'}{MODEL_SUFFIX}")


def check_writable(*targets: Path) -> None:
    """Raise where a file cannot be written, or where two are the same."""
    files: set[Path] = set()
    for target in targets:
        if target.is_dir():
            raise InputError(f"{target}: is a folder, expected the name of a file")
        try:
            file = file_behind(target)
        except OSError as error:
            raise InputError(str(error)) from error
        if not file.parent.is_dir():
            raise InputError(f"{target}: there is no folder {file.parent}")
        probe = file.with_name(f".{file.name}.probe")
        try:
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise InputError(f"{target}: cannot be written: {error.strerror}") from error
        files.add(file.absolute())
    if len(files) < len(targets):
        raise InputError(f"{targets[0]}: cannot be both the model and its checkpoint")
