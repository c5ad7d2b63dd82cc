"""What a stream asks of whoever turns the parts of its sources into rows of features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.core.batch import Part, RawLabels
from opauc.core.json_schema import json_as
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.types import GroupKeys, Json, Rows

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from opauc.data.schema.infer import ColumnProfile


class OneHotState(TypedDict):
    """What an encoder has learned from the parts so far, as JSON has it."""

    named: bool  # whether columns have names: those of tables do, those of arrays do not
    label: str | None
    numeric: list[str] | None
    categorical: list[str]
    categories: list[list[str]]
    sums: list[float]
    counts: list[float]


class OrdinalState(TypedDict):
    """What an encoder that leaves rows as numbers has learned: the label, and of a table what its columns are."""

    label: str | None
    table: Json | None


EncoderState: TypeAlias = OneHotState | OrdinalState


def check_onehot_state(saved: object) -> OneHotState:
    """Return what an encoder has learned, as a file has it, refused unless an encoder can have."""
    found = json_as(OneHotState, saved, "encoding")
    width = len(found["numeric"] or ())
    if not len(found["sums"]) == len(found["counts"]) == width or min(found["counts"], default=0) < 0:
        raise ValueError(f"encoding: expected a sum and a count for each of {width} columns of numbers")
    if any(len(pair) != 2 or pair[0] not in found["categorical"] for pair in found["categories"]):
        raise ValueError("encoding: expected categories as pairs of a categorical column and a word")
    for names in (found["numeric"] or [], found["categorical"], list(map(tuple, found["categories"]))):
        if len(set(names)) < len(names):
            raise ValueError("encoding: expected columns and categories once each")
    return found


class EncodedRows(NamedTuple):
    """Finite rows, an array or a canonical CSR array, the label of each as it stands in the source, and its line."""

    rows: Rows
    labels: RawLabels | None
    lines: NDArray[np.int64] | None  # None where they follow the place before the part
    kept: RecordBatch | None = None  # columns to be carried along, of the same rows
    groups: GroupKeys | None = None  # of the rows, where a column says them


class UnknownCategories(NamedTuple):
    """Categories of one column that were not met in training: in how many rows, and the first of them."""

    rows: int
    examples: tuple[str, ...]


class Hashing(Protocol):
    """Features of an open vocabulary in a fixed number of columns."""

    def key_of(self, name: str) -> int:
        """Return the key of a named feature, below zero; that of a numbered one is its number."""

    def hash_entries(self, keys: NDArray[np.int64], values: NDArray[np.floating], ends: NDArray[np.int32]) -> csr_array:
        """Return the rows whose entries are given by their keys; `ends` is the indptr of a CSR array."""


class Encoder(Protocol):
    """Parts in, finite rows out; columns mean in every source what they meant in the first."""

    @property
    def hashing(self) -> Hashing | None:
        """How features are hashed, None where they are not."""

    @property
    def pinned_columns(self) -> TableColumns:
        """What a reader of the next source should look for."""

    def encode(self, part: Part, source: str, bad_rows: BadRows) -> EncodedRows:
        """Return the rows and labels of a part; rows that cannot be encoded are met by `bad_rows`."""

    def feature_names(self) -> list[str]:
        """Return the names of the features met so far."""

    def learned(self) -> Callable[[], EncoderState]:
        """Return a function that gives what was learned up to this call, whatever is learned later."""

    @property
    def column_profiles(self) -> Sequence[ColumnProfile]:
        """The inferred type of each column, where types are inferred."""

    @property
    def category_counts(self) -> Mapping[str, int]:
        """How many categories each column has that becomes a feature a category."""

    @property
    def unreadable_values(self) -> Mapping[str, int]:
        """How many values of each column were not what the column is, and count as missing."""

    @property
    def unknown_categories(self) -> Mapping[str, UnknownCategories]:
        """Categories met that the model knows nothing of, by their columns, where nothing new is learned."""
