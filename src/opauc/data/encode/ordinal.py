"""Parts of tables as they come, as rows of numbers with missing values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
from scipy.sparse import csr_array

from opauc.core.batch import Part, RawLabels
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.encode.categories import EXAMPLES
from opauc.data.encode.encoder import EncodedRows, OrdinalState, UnknownCategories
from opauc.data.passthrough import carried_columns, carried_groups
from opauc.data.row_faults import MISSING_LABEL, RowFaults
from opauc.data.schema.column import CATEGORY
from opauc.data.schema.infer import ColumnProfile, TypeOverrides, infer_column_types
from opauc.data.schema.table import TableSchema
from opauc.errors import InputError
from opauc.types import Floats

if TYPE_CHECKING:
    from pyarrow import RecordBatch

# New categories are met in so many rows; whatever turns up later is pooled.
GROWING_ROWS = 2**20


class OrdinalEncoder:
    """Turn parts of tables into rows of numbers: what each column is, is found by looking at the first part.

    Categories are numbered, dates are taken apart, missing values are nan. What
    nothing can be learned from is left out: identifiers, free text, constants.
    Parts that are arrays stay as they are. Infinite values make a bad row.

    Parameters
    ----------
    columns : TableColumns
        The label and the features, and which of them a user calls categorical or numeric.
    numbers : TableSchema, optional
        What the columns are, where that is known already.
    frozen : bool
        Whether nothing new is learned of the columns: categories are counted that are not known.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.encode.ordinal import OrdinalEncoder
    >>> from opauc.data.bad_rows import BadRows
    >>> from opauc.core.batch import Part, Place
    >>> from opauc.data.columns import TableColumns
    >>> batch = pa.record_batch({"size": ["1.5", "NA"], "color": ["red", "blue"], "y": ["no", "yes"]})
    >>> encoder = OrdinalEncoder(TableColumns(raw=True))
    >>> rows, labels, *_ = encoder.encode(Part(batch, None, None, Place(), Place(2, 2)), "a.csv", BadRows())
    >>> rows, labels
    (array([[1.5, 0. ],
           [nan, 1. ]]), array(['no', 'yes'], dtype='<U3'))
    """

    hashing = None

    def __init__(
        self,
        columns: TableColumns | None = None,
        numbers: TableSchema | None = None,
        frozen: bool = False,
        rows_before: int = 0,
    ) -> None:
        self.columns = columns or TableColumns(raw=True)
        self.numbers, self.column_profiles = numbers, list[ColumnProfile]()
        self.unreadable_values: dict[str, int] = {}
        self._label = None if self.columns.label is None else self.columns.label
        self._frozen, self._rows, self._width = frozen, rows_before, 0
        self._unknown: dict[str, UnknownCategories] = {}

    @property
    def pinned_columns(self) -> TableColumns:
        """What a reader of the next source should look for: the columns by name, once they are known."""
        if self.numbers is None:
            return self.columns
        features = tuple(column.name for column in self.numbers.columns)
        return replace(self.columns, label=self._label, features=features, categorical=(), numeric=(), drop=())

    @property
    def category_counts(self) -> Mapping[str, int]:
        """Nothing: categories that are rare share one column, however many there are."""
        return {}

    @property
    def unknown_categories(self) -> Mapping[str, UnknownCategories]:
        """Categories met that the model knows nothing of, by their columns, where nothing new is learned."""
        return self._unknown

    def feature_names(self) -> list[str]:
        """Return the names of the numbers of a row."""
        return list(self.numbers.inputs) if self.numbers is not None else [f"x{j}" for j in range(self._width)]

    def learned(self) -> Callable[[], OrdinalState]:
        """Return a function that gives what was learned up to this call, whatever is learned later."""
        numbers, label = self.numbers, self._label

        def encoding() -> OrdinalState:
            return {
                "label": None if label is None else str(label), "table": None if numbers is None else numbers.to_json()
            }  # fmt: skip

        return encoding

    def encode(self, part: Part, source: str, bad_rows: BadRows) -> EncodedRows:
        """Return the rows and labels of a part; rows that cannot be encoded are met by `bad_rows`."""
        if isinstance(part.rows, csr_array):
            raise InputError(f"{source}: has sparse rows, an additive model takes tables")
        faults = RowFaults(part, source)
        labels, carried = part.labels, None
        if labels is not None:
            faults.add_missing_labels(labels, str(self._label or "y"))
        if isinstance(part.rows, np.ndarray):
            rows = self._array_rows(part.rows, source)
        else:
            batch = cast("RecordBatch", part.rows)
            rows = self._table_rows(batch, part.columns, source)
            if labels is None and self._label is not None and self.columns.labeled:
                labels = _labels(batch, str(self._label), source, faults)
            carried = carried_columns(part, self.columns, faults)
        if (infinite := np.isinf(rows)).any():
            faults.add_cells(infinite, rows, self.feature_names())
        kept = faults.kept(len(rows), bad_rows)
        if kept is not None:
            rows, labels = rows[kept], None if labels is None else labels[kept]
            carried = carried if carried is None else carried.take(np.flatnonzero(kept))
        self._rows += len(rows)
        return EncodedRows(rows, labels, faults.lines_of(kept), carried, carried_groups(carried, self.columns))

    def look(self, batch: RecordBatch, columns: TableColumns | None, source: str) -> None:
        """Find out what the columns of a table are from some of its rows."""
        found = columns or self.columns.found_in(batch.schema.names, source).by_name
        wanted = set(found.features or ())
        names = [name for name in batch.schema.names if name in wanted]
        said = TypeOverrides(frozenset(map(str, found.categorical)), frozenset(map(str, found.numeric)))
        self._label, positive = found.label, None
        if self._label is not None and self.columns.labeled:
            from opauc.data.arrow_columns import label_values

            labels, _ = label_values(batch, str(self._label), source)
            positive = np.asarray(labels == labels[:1])
        self.column_profiles = infer_column_types(batch, names, said, positive)
        self.numbers = TableSchema(tuple(one.column for one in self.column_profiles if one.column is not None))
        if not self.numbers.columns:
            reasons = ", ".join(f"{one.name} ({one.kind})" for one in self.column_profiles)
            raise InputError(f"{source}: no column is left to learn from beside {reasons}")

    def _table_rows(self, batch: RecordBatch, columns: TableColumns | None, source: str) -> Floats:
        if self.numbers is None:
            if self._width:
                raise InputError(f"{source}: is a table, the first source is an array")
            if not batch.num_rows:
                return np.empty((0, 0))
            self.look(batch, columns, source)
        assert self.numbers is not None
        grow = not self._frozen and self._rows < GROWING_ROWS
        if self._label is None and columns is not None:
            self._label = columns.label
        rows, self.numbers, lost = self.numbers.of_batch(batch, grow, source)
        for name, count in lost.items():
            self.unreadable_values[name] = self.unreadable_values.get(name, 0) + count
        if self._frozen:
            self._count_unknown(self.numbers, batch, source)
        return rows

    def _array_rows(self, rows: np.ndarray, source: str) -> Floats:
        if self.numbers is not None:
            if rows.shape[1] != len(self.numbers.columns) or len(self.numbers.inputs) != rows.shape[1]:
                raise InputError(f"{source}: is an array, the first source is a table")
        elif self._width not in (0, rows.shape[1]):
            raise InputError(f"{source}: {rows.shape[1]} columns, the first source has {self._width}")
        self._width = rows.shape[1]
        return np.ascontiguousarray(rows, np.float64)

    def _count_unknown(self, numbers: TableSchema, batch: RecordBatch, source: str) -> None:
        for column in numbers.columns:
            if column.kind != CATEGORY:
                continue
            rows, words = column.unseen_words(batch.column(column.name), source)
            if rows:
                before = self._unknown.get(column.name, UnknownCategories(0, ()))
                shown = tuple(dict.fromkeys((*before.examples, *words)))[:EXAMPLES]
                self._unknown[column.name] = UnknownCategories(before.rows + rows, shown)


def _labels(batch: RecordBatch, name: str, source: str, faults: RowFaults) -> RawLabels:
    from opauc.data.arrow_columns import label_values

    labels, missing = label_values(batch, name, source)
    faults.add(missing, MISSING_LABEL, name)
    return labels


def describe_pooled_categories(unknown: Mapping[str, UnknownCategories]) -> list[str]:
    """Return a sentence for each column with categories that have no level of their own.

    >>> from opauc.data.encode.ordinal import describe_pooled_categories
    >>> from opauc.data.encode.encoder import UnknownCategories
    >>> describe_pooled_categories({"city": UnknownCategories(2, ("Chur",))})
    ['column city: 2 rows have categories that were rare or absent in training (Chur); they count as one category']
    """
    return [
        f"column {name}: {rows:,} row{' has a category' if rows == 1 else 's have categories'} that "
        f"{'was' if rows == 1 else 'were'} rare or absent in training ({_listed(examples)}); they count as one category"
        for name, (rows, examples) in unknown.items()
    ]


def _listed(examples: Sequence[str]) -> str:
    return ", ".join(examples) + (", …" if len(examples) == EXAMPLES else "")
