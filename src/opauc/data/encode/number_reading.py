"""How the rows of an additive model were read: tables as they come become the numbers that it knows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

from opauc.data import BadRows, DataStream, ReadOptions, ResumePosition
from opauc.data.columns import TableColumns
from opauc.data.encode.ordinal import OrdinalEncoder
from opauc.data.schema.table import TableSchema
from opauc.types import Json, Settings

Path: TypeAlias = str | os.PathLike[str]
START = ResumePosition()


@dataclass(frozen=True, eq=False)
class OrdinalReading:
    """The options by which tables were read, the label, and what their columns are; None for those of arrays.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.data.encode.number_reading import OrdinalReading
    >>> from opauc.data import ReadOptions
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,city,label\\n30,Bern,no\\n?,Chur,yes\\n"), file.flush()
    ...     [chunk] = OrdinalReading(ReadOptions()).stream([file.name], labeled=True).chunks()
    >>> chunk.rows, chunk.labels
    (array([[30.,  0.],
           [nan,  1.]]), array(['no', 'yes'], dtype='<U3'))
    """

    options: ReadOptions
    label: str | None = None
    columns: TableSchema | None = None
    positive: object = None

    @classmethod
    def of_json(cls, saved: Settings, columns: TableSchema | None) -> Self:
        """Return what `to_json` gave, of columns that are known."""
        if not saved:
            return cls(ReadOptions(), None, columns)
        encoding = saved.get("encoding") or {}
        return cls(ReadOptions.of_json(saved["options"]), encoding.get("label"), columns, saved.get("positive"))

    def to_json(self) -> Json:
        """Return all there is but the columns as JSON has it."""
        return {"options": self.options.to_json(), "encoding": {"label": self.label}, "positive": self.positive}

    def asked_columns(self, labeled: bool = True, kept: Sequence[str] = ()) -> TableColumns:
        """Return what readers should look for before anything is known of the columns."""
        said = self.options
        return TableColumns(
            said.label if self.label is None else self.label, said.features, said.categorical, labeled,
            drop=said.drop, kept=kept, numeric=said.numeric, raw=True,
        )  # fmt: skip

    def further(self, asked: ReadOptions) -> OrdinalReading:
        """Return how more rows to learn from are read: in the format asked for, with its label where none is known."""
        options = self.options.with_format(asked.format)
        if self.label is None and options.label is None:
            options = replace(options, label=asked.label)
        return replace(self, options=options)

    def encoder(
        self, labeled: bool = True, frozen: bool = False, kept: Sequence[str] = (), rows_before: int = 0
    ) -> OrdinalEncoder:
        """Return what turns parts of tables into numbers, after so many rows."""
        return OrdinalEncoder(self.asked_columns(labeled, kept), self.columns, frozen, rows_before)

    def frozen_encoder(self) -> OrdinalEncoder:
        """Return what turns labeled tables into the numbers known; nothing new is learned of their columns."""
        return self.encoder(frozen=self.columns is not None)

    def stream(
        self,
        data: Sequence[Path],
        format_: str | None = None,
        bad_rows: BadRows | None = None,
        *,
        labeled: bool = False,
        kept: Sequence[str] = (),
    ) -> DataStream:
        """Return the stream of files read as those of the training were; nothing new is learned of their columns."""
        encoder = self.encoder(labeled, self.columns is not None, kept)
        return DataStream(data, self.options.with_format(format_), encoder, bad_rows=bad_rows)
