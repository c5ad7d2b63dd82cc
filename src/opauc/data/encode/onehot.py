"""Batches of a table as rows of numbers and labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from opauc.core.batch import Part, RawLabels
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns, listed
from opauc.data.encode.categories import (
    UNKNOWN,
    Vocabulary,
    category_name,
    hashed_categories,
    indicator_rows,
    with_unknown,
)
from opauc.data.encode.encoder import EncodedRows, OneHotState, UnknownCategories
from opauc.data.encode.hashing import HashedFeatures
from opauc.data.encode.missing import RunningMeans, checked_sparse
from opauc.data.options import MISSING
from opauc.data.passthrough import carried_columns, carried_groups
from opauc.data.row_faults import MISSING_LABEL, Mask, RowFaults
from opauc.errors import Hint, InputError
from opauc.types import DenseRows, Rows

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from opauc.data.arrow_columns import Words
    from opauc.data.formats.csv.wide import WideTable
    from opauc.data.schema.infer import ColumnProfile

LEFT_OUT = Hint("features")


class EncoderMark(NamedTuple):
    """How far an encoder had come: enough to say later what its state was."""

    n_categories: int
    means: RunningMeans


class OneHotEncoder:
    """Turn parts of tables into rows: numbers as they are, categories as one feature each or hashed.

    Without categorical columns rows are dense: float32 where every column is
    float32 or a small integer, else float64. With them rows are sparse: first
    the numbers, then one feature for each category of each column in the order
    in which they are first met, so that later parts may have more features than
    earlier ones; or, with `hashing`, 2**bits features in which categories share.
    Parts that are arrays already are only checked for missing and infinite values.

    Parameters
    ----------
    columns : TableColumns
        The label, the features and which of them are categorical. What is found
        in the first part is asked of every other, by name.
    hashing : HashedFeatures, optional
        Spread categories over a fixed number of features.
    missing : {"error", "zero", "mean"}
        A missing number is refused, taken as zero, or as the mean of the values
        of its feature from the start up to the end of its part, zero if there are
        none. A missing category is refused, or else no feature is set. Rows
        without a label are refused always.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.bad_rows import BadRows
    >>> from opauc.core.batch import Part, Place
    >>> from opauc.data.columns import TableColumns
    >>> from opauc.data.encode.onehot import OneHotEncoder
    >>> batch = pa.record_batch({"size": [1.5, None], "color": ["red", "blue"], "y": ["no", "yes"]})
    >>> encoder = OneHotEncoder(TableColumns(categorical=["color"]), missing="mean")
    >>> rows, labels, *_ = encoder.encode(Part(batch, None, None, Place(), Place(2, 2)), "a.parquet", BadRows())
    >>> rows.toarray(), labels, encoder.feature_names()
    (array([[1.5, 1. , 0. ],
           [1.5, 0. , 1. ]]), array(['no', 'yes'], dtype='<U3'), ['size', 'color=red', 'color=blue'])
    """

    def __init__(
        self, columns: TableColumns | None = None, hashing: HashedFeatures | None = None, missing: str = "error"
    ) -> None:
        if missing not in MISSING:
            raise ValueError(f"missing must be one of {', '.join(MISSING)}, got {missing!r}")
        self.columns = columns or TableColumns()
        self.hashing, self.missing = hashing, missing
        self._label: str | None = None
        self._named = True
        self._numeric: list[str] | None = None
        self._categorical: list[str] = []
        self._names_before: list[str] | None = None  # of the last table; those of the next are mostly the same
        self._vocabulary, self._means, self._frozen = Vocabulary(), RunningMeans.empty(0), False
        self._unknown: dict[str, UnknownCategories] = {}
        self.unreadable_values: Mapping[str, int] = {}  # what cannot be read makes a bad row

    @property
    def pinned_columns(self) -> TableColumns:
        """The columns by the names found in the first part: what a reader of the next source should look for."""
        if self._numeric is None:
            return self.columns
        if not self._named:
            return replace(self.columns, n_features=len(self._numeric) + len(self.columns.drop))
        features = (*self._numeric, *self._categorical)
        return self.columns.named(self._label, features, self._categorical)

    @property
    def n_features(self) -> int:
        """How many features rows have by now."""
        categories = len(self._vocabulary) if self.hashing is None else self.hashing.n_columns
        return len(self._numeric or ()) + (categories if self._categorical else 0)

    @property
    def column_profiles(self) -> Sequence[ColumnProfile]:
        """Nothing: columns are what the user says."""
        return ()

    @property
    def category_counts(self) -> Mapping[str, int]:
        """How many categories each column has that becomes a feature a category."""
        return self._vocabulary.counts

    @property
    def unknown_categories(self) -> Mapping[str, UnknownCategories]:
        """Categories met that the model knows nothing of, by their columns, where nothing new is learned."""
        return self._unknown

    def feature_names(self) -> list[str]:
        """Return the names of the features; hashed ones are called by their number."""
        numbers = list(self._numeric or ())
        if self.hashing is not None and self._categorical:
            return numbers + [f"hash {bucket}" for bucket in range(self.hashing.n_columns)]
        return numbers + [category_name(pair) for pair in self._vocabulary.pairs()]

    def mark(self) -> EncoderMark:
        """Note how far the encoder is, at no cost: what it learns is only ever added to."""
        return EncoderMark(len(self._vocabulary), self._means)

    def learned(self) -> Callable[[], OneHotState]:
        """Return a function that gives what was learned up to this call, whatever is learned later."""
        return partial(self.state, self.mark())

    def state(self, mark: EncoderMark | None = None) -> OneHotState:
        """Return what the encoder learned from the parts, up to `mark`, as JSON has it."""
        size, means = mark or self.mark()
        return {
            "named": self._named,
            "label": self._label,
            "numeric": self._numeric,
            "categorical": self._categorical,
            "categories": [list(pair) for pair in self._vocabulary.pairs(size)],
            "sums": means.sums.tolist(),
            "counts": means.counts.tolist(),
        }

    def with_state(self, state: OneHotState, frozen: bool) -> OneHotEncoder:
        """Return an encoder that goes on from `state`; frozen, it learns nothing and new categories set no feature."""
        after = OneHotEncoder(self.columns, self.hashing, self.missing)
        after._named, after._label, after._frozen = state["named"], state["label"], frozen
        after._numeric = None if state["numeric"] is None else list(state["numeric"])
        after._categorical = list(state["categorical"])
        after._vocabulary = Vocabulary((column, word) for column, word in state["categories"])
        after._means = RunningMeans(np.array(state["sums"], float), np.array(state["counts"], float))
        return after

    def encode(self, part: Part, source: str, bad_rows: BadRows) -> EncodedRows:
        """Return the rows and labels of a part; rows that cannot be encoded are met by `bad_rows`."""
        faults = RowFaults(part, source, self._frozen)
        labels = part.labels
        if labels is not None:
            faults.add_missing_labels(labels, self._label or "y")
        if isinstance(part.rows, csr_array):
            rows, kept = checked_sparse(part.rows, self.missing, faults, bad_rows)
            return EncodedRows(rows, _kept(part.labels, kept), faults.lines_of(kept))
        words: list[Words] = []
        carried: RecordBatch | None = None
        if isinstance(part.rows, np.ndarray):
            numbers, finite = part.rows, False
            self._pin_width(numbers.shape[1], source)
        else:
            self._pin(self._names(part.rows), part.columns, source)
            if labels is None and self._label is not None and self.columns.labeled:
                labels = self._labels(part.rows, self._label, source, faults)
            numbers, finite = self._numbers(part.rows, source)
            words = self._words(part.rows, source, faults)
            carried = carried_columns(part, self.columns, faults)
        complete = finite or self._complete(numbers, faults)
        kept = faults.kept(len(numbers), bad_rows)
        if kept is not None:
            numbers, labels = numbers[kept], _kept(labels, kept)
            words = [column._replace(levels=column.levels[kept]) for column in words]
            carried = carried if carried is None else carried.take(np.flatnonzero(kept))
        rows = self._rows(self._filled(numbers, complete), words)
        return EncodedRows(rows, labels, faults.lines_of(kept), carried, carried_groups(carried, self.columns))

    def _pin(self, names: list[str], columns: TableColumns | None, source: str) -> None:
        """Find the columns in the first table, as its reader did; ask for the same ones in the others."""
        if names != self._names_before:
            if self._numeric is None:
                self._take_columns(columns or self.columns.found_in(names, source).by_name)
            else:
                self._find_columns(self._numeric, names, source)
            self._names_before = names

    def _take_columns(self, columns: TableColumns) -> None:
        """Take the columns, all of which are named."""
        self._label = None if columns.label is None else str(columns.label)
        self._categorical = list(map(str, columns.categorical))
        others = set(self._categorical)
        self._numeric = [str(name) for name in columns.features or () if name not in others]
        self._means = RunningMeans.empty(len(self._numeric))

    def _find_columns(self, numeric: list[str], names: list[str], source: str) -> None:
        if not self._named:
            raise InputError(f"{source}: is a table, the first source is an array")
        known = {*numeric, *self._categorical}
        replace(self.pinned_columns, kept=(), groups=None).roles_in(names, source)
        more = [name for name in names if name not in {*known, self._label, *self.columns.carried}]
        if more and self.columns.features is None and not self._frozen:
            raise InputError(
                f"{source}: the first source has no column {listed(more)}; "
                f"name the features {LEFT_OUT} to leave it out",
                LEFT_OUT,
            )

    def _pin_width(self, width: int, source: str) -> None:
        """Take the columns of the first array as they come; ask for as many in the others."""
        if self._numeric is None:
            self._numeric, self._means = [str(position) for position in range(width)], RunningMeans.empty(width)
            self._named = False
        elif self._named:
            raise InputError(f"{source}: is an array, the first source is a table")
        elif width != len(self._numeric):
            raise InputError(f"{source}: {width} columns, the first source has {len(self._numeric)}")

    # The values of columns are pyarrow's business, which is imported only where there is a table.

    def _names(self, table: RecordBatch | WideTable) -> list[str]:
        from opauc.data.arrow_columns import column_names

        return column_names(table)

    def _labels(self, batch: RecordBatch | WideTable, name: str, source: str, faults: RowFaults) -> RawLabels:
        from opauc.data.arrow_columns import label_values

        labels, missing = label_values(batch, name, source)
        faults.add(missing, MISSING_LABEL, name)
        return labels

    def _numbers(self, batch: RecordBatch | WideTable, source: str) -> tuple[DenseRows, bool]:
        from opauc.data.arrow_columns import number_matrix

        names = self._numeric or []
        if not names:
            return np.empty((batch.num_rows, 0), np.float32), True
        return number_matrix(batch, names, source)

    def _words(self, batch: RecordBatch | WideTable, source: str, faults: RowFaults) -> list[Words]:
        from opauc.data.arrow_columns import category_words, has_truths

        columns = []
        for name in self._categorical:
            found = category_words(batch, name, source)
            if has_truths(batch, name):
                found = found._replace(words=self._vocabulary.spelled(name, found.words))
            columns.append(found)
            if self.missing == "error":
                faults.add_missing_categories(columns[-1].levels < 0, name)
        return columns

    def _complete(self, numbers: DenseRows, faults: RowFaults) -> bool:
        """Tell whether every number is finite; complain about those that are not and cannot be filled."""
        finite = np.isfinite(numbers)
        if finite.all():
            return True
        bad = ~finite if self.missing == "error" else np.isinf(numbers)
        faults.add_cells(bad, numbers, self._numeric or ())
        return False

    def _filled(self, numbers: DenseRows, complete: bool) -> DenseRows:
        if self.missing == "mean" and not self._frozen:
            self._means = self._means.update(numbers)
        if complete:
            return numbers
        fill = self._means.values() if self.missing == "mean" else np.zeros(1)
        return np.where(np.isnan(numbers), fill.astype(numbers.dtype), numbers)

    def _rows(self, numbers: DenseRows, words: list[Words]) -> Rows:
        if not self._categorical:
            return numbers
        if self.hashing is not None:
            buckets, signs = hashed_categories(words, self._categorical, self.hashing)
            return indicator_rows(numbers, buckets, signs, self.hashing.n_columns)
        found = self._vocabulary.numbers(words, self._categorical, grow=not self._frozen)
        if self._frozen:
            self._unknown = with_unknown(self._unknown, self._categorical, words, found)
        return indicator_rows(numbers, found, found != UNKNOWN, len(self._vocabulary))


def _kept(labels: RawLabels | None, kept: Mask | None) -> RawLabels | None:
    return labels if labels is None or kept is None else labels[kept]
