"""The beginning of CSV text: whether it has a header, the names of its columns, and how to read them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from opauc.data.columns import (
    NAME_LABEL,
    ResolvedColumns,
    TableColumns,
    check_integers,
    check_table_text,
    listed,
    unique_names,
)
from opauc.data.formats.csv.fields import RecordErrors, decode_field, split_record
from opauc.data.formats.csv.records import CsvBlock, CsvRecords
from opauc.data.formats.csv.values import (
    CsvLayout,
    InferredTypes,
    are_booleans,
    infer_label_type,
    infer_text_format,
    parse_columns,
    select_fields,
)
from opauc.data.schema.numbers import (
    BOOLEANS,
    COMMA,
    MIN_INEXACT_DIGITS,
    MISSING_MARKERS,
    POINT,
    NumberFormat,
    merges_integers,
    parse_number,
    warn_of_ambiguous_numbers,
)
from opauc.errors import InputError, Parameter, Part

# Records in which boolean columns are looked for.
BOOLEAN_ROWS = 16
# Records, and fields, in which number formats, repeated headers and further errors are looked for.
SAMPLE_ROWS, SAMPLE_FIELDS = 1000, 100_000
# Missing-value markers that may as well be the name of a column.
POSSIBLE_NAMES = frozenset({"na", "none", "Null"})
NOT_NAMES = frozenset(MISSING_MARKERS) - POSSIBLE_NAMES


class CsvHeader(NamedTuple):
    """The names of the columns, their roles, and whether the first record holds the names."""

    names: list[str]
    columns: ResolvedColumns
    is_header: bool


@dataclass(frozen=True)
class FirstRecords:
    """The first records of a source."""

    source: str
    text: bytes
    records: CsvRecords
    delimiter: str
    decimal: str | None  # None where it is inferred

    @classmethod
    def of(cls, source: str, block: CsvBlock, records: CsvRecords, decimal: str | None) -> FirstRecords:
        """Return the records of the first block."""
        return cls(source, block.text, records, block.delimiter, decimal)

    @property
    def decimals(self) -> tuple[str, ...]:
        """The decimal separators that numbers may have; semicolons between fields leave the comma free for decimals."""
        if self.decimal is not None:
            return (self.decimal,)
        return (COMMA, POINT) if self.delimiter == ";" else (POINT, COMMA)

    def header(self, columns: TableColumns, header: bool | None, report_missing: bool) -> CsvHeader:
        """Resolve the columns; where none is the label, the error lists what else would be wrong."""
        check_table_text(self.text, self.source)
        fields = [decode_field(field) for field in self._fields(0)]
        header = self.has_header(columns) if header is None else header
        columns = self._drop_nameless(self._drop_index(columns, fields), fields) if header else columns
        names = self._names(fields, columns) if header else [str(position) for position in range(len(fields))]
        try:
            return CsvHeader(names, replace(columns, decimals=self.decimals).resolve(names, self.source), header)
        except InputError as error:
            if len(names) == 1 and columns.labeled:
                raise InputError(
                    *error.parts, "; if there are others, name the delimiter (", Parameter("delimiter", ...),
                    ") or take out lines before the header",
                ) from None  # fmt: skip
            if NAME_LABEL not in error.parts:
                raise
            advice = self._further_errors(columns, names, header, report_missing and not columns.raw)
            raise InputError(*error.parts, *advice) from None

    def has_header(self, columns: TableColumns) -> bool:
        """Tell whether the first record names the columns."""
        return self._is_header([decode_field(field) for field in self._fields(0)], columns)

    def layout(self, header: CsvHeader, start: int) -> CsvLayout:
        """Infer from the rows, which begin at the byte `start`, how to read all of them."""
        names, (roles, by_name), _ = header
        decimal = self.decimal or POINT
        plain = CsvLayout.of(self.source, names, header.columns, self.delimiter, decimal)
        rows = np.flatnonzero((self.records.fields == len(names)) & (self.records.edges[:-1] >= start))
        label_type = InferredTypes().label
        if roles.label is not None and rows.size:
            [labels] = select_fields(plain, self.text, self.records, rows, [roles.label])
            label_type = infer_label_type(labels, decimal)
        booleans, formats = frozenset[int](), dict[int, NumberFormat]()
        if rows.size and not by_name.raw:
            sample = rows[: min(SAMPLE_ROWS, max(BOOLEAN_ROWS, SAMPLE_FIELDS // len(names)))]
            texts = select_fields(plain, self.text, self.records, sample, sorted(roles.numeric))
            columns = dict(zip(sorted(roles.numeric), texts, strict=True))
            if not plain.matrix:
                booleans = frozenset(at for at, column in columns.items() if are_booleans(column[:BOOLEAN_ROWS]))
            merged = [at for at, column in columns.items() if merges_integers(_long_fields(column))]
            check_integers([names[at] for at in merged], self.source)
            inferred = {
                at: infer_text_format(column, self.decimals) for at, column in columns.items() if at not in booleans
            }
            formats = {at: number_format for at, number_format in inferred.items() if number_format is not None}
            warn_of_ambiguous_numbers({names[at]: one for at, one in formats.items()}, self.source)
        types = InferredTypes(label_type, booleans, {at: one.name for at, one in formats.items()})
        return CsvLayout.of(self.source, names, header.columns, self.delimiter, decimal, types)

    def _fields(self, record: int) -> list[bytes]:
        return split_record(self.records.text_of(self.text, record), self.delimiter)

    def _is_header(self, fields: Sequence[str], columns: TableColumns) -> bool:
        """Tell whether the first record names the columns: it has strings, those requested or not found below."""
        # A first column without a name may count the rows; one after the names comes from a comma at the line's end.
        named = [at for at, name in enumerate(fields) if name.strip()]
        names = [at for at in named if self._can_be_name(fields[at])]
        if not names:
            return False
        if requested := columns.names_requested():
            if requested <= set(unique_names(fields)):
                return True
            if requested <= {str(position) for position in range(len(fields))}:
                return False
        repeated = self._repeated_below(fields, names)
        if len(names) == len(named):
            if len(repeated) < len(named) or (columns.labeled and columns.label is None):
                return True
            if len({fields[at] for at in names}) < len(names):  # names would differ
                return False
        elif repeated:
            return False
        why = "all strings of the first line recur below" if repeated else "the first line has strings and numbers"
        raise InputError(
            f"{self.source}: {why}; say whether it is a header (",
            Parameter("header", True), " or ", Parameter("header", False), ")",
        )  # fmt: skip

    def _can_be_name(self, field: str) -> bool:
        """Tell whether a field is neither a number nor a missing value."""
        is_number = not np.isnan(parse_number(field, COMMA)) and field.strip().lower() not in BOOLEANS
        return not is_number and field.strip() not in NOT_NAMES

    def _repeated_below(self, fields: Sequence[str], positions: Sequence[int]) -> set[int]:
        """Return the positions at which a later record has the same field as the first."""
        last = min(self.records.size, SAMPLE_ROWS, 2 + SAMPLE_FIELDS // len(fields))
        rows = [self._fields(at) for at in range(1, last)]
        return {at for at in positions if any(at < len(row) and decode_field(row[at]) == fields[at] for row in rows)}

    def _drop_index(self, columns: TableColumns, fields: Sequence[str]) -> TableColumns:
        """Drop, with a warning, a first column without a name and without repeated values, as pandas and R write it."""
        if fields[0].strip() or columns.features is not None or 0 in columns.drop or len(fields) < 2:
            return columns
        firsts = [self._fields(at)[0] for at in range(1, self.records.size)]
        if len(set(firsts)) < len(firsts):
            return columns
        warnings.warn(f"{self.source}: the first column has no name and no value twice; it is left out", stacklevel=2)
        return replace(columns, drop=(*columns.drop, 0))

    def _drop_nameless(self, columns: TableColumns, fields: Sequence[str]) -> TableColumns:
        """Drop columns without a name and without values, as a comma at the end of each line makes one."""
        nameless = {at for at, name in enumerate(fields) if not name.strip() and at not in columns.drop}
        if not nameless or columns.features is not None:
            return columns
        for record in range(1, self.records.size):
            row = self._fields(record)
            nameless -= {at for at in nameless if at < len(row) and row[at].strip()}
        return replace(columns, drop=(*columns.drop, *sorted(nameless)))

    def _names(self, fields: Sequence[str], columns: TableColumns) -> list[str]:
        """Return a unique name for each column; warn about the names that had to be made up."""
        names = unique_names(fields)
        used = [at for at in range(len(names)) if at not in columns.drop]
        new = [names[at] for at in used if names[at] != fields[at].strip()]
        if new and columns.features is None:
            warnings.warn(f"{self.source}: columns without a name of their own are called {listed(new)}", stacklevel=2)
        return names

    def _further_errors(
        self, columns: TableColumns, names: list[str], header: bool, report_missing: bool
    ) -> tuple[Part, ...]:
        """Return what is wrong with the columns of the first rows, whichever the label is."""
        try:
            resolved = replace(columns, labeled=False, passthrough=(), groups=None).resolve(names, self.source)
        except InputError:
            return ()
        layout = CsvLayout.of(self.source, names, resolved, self.delimiter, self.decimal or POINT)
        sample = self.records.between(int(header), SAMPLE_ROWS)
        errors = RecordErrors(self.source, sample.fields, names, sample.lines, report_missing)
        parse_columns(layout, self.text, sample, errors)
        return errors.advice()


def _long_fields(column: pa.BinaryArray) -> list[str]:
    """Return the fields that have enough bytes for an integer that is not exact in float64."""
    is_long = pc.greater_equal(pc.binary_length(column), MIN_INEXACT_DIGITS)
    return [decode_field(field) for field in column.filter(is_long).to_pylist()]
