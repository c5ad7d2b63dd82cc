"""The ordinal encoder: tables as rows of numbers with missing values, for additive models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
from scipy.sparse import csr_array

from opauc.core.batch import RawBatch, RawLabels
from opauc.data.bad_rows import BadRows, RowErrors, missing_labels
from opauc.data.columns import TableColumns, listed
from opauc.data.encode.categories import EXAMPLES
from opauc.data.encode.encoder import EncodedRows, OrdinalState, UnknownCategories
from opauc.data.passthrough import passthrough_columns, passthrough_groups
from opauc.data.schema.column import CATEGORY
from opauc.data.schema.infer import ColumnProfile, TypeOverrides, all_dropped, infer_column_types, rows_of_one_class
from opauc.data.schema.policy import DEFAULT_POLICY, SchemaPolicy
from opauc.data.schema.table import TableSchema
from opauc.errors import InputError
from opauc.types import Floats

if TYPE_CHECKING:
    from pyarrow import RecordBatch


class OrdinalEncoder:
    """Turn raw batches into rows of numbers; the schema is inferred from the first batch.

    Categories become codes, dates become their parts, missing values nan.
    Identifiers, free text and constants are dropped. Arrays stay unchanged.
    Infinite values make a bad row.

    Parameters
    ----------
    columns : TableColumns
        The label and the features, and which of them a user declares categorical or numeric.
    schema : TableSchema, optional
        The schema, if it is given already.
    frozen : bool
        Whether the schema is fixed; rows with unknown categories are then counted.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.encode.ordinal import OrdinalEncoder
    >>> from opauc.data.bad_rows import BadRows
    >>> from opauc.core.batch import RawBatch, Position
    >>> from opauc.data.columns import TableColumns
    >>> batch = pa.record_batch({"size": ["1.5", "NA"], "color": ["red", "blue"], "y": ["no", "yes"]})
    >>> encoder = OrdinalEncoder(TableColumns(raw=True))
    >>> rows, labels, *_ = encoder.encode(RawBatch(batch, None, None, Position(), Position(2, 2)), "a.csv", BadRows())
    >>> rows, labels
    (array([[1.5, 0. ],
           [nan, 1. ]]), array(['no', 'yes'], dtype='<U3'))
    """

    hashing = None

    def __init__(
        self,
        columns: TableColumns | None = None,
        schema: TableSchema | None = None,
        frozen: bool = False,
        rows_before: int = 0,
        policy: SchemaPolicy = DEFAULT_POLICY,
    ) -> None:
        self.policy = policy
        self.columns: TableColumns = columns or TableColumns(raw=True)
        self.schema: TableSchema | None = schema
        self.column_profiles: list[ColumnProfile] = []
        self.unreadable_values: dict[str, int] = {}
        self._label = None if self.columns.label is None else self.columns.label
        self._frozen, self._rows, self._width = frozen, rows_before, 0
        self._unknown: dict[str, UnknownCategories] = {}

    @property
    def pinned_columns(self) -> TableColumns:
        """The columns to read from the next source: by name, once there is a schema."""
        if self.schema is None:
            return self.columns
        features = tuple(column.name for column in self.schema.columns)
        return replace(self.columns, label=self._label, features=features, categorical=(), numeric=(), drop=())

    @property
    def category_counts(self) -> Mapping[str, int]:
        """Empty: rare categories share one column, however many there are."""
        return {}

    @property
    def unknown_categories(self) -> Mapping[str, UnknownCategories]:
        """Categories that the model was not trained on, by column, where the encoder is frozen."""
        return self._unknown

    def check_takes_features(self, what: str) -> None:
        """Raise: an additive model takes the columns of a table."""
        names = "" if self.schema is None else f" with columns {listed([one.name for one in self.schema.columns])}"
        raise InputError(f"{what}, an additive model takes tables{names}")

    def feature_names(self) -> list[str]:
        """Return the names of the encoded columns."""
        return list(self.schema.inputs) if self.schema is not None else [f"x{j}" for j in range(self._width)]

    def learned(self) -> Callable[[], OrdinalState]:
        """Return a function that returns the state as of this call, whatever is encoded later."""
        schema, label = self.schema, self._label

        def encoding() -> OrdinalState:
            return {
                "label": None if label is None else str(label), "table": None if schema is None else schema.to_json()
            }  # fmt: skip

        return encoding

    def encode(self, raw: RawBatch, source: str, bad_rows: BadRows) -> EncodedRows:
        """Return the rows and labels of a batch; rows that cannot be encoded go to `bad_rows`."""
        if isinstance(raw.rows, csr_array):
            self.check_takes_features(f"{source}: has sparse rows")
        errors = RowErrors(raw, source)
        labels, passthrough = raw.labels, None
        if labels is not None:
            errors.add_missing_labels(missing_labels(labels), str(self._label or "y"))
        if isinstance(raw.rows, np.ndarray):
            rows = self._array_rows(raw.rows, source)
        else:
            batch = cast("RecordBatch", raw.rows)
            rows = self._table_rows(batch, raw.columns, source, raw.typed)
            if labels is None and self._label is not None and self.columns.labeled and batch.num_rows:
                labels = _labels(batch, str(self._label), source, errors)
            passthrough = passthrough_columns(raw, self.columns, errors)
        if (infinite := np.isinf(rows)).any():
            errors.add_cells(infinite, rows, self.feature_names())
        good = errors.handle(len(rows), bad_rows)
        if good is not None:
            rows, labels = rows[good], None if labels is None else labels[good]
            passthrough = passthrough if passthrough is None else passthrough.take(np.flatnonzero(good))
        self._rows += len(rows)
        groups = passthrough_groups(passthrough, self.columns)
        return EncodedRows(rows, labels, errors.lines_of(good), passthrough, groups)

    def infer_schema(self, batch: RecordBatch, columns: TableColumns | None, source: str, typed: bool = False) -> None:
        """Infer the schema of a table from some of its rows; `typed` says that its strings are declared strings."""
        columns = columns or self.columns.resolve(batch.schema.names, source).by_name
        features = set(columns.features or ())
        names = [name for name in batch.schema.names if name in features]
        categorical, numeric = frozenset(map(str, columns.categorical)), frozenset(map(str, columns.numeric))
        overrides = TypeOverrides(categorical, numeric, columns.decimals, typed)
        self._label, positive = columns.label, None
        if self._label is not None and self.columns.labeled:
            from opauc.data.arrow_columns import label_values

            labels, missing = label_values(batch, str(self._label), source)
            if missing.any() and not missing.all():
                batch, labels = batch.take(np.flatnonzero(~missing)), labels[~missing]
            positive = rows_of_one_class(labels)
        self.column_profiles = infer_column_types(batch, names, overrides, positive, self.policy, source)
        self.schema = TableSchema(tuple(one.column for one in self.column_profiles if one.column is not None))
        if not self.schema.columns:
            raise all_dropped(self.column_profiles, source)

    def _table_rows(self, batch: RecordBatch, columns: TableColumns | None, source: str, typed: bool) -> Floats:
        if self.schema is None:
            if self._width:
                raise InputError(f"{source}: is a table, the first source is an array")
            if not batch.num_rows:
                return np.empty((0, 0))
            self.infer_schema(batch, columns, source, typed)
        assert self.schema is not None
        grow = not self._frozen and self._rows < self.policy.growing_rows
        if self._label is None and columns is not None:
            self._label = columns.label
        rows, self.schema, unreadable = self.schema.encode_batch(batch, grow, source, self.policy)
        for name, count in unreadable.items():
            self.unreadable_values[name] = self.unreadable_values.get(name, 0) + count
        if self._frozen:
            self._count_unknown(self.schema, batch, source)
        return rows

    def _array_rows(self, rows: np.ndarray, source: str) -> Floats:
        if self.schema is not None:
            if rows.shape[1] != len(self.schema.columns) or len(self.schema.inputs) != rows.shape[1]:
                raise InputError(f"{source}: is an array, the first source is a table")
        elif self._width not in (0, rows.shape[1]):
            raise InputError(f"{source}: {rows.shape[1]} columns, the first source has {self._width}")
        self._width = rows.shape[1]
        return np.ascontiguousarray(rows, np.float64)

    def _count_unknown(self, schema: TableSchema, batch: RecordBatch, source: str) -> None:
        for column in schema.columns:
            if column.kind != CATEGORY:
                continue
            rows, categories = column.unseen_categories(batch.column(column.name), source)
            if rows:
                before = self._unknown.get(column.name, UnknownCategories(0, ()))
                shown = tuple(dict.fromkeys((*before.examples, *categories)))[:EXAMPLES]
                self._unknown[column.name] = UnknownCategories(before.rows + rows, shown)


def _labels(batch: RecordBatch, name: str, source: str, errors: RowErrors) -> RawLabels:
    from opauc.data.arrow_columns import label_values

    labels, missing = label_values(batch, name, source)
    errors.add_missing_labels(missing, name)
    return labels


def describe_pooled_categories(unknown: Mapping[str, UnknownCategories]) -> list[str]:
    """Return a sentence for each column with categories that are pooled.

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
