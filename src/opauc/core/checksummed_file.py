"""Arrays and a header in one safetensors file, with a checksum over both; reading executes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from typing import Any, TypedDict

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
# What reading a file may take beside a multiple of its size, and that multiple.
SPARE_BYTES, MAX_EXPANSION = 2**20, 8
# What JSON takes in Python, about: copies of the text, bytes of a value, and of a dictionary in addition.
TEXT_COPIES, VALUE_BYTES, DICT_BYTES = 3, 48, 136
# A string of JSON, or the rest of the text where it does not end.
STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
# Characters of a message about the content of a file.
MAX_MESSAGE = 400
DTYPES = ("float64", "float32", "int64", "int32", "int8", "uint64", "uint32", "uint16", "uint8", "bool")


class Sealed(TypedDict):
    """The text part of a file and its checksum."""

    sha256: str
    content: str


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
    text = json.dumps(
        {"format": ENTRY, "version": VERSION, "kind": kind, "header": header}, sort_keys=True, allow_nan=False
    )
    sealed = json.dumps({"sha256": checksum(text, solid), "content": text})
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
            room = SPARE_BYTES + MAX_EXPANSION * os.path.getsize(path)
            text, seal = _content(path, (file.metadata() or {}).get(ENTRY))
            content = _parse(text, room)
            _check_version(path, content)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        intact = checksum(text, arrays) == seal
    except UnreadableFileError:
        raise
    except OSError as error:
        raise UnreadableFileError(f"{path}: {error.strerror or error}") from error
    except Exception as error:  # whatever the library makes of a broken file
        raise UnreadableFileError(f"{path}: broken, or not a file of opauc ({one_line(error)})") from error
    if not intact:
        raise UnreadableFileError(f"{path}: damaged, its checksum does not match its content")
    try:
        described = json_as(Described, content, "content")
    except ValueError as error:
        raise UnreadableFileError(f"{path}: cannot be used: {one_line(error)}") from error
    return described["kind"], described["header"], arrays


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return what a file says it holds, an empty string where it is none of this library.

    Examples
    --------
    >>> from opauc.core.checksummed_file import kind_of
    >>> kind_of("nothing.opauc")
    ''
    """
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            content, _ = _content(path, (file.metadata() or {}).get(ENTRY))
            room = SPARE_BYTES + MAX_EXPANSION * os.path.getsize(path)
            return json_as(Described, _parse(content, room), "content")["kind"]
    except Exception:  # whatever the library makes of another file
        return ""


def checksum_of(path: str | os.PathLike[str]) -> str:
    """Return the checksum that a file says it has, an empty string where it is none of this library.

    Examples
    --------
    >>> from opauc.core.checksummed_file import checksum_of
    >>> checksum_of("nothing.opauc")
    ''
    """
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            entry = (file.metadata() or {}).get(ENTRY)
            return "" if entry is None else json_as(Sealed, _parse(entry, _room_of_two_strings(entry)), "")["sha256"]
    except Exception:  # whatever the library makes of another file
        return ""


def _room_of_two_strings(entry: str) -> int:
    """Return the memory that two strings of JSON may take, of which the text consists."""
    return TEXT_COPIES * sys.getsizeof(entry) + 2**10


def one_line(error: BaseException) -> str:
    """Return an error's message in one line, cut where a file made it long."""
    return " ".join(str(error).split())[:MAX_MESSAGE]


def is_checksummed(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path leads to a file of this library, broken or not."""
    if not os.path.isfile(path):
        return False
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            return ENTRY in (file.metadata() or {})
    except Exception:  # whatever the library makes of another file
        return False


def _content(path: str | os.PathLike[str], entry: str | None) -> tuple[str, str]:
    """Return the text that describes the arrays, and the checksum; raise for a file that is not ours."""
    if entry is None:
        raise UnreadableFileError(f"{path}: a safetensors file, but not one of opauc")
    sealed = json_as(Sealed, _parse(entry, _room_of_two_strings(entry)), "checksum")
    return sealed["content"], sealed["sha256"]


def _parse(text: str, room: int) -> Any:
    """Return JSON as Python does; raise for names that occur twice, numbers that JSON does not have, and lack of room.

    A list of empty lists takes 26 times the memory of its text.
    """
    outside = STRING.sub('"', text)
    n_values = sum(outside.count(mark) for mark in ",:[{")
    if TEXT_COPIES * sys.getsizeof(text) + VALUE_BYTES * n_values + DICT_BYTES * outside.count("{") > room:
        raise ValueError(f"its text has {n_values} values, too many for its size")
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)


def _unique(pairs: list[tuple[str, Any]]) -> Json:
    parts = dict(pairs)
    if len(parts) < len(pairs):
        raise ValueError(f"{len(pairs) - len(parts)} of its names occur twice")
    return parts


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _check_version(path: str | os.PathLike[str], content: Json) -> None:
    """Raise for a file that is not ours, or of a newer version."""
    if content["format"] != ENTRY or not isinstance(content["version"], int):
        raise UnreadableFileError(f"{path}: not a file of opauc")
    if content["version"] > VERSION:
        raise UnreadableFileError(
            f"{path}: made by a newer opauc (file version {content['version']}, this one reads up to {VERSION})"
        )


def checksum(text: str, arrays: NamedArrays) -> str:
    """Return a checksum over text and over names, types, shapes and content of arrays."""
    hasher = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        if str(array.dtype) not in DTYPES:
            raise TypeError(f"array {name} is of type {array.dtype}, expected one of {', '.join(DTYPES)}")
        hasher.update(f"\n{name} {array.dtype} {array.shape}\n".encode())
        hasher.update(np.asarray(array, order="C").reshape(-1).view(np.uint8).data)
    return hasher.hexdigest()
