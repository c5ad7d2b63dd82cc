"""The sums of crossed codes over rows, two numbers per level, and the effects that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.crossed_codes import MAX_CODES, MAX_LEVELS, CrossedCodes
from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.core.mergeable import ROUNDING, Mergeable
from opauc.errors import IncompatibleMomentsError
from opauc.types import Arrays, Floats, NamedArrays

CROSSED_SCHEMA = {
    "n_levels": ArrayRule("int64", low=0, high=MAX_CODES * MAX_LEVELS),
    "levels": ArrayRule("int64", "used", low=0, rising=True),
    "residuals": ArrayRule("float64", "used"),
    "curvature": ArrayRule("float64", "used", low=0),
}


@dataclass(frozen=True, eq=False)
class CrossedSums(Mergeable):
    """The sum of the residuals and of the curvatures of the rows of each level, at a fixed expansion point.

    Files have the levels with rows only.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.crossed.sums import CrossedSums
    >>> sums = CrossedSums.empty(4).update(np.array([[1], [3], [1]]), np.array([0.5, -0.5, 0.5]), np.full(3, 0.25))
    >>> sums.residuals.tolist(), sums.merge(sums).curvature.tolist()
    ([0.0, 1.0, 0.0, -0.5], [0.0, 1.0, 0.0, 0.5])
    """

    residuals: Floats
    curvature: Floats

    @classmethod
    def empty(cls, n_levels: int) -> Self:
        """Return the sums of no rows."""
        return cls(np.zeros(n_levels), np.zeros(n_levels))

    @property
    def size(self) -> int:
        """Number of levels of all codes."""
        return self.residuals.size

    def empty_copy(self) -> Self:
        """Return the sums of no rows."""
        return self.empty(self.size)

    def copy(self) -> Self:
        """Return the same sums in arrays of their own."""
        return type(self)(self.residuals.copy(), self.curvature.copy())

    def update(self, levels: NDArray[np.int64], residuals: Floats, curvature: Floats) -> Self:
        """Return the sums with rows added, given their levels, of shape (n_rows, n)."""
        after = self.copy()
        after.add_in_place(levels, residuals, curvature)
        return after

    def add_in_place(self, levels: NDArray[np.int64], residuals: Floats, curvature: Floats) -> None:
        """Add rows to these sums, which must be a copy of nobody else's: copying them costs as much as many rows."""
        for of_rows in levels.T:
            np.add.at(self.residuals, of_rows, residuals)
            np.add.at(self.curvature, of_rows, curvature)

    def merge(self, other: Self) -> Self:
        """Return the sums of both sets of rows."""
        self._check_same_levels(other)
        return type(self)(self.residuals + other.residuals, self.curvature + other.curvature)

    def subtract(self, other: Self) -> Self:
        """Return the sums of the rows that are not in `other`; a level without rows left has sums of zero."""
        self._check_same_levels(other)
        curvature = self.curvature - other.curvature
        is_empty = curvature <= ROUNDING * self.curvature
        return type(self)(np.where(is_empty, 0.0, self.residuals - other.residuals), np.where(is_empty, 0.0, curvature))

    def effects(self, codes: CrossedCodes) -> Floats:
        """Return the effect of each level: its residual sum, shrunk by the smoothing parameter of its code.

        What all levels of a code have in common belongs to the intercept: the
        residuals are taken less their mean per curvature.

        Examples
        --------
        >>> import numpy as np
        >>> from opauc.additive.basis.crossed_codes import CrossedCode, CrossedCodes
        >>> from opauc.additive.crossed.sums import CrossedSums
        >>> codes = CrossedCodes((CrossedCode((), 4, 1.0, 0.5, np.empty((0, 2))),))
        >>> CrossedSums(np.array([6.0, -2.0, 0.0, 0.0]), np.array([3.0, 1.0, 0.0, 0.0])).effects(codes).tolist()
        [0.375, -0.75, 0.0, 0.0]
        """
        effects = np.empty(self.size)
        for code, part in zip(codes.codes, codes.parts(), strict=True):
            residuals, curvature = self.residuals[part], self.curvature[part]
            mean = residuals.sum() / max(float(curvature.sum()), 1e-300)
            effects[part] = code.factor * (residuals - mean * curvature) / (curvature + code.lambda_)
        return effects

    def variances(self, codes: CrossedCodes) -> Floats:
        """Return the variance of the effect of each level, given all other weights."""
        variances = np.empty(self.size)
        for code, part in zip(codes.codes, codes.parts(), strict=True):
            variances[part] = code.factor / (self.curvature[part] + code.lambda_)
        return variances

    def to_arrays(self) -> Arrays:
        """Return the sums of the levels that have rows, for a file or the network."""
        used = np.flatnonzero((self.curvature > 0.0) | (self.residuals != 0.0))
        return {
            "n_levels": np.array(self.size, np.int64),
            "levels": used,
            "residuals": self.residuals[used],
            "curvature": self.curvature[used],
        }

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the sums from `to_arrays`; raise IncompatibleMomentsError if they cannot be sums of rows."""
        check_arrays(CROSSED_SCHEMA, arrays)
        n_levels, levels = int(arrays["n_levels"]), arrays["levels"]
        if levels.size and int(levels[-1]) >= n_levels:
            raise IncompatibleMomentsError(f"crossed codes: expected sums of {n_levels} levels")
        sums = cls.empty(n_levels)
        sums.residuals[levels], sums.curvature[levels] = arrays["residuals"], arrays["curvature"]
        return sums

    def _check_same_levels(self, other: Self) -> None:
        if self.size != other.size:
            raise IncompatibleMomentsError("sums of different crossed codes cannot be merged")
