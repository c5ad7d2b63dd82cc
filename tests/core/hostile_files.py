"""Spoiled files with a valid checksum, and damaged ones."""

import copy
import json
import math
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

import opauc
from opauc.cli import main
from opauc.core.checkpoints import Checkpoints
from opauc.core.checksummed_file import checksum
from opauc.core.loop import Trainer
from opauc.metrics.progressive import ProgressiveValidation

VALUES = [
    None, True, -1, 0, 3, 14_000, 2**31 - 1, 2**40, 10**30, 0.5, 1e308, math.nan, math.inf,
    "", "text", "\x1b[2J", "U999999999", "x" * 10_000,
    [], [1, 2, 3], ["a", "b"], [[]], [[1, 2]], [[1e9, 2.0, 3.0, 4.0]], {}, {"a": 1}, {"predict": "x"},
]  # fmt: skip
DELETED = object()


def write_hostile(path, described, arrays):
    """Write a checksummed file with any description."""
    text = json.dumps(described)
    sealed = json.dumps({"sha256": checksum(text, arrays), "content": text})
    save_file({name: np.asarray(array, order="C") for name, array in arrays.items()}, path, metadata={"opauc": sealed})


def hostile(kind, header, arrays):
    """Yield name, description and arrays of every way to spoil a file by one change."""
    whole = {"format": "opauc", "version": 1, "kind": kind, "header": header}
    for place in [("kind",), ("header",), *(("header", *where) for where in places(header))]:
        for value in (DELETED, *VALUES):
            yield f"{'.'.join(map(str, place))} = {str(value)[:40]!r}", changed(whole, place, value), arrays
    yield "a strange part", {**whole, "header": {**header, "strange": 1}}, arrays
    for name, array in arrays.items():
        yield f"no {name}", whole, {key: part for key, part in arrays.items() if key != name}
        for how, spoiled in spoiled_arrays(array):
            yield f"{name}: {how}", whole, arrays | {name: spoiled}


def places(part, where=()):
    """Yield the place of everything in a header, however deep; of a list only the first two."""
    inside = part.items() if isinstance(part, dict) else enumerate(part[:2]) if isinstance(part, list) else ()
    for key, value in inside:
        yield (*where, key)
        yield from places(value, (*where, key))


def changed(whole, place, value):
    """Return the description with one place changed or deleted."""
    after = copy.deepcopy(whole)
    part = after
    for key in place[:-1]:
        part = part[key]
    if value is DELETED:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    return after


def spoiled_arrays(array):
    """Yield the array with other numbers, another shape or another type."""
    for number in (-1, 3, 2**20, 2**62, -(2**62), math.nan, math.inf, -math.inf, 1e300):
        if array.dtype.kind == "f" or (array.dtype.kind in "iu" and isinstance(number, int)):
            with np.errstate(over="ignore"):
                yield f"all {number}", np.full_like(array, np.array(number).astype(array.dtype))
    if array.size > 1:
        yield "last spoiled", np.append(array.ravel()[:-1], array.dtype.type(7)).reshape(array.shape)
    yield "one more axis", np.zeros((*array.shape, 2), array.dtype)
    yield "empty", np.zeros(tuple(0 for _ in array.shape) or (0,), array.dtype)
    if array.ndim:
        yield "nothing of much", np.zeros((0, *(14_000 for _ in array.shape[1:])), array.dtype)
        yield "one longer", np.concatenate([array, array[:1]])
        yield "one shorter", array[:-1]
        yield "wider", np.concatenate([array, array], axis=-1)
    for dtype in ("float64", "float32", "int64", "int8", "uint64", "bool"):
        if array.dtype != dtype:
            with np.errstate(all="ignore"):
                yield dtype, array.astype(dtype)


def mutate(rng, content):
    """Return the content with one random damage: a bit flipped, bytes inserted, deleted, replaced or moved, or cut."""
    kind, at = rng.integers(6), int(rng.integers(len(content)))
    span = int(rng.integers(1, 40))
    if kind == 0:
        return content[:at] + bytes([content[at] ^ (1 << int(rng.integers(8)))]) + content[at + 1 :]
    if kind == 1:
        return content[:at] + rng.bytes(span) + content[at:]
    if kind == 2:
        return content[:at] + content[at + span :]
    if kind == 3:
        return content[:at]
    if kind == 4:
        return content[:at] + rng.bytes(span) + content[at + span :]
    other = int(rng.integers(len(content)))
    return content[:at] + content[other : other + span] + content[at + span :]


class StopError(Exception):
    """Stands for a crash."""


def run_command(patch, *arguments):
    patch.setattr(sys, "argv", ["opauc", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0


def stop_after_one_batch(patch):
    train = Trainer.train

    def stopping(trainer, batch):
        if trainer.rows:
            raise StopError
        train(trainer, batch)

    patch.setattr(Trainer, "train", stopping)


def load(kind, path):
    """Read a file as its kind is read."""
    if kind == "checkpoint":
        return Checkpoints(path, None, {}, ProgressiveValidation).resume()
    return opauc.load(path)
