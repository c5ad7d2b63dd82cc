"""Setting the values of a term, and removing a term, as users say it: points of a curve, levels by their names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

import numpy as np

from opauc.additive.editing.ledger import CODES, CROSSED, EDIT, MAIN, REMOVE, SETTABLE, TREES, LedgerEntry
from opauc.additive.kernels.rows import CATEGORICAL
from opauc.additive.state import AdditiveFit
from opauc.additive.terms.explain import Terms
from opauc.additive.terms.grids import MainWeights
from opauc.additive.terms.term_sums import TermColumns
from opauc.additive.terms.terms import MAX_NAMES, MISSING_NAME
from opauc.core.fit import only_scores
from opauc.errors import InputError, ParameterError, UnknownNameError, nearest_first, unknown_name
from opauc.types import Floats

# A curve as values with contributions, or levels with contributions.
Points: TypeAlias = Sequence[tuple[float, float]] | Mapping[str, float]


@dataclass(frozen=True, eq=False)
class TermEdit:
    """An edit of a term, as the ledger of a model has it.

    Attributes
    ----------
    term : str
        The name of the term.
    action : {"edit", "remove"}
        What was done.
    who : str
        Who did it.
    when : str
        When: the time in UTC, as ISO 8601 writes it.
    why : str
        The reason.
    at : tuple of tuples of float or str
        The values at which the term is given, as `Term.at`.
    before : ndarray
        The values of the term before, of shape `tuple(map(len, at))`.
    after : ndarray
        Its values since then.

    Examples
    --------
    >>> from opauc import OnePassGAM
    >>> rows = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]]
    >>> model = OnePassGAM().fit(rows * 30, [0, 0, 1, 1] * 30)
    >>> [edit] = model.remove("x1", who="ann", why="not known in advance").edits_
    >>> edit.term, edit.action, edit.who, edit.why, edit.after.tolist()
    ('x1', 'remove', 'ann', 'not known in advance', [0.0, 0.0])
    """

    term: str
    action: str
    who: str
    when: str
    why: str
    at: tuple[tuple[float | str, ...], ...]
    before: Floats
    after: Floats


def list_edits(terms: Terms) -> list[TermEdit]:
    """Return the edits of a model, the oldest first."""
    edits = []
    for entry in terms.solution.edits.entries:
        at = tuple(shown for shown, _ in terms.axes_of(entry.key))
        shape = tuple(map(len, at)) if entry.after.size else (0,)
        before, after = entry.before.reshape(shape), entry.after.reshape(shape)
        at = at if entry.after.size else ()
        name = terms.name_of(entry.key)
        edits.append(TermEdit(name, entry.action, entry.who, entry.when, entry.why, at, before, after))
    return edits


def edit_term(
    terms: Terms, name: str, points: Points, missing: float | None, who: str = "", why: str = ""
) -> AdditiveFit:
    """Return the fit with a term set to a curve or to levels."""
    number, term = _find(terms, name)
    key = term.key
    if key.kind not in SETTABLE:
        what = {TREES: "the share of a column in trees", CROSSED: "a term of combinations"}.get(key.kind, "a pair")
        raise ParameterError(f"term {name!r} is {what} and has no curve to set; remove it, or edit a main effect")
    before = terms.values_of(number)
    shown, numbers = terms.axes_of(key)[0]
    has_missing = bool(np.isnan(numbers[-1:]).any())
    after, present = before.copy(), shown[:-1] if has_missing else shown
    is_levels = key.kind == CODES or terms.basis.tables.kinds[key.inputs[0]] == CATEGORICAL
    if is_levels:
        after[: len(present)], missing = _levels(name, points, [str(level) for level in present], after, missing)
    elif len(present):
        after[: len(present)] = _curve(name, points, numbers[: len(present)])
    if missing is not None:
        if not has_missing:
            raise ParameterError(f"term {name!r}: no value was missing when the model began; leave out missing")
        after[-1] = _contribution(name, MISSING_NAME, missing)
    if key.kind == MAIN:
        after = MainWeights.of_values(terms.basis, key.inputs[0], after).values(terms.basis, key.inputs[0])
    return terms.solution.with_edit(LedgerEntry(key, EDIT, who, _now(), why, before, after))


def remove_term(terms: Terms, name: str, who: str = "", why: str = "") -> AdditiveFit:
    """Return the fit without a term."""
    number, term = _find(terms, name)
    before = np.empty(0) if term.key.kind == CROSSED else terms.values_of(number)
    return terms.solution.with_edit(LedgerEntry(term.key, REMOVE, who, _now(), why, before, np.zeros_like(before)))


def _find(terms: Terms, name: str) -> tuple[int, TermColumns]:
    """Return a term by its name."""
    if not terms.solution.can_train:
        raise only_scores()
    if not terms.solution.counts.all_seen:
        raise InputError("only a model that has learned from rows of both classes can be edited")
    number = terms.number_of(name)
    return number, terms.term_columns[number]


def _curve(name: str, points: Points, numbers: Floats) -> Floats:
    """Return the values at some numbers of the line through points, constant beyond them."""
    if isinstance(points, Mapping):
        raise ParameterError(f"term {name!r} is a curve: expected pairs of a value and a contribution, got levels")
    pairs = []
    for point in points:
        if isinstance(point, str | bytes) or len(point) != 2:
            raise ParameterError(f"term {name!r}: expected pairs of a value and a contribution, got {point!r}")
        pairs.append((_contribution(name, "a value", point[0]), _contribution(name, point[0], point[1])))
    if not pairs:
        raise ParameterError(f"term {name!r}: expected one point or more, got none; remove the term instead")
    at, values = np.array(sorted(pairs)).T
    if (at[1:] == at[:-1]).any():
        twice = at[1:][at[1:] == at[:-1]][0]
        raise ParameterError(f"term {name!r}: two points at {twice:g}; expected one for each value")
    line: Floats = np.interp(numbers, at, values)
    return line


def _levels(
    name: str, points: Points, levels: list[str], values: Floats, missing: float | None
) -> tuple[Floats, float | None]:
    """Return the values of levels, those that are not given as they are, and that of missing values."""
    if not isinstance(points, Mapping):
        raise ParameterError(f"term {name!r} has levels: expected a contribution for each by its name, got points")
    after = values[: len(levels)].copy()
    for level, contribution in points.items():
        number = _contribution(name, level, contribution)
        if str(level) in levels:
            after[levels.index(str(level))] = number
        elif level == MISSING_NAME:
            missing = number
        else:
            near = nearest_first(level, levels)[:MAX_NAMES]
            raise UnknownNameError(f"term {name!r}: {unknown_name('level', level, near)}")
    return after, missing


def _contribution(name: str, where: object, value: object) -> float:
    """Return a finite number."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ParameterError(f"term {name!r}, {where}: expected a finite number, got {value!r}")
    return number


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
