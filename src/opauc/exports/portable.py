"""The portable form of a fitted model: what any language needs to score a row and to give the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from opauc.types import Floats

# Kinds of columns.
NUMBER, CATEGORY, DATE = "number", "category", "date"
# The place of a missing value on every axis, and the number of a category that has none of its own.
MISSING_PLACE, UNSEEN_CATEGORY = 0, -1.0


@dataclass(frozen=True)
class Column:
    """A column of the rows to be scored, and how a raw value becomes numbers, its inputs.

    A number column becomes its number, nan where missing; text is read in `text_format`: the decimal separator, then
    the unit of the column. A category column becomes the number of its category, -1 for one that is not in
    `categories`. A date column becomes one number for each of its `parts`: "day", the days since 1970 with their
    fraction, "month" 1-12, "weekday" 0-6 from Monday, "hour" 0-24; text is read in the layouts of `text_format`.

    Attributes
    ----------
    name : str
        The name of the column.
    kind : {"number", "category", "date"}
        What its values are.
    parts : tuple of str
        The parts of a date.
    categories : dict of str to int
        The number of each category that the model distinguishes.
    missing : tuple of str
        Strings that mark a missing value.
    text_format : str
        The number format, or the date layouts, joined by " or ".
    is_required : bool
        Whether a missing value is an error.
    is_strict : bool
        Whether text that is neither a number nor missing is an error, and not a missing value.
    """

    name: str
    kind: str
    parts: tuple[str, ...] = ()
    categories: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    text_format: str = ""
    is_required: bool = False
    is_strict: bool = False

    @property
    def n_inputs(self) -> int:
        """Number of numbers that a value becomes."""
        return len(self.parts) or 1


@dataclass(frozen=True)
class Input:
    """One number of a row: its name, the position of its column, and which part of a date it is."""

    name: str
    column: int
    part: str = ""


# An axis gives the place of an input among the values of a table; the place of a missing value is 0 on all of them.


@dataclass(frozen=True, eq=False)
class Line:
    """A straight line: a table has two values, that of a missing value and the slope, which multiplies the input."""

    input: int

    @property
    def size(self) -> int:
        """Number of values of a table."""
        return 2


@dataclass(frozen=True, eq=False)
class Curve:
    """Knots in ascending order: a table has a value at each, after that of a missing value.

    Between two knots a value is interpolated linearly, beyond the end knots it is constant.
    """

    input: int
    knots: Floats

    @property
    def size(self) -> int:
        """Number of values of a table."""
        return 1 + self.knots.size


@dataclass(frozen=True, eq=False)
class Steps:
    """Cuts in ascending order: the place of a value is one more than the number of cuts below it."""

    input: int
    cuts: Floats

    @property
    def size(self) -> int:
        """Number of values of a table."""
        return 2 + self.cuts.size


@dataclass(frozen=True, eq=False)
class Levels:
    """Single numbers in ascending order, those of categories or codes, and the place of each; all others share one."""

    input: int
    numbers: Floats
    places: NDArray[np.int64]
    other: int

    @property
    def size(self) -> int:
        """Number of values of a table."""
        return 1 + max(self.other, int(self.places.max(initial=0)))


Axis: TypeAlias = Line | Curve | Steps | Levels


@dataclass(frozen=True, eq=False)
class Table:
    """Values at all places of one or two axes: `values` has one dimension for each.

    Of two axes neither is a `Line`, and where one input is missing the value is 0.
    """

    axes: tuple[int, ...]
    values: Floats


@dataclass(frozen=True, eq=False)
class Member:
    """An input of a crossed code; its value is its bin between `edges`, the number of these at most it, or, without
    edges, the whole part of the number.
    """

    input: int
    edges: Floats


@dataclass(frozen=True, eq=False)
class CrossedTable:
    """Effects of combinations of two or three inputs, by two hashes of each combination.

    The effect of a combination is the smaller in size of those of its two levels, the first of two as small. The
    `levels` that have an effect are in ascending order, all others have none; `n_levels` is a power of two.
    """

    members: tuple[Member, ...]
    n_levels: int
    levels: NDArray[np.int64]
    effects: Floats


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees whose splits compare places: a row goes to the first child where its place on the axis is at most `place`.

    The splits of all trees are numbered one after the other. A child is the number of a split, or -1 - k for leaf k.
    `values` has those of all splits, then those of all leaves: the value of a split is the mean of its leaves. What
    the splits on an axis add to a score is the sum over them, along the path of a row, of the value of the child less
    that of the split; it belongs to the term in `terms`.
    """

    axes: tuple[int, ...]  # the axes that splits are on, each of `Steps` or `Levels`
    terms: tuple[int, ...]  # the position of the term of each of these axes
    split_axes: NDArray[np.int64]  # of each split, its position in `axes`
    split_places: NDArray[np.int64]
    children: NDArray[np.int64]  # (n_splits, 2)
    roots: NDArray[np.int64]  # the first split of each tree
    values: Floats  # (n_splits + n_leaves,)

    @property
    def n_splits(self) -> int:
        """Number of splits of all trees."""
        return self.split_axes.size

    @property
    def leaf_values(self) -> Floats:
        """The values of the leaves."""
        return self.values[self.n_splits :]

    @property
    def root_value(self) -> float:
        """The sum of the values of all roots, which is part of every score."""
        return float(self.values[self.roots].sum())


