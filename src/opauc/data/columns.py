"""The roles of the columns of a table: label, numeric, categorical, passthrough, groups."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

from opauc.data.schema.numbers import DECIMALS
from opauc.errors import InputError, Parameter, nearest_first

# Names of the label column when none is given.
DEFAULT_LABELS = ("label", "target", "class", "y")
LISTED = 20
NAME_LABEL = Parameter("label", ...)


class ColumnRoles(NamedTuple):
    """Positions in one table of the label, if it is read, and of the features, in the table's order or as named."""

    label: int | None
    numeric: tuple[int, ...]
    categorical: tuple[int, ...]
    passthrough: tuple[int, ...] = ()

    def used(self) -> tuple[int, ...]:
        """Return the positions of all columns to read, in the order of the table."""
        label = () if self.label is None else (self.label,)
        return tuple(sorted({*label, *self.numeric, *self.categorical, *self.passthrough}))


@dataclass(frozen=True)
class TableColumns:
    """The columns that a user requests, by name or by position from 0 (-1 is the last one).

    By default the label is the column called "label", "target", "class" or "y",
    in lower or upper case, and the features are all other columns but those in
    `drop`. With `labeled=False` no labels are read, and a label that is named is
    left out of the features. Columns in `passthrough` are passed through
    unchanged, features or not; so is the column `groups`, which is not a feature
    unless it is named as one.

    Examples
    --------
    >>> from opauc.data.columns import TableColumns
    >>> TableColumns(categorical=["color"]).roles_in(["color", "label", "size"], "a.csv")
    ColumnRoles(label=1, numeric=(2,), categorical=(0,), passthrough=())
    >>> TableColumns().roles_in(["x"], "a.csv")
    Traceback (most recent call last):
        ...
    opauc.errors.InputError: a.csv: no column is called label, target, class or y; name the label (label=...), one of x
    """

    label: str | int | None = None
    features: Sequence[str | int] | None = None
    categorical: Sequence[str | int] = ()
    labeled: bool = True
    n_features: int | None = None  # of arrays: one with just as many columns has no label
    drop: Sequence[str | int] = ()
    passthrough: Sequence[str] = ()
    groups: str | None = None
    numeric: Sequence[str | int] = ()  # columns of numbers, whatever would be inferred
    raw: bool = False  # whether text columns stay strings, for the schema to infer their types
    decimals: Sequence[str] = DECIMALS  # decimal separators to try in text columns; the first where in doubt

    @property
    def passthrough_names(self) -> tuple[str, ...]:
        """Names of the columns that are passed through: `passthrough` and `groups`."""
        return tuple(dict.fromkeys([*self.passthrough, *([] if self.groups is None else [self.groups])]))

    def names_requested(self) -> set[str]:
        """Return the names of all columns that the user names."""
        named = (
            self.label,
            *(self.features or ()),
            *self.categorical,
            *self.numeric,
            *self.drop,
            *self.passthrough_names,
        )
        return {column for column in named if isinstance(column, str)}

    def roles_in(self, names: Sequence[str], source: str) -> ColumnRoles:
        """Return the positions of the columns in a table; the error names all that are absent."""
        positions = {name: position for position, name in enumerate(names)}
        if len(positions) < len(names):
            twice = [name for name, times in Counter(names).items() if times > 1]
            raise InputError(f"{source}: more than one column is called {listed(twice)}; give each a name of its own")
        self._check_present(positions, source)
        dropped, passthrough = _positions(self.drop, positions), tuple(_positions(self.passthrough_names, positions))
        label, categorical = self._label_in(positions, dropped, source), _positions(self.categorical, positions)
        if both := [names[position] for position in _positions(self.numeric, positions) if position in categorical]:
            raise InputError(f"{source}: column {listed(both)} cannot be categorical and numeric")
        named = categorical if self.features is None else _positions((*self.features, *self.categorical), positions)
        if label in categorical or (self.labeled and label in named):
            raise InputError(f"{source}: column {names[label or 0]} cannot be the label and a feature")
        if both := [names[position] for position in dropped if position in named or position == label]:
            raise InputError(f"{source}: column {listed(both)} cannot be used and dropped")
        chosen = named
        if self.features is None:
            chosen = dict.fromkeys(at for name, at in positions.items() if name != self.groups or at in categorical)
        features = [position for position in chosen if position != label and position not in dropped]
        if not features:
            raise InputError(f"{source}: no column is left to be a feature besides {listed(names)}")
        numeric = tuple(position for position in features if position not in categorical)
        return ColumnRoles(label if self.labeled else None, numeric, tuple(categorical), passthrough)

    def resolve(self, names: Sequence[str], source: str) -> ResolvedColumns:
        """Return the columns of a table by position and by name; a selection of the table can be resolved by name."""
        roles = self.roles_in(names, source)
        label = None if roles.label is None else names[roles.label]
        categorical = tuple(names[position] for position in roles.categorical)
        features = (*(names[position] for position in roles.numeric), *categorical)
        positions = {name: position for position, name in enumerate(names)}
        numeric = tuple(names[position] for position in _positions(self.numeric, positions))
        return ResolvedColumns(roles, replace(self.named(label, features, categorical), numeric=numeric))

    def named(self, label: str | None, features: Sequence[str], categorical: Sequence[str]) -> TableColumns:
        """Return the same request with the columns by name."""
        return TableColumns(
            label, features, categorical, self.labeled,
            passthrough=self.passthrough, groups=self.groups, raw=self.raw, decimals=self.decimals,
        )  # fmt: skip

    def _label_in(self, positions: Mapping[str, int], dropped: Container[int], source: str) -> int | None:
        if not self.labeled and len(positions) == self.n_features:
            return None
        if self.label is not None:
            return _position(self.label, positions)
        if not self.labeled:
            return None
        left = [name for name, position in positions.items() if position not in dropped]
        candidates = [name for name in left if name in DEFAULT_LABELS] or [
            name for name in left if name.lower() in DEFAULT_LABELS
        ]
        if len(candidates) == 1:
            return positions[candidates[0]]
        why = (
            f"columns {listed(candidates)} could each be the label"
            if candidates
            else "no column is called " + _either()
        )
        raise InputError(
            f"{source}: {why}; name the label (", NAME_LABEL, f"), one of {listed(candidates or left)}"
        )  # fmt: skip

    def _check_present(self, positions: Mapping[str, int], source: str) -> None:
        label = () if self.label is None or not self.labeled else (self.label,)
        named = (*label, *(self.features or ()), *self.categorical, *self.numeric, *self.drop, *self.passthrough_names)
        absent = [column for column in dict.fromkeys(named) if _position(column, positions) is None]
        if absent:
            plural = "s" if len(absent) > 1 else ""
            near = nearest_first(absent[0], positions)
            raise InputError(f"{source}: no column{plural} {listed(absent)}; there are {listed(near)}")


