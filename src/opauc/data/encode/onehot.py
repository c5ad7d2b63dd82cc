"""The one-hot encoder: tables as rows for linear models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from opauc.core.batch import RawBatch, RawLabels
from opauc.data.bad_rows import BadRows, Mask, RowErrors, missing_labels
from opauc.data.columns import TableColumns, listed
from opauc.data.encode.categories import (
    UNKNOWN,
    Vocabulary,
    category_name,
    count_unknown,
    hashed_categories,
    indicator_rows,
)
from opauc.data.encode.encoder import EncodedRows, OneHotState, UnknownCategories
from opauc.data.encode.hashing import HashedFeatures
from opauc.data.encode.missing import RunningMeans, check_sparse
from opauc.data.options import MISSING
from opauc.data.passthrough import passthrough_columns, passthrough_groups
from opauc.errors import InputError, Parameter
from opauc.types import DenseRows, Rows

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from opauc.data.arrow_columns import EncodedStrings
    from opauc.data.formats.csv.wide import WideTable
    from opauc.data.schema.infer import ColumnProfile


class EncoderMark(NamedTuple):
    """The size of an encoder's state at some moment, from which that state can be recovered later."""

    n_categories: int
    means: RunningMeans


class OneHotEncoder:
    """Turn raw batches into rows: numbers unscaled, categories as one feature each or hashed.

    Without categorical columns rows are dense: float32 where every column is
    float32 or a small integer, else float64. With them rows are sparse: first
    the numbers, then one feature for each category of each column in the order
    of their first rows, so that later batches may have more features than earlier
    ones; or, with `hashing`, 2**bits features that categories share. Text columns
    of numbers are parsed with `opauc.data.schema.numbers`. Arrays are only checked
    for missing and infinite values.

    Parameters
    ----------
    columns : TableColumns
        The label, the features and which of them are categorical. Every batch
        must have the columns of the first, by name.
    hashing : HashedFeatures, optional
        Spread categories over a fixed number of features.
    missing : {"error", "zero", "mean"}
        A missing number is an error, zero, or the mean of the values of its
        feature from the start up to the end of its batch, zero if there are none.
        A missing category is an error, or else no feature is set. A missing label
        is always an error.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.bad_rows import BadRows
    >>> from opauc.core.batch import RawBatch, Position
    >>> from opauc.data.columns import TableColumns
    >>> from opauc.data.encode.onehot import OneHotEncoder
    >>> batch = pa.record_batch({"size": [1.5, None], "color": ["red", "blue"], "y": ["no", "yes"]})
    >>> encoder = OneHotEncoder(TableColumns(categorical=["color"]), missing="mean")
    >>> raw = RawBatch(batch, None, None, Position(), Position(2, 2))
    >>> rows, labels, *_ = encoder.encode(raw, "a.parquet", BadRows())
    >>> rows.toarray(), labels, encoder.feature_names()
    (array([[1.5, 1. , 0. ],
           [1.5, 0. , 1. ]]), array(['no', 'yes'], dtype='<U3'), ['size', 'color=red', 'color=blue'])
    """

    def __init__(
        self, columns: TableColumns | None = None, hashing: HashedFeatures | None = None, missing: str = "error"
    ) -> None:
        if missing not in MISSING:
            raise ValueError(f"missing must be one of {', '.join(MISSING)}, got {missing!r}")
        self.columns: TableColumns = columns or TableColumns()
        self.hashing: HashedFeatures | None = hashing
        self.missing: str = missing
        self._label: str | None = None
        self._named = True
        self._number_formats: dict[str, str] = {}  # of text columns of numbers, fixed when first inferred
        self._numeric: list[str] | None = None
        self._categorical: list[str] = []
        self._names_before: list[str] | None = None  # of the last table; those of the next are mostly equal
        self._vocabulary, self._means, self._frozen = Vocabulary(), RunningMeans.empty(0), False
        self._unknown: dict[str, UnknownCategories] = {}
        self.unreadable_values: Mapping[str, int] = {}  # an unreadable value makes a bad row

    @property
    def pinned_columns(self) -> TableColumns:
        """The columns of the first batch, by name: those to read from the next source."""
        if self._numeric is None:
            return self.columns
        if not self._named:
            return replace(self.columns, n_features=len(self._numeric) + len(self.columns.drop))
        features = (*self._numeric, *self._categorical)
        return self.columns.named(self._label, features, self._categorical)

    @property
    def n_features(self) -> int:
        """Number of features so far."""
        categories = len(self._vocabulary) if self.hashing is None else self.hashing.n_columns
        return len(self._numeric or ()) + (categories if self._categorical else 0)

    @property
    def column_profiles(self) -> Sequence[ColumnProfile]:
        """Nothing: columns are what the user says."""
        return ()

    @property
    def category_counts(self) -> Mapping[str, int]:
        """Number of categories of each one-hot encoded column."""
        return self._vocabulary.counts

    @property
    def unknown_categories(self) -> Mapping[str, UnknownCategories]:
        """Categories that the model was not trained on, by column, where the encoder is frozen."""
        return self._unknown

    def check_takes_features(self, what: str) -> None:
        """Raise where the columns of the model have names."""
        if self._named and self._numeric is not None:
            names = listed([*self._numeric, *self._categorical])
            raise InputError(f"{what}, the model was trained on a table with columns {names}")

    def feature_names(self) -> list[str]:
        """Return the names of the features; hashed ones are called by their number."""
        numbers = list(self._numeric or ())
        if self.hashing is not None and self._categorical:
            return numbers + [f"hash {bucket}" for bucket in range(self.hashing.n_columns)]
        return numbers + [category_name(pair) for pair in self._vocabulary.pairs()]

    def mark(self) -> EncoderMark:
        """Return the size of the state, at no cost: the state only ever grows."""
        return EncoderMark(len(self._vocabulary), self._means)

    def learned(self) -> Callable[[], OneHotState]:
        """Return a function that returns the state as of this call, whatever is encoded later."""
        return partial(self.state, self.mark())

    def state(self, mark: EncoderMark | None = None) -> OneHotState:
        """Return the state up to `mark` as JSON."""
        size, means = mark or self.mark()
        state: OneHotState = {
            "named": self._named,
            "label": self._label,
            "numeric": self._numeric,
            "categorical": self._categorical,
            "categories": [list(pair) for pair in self._vocabulary.pairs(size)],
            "sums": means.sums.tolist(),
            "counts": means.counts.tolist(),
        }
        if self._number_formats:
            state["number_formats"] = dict(self._number_formats)
        return state

    def with_state(self, state: OneHotState, frozen: bool) -> OneHotEncoder:
        """Return an encoder that continues from `state`; frozen, it adds no categories and ignores unknown ones."""
        after = OneHotEncoder(self.columns, self.hashing, self.missing)
        after._named, after._label, after._frozen = state["named"], state["label"], frozen
        after._numeric = None if state["numeric"] is None else list(state["numeric"])
        after._categorical = list(state["categorical"])
        after._vocabulary = Vocabulary((column, category) for column, category in state["categories"])
        after._number_formats = dict(state.get("number_formats", {}))
        after._means = RunningMeans(np.array(state["sums"], float), np.array(state["counts"], float))
        return after

    def encode(self, raw: RawBatch, source: str, bad_rows: BadRows) -> EncodedRows:
        """Return the rows and labels of a batch; rows that cannot be encoded go to `bad_rows`."""
        errors = RowErrors(raw, source, self._frozen)
        labels = raw.labels
        if labels is not None:
            errors.add_missing_labels(missing_labels(labels), self._label or "y")
        if isinstance(raw.rows, csr_array):
            rows, good = check_sparse(raw.rows, self.missing, errors, bad_rows)
            return EncodedRows(rows, _select(raw.labels, good), errors.lines_of(good))
        categories: list[EncodedStrings] = []
        passthrough: RecordBatch | None = None
        if isinstance(raw.rows, np.ndarray):
            numbers, finite = raw.rows, False
            self._pin_width(numbers.shape[1], source)
        else:
            self._pin(self._names(raw.rows), raw.columns, source)
            if labels is None and self._label is not None and self.columns.labeled:
                labels = self._labels(raw.rows, self._label, source, errors)
            numbers, finite = self._numbers(raw.rows, source, errors)
            categories = self._categories(raw.rows, source, errors)
            passthrough = passthrough_columns(raw, self.columns, errors)
        complete = finite or self._check_complete(numbers, errors)
        good = errors.handle(len(numbers), bad_rows)
        if good is not None:
            numbers, labels = numbers[good], _select(labels, good)
            categories = [column._replace(codes=column.codes[good]) for column in categories]
            passthrough = passthrough if passthrough is None else passthrough.take(np.flatnonzero(good))
        rows = self._rows(self._fill(numbers, complete), categories)
        groups = passthrough_groups(passthrough, self.columns)
        return EncodedRows(rows, labels, errors.lines_of(good), passthrough, groups)

    def _pin(self, names: list[str], columns: TableColumns | None, source: str) -> None:
        """Take the columns of the first table as its reader resolved them; require the same of the others."""
        if names != self._names_before:
            if self._numeric is None:
                self._take_columns(columns or self.columns.resolve(names, source).by_name)
            else:
                self._check_columns(self._numeric, names, source)
            self._names_before = names

    def _take_columns(self, columns: TableColumns) -> None:
        """Set the columns from their names."""
        self._label = None if columns.label is None else str(columns.label)
        self._categorical = list(map(str, columns.categorical))
        others = set(self._categorical)
        self._numeric = [str(name) for name in columns.features or () if name not in others]
        self._means = RunningMeans.empty(len(self._numeric))

    def _check_columns(self, numeric: list[str], names: list[str], source: str) -> None:
        if not self._named:
            raise InputError(f"{source}: is a table, the first source is an array")
        features = {*numeric, *self._categorical}
        replace(self.pinned_columns, passthrough=(), groups=None).roles_in(names, source)
        more = [name for name in names if name not in {*features, self._label, *self.columns.passthrough_names}]
        if more and self.columns.features is None and not self._frozen:
            raise InputError(
                f"{source}: the first source has no column {listed(more)}; name the features (",
                Parameter("features", ...), ") to leave it out",
            )  # fmt: skip

    def _pin_width(self, width: int, source: str) -> None:
        """Take the columns of the first array; require as many of the others."""
        if self._numeric is None:
            self._numeric, self._means = [str(position) for position in range(width)], RunningMeans.empty(width)
            self._named = False
        elif self._named:
            raise InputError(f"{source}: is an array, the first source is a table")
        elif width != len(self._numeric):
            raise InputError(f"{source}: {width} columns, the first source has {len(self._numeric)}")

    # pyarrow is imported only where there is a table.

    def _names(self, table: RecordBatch | WideTable) -> list[str]:
        from opauc.data.arrow_columns import column_names

        return column_names(table)

    def _labels(self, batch: RecordBatch | WideTable, name: str, source: str, errors: RowErrors) -> RawLabels:
        from opauc.data.arrow_columns import label_values

        labels, missing = label_values(batch, name, source)
        errors.add_missing_labels(missing, name)
        return labels

    def _numbers(self, batch: RecordBatch | WideTable, source: str, errors: RowErrors) -> tuple[DenseRows, bool]:
        from opauc.data.arrow_columns import number_matrix, parse_text_columns

        names = self._numeric or []
        if not names:
            return np.empty((batch.num_rows, 0), np.float32), True
        formats, decimals = self._number_formats, self.columns.decimals
        return number_matrix(parse_text_columns(batch, names, formats, decimals, errors, source), names, source)

    def _categories(self, batch: RecordBatch | WideTable, source: str, errors: RowErrors) -> list[EncodedStrings]:
        from opauc.data.arrow_columns import encode_categories, is_boolean_column

        columns = []
        for name in self._categorical:
            column = encode_categories(batch, name, source)
            if is_boolean_column(batch, name):
                column = column._replace(strings=self._vocabulary.match_case(name, column.strings))
            columns.append(column)
            if self.missing == "error":
                errors.add_missing_categories(column.codes < 0, name)
        return columns

    def _check_complete(self, numbers: DenseRows, errors: RowErrors) -> bool:
        """Tell whether every number is finite; record errors for those that are not and cannot be filled."""
        finite = np.isfinite(numbers)
        if finite.all():
            return True
        bad = ~finite if self.missing == "error" else np.isinf(numbers)
        errors.add_cells(bad, numbers, self._numeric or ())
        return False

    def _fill(self, numbers: DenseRows, complete: bool) -> DenseRows:
        if self.missing == "mean" and not self._frozen:
            self._means = self._means.update(numbers)
        if complete:
            return numbers
        fill = self._means.values() if self.missing == "mean" else np.zeros(1)
        return np.where(np.isnan(numbers), fill.astype(numbers.dtype), numbers)

    def _rows(self, numbers: DenseRows, categories: list[EncodedStrings]) -> Rows:
        if not self._categorical:
            return numbers
        if self.hashing is not None:
            buckets, signs = hashed_categories(categories, self._categorical, self.hashing)
            return indicator_rows(numbers, buckets, signs, self.hashing.n_columns)
        features = self._vocabulary.numbers(categories, self._categorical, grow=not self._frozen)
        if self._frozen:
            self._unknown = count_unknown(self._unknown, self._categorical, categories, features)
        return indicator_rows(numbers, features, features != UNKNOWN, len(self._vocabulary))


def _select(labels: RawLabels | None, good: Mask | None) -> RawLabels | None:
    return labels if labels is None or good is None else labels[good]
