"""The columns of one input by itself: none, an indicator, a curve, or one column per category."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.knots import OrderedValues, place_knots
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, LEFT_OUT, NUMERIC
from opauc.additive.policy import BASIS_POLICY, BasisPolicy
from opauc.types import Floats

# The first so many values show for nearly all inputs that they have more than two distinct ones.
FIRST_VALUES = 64


@dataclass(frozen=True, eq=False)
class MainEffect:
    """The columns of one input.

    A binary input has one column, interpolated and clipped between the two
    values in `scale`. A numeric input has a linear term, clipped and
    standardized by `scale` (low, high, mean, deviation), and one linear B-spline
    (hat) function per knot. A categorical input has one column for each category
    number in `kept`, in ascending order, and one that pools all others. A missing
    value sets none of these columns, only the indicator of missing values.
    """

    kind: int
    scale: tuple[float, float, float, float] = (0.0, 1.0, 0.0, 1.0)
    knots: Floats = field(default_factory=lambda: np.empty(0))
    kept: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    missing: bool = False

    @classmethod
    def of(
        cls,
        values: Floats,
        balanced_weight: Floats,
        weight: Floats,
        categorical: bool,
        n_knots: int,
        levels: NDArray[np.int64] | None = None,
        policy: BasisPolicy = BASIS_POLICY,
    ) -> MainEffect:
        """Return the main effect of an input from its values in the sample, nan where missing.

        A categorical input keeps the given `levels`, or all categories with enough rows; if there are none, it keeps
        the most frequent category, provided that it occurs more than once.

        Examples
        --------
        >>> import numpy as np
        >>> from opauc.additive.basis.main_effects import MainEffect
        >>> effect = MainEffect.of(np.array([2.0, 7.0, 2.0, np.nan]), np.ones(4), np.ones(4), False, 8)
        >>> effect.kind, effect.scale[:2], effect.missing
        (1, (2.0, 7.0), True)
        """
        is_present = ~np.isnan(values)
        missing = not bool(is_present.all())
        present = values[is_present]
        if categorical:
            return cls._of_categories(present, weight[is_present], missing, levels, policy)
        if np.unique(present[:FIRST_VALUES]).size < policy.min_knots:
            distinct = np.unique(present)
            if distinct.size < 2:
                return cls(LEFT_OUT, missing=missing and distinct.size > 0)
            if distinct.size == 2:
                return cls(BINARY, (float(distinct[0]), float(distinct[1]), 0.0, 1.0), missing=missing)
        order = np.argsort(present)
        ordered = present[order]
        scale = _scale(OrderedValues(ordered, weight[is_present][order]), policy)
        knots = np.empty(0)
        if n_knots >= policy.min_knots:
            balanced = OrderedValues(ordered, balanced_weight[is_present][order])
            knots = place_knots(balanced, n_knots, policy.curve_ends, policy.max_quantile_knots)
        return cls(NUMERIC, scale, knots if knots.size >= policy.min_knots else np.empty(0), missing=missing)

    @classmethod
    def _of_categories(
        cls,
        numbers: Floats,
        weight: Floats,
        missing: bool,
        levels: NDArray[np.int64] | None,
        policy: BasisPolicy,
    ) -> MainEffect:
        categories, counts = _count_categories(numbers, weight)
        if categories.size + (numbers < 0).any() < 2:
            return cls(LEFT_OUT, missing=missing and categories.size > 0)
        kept = categories[counts >= policy.min_category_rows] if levels is None else levels
        if not kept.size and counts.max() > 1:  # keep the most frequent, so that all others can share a column
            kept = categories[[np.argmax(counts)]]
        return cls(CATEGORICAL, kept=kept, missing=missing) if kept.size else cls(LEFT_OUT, missing=missing)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        sizes = {LEFT_OUT: 0, BINARY: 1, NUMERIC: 1 + self.knots.size, CATEGORICAL: self.kept.size + 1}
        return sizes[self.kind] + self.missing


def _scale(ordered: OrderedValues, policy: BasisPolicy) -> tuple[float, float, float, float]:
    """Return the quantiles at which the linear term is clipped, and its mean and deviation after clipping."""
    values, weight = ordered
    low, high = ordered.quantiles(np.array(policy.linear_clip)).tolist()
    if low >= high:
        low, high = float(values[0]), float(values[-1])
    # Dividing by a power of two is exact, and squares of numbers below one do not overflow.
    exponent = int(np.frexp(max(abs(low), abs(high)))[1])
    clipped = np.ldexp(np.clip(values, low, high), -exponent)
    mean = weight @ clipped / weight.sum()
    deviation = np.sqrt(weight @ (clipped - mean) ** 2 / weight.sum())
    return low, high, float(np.ldexp(mean, exponent)), float(np.ldexp(deviation, exponent)) or 1.0


def main_effects(
    sample: Floats,
    balanced_weight: Floats,
    weight: Floats,
    categorical: NDArray[np.bool_],
    n_knots: int,
    max_levels: int | None = None,
    policy: BasisPolicy = BASIS_POLICY,
) -> tuple[MainEffect, ...]:
    """Return the main effect of every input of a sample with class-balanced and plain sample weights.

    All categorical inputs together keep at most `max_levels` categories, the most frequent ones.
    """
    levels = _most_frequent(sample, weight, categorical, max_levels, policy)
    return tuple(
        MainEffect.of(values, balanced_weight, weight, bool(is_categorical), n_knots, levels.get(j), policy)
        for j, (values, is_categorical) in enumerate(zip(sample.T, categorical, strict=True))
    )


def _most_frequent(
    sample: Floats, weight: Floats, categorical: NDArray[np.bool_], max_levels: int | None, policy: BasisPolicy
) -> dict[int, NDArray[np.int64]]:
    """Return the categories that each categorical input keeps: the most frequent of those with enough rows.

    Of equally frequent ones those that come first in the sample are kept, whatever their numbers.
    """
    frequent = {}
    for j in np.flatnonzero(categorical).tolist():
        is_present = ~np.isnan(sample[:, j])
        numbers, counts = _count_categories(sample[is_present, j], weight[is_present])
        enough = counts >= policy.min_category_rows
        frequent[j] = numbers[enough], counts[enough], first_rows(sample[:, j], numbers[enough])
    inputs = np.repeat([*frequent], [counts.size for _, counts, _ in frequent.values()])
    parts = zip((inputs[:0],) * 3, *frequent.values(), strict=True)
    levels, counts, first = (np.concatenate(part) for part in parts)
    kept = np.sort(np.lexsort((inputs, first, -counts))[:max_levels])
    return {j: levels[kept[inputs[kept] == j]] for j in frequent}


def first_rows(values: Floats, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first row that has each of some category numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.main_effects import first_rows
    >>> first_rows(np.array([7.0, np.nan, 3.0, 7.0]), np.array([3, 7]))
    array([2, 0])
    """
    present, first = np.unique(values, return_index=True)
    return first[np.searchsorted(present, numbers)]


def _count_categories(numbers: Floats, weight: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the category numbers that occur, in ascending order, and the sum of the weights of each.

    Rows of categories that have no number (UNSEEN) are left out.
    """
    is_known = numbers >= 0
    codes = numbers[is_known].astype(np.int64)
    categories = np.flatnonzero(np.bincount(codes))
    return categories, np.asarray(np.bincount(codes, weight[is_known])[categories], np.float64)