class ResolvedColumns(NamedTuple):
    """The columns of one table, by position and by name."""

    roles: ColumnRoles
    by_name: TableColumns


def _positions(columns: Iterable[str | int], positions: Mapping[str, int]) -> dict[int, None]:
    """Return the positions of columns, each once, in the order given; all must be present."""
    resolved = (_position(column, positions) for column in columns)
    return {position: None for position in resolved if position is not None}


def _position(column: str | int, positions: Mapping[str, int]) -> int | None:
    if isinstance(column, int):
        return column % len(positions) if -len(positions) <= column < len(positions) else None
    return positions.get(column)


def _either() -> str:
    return ", ".join(DEFAULT_LABELS[:-1]) + f" or {DEFAULT_LABELS[-1]}"


def quoted_list(names: Sequence[str]) -> str:
    """Return names as a list that can be parsed again: quoted where they contain a comma or look like positions.

    >>> from opauc.data.columns import quoted_list
    >>> quoted_list(["age", "last, first", "7"])
    'age,"last, first","7"'
    """
    return ",".join(
        '"' + name.replace('"', '""') + '"' if re.search(r'[,"]|^\s|\s$|^-?\d+$', name) else name for name in names
    )


def about_columns(parameter: str, names: Sequence[str]) -> Parameter:
    """Return the parameter with these columns; a long list is left to the user."""
    return Parameter(parameter, list(names) if len(names) <= LISTED else ...)


def listed(names: Sequence[str | int]) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - LISTED
    return ", ".join(map(str, names[:LISTED])) + (f" and {more} more" if more > 0 else "")


def check_integers(merged: Sequence[str], source: str) -> None:
    """Raise for columns of integers that would become equal as numbers."""
    if merged:
        which = "column" if len(merged) == 1 else "columns"
        raise InputError(
            f"{source}: {which} {listed(merged)}: integers beyond 2**53 become equal as numbers; declare such a column "
            "categorical (", about_columns("categorical", merged), ") or drop it (", about_columns("drop", merged), ")",
        )  # fmt: skip


# Other formats, by how they begin.
OTHER_FORMATS = {
    "JSON": rb'\s*(\{\s*"|\[\s*\{)',
    "ARFF": rb"(\s*%[^\n]*\n)*\s*@relation",
    "XML or HTML": rb"\s*<(\?xml|!doctype|html|table)",
    "a workbook": rb"\xd0\xcf\x11\xe0",
    "PDF": rb"%PDF",
    "what is no text": rb"[\s\S]{0,63}\x00",
}
EXCEL_LINE = rb"sep=.\r?\n"


def check_table_text(text: bytes, source: str) -> None:
    """Raise if a text begins like another format, or has a line before the table.

    >>> from opauc.data.columns import check_table_text
    >>> check_table_text(b'{"age": 31, "y": 0}', "rows.txt")
    Traceback (most recent call last):
        ...
    opauc.errors.InputError: rows.txt: JSON is not read; save it as CSV or Parquet
    """
    for name, begin in OTHER_FORMATS.items():
        if re.match(begin, text, re.IGNORECASE):
            raise InputError(f"{source}: {name} is not read; save it as CSV or Parquet")
    if re.match(EXCEL_LINE, text, re.IGNORECASE):
        raise InputError(f"{source}: the first line, sep=, is no header; take it out")


def unique_names(fields: Sequence[str]) -> list[str]:
    """Return a unique name for each column, as pandas names them, so that models recognize columns of data frames.

    >>> from opauc.data.columns import unique_names
    >>> unique_names(["", "age", "sex", "age", "age.1"])
    ['Unnamed: 0', 'age', 'sex', 'age.2', 'age.1']
    """
    given = [field.strip() or f"Unnamed: {at}" for at, field in enumerate(fields)]
    names, numbers = given.copy(), {name: count(1) for name in given}
    free, taken = set(given), set(given)
    for at in sorted(
        range(len(given)), key=lambda at: not fields[at].strip()
    ):  # columns with a name of their own come first
        if given[at] not in free:
            candidates = (f"{given[at]}.{number}" for number in numbers[given[at]])
            names[at] = next(name for name in candidates if name not in taken)
        free.discard(given[at])
        taken.add(names[at])
    return names
