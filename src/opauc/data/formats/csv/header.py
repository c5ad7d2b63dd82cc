"""What the beginning of comma-separated text tells: names, columns, and how all of it is to be read."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from opauc.data.columns import FoundColumns, TableColumns, listed, own_names, refuse_others
from opauc.data.formats.csv.faults import RecordFaults
from opauc.data.formats.csv.fields import MISSING_BYTES, MISSING_WORDS, TRUTHS, fields_of, number_of, words_of
from opauc.data.formats.csv.records import CsvRecords, Stretch
from opauc.data.formats.csv.values import CsvForm, Inferred, Spelling, careful_columns, label_type, texts_of
from opauc.errors import TRUE_OR_FALSE, Hint, InputError

# Records in which columns of True and False are looked for; and those, of not many more fields, in which what the first
# one says is, or, of a table without a label, what else is at fault.
LOOKED_AT, SURVEYED, SURVEYED_FIELDS = 16, 1000, 100_000


class Opening(NamedTuple):
    """What the first record tells: the names of the columns, what they are, and whether it is a header."""

    names: list[str]
    columns: FoundColumns
    header: bool


@dataclass(frozen=True)
class Beginning:
    """The first records of a source."""

    source: str
    text: bytes
    records: CsvRecords
    spelling: Spelling
    line: int  # of the first of them

    @classmethod
    def of(cls, source: str, first: Stretch, records: CsvRecords, decimal: str, lines_before: int) -> Beginning:
        """Return the first records, those of `first`."""
        line = lines_before + int(records.lines[0]) + 1
        return cls(source, first.text, records, Spelling(first.delimiter, decimal), line)

    def opening(self, columns: TableColumns, header: bool | None, missing_too: bool) -> Opening:
        """Find the columns by what is said of them; where none is the label, say what else would be refused."""
        refuse_others(self.text, self.source)
        fields = [words_of(text) for text in fields_of(self.records.text_of(self.text, 0), self.spelling.delimiter)]
        header = self.has_header(columns) if header is None else header
        columns = self._without_nameless(self._without_index(columns, fields), fields) if header else columns
        names = self._names(fields, columns) if header else [str(position) for position in range(len(fields))]
        try:
            return Opening(names, columns.found_in(names, self.source), header)
        except InputError as error:
            if len(names) == 1 and columns.labeled:
                hint = Hint("delimiter")
                raise InputError(
                    f"{error}; if there are others, name the delimiter {hint} or take out lines before the header",
                    *error.hints, hint,
                ) from None  # fmt: skip
            if Hint("label") not in error.hints:
                raise
            advice, hints = self._survey(columns, names, header, missing_too and not columns.raw)
            raise InputError(f"{error}{advice}", *error.hints, *hints) from None

    def has_header(self, columns: TableColumns) -> bool:
        """Tell whether the first record names the columns."""
        fields = [words_of(text) for text in fields_of(self.records.text_of(self.text, 0), self.spelling.delimiter)]
        return self._is_header(fields, columns)

    def form(self, opening: Opening, start: int) -> CsvForm:
        """Infer from the rows, which begin at the byte `start`, how to read all of them."""
        names, (roles, _), _ = opening
        plain = CsvForm.of(self.source, self.spelling, names, opening.columns, Inferred())
        rows = np.flatnonzero((self.records.fields == len(names)) & (self.records.edges[:-1] >= start))
        kind = Inferred().label
        if roles.label is not None and rows.size:
            [labels] = texts_of(plain, self.text, self.records, rows, [roles.label])
            kind = label_type(labels, self.spelling.decimal)
        truths: list[int] = []
        if rows.size and not plain.matrix and not plain.columns.raw:
            texts = texts_of(plain, self.text, self.records, rows[:LOOKED_AT], roles.numeric)
            truths = [at for at, column in zip(roles.numeric, texts, strict=True) if _truths(column.to_pylist())]
        return CsvForm.of(self.source, self.spelling, names, opening.columns, Inferred(kind, frozenset(truths)))

    def _is_header(self, fields: Sequence[str], columns: TableColumns) -> bool:
        """Tell whether the first record names the columns: it has words, those asked for if any, rows have others."""
        decimal = self.spelling.decimal
        words = [number_of(name.strip().encode(), decimal) is None and name not in MISSING_WORDS for name in fields]
        # The column before the names may count the rows; one after them is what a last comma makes.
        named = [at for at, name in enumerate(fields) if name.strip()]
        told = [at for at in named if words[at]]
        if not told:
            return False
        if asked := columns.asked_by_name():
            if asked <= set(own_names(fields)):
                return True
            if asked <= {str(position) for position in range(len(fields))}:
                return False
        again = self._again_below(fields, told)
        if len(told) == len(named):
            return len(again) < len(named)
        if again:
            return False
        hint = Hint("header", TRUE_OR_FALSE)
        raise InputError(
            f"{self.source}: the first line has words and numbers; say whether it is a header {hint}", hint
        )

    def _again_below(self, fields: Sequence[str], places: Sequence[int]) -> set[int]:
        """Return the places at which a later record says the same as the first."""
        enough = min(self.records.size, SURVEYED, 2 + SURVEYED_FIELDS // len(fields))
        few = [fields_of(self.records.text_of(self.text, at), self.spelling.delimiter) for at in range(1, enough)]
        return {at for at in places if any(at < len(row) and words_of(row[at]) == fields[at] for row in few)}

    def _without_index(self, columns: TableColumns, fields: Sequence[str]) -> TableColumns:
        """Leave out a first column without a name and with no value twice, as pandas and R write rows, and say so."""
        if fields[0].strip() or columns.features is not None or 0 in columns.drop or len(fields) < 2:
            return columns
        whole = range(1, self.records.size)
        firsts = [fields_of(self.records.text_of(self.text, at), self.spelling.delimiter)[0] for at in whole]
        if len(set(firsts)) < len(firsts):
            return columns
        warnings.warn(f"{self.source}: the first column has no name and no value twice; it is left out", stacklevel=2)
        return replace(columns, drop=(*columns.drop, 0))

    def _without_nameless(self, columns: TableColumns, fields: Sequence[str]) -> TableColumns:
        """Leave out columns without a name in which nothing stands, as a comma at the end of each line makes one."""
        nameless = {at for at, name in enumerate(fields) if not name.strip() and at not in columns.drop}
        if not nameless or columns.features is not None:
            return columns
        for number in range(1, self.records.size):
            row = fields_of(self.records.text_of(self.text, number), self.spelling.delimiter)
            nameless -= {at for at in nameless if at < len(row) and row[at].strip()}
        return replace(columns, drop=(*columns.drop, *sorted(nameless)))

    def _names(self, fields: Sequence[str], columns: TableColumns) -> list[str]:
        """Return a name for each column, and say of those that are used which had none of their own."""
        names = own_names(fields)
        used = [at for at in range(len(names)) if at not in columns.drop]
        new = [names[at] for at in used if names[at] != fields[at].strip()]
        if new and columns.features is None:
            warnings.warn(f"{self.source}: columns without a name of their own are called {listed(new)}", stacklevel=2)
        return names

    def _survey(
        self, columns: TableColumns, names: list[str], header: bool, missing_too: bool
    ) -> tuple[str, tuple[Hint, ...]]:
        """Return what is wrong with the columns of the first rows whichever the label is."""
        try:
            found = replace(columns, labeled=False, kept=(), groups=None).found_in(names, self.source)
        except InputError:
            return "", ()
        form = CsvForm.of(self.source, self.spelling, names, found, Inferred())
        few = self.records.between(int(header), SURVEYED)
        faults = RecordFaults(self.source, few.fields, len(names), few.lines, missing_too)
        careful_columns(form, self.text, few, faults)
        return faults.advice()


def _truths(fields: Sequence[bytes]) -> bool:
    """Tell whether a column says True and False and nothing else."""
    words = {field.strip(b" \t") for field in fields} - MISSING_BYTES
    return bool(words) and words <= TRUTHS.keys()
