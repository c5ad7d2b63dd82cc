"""Arrays and a header in one safetensors file, with a checksum over both; reading executes nothing."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TypedDict

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from opauc.core.atomic_write import atomic_write
from opauc.core.json_schema import json_as
from opauc.errors import UnreadableFileError
from opauc.types import Array, Json, NamedArrays, Settings

Arrays = dict[str, Array]

# Raised when a file of the new kind can no longer be read by older programs.
VERSION = 1
# Where the header stands in the text part of the safetensors file.
ENTRY = "opauc"
DTYPES = ("float64", "float32", "int64", "int32", "int8", "uint64", "uint32", "uint8", "bool")


class Described(TypedDict):
    """The text part of a file."""

    format: str
    version: int
    kind: str
    header: Json


def write_checksummed(path: str | os.PathLike[str], kind: str, header: Settings, arrays: Settings) -> None:
    """Write a file of the given kind; it appears whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from opauc.core.checksummed_file import read_checksummed, write_checksummed
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_checksummed(f"{folder}/numbers", "example", {"unit": "m"}, {"lengths": np.array([1.0, 2.0])})
    ...     read_checksummed(f"{folder}/numbers")
    ('example', {'unit': 'm'}, {'lengths': array([1., 2.])})
    """
    # The format takes contiguous arrays only.
    solid = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    text = json.dumps({"format": ENTRY, "version": VERSION, "kind": kind, "header": header}, sort_keys=True)
    sealed = json.dumps({"sha256": _seal(text, solid), "content": text})
    with atomic_write(path) as temporary:
        try:
            save_file(solid, temporary, metadata={ENTRY: sealed})
        except OSError:
            raise
        except Exception as error:  # the library's own type: a full disk, most likely
            raise OSError(f"{path}: {error}") from error


def read_checksummed(path: str | os.PathLike[str]) -> tuple[str, Json, Arrays]:
    """Return the kind, the header and the arrays of a file; raise with the reason where that fails."""
    if not os.path.isfile(path):
        raise UnreadableFileError(f"{path}: {'not a regular file' if os.path.exists(path) else 'no such file'}")
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            content, seal = _content(path, metadata.get(ENTRY))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        intact = _seal(content, arrays) == seal
        described = json.loads(content)
    except UnreadableFileError:
        raise
    except OSError as error:
        raise UnreadableFileError(f"{path}: {error.strerror or error}") from error
    except Exception as error:  # whatever the library makes of a broken file
        raise UnreadableFileError(f"{path}: broken, or not a file of opauc ({error})") from error
    if not intact:
        raise UnreadableFileError(f"{path}: damaged, its checksum does not match its content")
    try:
        described = json_as(Described, described, "content")
    except ValueError as error:
        raise UnreadableFileError(f"{path}: cannot be used: {error}") from error
    return described["kind"], described["header"], arrays


def _content(path: str | os.PathLike[str], entry: str | None) -> tuple[str, str]:
    """Return the text that describes the arrays, and the checksum; raise for a file that is not ours or too new."""
    if entry is None:
        raise UnreadableFileError(f"{path}: a safetensors file, but not one of opauc")
    sealed = json.loads(entry)
    described = json.loads(sealed["content"])
    if described["format"] != ENTRY or not isinstance(described["version"], int):
        raise UnreadableFileError(f"{path}: not a file of opauc")
    if described["version"] > VERSION:
        raise UnreadableFileError(
            f"{path}: made by a newer opauc (file version {described['version']}, this one reads up to {VERSION})"
        )
    return sealed["content"], sealed["sha256"]


def _seal(text: str, arrays: NamedArrays) -> str:
    """Return a checksum over the text and over names, types, shapes and content of the arrays."""
    hasher = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        if str(array.dtype) not in DTYPES:
            raise TypeError(f"array {name} is of type {array.dtype}, expected one of {', '.join(DTYPES)}")
        hasher.update(f"\n{name} {array.dtype} {array.shape}\n".encode())
        hasher.update(np.asarray(array, order="C").reshape(-1).view(np.uint8).data)
    return hasher.hexdigest()
