"""What two encoders have learnt, as one: columns are matched by their names."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.errors import InputError
from opauc.reading.encoder import Encoding
from opauc.reading.table_columns import listed


class MergedEncoding(NamedTuple):
    """The encoding of both, in which the features of the first stand where they stood, and those of the other."""

    encoding: Encoding
    places: NDArray[np.int64]  # of each feature of the other


def merged_encoding(one: Encoding, other: Encoding, n_hashed: int | None = None) -> MergedEncoding:
    """Return the union of the categories and the sums of the running means; `n_hashed` features share categories.

    >>> from opauc.features.merged_encoding import merged_encoding
    >>> known = {"named": True, "label": "y", "numeric": ["a"], "categorical": ["c"], "sums": [1.0], "counts": [2.0]}
    >>> merged = merged_encoding(
    ...     {**known, "categories": [["c", "x"], ["c", "y"]]}, {**known, "categories": [["c", "z"], ["c", "x"]]}
    ... )
    >>> merged.encoding["categories"], merged.encoding["sums"], merged.places.tolist()
    ([['c', 'x'], ['c', 'y'], ['c', 'z']], [2.0], [0, 3, 1])
    """
    _refuse_others(one, other)
    numeric, theirs = one["numeric"] or [], other["numeric"] or []
    place = {name: at for at, name in enumerate(numeric)}
    columns = np.array([place[name] for name in theirs], np.int64)
    sums, counts = np.array(one["sums"], float), np.array(one["counts"], float)
    sums[columns] += other["sums"]
    counts[columns] += other["counts"]
    numbers = {(column, word): at for at, (column, word) in enumerate(one["categories"])}
    for column, word in other["categories"]:
        numbers.setdefault((column, word), len(numbers))
    both: Encoding = {
        **one, "categories": [list(pair) for pair in numbers], "sums": sums.tolist(), "counts": counts.tolist(),
    }  # fmt: skip
    if n_hashed is not None:
        features = np.arange(n_hashed if one["categorical"] else 0)
    else:
        features = np.array([numbers[column, word] for column, word in other["categories"]], np.int64)
    return MergedEncoding(both, np.concatenate([columns, len(numeric) + features]))


def _refuse_others(one: Encoding, other: Encoding) -> None:
    """Raise, in words, unless both have the same columns of the same kinds."""
    if one["named"] != other["named"]:
        raise InputError("one model was trained on a table, the other on an array")
    if one["label"] != other["label"]:
        raise InputError(f"the label is column {one['label']} in one model and {other['label']} in the other")
    for kind, mine, theirs in (
        ("of numbers", set(one["numeric"] or ()), set(other["numeric"] or ())),
        ("of categories", set(one["categorical"]), set(other["categorical"])),
    ):
        if mine != theirs:
            raise InputError(
                f"the models have other columns {kind}: {listed(sorted(mine - theirs)) or 'none'} in the first only, "
                f"{listed(sorted(theirs - mine)) or 'none'} in the other only"
            )
