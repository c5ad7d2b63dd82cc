"""The interface of encoders, which turn raw batches into rows of features, and their saved states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.core.batch import RawBatch, RawLabels
from opauc.core.json_schema import json_as
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.schema.numbers import is_number_format
from opauc.types import GroupKeys, Json, Rows

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from opauc.data.schema.infer import ColumnProfile


class SavedOneHot(TypedDict):
    """The state of a one-hot encoder in JSON."""

    named: bool  # whether columns have names: those of tables do, those of arrays do not
    label: str | None
    numeric: list[str] | None
    categorical: list[str]
    categories: list[list[str]]
    sums: list[float]
    counts: list[float]


class OneHotState(SavedOneHot, total=False):
    """The same, with the formats of numbers in text columns."""

    number_formats: dict[str, str]


class OrdinalState(TypedDict):
    """The state of an ordinal encoder in JSON: the label, and the schema of a table."""

    label: str | None
    table: Json | None


EncoderState: TypeAlias = OneHotState | OrdinalState


def check_onehot_state(saved: object) -> OneHotState:
    """Return the state of a one-hot encoder from a file, checked."""
    state = json_as(OneHotState, saved, "encoding")
    width = len(state["numeric"] or ())
    if not len(state["sums"]) == len(state["counts"]) == width or min(state["counts"], default=0) < 0:
        raise ValueError(f"encoding: expected a sum and a count for each of {width} columns of numbers")
    if any(len(pair) != 2 or pair[0] not in state["categorical"] for pair in state["categories"]):
        raise ValueError("encoding: expected categories as pairs of a categorical column and a category")
    if not all(is_number_format(name) for name in state.get("number_formats", {}).values()):
        raise ValueError("encoding: expected number formats")
    for names in (state["numeric"] or [], state["categorical"], list(map(tuple, state["categories"]))):
        if len(set(names)) < len(names):
            raise ValueError("encoding: expected columns and categories once each")
    return state


class EncodedRows(NamedTuple):
    """Finite rows, an array or a canonical CSR array, with the label of each as in the source, and its line."""

    rows: Rows
    labels: RawLabels | None
    lines: NDArray[np.int64] | None  # None where they follow the position before the batch
    passthrough: RecordBatch | None = None  # columns of the same rows, unchanged
    groups: GroupKeys | None = None  # of the rows, where a column of groups is read


class UnknownCategories(NamedTuple):
    """Categories of one column that were not seen in training: in how many rows, and the first of them."""

    rows: int
    examples: tuple[str, ...]


class Hashing(Protocol):
    """Features of an open vocabulary in a fixed number of columns."""

    def key_of(self, name: str) -> int:
        """Return the key of a named feature, below zero; that of a numbered one is its number."""

    def hash_entries(self, keys: NDArray[np.int64], values: NDArray[np.floating], ends: NDArray[np.int32]) -> csr_array:
        """Return the rows whose entries are given by their keys; `ends` is the indptr of a CSR array."""


class ColumnRequest(Protocol):
    """What a reader needs to know of the encoder of its rows."""

    @property
    def hashing(self) -> Hashing | None:
        """How features are hashed, None where they are not."""

    @property
    def pinned_columns(self) -> TableColumns:
        """The columns to read from the next source."""


class Encoder(ColumnRequest, Protocol):
    """Turns raw batches into finite rows; columns mean the same in every source as in the first."""

    def encode(self, raw: RawBatch, source: str, bad_rows: BadRows) -> EncodedRows:
        """Return the rows and labels of a batch; rows that cannot be encoded go to `bad_rows`."""

    def check_takes_features(self, what: str) -> None:
        """Raise where rows of features, which need no encoding, are no rows of the model; `what` begins the message."""

    def feature_names(self) -> list[str]:
        """Return the names of the features so far."""

    def learned(self) -> Callable[[], EncoderState]:
        """Return a function that returns the state as of this call, whatever is encoded later."""

    @property
    def column_profiles(self) -> Sequence[ColumnProfile]:
        """The inferred type of each column, where types are inferred."""

    @property
    def category_counts(self) -> Mapping[str, int]:
        """Number of categories of each one-hot encoded column."""

    @property
    def unreadable_values(self) -> Mapping[str, int]:
        """Number of values of each column that could not be read and count as missing."""

    @property
    def unknown_categories(self) -> Mapping[str, UnknownCategories]:
        """Categories that the model was not trained on, by column, where the encoder is frozen."""
