"""How the rows of an additive model are read: options, label and schema."""

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
    """The options by which tables were read, the label, and the schema, which is None for arrays.

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
        """Return the reading that `to_json` wrote, with its schema."""
        if not saved:
            return cls(ReadOptions(), None, columns)
        encoding = saved.get("encoding") or {}
        return cls(ReadOptions.of_json(saved["options"]), encoding.get("label"), columns, saved.get("positive"))

    def to_json(self) -> Json:
        """Return everything but the schema as JSON."""
        return {"options": self.options.to_json(), "encoding": {"label": self.label}, "positive": self.positive}

    def requested_columns(self, labeled: bool = True, passthrough: Sequence[str] = ()) -> TableColumns:
        """Return the columns that the options request."""
        options = self.options
        return TableColumns(
            options.label if self.label is None else self.label, options.features, options.categorical, labeled,
            drop=options.drop, passthrough=passthrough, numeric=options.numeric, raw=True,
        )  # fmt: skip

    def further(self, given: ReadOptions) -> OrdinalReading:
        """Return the reading of more training rows: in the format of `given`, with its label if there is none."""
        options = self.options.with_format(given.format)
        if self.label is None and options.label is None:
            options = replace(options, label=given.label)
        return replace(self, options=options)

    def encoder(
        self, labeled: bool = True, frozen: bool = False, passthrough: Sequence[str] = (), rows_before: int = 0
    ) -> OrdinalEncoder:
        """Return the encoder of tables, after `rows_before` rows."""
        return OrdinalEncoder(self.requested_columns(labeled, passthrough), self.columns, frozen, rows_before)

    def frozen_encoder(self) -> OrdinalEncoder:
        """Return the encoder of labeled tables with the schema fixed."""
        return self.encoder(frozen=self.columns is not None)

    def stream(
        self,
        data: Sequence[Path],
        format_: str | None = None,
        bad_rows: BadRows | None = None,
        *,
        labeled: bool = False,
        passthrough: Sequence[str] = (),
    ) -> DataStream:
        """Return the stream of files, read as those of the training were; the schema is fixed."""
        encoder = self.encoder(labeled, self.columns is not None, passthrough)
        return DataStream(data, self.options.with_format(format_), encoder, bad_rows=bad_rows)
