"""Which columns of a table are the label, the numbers and the categories."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

from opauc.errors import Hint, InputError

# The names by which a label is found when none is given.
USUAL_LABELS = ("label", "target", "class", "y")
LISTED = 20


class ColumnRoles(NamedTuple):
    """Positions in one table of the label, if it is wanted, and of the features, in the table's order or as named."""

    label: int | None
    numeric: tuple[int, ...]
    categorical: tuple[int, ...]
    kept: tuple[int, ...] = ()  # to be carried along as they are

    def used(self) -> tuple[int, ...]:
        """Return the positions of all columns that must be read, in the order of the table."""
        label = () if self.label is None else (self.label,)
        return tuple(sorted({*label, *self.numeric, *self.categorical, *self.kept}))


@dataclass(frozen=True)
class TableColumns:
    """What a user says of the columns of a table, by names or by positions from 0 (-1 is the last one).

    Without a name the label is the column called "label", "target", "class" or
    "y", in these letters or in others; without names the features are all other
    columns but those in `drop`. `labeled=False` asks for no labels; a label
    that is named is then left out where it is there. Columns in `kept`, by their
    names, are carried along, features or not; so is that of `groups`, which is
    no feature unless it is named as one.

    Examples
    --------
    >>> from opauc.data.columns import TableColumns
    >>> TableColumns(categorical=["color"]).roles_in(["color", "label", "size"], "a.csv")
    ColumnRoles(label=1, numeric=(2,), categorical=(0,), kept=())
    >>> TableColumns().roles_in(["x"], "a.csv")
    Traceback (most recent call last):
        ...
    opauc.errors.InputError: a.csv: no column is called label, target, class or y; name the label (label=...), one of x
    """

    label: str | int | None = None
    features: Sequence[str | int] | None = None
    categorical: Sequence[str | int] = ()
    labeled: bool = True
    n_features: int | None = None  # of arrays, whose label has no name: with just as many columns it is not there
    drop: Sequence[str | int] = ()
    kept: Sequence[str] = ()
    groups: str | None = None
    numeric: Sequence[str | int] = ()  # columns of numbers whatever they look like, where text is left as it is
    raw: bool = False  # whether text is left as it is, to be looked at by whoever asked for it

    @property
    def carried(self) -> tuple[str, ...]:
        """Names of the columns that are carried along beside the features."""
        return tuple(dict.fromkeys([*self.kept, *([] if self.groups is None else [self.groups])]))

    def asked_by_name(self) -> set[str]:
        """Return the names of all columns that something is said of."""
        named = (self.label, *(self.features or ()), *self.categorical, *self.numeric, *self.drop, *self.carried)
        return {column for column in named if isinstance(column, str)}

    def roles_in(self, names: Sequence[str], source: str) -> ColumnRoles:
        """Find the columns among those of a table, or say which are not there, all of them."""
        places = {name: position for position, name in enumerate(names)}
        if len(places) < len(names):
            twice = [name for name, times in Counter(names).items() if times > 1]
            raise InputError(f"{source}: more than one column is called {listed(twice)}; give each a name of its own")
        self._refuse_lost(places, source)
        dropped, kept = _positions(self.drop, places), tuple(_positions(self.carried, places))
        label, categorical = self._label_in(places, dropped, source), _positions(self.categorical, places)
        if both := [names[position] for position in _positions(self.numeric, places) if position in categorical]:
            raise InputError(f"{source}: column {listed(both)} cannot be categorical and numeric")
        named = categorical if self.features is None else _positions((*self.features, *self.categorical), places)
        if label in categorical or (self.labeled and label in named):
            raise InputError(f"{source}: column {names[label or 0]} cannot be the label and a feature")
        if both := [names[position] for position in dropped if position in named or position == label]:
            raise InputError(f"{source}: column {listed(both)} cannot be used and dropped")
        chosen = named
        if self.features is None:
            chosen = dict.fromkeys(at for name, at in places.items() if name != self.groups or at in categorical)
        features = [position for position in chosen if position != label and position not in dropped]
        if not features:
            raise InputError(f"{source}: no column is left to be a feature beside {listed(names)}")
        numeric = tuple(position for position in features if position not in categorical)
        return ColumnRoles(label if self.labeled else None, numeric, tuple(categorical), kept)

    def found_in(self, names: Sequence[str], source: str) -> FoundColumns:
        """Find the columns among those of a table; by their names they are found again when only they are left."""
        roles = self.roles_in(names, source)
        label = None if roles.label is None else names[roles.label]
        categorical = tuple(names[position] for position in roles.categorical)
        features = (*(names[position] for position in roles.numeric), *categorical)
        places = {name: position for position, name in enumerate(names)}
        numeric = tuple(names[position] for position in _positions(self.numeric, places))
        return FoundColumns(roles, replace(self.named(label, features, categorical), numeric=numeric))

    def named(self, label: str | None, features: Sequence[str], categorical: Sequence[str]) -> TableColumns:
        """Return the same demands with the columns by the names found for them."""
        kept, groups, raw = self.kept, self.groups, self.raw
        return TableColumns(label, features, categorical, self.labeled, kept=kept, groups=groups, raw=raw)

    def _label_in(self, places: Mapping[str, int], dropped: Container[int], source: str) -> int | None:
        if not self.labeled and len(places) == self.n_features:
            return None
        if self.label is not None:
            return _position(self.label, places)
        if not self.labeled:
            return None
        left = [name for name, position in places.items() if position not in dropped]
        usual = [name for name in left if name in USUAL_LABELS] or [
            name for name in left if name.lower() in USUAL_LABELS
        ]
        if len(usual) == 1:
            return places[usual[0]]
        why = f"columns {listed(usual)} could each be the label" if usual else "no column is called " + _either()
        hint = Hint("label")
        raise InputError(f"{source}: {why}; name the label {hint}, one of {listed(usual or left)}", hint)

    def _refuse_lost(self, places: Mapping[str, int], source: str) -> None:
        label = () if self.label is None or not self.labeled else (self.label,)
        named = (*label, *(self.features or ()), *self.categorical, *self.numeric, *self.drop, *self.carried)
        lost = [column for column in dict.fromkeys(named) if _position(column, places) is None]
        if lost:
            plural = "s" if len(lost) > 1 else ""
            raise InputError(f"{source}: no column{plural} {listed(lost)}; there are {listed(list(places))}")