@dataclass(frozen=True, eq=False)
class PortableTerm:
    """A term of the score: its contribution is `constant` plus its tables, crossed tables and shares of trees.

    Attributes
    ----------
    name : str
        The name of the term, as `OnePassGAM.explain` gives it.
    columns : tuple of int
        The positions of its columns, once for each of its inputs: they share the contribution evenly.
    constant : float
        What is added to its tables.
    tables : tuple of Table
        Tables whose values add up.
    crossed : tuple of CrossedTable
        Tables of combinations, whose effects are added.
    mean, lowest, highest : float
        References for reasons: its mean contribution, which is 0 but for edited terms, the lowest and the highest.
    """

    name: str
    columns: tuple[int, ...]
    constant: float
    tables: tuple[Table, ...] = ()
    crossed: tuple[CrossedTable, ...] = ()
    mean: float = 0.0
    lowest: float = 0.0
    highest: float = 0.0


@dataclass(frozen=True, eq=False)
class ScoreTables:
    """A score without its terms: `intercept` plus few tables, crossed tables, and the leaves of trees."""

    intercept: float
    tables: tuple[Table, ...]
    crossed: tuple[CrossedTable, ...]


@dataclass(frozen=True, eq=False)
class PortableModel:
    """A fitted model as columns, inputs, axes and terms, which hold all that scores, probabilities and reasons need.

    The score of a row is `baseline` plus the contributions of all terms; the probability of the positive class is
    1 / (1 + exp(-(slope * score + offset))); the predicted class is the positive one where the score is above
    `threshold`.

    Attributes
    ----------
    estimator : str
        The name of the estimator.
    columns : tuple of Column
        The columns of a row, in their order.
    inputs : tuple of Input
        The numbers that these become, column after column.
    axes : tuple of Line, Curve, Steps and Levels
        The axes of all tables and trees.
    terms : tuple of PortableTerm
        The terms.
    trees : Trees or None
        The trees.
    baseline : float
        The score of a row whose contributions are all 0.
    slope, offset : float
        The calibration of the probability.
    labels : tuple
        The labels of the negative and of the positive class.
    threshold : float
        The threshold of the score.
    is_centered : bool
        Whether contributions are compared with the mean of the training rows, as reasons need.

    Examples
    --------
    >>> from opauc import OnePassGAM
    >>> from opauc.exports.make_portable import make_portable
    >>> rows = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]]
    >>> portable = make_portable(OnePassGAM(interactions=0).fit(rows * 30, [0, 0, 1, 1] * 30)._to_model())
    >>> [term.name for term in portable.terms], [column.name for column in portable.columns]
    (['x0', 'x1'], ['x0', 'x1'])
    """

    estimator: str
    columns: tuple[Column, ...]
    inputs: tuple[Input, ...]
    axes: tuple[Axis, ...]
    terms: tuple[PortableTerm, ...]
    trees: Trees | None
    baseline: float
    slope: float
    offset: float
    labels: tuple[bool | int | float | str, bool | int | float | str]
    threshold: float
    is_centered: bool = True

    @cached_property
    def score(self) -> ScoreTables:
        """The score without its terms: one table where several have the same axes; what terms exchange cancels."""
        parts: dict[tuple[int, ...], list[Floats]] = {}
        constant = self.baseline + sum(term.constant for term in self.terms)
        for table in (table for term in self.terms for table in term.tables):
            parts.setdefault(table.axes, []).append(table.values)
        # Trees and curves exchange what trees do by one input alone: what is left of it is rounding.
        kept = {axes: values for axes, values in parts.items() if not _cancel(values)}
        crossed = tuple(table for term in self.terms for table in term.crossed)
        roots = 0.0 if self.trees is None else self.trees.root_value
        tables = tuple(Table(axes, np.sum(values, axis=0)) for axes, values in kept.items())
        return ScoreTables(constant - roots, tables, crossed)

    @property
    def n_values(self) -> int:
        """Number of values of all tables and trees."""
        of_tables = sum(prod(table.values.shape) for term in self.terms for table in term.tables)
        of_crossed = sum(table.levels.size for term in self.terms for table in term.crossed)
        return of_tables + of_crossed + (0 if self.trees is None else self.trees.values.size)


def _cancel(parts: Sequence[Floats]) -> bool:
    """Tell whether nothing but rounding is left of the sum of tables."""
    largest = max(float(np.abs(part).max(initial=0.0)) for part in parts)
    return float(np.abs(np.sum(parts, axis=0)).max(initial=0.0)) <= 1e-14 * largest
