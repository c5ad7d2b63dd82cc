"""Rows of numbers, missing values and categories as features that linear methods take."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opauc.data.encode.categories import UNKNOWN, indicator_rows
from opauc.data.schema.column import UNSEEN
from opauc.types import Floats, Rows

Flags = NDArray[np.bool_]
# Where the number of a category stands among the places of its column: the missing one comes first.
SHIFT = 1


class NumberFeatures:
    """Numbers less their mean in units of their deviation, a missing one as zero; one feature for each category.

    Mean and deviation are those of some rows that are given first. Numbers of
    which some are missing there have one more feature each, which marks where
    they are. A missing category is one more category. Rows are dense without
    categories, else sparse, with more features where new categories turn up.

    Parameters
    ----------
    first : array of shape (n, n_inputs)
        Some rows: numbers, nan where missing, and numbers of categories.
    categorical : array of shape (n_inputs,)
        Which inputs are numbers of categories.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.data.encode.number_features import NumberFeatures
    >>> rows = np.array([[1.0, 0.0], [np.nan, 1.0], [3.0, np.nan]])
    >>> NumberFeatures(rows, np.array([False, True])).rows(rows, grow=True).toarray()
    array([[-1.,  0.,  1.,  0.,  0.],
           [ 0.,  1.,  0.,  1.,  0.],
           [ 1.,  0.,  0.,  0.,  1.]])
    """

    def __init__(self, first: Floats, categorical: Flags) -> None:
        self._numbers, self._categories = np.flatnonzero(~categorical), np.flatnonzero(categorical)
        numbers = first[:, self._numbers]
        there = ~np.isnan(numbers)
        self._marked = ~there.all(axis=0)
        counts = np.maximum(there.sum(axis=0), 1)
        self._means = np.where(there, numbers, 0.0).sum(axis=0) / counts
        squares = np.where(there, numbers - self._means, 0.0) ** 2
        self._deviations = np.sqrt(squares.sum(axis=0) / counts)
        self._deviations[self._deviations == 0.0] = 1.0
        # Of each column of categories, the feature of the missing one and of each number from 0 on.
        self._places = [np.full(SHIFT, UNKNOWN, np.int64) for _ in self._categories]
        self._n_categories = 0

    @property
    def n_features(self) -> int:
        """Features so far."""
        return self._numbers.size + int(self._marked.sum()) + self._n_categories

    def rows(self, rows: Floats, grow: bool) -> Rows:
        """Return the features of rows; categories that are new have one from now on, or none if it may not grow."""
        scaled = (rows[:, self._numbers] - self._means) / self._deviations
        missing = np.isnan(scaled)
        dense = np.concatenate([np.where(missing, 0.0, scaled), missing[:, self._marked]], axis=1)
        if not self._categories.size:
            return dense
        found = np.stack([self._found(number, rows[:, at], grow) for number, at in enumerate(self._categories)], axis=1)
        return indicator_rows(dense, found, found != UNKNOWN, self._n_categories)

    def _found(self, number: int, codes: Floats, grow: bool) -> NDArray[np.int64]:
        """Return the feature of each category of one column, in order of appearance."""
        known = codes != UNSEEN
        at = np.where(known, np.nan_to_num(codes, nan=-SHIFT), -SHIFT).astype(np.int64) + SHIFT
        places = self._places[number]
        if at.max(initial=0) >= places.size:
            places = np.append(places, np.full(at.max() + 1 - places.size, UNKNOWN, np.int64))
        if grow:
            met, first = np.unique(at[known], return_index=True)
            new = met[np.argsort(first)]
            new = new[places[new] == UNKNOWN]
            places[new] = self._n_categories + np.arange(new.size)
            self._n_categories += new.size
            self._places[number] = places
        return np.where(known, places[at], UNKNOWN)