class FoundColumns(NamedTuple):
    """Columns by their positions in one table, and by their names."""

    roles: ColumnRoles
    by_name: TableColumns


def _positions(wanted: Iterable[str | int], places: Mapping[str, int]) -> dict[int, None]:
    """Return the positions of columns that are all there, each once, in the order in which they are wanted."""
    found = (_position(column, places) for column in wanted)
    return {position: None for position in found if position is not None}


def _position(column: str | int, places: Mapping[str, int]) -> int | None:
    if isinstance(column, int):
        return column % len(places) if -len(places) <= column < len(places) else None
    return places.get(column)


def _either() -> str:
    return ", ".join(USUAL_LABELS[:-1]) + f" or {USUAL_LABELS[-1]}"


def quoted_list(names: Sequence[str]) -> str:
    """Return names as a list with commas that can be read again: quoted where they hold one or look like positions.

    >>> from opauc.data.columns import quoted_list
    >>> quoted_list(["age", "last, first", "7"])
    'age,"last, first","7"'
    """
    return ",".join(
        '"' + name.replace('"', '""') + '"' if re.search(r'[,"]|^\s|\s$|^-?\d+$', name) else name for name in names
    )


def about_columns(parameter: str, names: Sequence[str]) -> Hint:
    """Return the hint of saying something about some columns; of very many the user has to name them."""
    return Hint(parameter, quoted_list(names) if len(names) <= LISTED else "")


def listed(names: Sequence[str | int]) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - LISTED
    return ", ".join(map(str, names[:LISTED])) + (f" and {more} more" if more > 0 else "")


# What is no table, by how it begins.
OTHERS = {
    "JSON": rb'\s*(\{\s*"|\[\s*\{)',
    "ARFF": rb"(\s*%[^\n]*\n)*\s*@relation",
    "XML or HTML": rb"\s*<(\?xml|!doctype|html|table)",
    "a workbook": rb"\xd0\xcf\x11\xe0",
    "PDF": rb"%PDF",
    "what is no text": rb"[\s\S]{0,63}\x00",
}
EXCEL_MARK = rb"sep=.\r?\n"


def refuse_others(text: bytes, source: str) -> None:
    """Refuse what is no table, or has a line before it, by its beginning.

    >>> from opauc.data.columns import refuse_others
    >>> refuse_others(b'{"age": 31, "y": 0}', "rows.txt")
    Traceback (most recent call last):
        ...
    opauc.errors.InputError: rows.txt: JSON is not read; save it as CSV or Parquet
    """
    for name, begin in OTHERS.items():
        if re.match(begin, text, re.IGNORECASE):
            raise InputError(f"{source}: {name} is not read; save it as CSV or Parquet")
    if re.match(EXCEL_MARK, text, re.IGNORECASE):
        raise InputError(f"{source}: the first line, sep=, is no header; take it out")


def own_names(fields: Sequence[str]) -> list[str]:
    """Return a name for each column, as pandas calls them, so that models know their columns again in its frames.

    >>> from opauc.data.columns import own_names
    >>> own_names(["", "age", "sex", "age", "age.1"])
    ['Unnamed: 0', 'age', 'sex', 'age.2', 'age.1']
    """
    given = [field.strip() or f"Unnamed: {at}" for at, field in enumerate(fields)]
    names, numbers = given.copy(), {name: count(1) for name in given}
    free, taken = set(given), set(given)
    for at in sorted(range(len(given)), key=lambda at: not fields[at].strip()):  # those that have a name come first
        if given[at] not in free:
            called = (f"{given[at]}.{number}" for number in numbers[given[at]])
            names[at] = next(name for name in called if name not in taken)
        free.discard(given[at])
        taken.add(names[at])
    return names
