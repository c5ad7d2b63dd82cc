"""How the rows of an additive model are read: options, label and schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypedDict

from opauc.core.json_schema import json_as
from opauc.core.labels import ClassLabels
from opauc.core.model import MergedReading, RowReading, different_bases
from opauc.data import BadRows, DataStream, ReadOptions, ResumePosition
from opauc.data.columns import TableColumns
from opauc.data.encode.encoder import UnknownCategories
from opauc.data.encode.ordinal import OrdinalEncoder, describe_pooled_categories
from opauc.data.schema.table import TableSchema
from opauc.data.table_source import Source
from opauc.errors import IncompatibleMomentsError
from opauc.types import Json, Settings

START = ResumePosition()


class SavedOrdinalReading(TypedDict):
    """The reading in the header of a file."""

    options: Json
    label: str | None
    columns: Json | None
    positive: str | int | float | None


@dataclass(frozen=True, eq=False)
class OrdinalReading:
    """The options by which tables were read, the label, and the schema, which is None for arrays.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.data.encode.number_reading import OrdinalReading
    >>> from opauc.data import ReadOptions
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,city,label\\n30,Bern,no\\n?,Chur,yes\\n"), file.flush()
    ...     [batch] = OrdinalReading(ReadOptions()).stream([file.name], labeled=True).batches()
    >>> batch.rows, batch.labels
    (array([[30.,  0.],
           [nan,  1.]]), array(['no', 'yes'], dtype='<U3'))
    """

    kind: ClassVar[str] = "ordinal"

    options: ReadOptions
    label: str | None = None
    columns: TableSchema | None = None
    positive: object = None

    @classmethod
    def from_json(cls, saved: Settings) -> Self:
        """Return what `to_json` gave; raise ValueError unless it can have."""
        checked = json_as(SavedOrdinalReading, saved, "reading")
        columns = None if checked["columns"] is None else TableSchema.of_json(checked["columns"])
        return cls(ReadOptions.of_json(checked["options"]), checked["label"], columns, checked["positive"])

    def to_json(self) -> Json:
        """Return all of it as JSON."""
        columns = None if self.columns is None else self.columns.to_json()
        return {
            "options": self.options.to_json(), "label": self.label, "columns": columns, "positive": self.positive
        }  # fmt: skip

    def feature_names(self) -> list[str] | None:
        """Return the names of the columns that are used, None of arrays."""
        return None if self.columns is None else [column.name for column in self.columns.columns]

    @property
    def input_names(self) -> tuple[str, ...] | None:
        """Names of the numbers that a row becomes, None of arrays."""
        return None if self.columns is None else self.columns.inputs

    @property
    def schema(self) -> TableSchema | None:
        """The schema of tables, None of arrays."""
        return self.columns

    @property
    def encoding(self) -> None:
        """None: categories stay numbers."""

    def column_kinds(self) -> dict[str, str] | None:
        """Return the kind of each column by its name, None of arrays."""
        return None if self.columns is None else {column.name: column.kind for column in self.columns.columns}

    def category_names(self) -> Sequence[Mapping[int, str]] | None:
        """Return the category that each number of an input stands for, None of arrays."""
        return None if self.columns is None else self.columns.category_names()

    def with_label(self, label: str) -> Self:
        """Return the reading of tables whose label has this name."""
        return replace(self, label=label)

    def training_stream(
        self,
        paths: Sequence[Source],
        position: ResumePosition,
        bad_rows: BadRows | None = None,
        passthrough: Sequence[str] = (),
    ) -> DataStream:
        """Return the stream of files to train on, from a position on."""
        encoder = self.at(position).encoder(passthrough=passthrough, rows_before=position.rows)
        return DataStream(paths, self.options, encoder, position, bad_rows)

    def training_encoder(self, passthrough: Sequence[str] = ()) -> OrdinalEncoder:
        """Return the encoder of rows to train on."""
        return self.encoder(passthrough=passthrough)

    def at(self, position: ResumePosition, labels: ClassLabels | None = None) -> OrdinalReading:
        """Return the reading with what the encoder knew at a position of the stream."""
        state = position.ordinal_state()
        positive = self.positive if labels is None else labels.positive
        if state is None:
            return replace(self, positive=positive)
        columns = self.columns if state.get("table") is None else TableSchema.of_json(state["table"])
        label = self.label if state["label"] is None else state["label"]
        return replace(self, label=label, columns=columns, positive=positive)

    def describe_unknown(self, unknown: Mapping[str, UnknownCategories]) -> list[str]:
        """Return a sentence for each column with categories that have no level of their own."""
        return describe_pooled_categories(unknown)

    def merge(self, other: RowReading, n_features: int) -> MergedReading:  # noqa: ARG002
        """Return how the rows of both are read: their categories must have the same numbers."""
        assert isinstance(other, OrdinalReading), "the fits of both are additive"
        if self.positive != other.positive:
            raise IncompatibleMomentsError("the models were trained with different positive labels")
        mine, theirs = (
            None if reading.columns is None else reading.columns.to_json()["columns"] for reading in (self, other)
        )
        if mine != theirs:
            raise different_bases()
        return MergedReading(self, None)

    def requested_columns(
        self, labeled: bool = True, passthrough: Sequence[str] = (), grouped: bool = True
    ) -> TableColumns:
        """Return the columns that the options request, with that of the groups if `grouped`."""
        options = self.options
        return TableColumns(
            options.label if self.label is None else self.label, options.features, options.categorical, labeled,
            drop=options.drop, passthrough=passthrough, groups=options.groups if grouped else None,
            numeric=options.numeric, raw=True, decimals=options.decimals,
        )  # fmt: skip

    def further(self, given: ReadOptions) -> OrdinalReading:
        """Return the reading of more training rows: in the format of `given`, with its label if there is none."""
        options = self.options.with_format(given.format)
        if self.label is None and options.label is None:
            options = replace(options, label=given.label)
        return replace(self, options=options)

    def encoder(
        self,
        labeled: bool = True,
        frozen: bool = False,
        passthrough: Sequence[str] = (),
        rows_before: int = 0,
        grouped: bool = True,
    ) -> OrdinalEncoder:
        """Return the encoder of tables, after `rows_before` rows; groups are read if `grouped`."""
        return OrdinalEncoder(self.requested_columns(labeled, passthrough, grouped), self.columns, frozen, rows_before)

    def frozen_encoder(self, passthrough: Sequence[str] = ()) -> OrdinalEncoder:
        """Return the encoder of labeled tables with the schema fixed."""
        return self.encoder(frozen=self.columns is not None, passthrough=passthrough)

    def stream(
        self,
        data: Sequence[Source],
        format_: str | None = None,
        bad_rows: BadRows | None = None,
        *,
        labeled: bool = False,
        passthrough: Sequence[str] = (),
        grouped: bool = False,
    ) -> DataStream:
        """Return the stream of files, read as those of the training were; the schema is fixed.

        With `grouped` the groups of the rows are read too, if those of the training had any.
        """
        encoder = self.encoder(labeled, self.columns is not None, passthrough, grouped=grouped)
        return DataStream(data, self.options.with_format(format_), encoder, bad_rows=bad_rows)
