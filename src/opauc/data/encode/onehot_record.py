"""Rows given as dicts as the features of linear models, value by value, in microseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

import numpy as np
from scipy.sparse import csr_array

from opauc.core.batch import MAX_COUNT
from opauc.data.encode.categories import UNKNOWN, Vocabulary
from opauc.data.encode.encoder import OneHotState
from opauc.data.encode.missing import RunningMeans
from opauc.data.schema.numbers import is_missing, parse_number
from opauc.types import Rows

# What a value becomes that only `OneHotReading.read` can read, or refuse.
OTHER = None


@dataclass(frozen=True, eq=False)
class OneHotRecordReader:
    """How a dict of column names and values becomes the features of a row, as a table of this one row would.

    Immutable, and shared by any number of threads. A column that the dict lacks is missing.

    Examples
    --------
    >>> from opauc.data.encode.onehot_record import OneHotRecordReader
    >>> state = {
    ...     "named": True, "label": "y", "numeric": ["size"], "categorical": ["color"],
    ...     "categories": [["color", "red"], ["color", "blue"]], "sums": [4.0], "counts": [2.0],
    ... }
    >>> reader = OneHotRecordReader.of(state, "mean")
    >>> reader.read({"color": "blue"}).toarray()
    array([[2., 0., 1.]])
    >>> reader.read({"color": "blue", "size": "many"}) is None
    True
    """

    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    fill: tuple[float | None, ...]  # what a missing number becomes; None where it is an error
    number_formats: Mapping[str, str]
    vocabulary: Vocabulary
    refuses_missing: bool

    @classmethod
    def of(cls, state: OneHotState, missing: str) -> OneHotRecordReader:
        """Return the reader of rows by the state of an encoder that does not hash, and what missing values become."""
        numeric = tuple(state["numeric"] or ())
        fill: tuple[float | None, ...] = (None if missing == "error" else 0.0,) * len(numeric)
        if missing == "mean":
            means = RunningMeans(np.array(state["sums"], float), np.array(state["counts"], float))
            fill = tuple(means.values().tolist())
        vocabulary = Vocabulary((column, category) for column, category in state["categories"])
        formats = dict(state.get("number_formats", {}))
        return cls(numeric, tuple(state["categorical"]), fill, formats, vocabulary, missing == "error")

    def read(self, record: Mapping[str, object]) -> Rows | None:
        """Return the features of a row; None if a value is of a kind that only a table reads, or cannot be read."""
        numbers = []
        for name, fill in zip(self.numeric, self.fill, strict=True):
            number = self._number(name, record.get(name), fill)
            if number is OTHER:
                return None
            numbers.append(number)
        if not self.categorical:
            return np.array([numbers])
        features = []
        for name in self.categorical:
            feature = self._feature(name, record.get(name))
            if feature is OTHER:
                return None
            if feature != UNKNOWN:
                features.append(feature + len(numbers))
        features.sort()
        places = [place for place, number in enumerate(numbers) if number != 0.0]
        data = np.array([numbers[place] for place in places] + [1.0] * len(features))
        indices = np.array(places + features, np.int32)
        row = csr_array(
            (data, indices, np.array([0, data.size], np.int32)), shape=(1, len(numbers) + len(self.vocabulary))
        )
        row.has_canonical_format = True
        return row

    def _number(self, name: str, value: object, fill: float | None) -> float | None:
        """Return a value of a column of numbers."""
        if isinstance(value, str):
            number_format = self.number_formats.get(name)
            if number_format is None:
                return OTHER
            number = parse_number(value, number_format)
            if number != number:
                return fill if is_missing(value) else OTHER
            return number if isfinite(number) else OTHER
        if value is None or (isinstance(value, float) and value != value):
            return fill
        if isinstance(value, float):
            return float(value) if isfinite(value) else OTHER
        return float(value) if isinstance(value, int) and abs(value) <= MAX_COUNT else OTHER

    def _feature(self, name: str, value: object) -> int | None:
        """Return the number of the category that a value is: -1 for one that the model does not know, or none."""
        if value is None or value == "" or value != value:
            return OTHER if self.refuses_missing else UNKNOWN
        if isinstance(value, bool):
            return self.vocabulary.number_of(name, "true" if value else "false")
        if isinstance(value, int):
            return self.vocabulary.number_of(name, str(int(value))) if abs(value) <= MAX_COUNT else OTHER
        if not isinstance(value, str):
            return OTHER
        from opauc.data.arrow_columns import whole_number  # pyarrow

        return self.vocabulary.number_of(name, whole_number(value))
