"""Batches of a table as rows of numbers and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from opauc.errors import InputError
from opauc.reading.bad_rows import BadRows
from opauc.reading.category_features import (
    UNKNOWN,
    Vocabulary,
    category_name,
    hashed_categories,
    indicator_rows,
)
from opauc.reading.column_values import Words, can_be_words, label_values, number_matrix, words_of
from opauc.reading.hashed_features import HashedFeatures
from opauc.reading.labelled_chunk import Part
from opauc.reading.missing_values import POLICIES, RunningMeans
from opauc.reading.row_faults import Mask, RowFaults
from opauc.reading.sparse_rows import checked_sparse
from opauc.reading.table_columns import TableColumns, listed

MISSING_LABEL = "the label is missing"
MISSING_CATEGORY = "the category is missing; a row can go without one (--missing zero or mean)"


class EncodedRows(NamedTuple):
    """Finite rows, an array or a canonical CSR array, the label of each as it stands in the source, and its line."""

    rows: Any
    labels: NDArray[Any] | None
    lines: NDArray[np.int64] | None  # None where they follow the place before the part


class EncoderMark(NamedTuple):
    """How far an encoder had come: enough to say later what its state was."""

    n_categories: int
    means: RunningMeans


class TableEncoder:
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
    >>> from opauc.reading.bad_rows import BadRows
    >>> from opauc.reading.labelled_chunk import Part, Place
    >>> from opauc.reading.table_columns import TableColumns
    >>> from opauc.reading.table_encoder import TableEncoder
    >>> batch = pa.record_batch({"size": [1.5, None], "colour": ["red", "blue"], "y": ["no", "yes"]})
    >>> encoder = TableEncoder(TableColumns(categorical=["colour"]), missing="mean")
    >>> rows, labels, _ = encoder.encode(Part(batch, None, None, Place(), Place(2, 2)), "a.parquet", BadRows())
    >>> rows.toarray(), labels, encoder.feature_names()
    (array([[1.5, 1. , 0. ],
           [1.5, 0. , 1. ]]), array(['no', 'yes'], dtype='<U3'), ['size', 'colour=red', 'colour=blue'])
    """

    def __init__(
        self, columns: TableColumns | None = None, hashing: HashedFeatures | None = None, missing: str = "error"
    ) -> None:
        if missing not in POLICIES:
            raise ValueError(f"missing must be one of {', '.join(POLICIES)}, got {missing!r}")
        self.columns = columns or TableColumns()
        self.hashing, self.missing = hashing, missing
        self._label: str | None = None
        self._named = True
        self._numeric: list[str] | None = None
        self._categorical: list[str] = []
        self._vocabulary, self._means, self._frozen = Vocabulary(), RunningMeans.empty(0), False

    @property
    def pinned_columns(self) -> TableColumns:
        """The columns by the names found in the first part: what a reader of the next source should look for."""
        if self._numeric is None:
            return self.columns
        if not self._named:
            return replace(self.columns, n_features=len(self._numeric))
        return TableColumns(self._label, (*self._numeric, *self._categorical), self._categorical, self.columns.labelled)

    @property
    def n_features(self) -> int:
        """How many features rows have by now."""
        categories = len(self._vocabulary) if self.hashing is None else self.hashing.n_columns
        return len(self._numeric or ()) + (categories if self._categorical else 0)

    def feature_names(self) -> list[str]:
        """Return the names of the features; hashed ones are called by their number."""
        numbers = list(self._numeric or ())
        if self.hashing is not None and self._categorical:
            return numbers + [f"hash {bucket}" for bucket in range(self.hashing.n_columns)]
        return numbers + [category_name(pair) for pair in self._vocabulary.pairs()]

    def mark(self) -> EncoderMark:
        """Note how far the encoder is, at no cost: what it learns is only ever added to."""
        return EncoderMark(len(self._vocabulary), self._means)

    def state(self, mark: EncoderMark | None = None) -> dict[str, Any]:
        """Return what the encoder learnt from the parts, up to `mark`, as JSON has it."""
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

    def with_state(self, state: Mapping[str, Any], frozen: bool) -> TableEncoder:
        """Return an encoder that goes on from `state`; frozen, it learns nothing and new categories set no feature."""
        after = TableEncoder(self.columns, self.hashing, self.missing)
        after._named, after._label, after._frozen = state["named"], state["label"], frozen
        after._numeric = None if state["numeric"] is None else list(state["numeric"])
        after._categorical = list(state["categorical"])
        after._vocabulary = Vocabulary((column, word) for column, word in state["categories"])
        after._means = RunningMeans(np.array(state["sums"], float), np.array(state["counts"], float))
        return after

    def encode(self, part: Part, source: str, bad_rows: BadRows) -> EncodedRows:
        """Return the rows and labels of a part; rows that cannot be encoded are met by `bad_rows`."""
        faults = RowFaults(part, source)
        labels = part.labels
        if labels is not None:
            faults.add(_missing_labels(labels), MISSING_LABEL, self._label or "y")
        if sparse.issparse(part.rows):
            rows, kept = checked_sparse(part.rows, self.missing, faults, bad_rows)
            return EncodedRows(rows, _kept(part.labels, kept), faults.lines_of(kept))
        words: list[Words] = []
        if isinstance(part.rows, pa.RecordBatch):
            self._pin(part.rows.schema.names, source)
            if labels is None and self._label is not None and self.columns.labelled:
                labels, missing = label_values(part.rows.column(self._label), self._label, source)
                faults.add(missing, MISSING_LABEL, self._label)
            numbers, finite = self._numbers(part.rows, source)
            words = self._words(part.rows, source, faults)
        else:
            numbers, finite = part.rows, False
            self._pin_width(numbers.shape[1], source)
        complete = finite or self._complete(numbers, faults)
        kept = faults.kept(len(numbers), bad_rows)
        if kept is not None:
            numbers, labels = numbers[kept], _kept(labels, kept)
            words = [Words(column.words, column.codes[kept]) for column in words]
        return EncodedRows(self._rows(self._filled(numbers, complete), words), labels, faults.lines_of(kept))

    def _pin(self, names: list[str], source: str) -> None:
        """Find the columns in the first table; ask for the same ones in the others."""
        if self._numeric is None:
            roles = self.columns.roles_in(names, source)
            self._label = None if roles.label is None else names[roles.label]
            self._numeric = [names[position] for position in roles.numeric]
            self._categorical = [names[position] for position in roles.categorical]
            self._means = RunningMeans.empty(len(self._numeric))
            return
        if not self._named:
            raise InputError(f"{source}: is a table, the first source is an array")
        known = {*self._numeric, *self._categorical}
        self.pinned_columns.roles_in(names, source)
        more = [name for name in names if name not in known and name != self._label]
        if more and self.columns.features is None and not self._frozen:
            raise InputError(
                f"{source}: the first source has no column {listed(more)}; "
                "name the features (--features) to leave it out"
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

    def _numbers(self, batch: pa.RecordBatch, source: str) -> tuple[NDArray[np.floating], bool]:
        names = self._numeric or []
        if not names:
            return np.empty((batch.num_rows, 0), np.float32), True
        return number_matrix([batch.column(name) for name in names], names, source)

    def _words(self, batch: pa.RecordBatch, source: str, faults: RowFaults) -> list[Words]:
        columns = []
        for name in self._categorical:
            if not can_be_words(batch.column(name).type):
                raise InputError(f"{source}: column {name} holds {batch.column(name).type}, which cannot be categories")
            columns.append(words_of(batch.column(name)))
            if self.missing == "error":
                faults.add(columns[-1].codes < 0, MISSING_CATEGORY, name)
        return columns

    def _complete(self, numbers: NDArray[np.floating], faults: RowFaults) -> bool:
        """Tell whether every number is finite; complain about those that are not and cannot be filled."""
        finite = np.isfinite(numbers)
        if finite.all():
            return True
        bad = ~finite if self.missing == "error" else np.isinf(numbers)
        faults.add_cells(bad, numbers, self._numeric or ())
        return False

    def _filled(self, numbers: NDArray[np.floating], complete: bool) -> NDArray[np.floating]:
        if self.missing == "mean" and not self._frozen:
            self._means = self._means.update(numbers)
        if complete:
            return numbers
        fill = self._means.values() if self.missing == "mean" else np.zeros(1)
        return np.where(np.isnan(numbers), fill.astype(numbers.dtype), numbers)

    def _rows(self, numbers: NDArray[np.floating], words: list[Words]) -> Any:
        if not self._categorical:
            return numbers
        if self.hashing is not None:
            buckets, signs = hashed_categories(words, self._categorical, self.hashing)
            return indicator_rows(numbers, buckets, signs, self.hashing.n_columns)
        found = self._vocabulary.numbers(words, self._categorical, grow=not self._frozen)
        return indicator_rows(numbers, found, found != UNKNOWN, len(self._vocabulary))


def _missing_labels(labels: NDArray[Any]) -> Mask:
    """Tell which labels say nothing: nan among numbers, the empty word among words."""
    if labels.dtype.kind == "f":
        missing: Mask = np.isnan(labels)
        return missing
    return labels == "" if labels.dtype.kind == "U" else np.zeros(labels.size, dtype=bool)


def _kept(labels: NDArray[Any] | None, kept: Mask | None) -> NDArray[Any] | None:
    return labels if labels is None or kept is None else labels[kept]
