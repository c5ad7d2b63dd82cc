"""Which columns of a table are the label, the numbers and the categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from opauc.errors import InputError, Remedy

# The names by which a label is found when none is given.
USUAL_LABELS = ("label", "target", "class", "y")
LISTED = 20


class ColumnRoles(NamedTuple):
    """Positions in one table of the label, if it is wanted, and of the features, in the table's order or as named."""

    label: int | None
    numeric: tuple[int, ...]
    categorical: tuple[int, ...]

    def used(self) -> tuple[int, ...]:
        """Return the positions of all columns that must be read, in the order of the table."""
        label = () if self.label is None else (self.label,)
        return tuple(sorted({*label, *self.numeric, *self.categorical}))


@dataclass(frozen=True)
class TableColumns:
    """What a user says of the columns of a table, by names or by positions from 0 (-1 is the last one).

    Without a name the label is the column called "label", "target", "class" or
    "y"; without names the features are all other columns. `labelled=False` asks
    for no labels; a label that is named is then left out where it is there.

    Examples
    --------
    >>> from opauc.reading.table_columns import TableColumns
    >>> TableColumns(categorical=["colour"]).roles_in(["colour", "label", "size"], "a.csv")
    ColumnRoles(label=1, numeric=(2,), categorical=(0,))
    >>> TableColumns().roles_in(["x"], "a.csv")
    Traceback (most recent call last):
        ...
    opauc.errors.InputError: a.csv: no column is called label, target, class or y; name the label (label=...), one of x
    """

    label: str | int | None = None
    features: Sequence[str | int] | None = None
    categorical: Sequence[str | int] = ()
    labelled: bool = True
    n_features: int | None = None  # of arrays, whose label has no name: with just as many columns it is not there

    def roles_in(self, names: Sequence[str], source: str) -> ColumnRoles:
        """Find the columns among those of a table, or say which are not there."""
        if len(set(names)) < len(names):
            twice = [name for name, times in Counter(names).items() if times > 1]
            raise InputError(f"{source}: more than one column is called {listed(twice)}")
        label = self._label_in(names, source)
        categorical = dict.fromkeys(self._positions(self.categorical, names, source))
        if self.features is None:
            chosen: Sequence[int] = range(len(names))
        else:
            chosen = self._positions((*self.features, *self.categorical), names, source)
            if self.labelled and label in chosen:
                raise InputError(f"{source}: column {names[label]} cannot be the label and a feature")
        chosen = [position for position in dict.fromkeys(chosen) if position != label]
        if label in categorical:
            raise InputError(f"{source}: column {names[label]} cannot be the label and a feature")
        numeric = tuple(position for position in chosen if position not in categorical)
        if not chosen:
            raise InputError(f"{source}: no column is left to be a feature beside {listed(names)}")
        return ColumnRoles(label if self.labelled else None, numeric, tuple(categorical))

    def _label_in(self, names: Sequence[str], source: str) -> int | None:
        if not self.labelled and len(names) == self.n_features:
            return None
        if self.label is not None:
            if not self.labelled and _position(self.label, dict.fromkeys(names, 0)) is None:
                return None
            return self._positions([self.label], names, source)[0]
        if not self.labelled:
            return None
        usual = [name for name in names if name in USUAL_LABELS]
        if len(usual) == 1:
            return names.index(usual[0])
        why = f"columns {listed(usual)} could each be the label" if usual else "no column is called " + _either()
        remedy = Remedy("label")
        raise InputError(f"{source}: {why}; name the label {remedy}, one of {listed(usual or names)}", remedy)

    def _positions(self, wanted: Sequence[str | int], names: Sequence[str], source: str) -> list[int]:
        if not wanted:
            return []
        places = {name: position for position, name in enumerate(names)}
        found = {column: _position(column, places) for column in wanted}
        lost = [column for column, position in found.items() if position is None]
        if lost:
            plural = "s" if len(lost) > 1 else ""
            raise InputError(f"{source}: no column{plural} {listed(lost)}; there are {listed(names)}")
        return [position for position in found.values() if position is not None]


def _position(column: str | int, places: Mapping[str, int]) -> int | None:
    if isinstance(column, int):
        return column % len(places) if -len(places) <= column < len(places) else None
    return places.get(column)


def _either() -> str:
    return ", ".join(USUAL_LABELS[:-1]) + f" or {USUAL_LABELS[-1]}"


def listed(names: Sequence[str | int]) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - LISTED
    return ", ".join(map(str, names[:LISTED])) + (f" and {more} more" if more > 0 else "")
