"""The columns of the rows that a service takes: for its description, and for training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opauc.core.model import RowReading
from opauc.data.frames import of_one_kind, table_of_columns
from opauc.data.schema.column import CATEGORY, DATE, NUMBER
from opauc.serving.requests import Row

# Types of JSON that a value of a column may have.
TYPES = {
    NUMBER: ["number", "string", "boolean", "null"],
    CATEGORY: ["string", "number", "boolean", "null"],
    DATE: ["string", "null"],
}


@dataclass(frozen=True)
class RowColumns:
    """The names and kinds of columns; rows of a model without names are arrays of numbers.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> from opauc.serving.columns import RowColumns
    >>> RowColumns.of(OPAUC().fit([[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1])).row_schema()
    {'type': 'array', 'items': {'type': ['number', 'null']}, 'minItems': 1, 'maxItems': 1}
    """

    kinds: dict[str, str] | None  # kind of each column by name; None for arrays
    n_features: int
    is_frame: bool = False  # whether training takes a data frame with these columns

    @classmethod
    def of(cls, estimator: Any) -> RowColumns:
        """Return the columns of a fitted estimator."""
        reading: RowReading | None = estimator._reading
        kinds = None if reading is None else reading.column_kinds()
        if kinds is not None:
            return cls(kinds, estimator.n_features_in_)
        names = estimator._feature_names()
        if names is None:
            return cls(None, estimator.n_features_in_)
        return cls(dict.fromkeys(names, NUMBER), estimator.n_features_in_, is_frame=True)

    def example(self) -> Row:
        """Return a row: of missing values, or of zeros where these are not taken."""
        if self.kinds is None:
            return [0.0] * self.n_features
        return dict.fromkeys(self.kinds, 0.0 if self.is_frame else None)

    def training_rows(self, rows: Sequence[Row]) -> Any:
        """Return rows as `partial_fit` takes them: each column of one kind of values."""
        if self.kinds is None:
            return np.array(rows, np.float64)
        columns = {name: of_one_kind([row.get(name) for row in rows if isinstance(row, dict)]) for name in self.kinds}
        if self.is_frame:
            return table_of_columns({name: [float(value) for value in values] for name, values in columns.items()})
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def row_schema(self) -> dict[str, Any]:
        """Return the JSON schema of a row."""
        if self.kinds is None:
            numbers = {"type": ["number", "null"]}
            return {"type": "array", "items": numbers, "minItems": self.n_features, "maxItems": self.n_features}
        properties = {name: {"type": TYPES[kind]} for name, kind in self.kinds.items()}
        return {"type": "object", "properties": properties, "minProperties": 1}
