"""Constraints on an additive model, by the positions of its inputs: what users ask for, and what files have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from itertools import chain
from typing import NamedTuple, TypedDict

import numpy as np

from opauc.additive.basis.basis import Basis
from opauc.additive.constraints.shape_rows import CONCAVE, CONVEX, DECREASING, INCREASING, SHAPES
from opauc.additive.kernels.rows import BINARY, CATEGORICAL
from opauc.core.json_schema import json_as
from opauc.errors import Parameter, ParameterError
from opauc.types import Json

OPPOSITE = {INCREASING: DECREASING, DECREASING: INCREASING, CONVEX: CONCAVE, CONCAVE: CONVEX}


class Shape(NamedTuple):
    """The shape of the score in an input, whatever the other inputs are."""

    input: int
    shape: str


class Bound(NamedTuple):
    """The interval of the main effect of an input at one of its values, in log-odds; None where it is open."""

    input: int
    value: float
    low: float | None
    high: float | None


class FixedTerm(NamedTuple):
    """A main effect or a pair whose weights stay as they are."""

    inputs: tuple[int, ...]
    weights: tuple[float, ...]


class SavedShape(TypedDict):
    """A shape in the header of a file."""

    input: int
    shape: str


class SavedBound(TypedDict):
    """A bound in the header of a file."""

    input: int
    value: float
    low: float | None
    high: float | None


class SavedFixedTerm(TypedDict):
    """A fixed term in the header of a file."""

    inputs: list[int]
    weights: list[float]


class SavedConstraints(TypedDict):
    """Constraints in the header of a file."""

    shapes: list[SavedShape]
    without: list[int]
    pairs: list[list[int]] | None
    equal_mean: list[int]
    bounds: list[SavedBound]
    fixed: list[SavedFixedTerm]


@dataclass(frozen=True)
class Constraints:
    """What the weights of a model must satisfy.

    Attributes
    ----------
    shapes : tuple of Shape
        Shapes of the score in inputs.
    without : tuple of int
        Inputs that no term uses.
    pairs : tuple of tuple of int, or None
        The only pairs that stay; None if all do. No trees and no crossed codes stay with them.
    equal_mean : tuple of int
        Inputs whose groups all have the same mean score.
    bounds : tuple of Bound
        Intervals of main effects at values.
    fixed : tuple of FixedTerm
        Terms that stay as they are.

    Examples
    --------
    >>> from opauc.additive.constraints.constraints import Constraints, Shape
    >>> rising = Constraints(shapes=(Shape(0, "increasing"),))
    >>> rising.join(Constraints(without=(1,))).without
    (1,)
    >>> Constraints.from_json(rising.to_json()) == rising
    True
    """

    shapes: tuple[Shape, ...] = ()
    without: tuple[int, ...] = ()
    pairs: tuple[tuple[int, int], ...] | None = None
    equal_mean: tuple[int, ...] = ()
    bounds: tuple[Bound, ...] = ()
    fixed: tuple[FixedTerm, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether there are any."""
        return self != NO_CONSTRAINTS

    def join(self, other: Constraints) -> Constraints:
        """Return the constraints of both: of the pairs, those that stay under either."""
        pairs = self.pairs if other.pairs is None else other.pairs
        if self.pairs is not None and other.pairs is not None:
            pairs = tuple(pair for pair in self.pairs if pair in other.pairs)
        lists = {
            part.name: tuple(dict.fromkeys(chain(getattr(self, part.name), getattr(other, part.name))))
            for part in fields(self)
            if part.name != "pairs"
        }
        fixed = {term.inputs: term for term in (*other.fixed, *self.fixed)}
        return Constraints(**{**lists, "fixed": tuple(fixed.values())}, pairs=pairs)

    @property
    def directions(self) -> list[tuple[int, int]]:
        """The inputs in which the score must rise (1) or fall (-1)."""
        signs = {INCREASING: 1, DECREASING: -1}
        return [(shape.input, signs[shape.shape]) for shape in self.shapes if shape.shape in signs]

    @property
    def uncoded(self) -> frozenset[int]:
        """The inputs whose values have no effects one by one: no codes and no crossed codes use them."""
        shaped, bounded = (shape.input for shape in self.shapes), (bound.input for bound in self.bounds)
        return frozenset(chain(shaped, bounded, self.without))

    def keep_trees_on(self, inputs: Sequence[int]) -> bool:
        """Tell whether trees that split on these inputs stay: leaves can be put in order, and obey nothing else."""
        if self.pairs is not None or self.equal_mean:
            return False
        curved = (shape.input for shape in self.shapes if shape.shape in (CONVEX, CONCAVE))
        broken = {*curved, *self.without, *(bound.input for bound in self.bounds)}
        return not broken.intersection(inputs)

    def check(self, names: Sequence[str]) -> None:
        """Raise ParameterError where two of them contradict each other at sight."""
        shapes = set(self.shapes)
        for one in self.shapes:
            if Shape(one.input, OPPOSITE[one.shape]) in shapes:
                raise ParameterError(
                    f"{names[one.input]!r} cannot be both {one.shape} and {OPPOSITE[one.shape]}; take one of them, or ",
                    Parameter("without", [names[one.input]]), " to leave it out",
                )  # fmt: skip
        used = {"has a shape": {one.input for one in self.shapes}, "has bounds": {one.input for one in self.bounds}}
        used["is in a fixed term"] = {j for term in self.fixed for j in term.inputs}
        for what, inputs in used.items():
            for j in sorted(inputs & set(self.without)):
                raise ParameterError(f"{names[j]!r} {what} and is in ", Parameter("without"), "; drop one of the two")
        for bound in self.bounds:
            if bound.low is not None and bound.high is not None and bound.low > bound.high:
                raise ParameterError(
                    Parameter("bounds"), f": {names[bound.input]} at {bound.value:g} cannot be at least {bound.low:g} "
                    f"and at most {bound.high:g}; give the smaller number first",
                )  # fmt: skip

    def describe(self, names: Sequence[str]) -> list[str]:
        """Return each constraint in words, as reports show it."""
        words = [f"{names[shape.input]} {shape.shape}" for shape in self.shapes]
        words += [f"without {names[j]}" for j in self.without]
        if self.pairs is not None:
            kept = ", ".join(f"{names[one]} × {names[two]}" for one, two in self.pairs)
            words.append(f"only pairs {kept}" if kept else "no pairs")
        words += [f"equal mean over {names[j]}" for j in self.equal_mean]
        words += [describe_bound(bound, names) for bound in self.bounds]
        return words + [f"{' × '.join(names[j] for j in term.inputs)} fixed" for term in self.fixed]

    def split(self) -> list[Constraints]:
        """Return each constraint by itself."""
        parts = [Constraints(shapes=(shape,)) for shape in self.shapes]
        parts += [Constraints(without=(j,)) for j in self.without]
        parts += [] if self.pairs is None else [Constraints(pairs=self.pairs)]
        parts += [Constraints(equal_mean=(j,)) for j in self.equal_mean]
        parts += [Constraints(bounds=(bound,)) for bound in self.bounds]
        return parts + [Constraints(fixed=(term,)) for term in self.fixed]

    def check_basis(self, basis: Basis) -> None:
        """Raise ValueError unless these can be constraints on a basis."""
        n_inputs = basis.n_inputs
        named = [shape.input for shape in self.shapes] + [bound.input for bound in self.bounds]
        named += [*self.without, *self.equal_mean, *chain.from_iterable(self.pairs or ())]
        if not all(0 <= j < n_inputs for j in named):
            raise ValueError(f"constraints: expected positions of {n_inputs} inputs")
        if not all(shape.shape in SHAPES for shape in self.shapes):
            raise ValueError(f"constraints: expected shapes {', '.join(SHAPES)}")
        if any(basis.tables.kinds[shape.input] == CATEGORICAL for shape in self.shapes):
            raise ValueError("constraints: expected shapes of numeric inputs")
        if not all(basis.tables.kinds[j] in (BINARY, CATEGORICAL) for j in self.equal_mean):
            raise ValueError("constraints: expected equal means over categories")
        for term in self.fixed:
            columns = basis.effects.get(term.inputs)
            if columns is None or columns.stop - columns.start != len(term.weights):
                raise ValueError("constraints: expected a weight for each column of a fixed term")

    def to_json(self) -> Json:
        """Return the constraints as the header of a file has them."""
        return {
            **asdict(self),
            "shapes": [shape._asdict() for shape in self.shapes],
            "bounds": [bound._asdict() for bound in self.bounds],
            "fixed": [{"inputs": list(term.inputs), "weights": list(term.weights)} for term in self.fixed],
        }

    @classmethod
    def from_json(cls, saved: object) -> Constraints:
        """Return the constraints from `to_json`; raise ValueError for anything else."""
        parts = json_as(SavedConstraints, saved, "constraints")
        pairs = parts["pairs"]
        if pairs is not None and not all(len(pair) == 2 for pair in pairs):
            raise ValueError("constraints: pairs: expected two inputs each")
        return cls(
            shapes=tuple(Shape(**shape) for shape in parts["shapes"]),
            without=tuple(parts["without"]),
            pairs=None if pairs is None else tuple((pair[0], pair[1]) for pair in pairs),
            equal_mean=tuple(parts["equal_mean"]),
            bounds=tuple(Bound(**bound) for bound in parts["bounds"]),
            fixed=tuple(FixedTerm(tuple(term["inputs"]), tuple(term["weights"])) for term in parts["fixed"]),
        )


NO_CONSTRAINTS = Constraints()


def describe_bound(bound: Bound, names: Sequence[str]) -> str:
    """Return a bound in words."""
    low, high = (-np.inf if bound.low is None else bound.low), (np.inf if bound.high is None else bound.high)
    return f"{names[bound.input]} at {bound.value:g} within [{low:g}, {high:g}]"
