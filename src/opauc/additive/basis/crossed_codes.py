"""Crossed codes: combinations of the values of two or three inputs, each with an effect of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from opauc.additive.kernels.rows import CATEGORICAL, NUMERIC, write_row_keys
from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.types import Arrays, Floats, NamedArrays, Rows

# Inputs of a crossed code; levels of one, a power of two; and codes of a basis: they bound the memory of a file.
MIN_MEMBERS, MAX_MEMBERS, MAX_LEVELS, MAX_CODES = 2, 3, 2**20, 8
# Odd numbers that mix the values of the members of a code, and their sum.
MIXERS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)
FINAL_MIXERS = np.array([0xD6E8FEB86659FD93, 0xA0761D6478BD642F], np.uint64)
SCHEMA = {
    "inputs": ArrayRule("int64", "members", low=0, below="inputs"),
    "member_ends": ArrayRule("int64", "codes+1", ends="members"),
    "edges": ArrayRule("float64", "edges"),
    "edge_ends": ArrayRule("int64", "members+1", ends="edges"),
    "categories": ArrayRule("int64", "categories", low=0),
    "category_ends": ArrayRule("int64", "members+1", ends="categories"),
    "n_levels": ArrayRule("int64", "codes", low=2, high=MAX_LEVELS),
    "lambdas": ArrayRule("float64", "codes", low=np.nextafter(0.0, 1.0)),
    "factors": ArrayRule("float64", "codes", low=0, high=1),
    "examples": ArrayRule("float64", f"examples {MAX_MEMBERS}", missing=True, infinite=True),
    "example_ends": ArrayRule("int64", "codes+1", ends="examples"),
}


class Member(NamedTuple):
    """An input of a crossed code: the edges of its bins, none for whole parts or categories, and its categories."""

    input: int
    edges: Floats
    categories: NDArray[np.int64]  # those of the initial sample; all others count as one

    def values(self, numbers: Floats) -> Floats:
        """Return what two rows of one level have in common: the bin, the category, or the whole part of a number.

        Examples
        --------
        >>> import numpy as np
        >>> from opauc.additive.basis.crossed_codes import Member
        >>> none, numbers = np.empty(0, np.int64), np.array([-0.5, 7.9, np.nan])
        >>> Member(0, np.empty(0), none).values(numbers), Member(0, np.array([0.0, 5.0]), none).values(numbers)
        (array([-1.,  7., nan]), array([ 0.,  2., nan]))
        """
        if not self.edges.size:
            return np.floor(numbers)
        bins = np.searchsorted(self.edges, numbers, side="right").astype(np.float64)
        return np.where(np.isnan(numbers), np.nan, bins)

    def representatives(self, values: Floats) -> Floats:
        """Return a number of the input for each of the values that `values` returns."""
        if not self.edges.size:
            return values
        below_first = np.nextafter(self.edges[0], -np.inf)
        of_bins = np.concatenate([[below_first], self.edges])
        present = ~np.isnan(values)
        numbers = np.full(values.shape, np.nan)
        numbers[present] = of_bins[values[present].astype(np.int64)]
        return numbers


class CrossedCode(NamedTuple):
    """Two or three inputs whose combinations have effects.

    The effect of a level is `factor` times its residual sum divided by its
    curvature and `lambda_`. `examples` are numbers of the inputs for the most
    frequent combinations of the initial sample, nan where missing.
    """

    members: tuple[Member, ...]
    n_levels: int
    lambda_: float
    factor: float
    examples: Floats  # (n_examples, n_members)

    @property
    def inputs(self) -> tuple[int, ...]:
        """The inputs of the members."""
        return tuple(member.input for member in self.members)

    def levels(self, numbers: Floats) -> NDArray[np.int64]:
        """Return two levels for each row of the numbers of its inputs: the first bits of hashes of the combination.

        Examples
        --------
        >>> import numpy as np
        >>> from opauc.additive.basis.crossed_codes import CrossedCode, Member
        >>> members = tuple(Member(j, np.empty(0), np.empty(0, np.int64)) for j in range(2))
        >>> code = CrossedCode(members, 1024, 1.0, 1.0, np.empty((0, 2)))
        >>> one, same, other = code.levels(np.array([[3.0, 5.2], [3.9, 5.0], [5.0, 3.0]])).tolist()
        >>> len(one)
        2
        >>> one == same, one == other
        (True, False)
        """
        values = np.empty(numbers.shape)
        for k, member in enumerate(self.members):
            values[:, k] = member.values(numbers[:, k])
        keys = np.empty(len(values), np.uint64)
        write_row_keys(values.view(np.uint64), MIXERS[: len(self.members)], keys)
        shift = np.uint64(64 - (self.n_levels.bit_length() - 1))
        return ((keys[:, None] * FINAL_MIXERS) >> shift).astype(np.int64)


@dataclass(frozen=True, eq=False)
class CrossedCodes:
    """The crossed codes of a basis; their levels are numbered one code after the other.

    A level is a hash of the combination of the members' values. Levels are there
    before any row has them: a combination that the initial sample lacks gets
    an effect from the rows that come later. Since two combinations may share a
    level, each has two, and its effect is the smaller one of these: a combination
    without rows has none, unless rows of others have both of its levels.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.crossed_codes import CrossedCode, CrossedCodes, Member
    >>> members = tuple(Member(j, np.empty(0), np.empty(0, np.int64)) for j in (0, 2))
    >>> codes = CrossedCodes((CrossedCode(members, 8, 1.0, 1.0, np.empty((0, 2))),) * 2)
    >>> codes.size, codes.levels(np.array([[1.0, 0.0, 2.0]])).tolist()
    (16, [[4, 7, 12, 15]])
    """

    codes: tuple[CrossedCode, ...] = ()

    @property
    def size(self) -> int:
        """Number of levels of all codes."""
        return sum(code.n_levels for code in self.codes)

    def parts(self) -> list[slice]:
        """Return the range of the levels of each code."""
        ends = np.cumsum([0, *(code.n_levels for code in self.codes)]).tolist()
        return [slice(start, end) for start, end in pairwise(ends)]

    def levels(self, rows: Rows) -> NDArray[np.int64]:
        """Return the levels of each row in each code, two by two, of shape (n_rows, 2 n_codes)."""
        levels = np.empty((rows.shape[0], len(self.codes), FINAL_MIXERS.size), np.int64)
        for number, (code, part) in enumerate(zip(self.codes, self.parts(), strict=True)):
            of_inputs = rows[:, list(code.inputs)]
            numbers = np.asarray(of_inputs if isinstance(of_inputs, np.ndarray) else of_inputs.toarray(), np.float64)
            levels[:, number] = part.start + code.levels(numbers)
        return levels.reshape(rows.shape[0], -1)

    def contributions(self, rows: Rows, effects: Floats) -> Floats:
        """Return what each code adds to the score of each row, given the effect of each level."""
        one, other = effects[self.levels(rows)].reshape(rows.shape[0], -1, FINAL_MIXERS.size).transpose(2, 0, 1)
        return np.where(np.abs(one) <= np.abs(other), one, other)

    def kept_numbers(self, j: int) -> NDArray[np.int64]:
        """Return the category numbers of an input that crossed codes distinguish."""
        of_input = [member.categories for code in self.codes for member in code.members if member.input == j]
        return np.unique(np.concatenate([np.empty(0, np.int64), *of_input]))

    def to_arrays(self) -> Arrays:
        """Return all arrays under flat names, for a file or the network."""
        members = [member for code in self.codes for member in code.members]
        examples = [np.pad(code.examples, ((0, 0), (0, MAX_MEMBERS - len(code.members)))) for code in self.codes]
        return {
            "inputs": np.array([member.input for member in members], np.int64),
            "member_ends": _ends([code.members for code in self.codes]),
            "edges": np.concatenate([np.empty(0), *(member.edges for member in members)]),
            "edge_ends": _ends([member.edges for member in members]),
            "categories": np.concatenate([np.empty(0, np.int64), *(member.categories for member in members)]),
            "category_ends": _ends([member.categories for member in members]),
            "n_levels": np.array([code.n_levels for code in self.codes], np.int64),
            "lambdas": np.array([code.lambda_ for code in self.codes]),
            "factors": np.array([code.factor for code in self.codes]),
            "examples": np.concatenate([np.empty((0, MAX_MEMBERS)), *examples]),
            "example_ends": _ends(examples),
        }

    @classmethod
    def from_arrays(cls, kinds: NDArray[np.int8], arrays: NamedArrays) -> Self:
        """Return the crossed codes of inputs of these kinds from `to_arrays`; raise ValueError if invalid."""
        check_arrays(SCHEMA, arrays, {"inputs": kinds.size})
        n_members, n_levels = np.diff(arrays["member_ends"]), arrays["n_levels"]
        if not 1 <= n_levels.size <= MAX_CODES:
            raise ValueError(f"crossed codes: expected 1 to {MAX_CODES} of them, got {n_levels.size}")
        if ((n_members < MIN_MEMBERS) | (n_members > MAX_MEMBERS)).any():
            raise ValueError(f"crossed codes: expected {MIN_MEMBERS} to {MAX_MEMBERS} inputs each")
        if (n_levels & (n_levels - 1)).any():
            raise ValueError("crossed codes: expected numbers of levels that are powers of two")
        members = []
        edges, categories = (
            np.split(np.array(arrays[name]), arrays[ends][1:-1])
            for name, ends in (("edges", "edge_ends"), ("categories", "category_ends"))
        )
        for j, own_edges, own_categories in zip(arrays["inputs"].tolist(), edges, categories, strict=True):
            if (np.diff(own_edges) <= 0.0).any() or (np.diff(own_categories) <= 0).any():
                raise ValueError("crossed codes: expected edges and categories in ascending order")
            is_categorical = kinds[j] == CATEGORICAL
            if (
                kinds[j] < NUMERIC
                or (own_categories.size and not is_categorical)
                or (own_edges.size and is_categorical)
            ):
                raise ValueError("crossed codes: expected bins of numbers, or categories of categorical inputs")
            members.append(Member(j, own_edges, own_categories))
        codes = []
        for number, (start, end) in enumerate(pairwise(arrays["member_ends"].tolist())):
            first, last = arrays["example_ends"][number : number + 2].tolist()
            examples = np.array(arrays["examples"][first:last, : end - start])
            own = tuple(members[start:end])
            if len({member.input for member in own}) < len(own):
                raise ValueError("crossed codes: expected different inputs in each")
            lambda_, factor = float(arrays["lambdas"][number]), float(arrays["factors"][number])
            codes.append(CrossedCode(own, int(n_levels[number]), lambda_, factor, examples))
        return cls(tuple(codes))


def _ends(parts: Sequence[Sequence[object] | NDArray[np.generic]]) -> NDArray[np.int64]:
    return np.cumsum([0, *(len(part) for part in parts)]).astype(np.int64)


NO_CROSSED_CODES = CrossedCodes()
