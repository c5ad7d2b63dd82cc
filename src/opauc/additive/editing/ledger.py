"""The ledger of edits: which terms of a model users have set or removed, when and why; and what is in force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypedDict

import numpy as np

from opauc.additive.basis.basis import Basis
from opauc.additive.terms.grids import grid_size
from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.errors import IncompatibleMomentsError
from opauc.types import Arrays, Floats, Json, NamedArrays

# Kinds of terms: curves and levels, surfaces, single values of a number, combinations of values, shares in trees.
MAIN, PAIR, CODES, CROSSED, TREES = ("main", "pair", "codes", "crossed", "trees")
EDIT, REMOVE = ACTIONS = ("edit", "remove")
EDITS_SCHEMA = {
    "ends": ArrayRule("int64", "edits+1", ends="points"),
    "before": ArrayRule("float64", "points"),
    "after": ArrayRule("float64", "points"),
}


class TermKey(NamedTuple):
    """A term by its kind and the numbers of its inputs: names may change, and terms of trees come and go."""

    kind: str
    inputs: tuple[int, ...]


class SavedEdit(TypedDict):
    """An edit in the header of a file; its values are in arrays."""

    kind: str
    inputs: list[int]
    action: str
    who: str
    when: str
    why: str


@dataclass(frozen=True, eq=False)
class LedgerEntry:
    """One edit: the term, what was done, by whom, when (UTC) and why, and the values of the term before and after.

    Values are those along the grid of the term, one after the other. Trees and combinations of values have none.
    """

    key: TermKey
    action: str
    who: str
    when: str
    why: str
    before: Floats
    after: Floats


@dataclass(frozen=True, eq=False)
class Edits:
    """All edits of a model, the oldest first; of several edits of a term the last is in force.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.editing.ledger import Edits, LedgerEntry, TermKey
    >>> age = TermKey("main", (0,))
    >>> first = LedgerEntry(age, "edit", "ann", "2026-11-18T12:00:00+00:00", "", np.zeros(2), np.ones(2))
    >>> second = LedgerEntry(age, "remove", "ben", "2026-11-19T12:00:00+00:00", "", np.ones(2), np.zeros(2))
    >>> edits = Edits((first, second))
    >>> {key.kind: values.tolist() for key, values in edits.in_force.items()}
    {'main': [0.0, 0.0]}
    """

    entries: tuple[LedgerEntry, ...] = ()

    @property
    def in_force(self) -> dict[TermKey, Floats]:
        """The values of each edited term."""
        return {entry.key: entry.after for entry in self.entries}

    def after(self, entry: LedgerEntry) -> Edits:
        """Return the ledger with one more edit."""
        return replace(self, entries=(*self.entries, entry))

    def check_same(self, other: Edits) -> None:
        """Raise unless another model has the same terms fixed at the same values."""
        mine, theirs = self.in_force, other.in_force
        if mine.keys() != theirs.keys() or not all(np.array_equal(mine[key], theirs[key]) for key in mine):
            raise IncompatibleMomentsError(
                "models with different edits do not merge; edit both alike, or merge first and edit the result"
            )

    def to_json(self) -> list[Json]:
        """Return all but the values, for the header of a file."""
        return [
            {
                "kind": entry.key.kind, "inputs": list(entry.key.inputs), "action": entry.action,
                "who": entry.who, "when": entry.when, "why": entry.why,
            }
            for entry in self.entries
        ]  # fmt: skip

    def to_arrays(self) -> Arrays:
        """Return the values of all edits; nothing where there are none."""
        if not self.entries:
            return {}
        before, after = ([getattr(entry, name) for entry in self.entries] for name in ("before", "after"))
        ends = np.cumsum([0, *(part.size for part in after)]).astype(np.int64)
        return {"ends": ends, "before": np.concatenate(before), "after": np.concatenate(after)}

    @classmethod
    def from_parts(cls, basis: Basis | None, saved: Sequence[SavedEdit], arrays: NamedArrays) -> Edits:
        """Return the ledger of a model with this basis; raise ValueError unless the model can have it."""
        if not saved and not arrays:
            return cls()
        if basis is None:
            raise ValueError("edits: expected none of a model without a basis")
        check_arrays(EDITS_SCHEMA, arrays, {"edits": len(saved)})
        cuts = arrays["ends"][1:-1]
        values = zip(np.split(arrays["before"], cuts), np.split(arrays["after"], cuts), strict=True)
        entries = []
        for one, (before, after) in zip(saved, values, strict=True):
            key = TermKey(one["kind"], tuple(one["inputs"]))
            check_key(basis, key, after)
            if one["action"] not in ACTIONS:
                raise ValueError(f"edits: expected one of {', '.join(ACTIONS)}, got {one['action']!r}")
            if after.any() and (one["action"] == REMOVE or key.kind not in SETTABLE):
                raise ValueError("edits: expected values of zero after a term is removed")
            entries.append(LedgerEntry(key, one["action"], one["who"], one["when"], one["why"], before, after))
        return cls(tuple(entries))


# Kinds of terms whose values can be set; all can be removed.
SETTABLE = (MAIN, CODES)
NO_EDITS = Edits()


def check_key(basis: Basis, key: TermKey, values: Floats) -> None:
    """Raise ValueError unless a basis has a term with so many values."""
    kind, inputs = key
    sizes: Mapping[str, int | None] = {
        MAIN: grid_size(basis, inputs) if len(inputs) == 1 and inputs in basis.effects else None,
        PAIR: grid_size(basis, inputs) if len(inputs) > 1 and inputs in basis.effects else None,
        CODES: basis.random_effects.numbers_of(inputs[0]).size
        if len(inputs) == 1 and inputs[0] in basis.coded_inputs()
        else None,
        CROSSED: 0 if inputs in [code.inputs for code in basis.crossed.codes] else None,
        TREES: 0 if basis.trees is not None and len(inputs) == 1 and inputs[0] in basis.trees.inputs else None,
    }
    if sizes.get(kind) != values.size:
        raise ValueError(f"edits: the basis has no {kind!r} term of inputs {list(inputs)} with {values.size} values")
