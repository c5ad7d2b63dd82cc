"""What users get from an additive model: its terms, and scores as sums of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from opauc.additive.terms.tree_terms import TreeTerms
from opauc.data.frames import PANDAS, new_frame
from opauc.errors import UnknownNameError, nearest_first, unknown_name
from opauc.estimators.notebook import BOTH, FALLS, NO_DIRECTION, RISES
from opauc.types import Array, Floats

MISSING_NAME = "missing"
# Names in a message.
MAX_NAMES = 8
# Standard errors of a value to either side.
N_ERRORS = 2.0
# The columns of a data frame of a term after those of its inputs.
VALUE, ERROR = VALUE_COLUMNS = ("value", "error")


def unknown_term(name: str, names: Sequence[str]) -> UnknownNameError:
    """Return the error for a name that no term has: it lists the nearest names first.

    Examples
    --------
    >>> from opauc.additive.terms.terms import unknown_term
    >>> print(unknown_term("Age", ["fare", "age"]))
    unknown term 'Age'; expected one of age, fare
    """
    near = nearest_first(name, names)
    more = f", … ({len(near)} in all)" if len(near) > MAX_NAMES else ""
    return UnknownNameError(unknown_name("term", name, near[:MAX_NAMES]) + more)


def is_beyond_error(values: Floats, errors: Floats) -> bool:
    """Return whether any value of a term is more than two standard errors from zero.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.terms.terms import is_beyond_error
    >>> is_beyond_error(np.array([0.1, -0.5]), np.full(2, 0.2)), is_beyond_error(np.array([0.1, -0.5]), np.full(2, 0.3))
    (True, False)
    """
    return bool((np.abs(values) > N_ERRORS * errors).any())


@dataclass(frozen=True, eq=False)
class Term:
    """One part of the score, in log-odds: a main effect, a pair, a crossed code, or the share of an input in the trees.

    Attributes
    ----------
    name : str
        "age" for a main effect, "age × fare" for a pair, "age (trees)" for the share of an input in the tree ensemble,
        "shop (categorical)" for the effects of single values of a numeric input, "shop × day × hour" and
        "shop × day (codes)" for those of combinations of values.
    inputs : tuple of str
        The names of the columns that the term depends on.
    at : tuple of tuples of float or str
        The values at which the term is given, numbers or categories, "missing" last: one tuple for a main effect, two
        for a pair. One for combinations too, with the names of the most frequent ones. Empty for trees, whose values
        depend on other columns too.
    value : ndarray
        The values of the term, of shape `tuple(map(len, at))`, centered: their mean over the training rows is zero. So
        is that of a pair or of trees along each of their columns: what one column does alone is its main effect. Rows
        count with p (1 - p), the most where the model is least certain. (Of combinations the mean is nearly zero: a few
        of them share a level.)
    error : ndarray
        The standard error of each value.
    importance : float
        The standard deviation of the term over the training rows.
    is_weak : bool
        Whether a pair has too little evidence to be called an interaction: the test by which it was found allows for
        more than 10 % false discoveries, or no value is more than two standard errors from zero. The penalties keep
        such pairs small. Of pairs that `interactions` names only the standard errors count. False for other terms.

    Examples
    --------
    >>> from opauc import OnePassGAM
    >>> rows = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]]
    >>> [term, _] = OnePassGAM().fit(rows * 30, [0, 0, 1, 1] * 30).terms_
    >>> term.name, term.at
    ('x0', ((0.0, 1.0, 2.0, 4.0),))
    >>> (term.value > 0).tolist()
    [False, False, True, True]
    """

    name: str
    inputs: tuple[str, ...]
    at: tuple[tuple[float | str, ...], ...]
    value: Floats
    error: Floats
    importance: float
    is_weak: bool = False

    def direction(self) -> str:
        """Return the direction of a curve: "+" or "−" where it turns back by no more than two standard errors, or "±".

        It is empty for levels, pairs and trees, and for a curve that is constant within two standard errors.
        """
        if len(self.at) != 1 or not self.is_numeric(0) or not self.value.any():
            return NO_DIRECTION
        n = len(self.present(0))
        values, margins = self.value[:n], N_ERRORS * self.error[:n]
        rises = bool((np.maximum.accumulate(values) - values <= margins).all())
        falls = bool((values - np.minimum.accumulate(values) <= margins).all())
        if rises and falls:
            return NO_DIRECTION
        return RISES if rises else FALLS if falls else BOTH

    def is_numeric(self, axis: int) -> bool:
        """Tell whether the values of one of its columns are numbers, but for "missing"."""
        present = self.present(axis)
        return bool(present) and not any(isinstance(value, str) for value in present)

    def present(self, axis: int) -> tuple[float | str, ...]:
        """Return the values of one of its columns without the "missing" at the end of numbers."""
        values = self.at[axis]
        numbers_end = values[-1:] == (MISSING_NAME,) and not isinstance(values[0], str)
        return values[:-1] if numbers_end else values

    def to_frame(self, as_frame: str = PANDAS) -> Any:
        """Return the term as a data frame with one row per value.

        Parameters
        ----------
        as_frame : {"pandas", "polars"}, default="pandas"
            The library of the data frame.

        Returns
        -------
        frame : DataFrame
            A column for each column that the term depends on (combinations have one column, with the name of the
            term), then "value" and "error". A column of numbers has nan where the value is missing, null in polars;
            a column of categories has "missing". A column that is itself called "value" or "error" is called "value
            (column)". Trees have no rows, since their values depend on other columns too.

        Raises
        ------
        MissingEngineError
            If the library is not installed.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]]
        >>> [term, _] = OnePassGAM().fit(rows * 30, [0, 0, 1, 1] * 30).terms_
        >>> frame = term.to_frame()
        >>> frame.columns.tolist(), frame["x0"].tolist()
        (['x0', 'value', 'error'], [0.0, 1.0, 2.0, 4.0])
        """
        names = self.inputs if len(self.at) in (0, len(self.inputs)) else (self.name,)
        points = np.indices(self.value.shape).reshape(self.value.ndim, -1)
        columns: dict[str, Array] = {}
        for axis, name in enumerate(names):
            values = self._axis_values(axis)[points[axis]] if self.at else np.empty(0)
            columns[f"{name} (column)" if name in VALUE_COLUMNS else name] = values
        return new_frame(columns | {VALUE: self.value.ravel(), ERROR: self.error.ravel()}, as_frame)

    def _axis_values(self, axis: int) -> Array:
        """Return the values of one of its columns: numbers with nan where missing, or strings."""
        values = self.at[axis]
        if not self.is_numeric(axis):
            return np.array([str(value) for value in values], dtype=object)
        return np.array([np.nan if value == MISSING_NAME else float(value) for value in values])


@dataclass(frozen=True, eq=False)
class Explanation:
    """The scores of rows as sums: a baseline and the contribution of each term.

    Attributes
    ----------
    names : tuple of str
        The names of the terms.
    contributions : ndarray of shape (n_rows, n_terms)
        What each term adds to the score of each row, in log-odds.
    baseline : float
        The mean score of the training rows.
    library : {"pandas", "polars"}
        The library of the data frame that the rows came in, pandas for all else.
    index : Index or None
        The index of the rows in pandas.

    Examples
    --------
    >>> from opauc import OnePassGAM
    >>> rows = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]]
    >>> explanation = OnePassGAM().fit(rows * 30, [0, 0, 1, 1] * 30).explain(rows)
    >>> explanation.names, explanation.contributions.shape
    (('x0', 'x1'), (4, 2))
    >>> (explanation.scores() > 0).tolist()
    [False, False, True, True]
    """

    names: tuple[str, ...]
    contributions: Floats
    baseline: float
    library: str = PANDAS
    index: Any = None

    def scores(self) -> Floats:
        """Return the score of each row: the baseline and the sum of its contributions.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            The scores.
        """
        scores: Floats = self.baseline + self.contributions.sum(axis=1)
        return scores

    def to_frame(self, as_frame: str | None = None) -> Any:
        """Return the contributions as a data frame: a row for each row explained, a column for each term.

        Parameters
        ----------
        as_frame : {"pandas", "polars"}, default=None
            The library of the data frame; None is that of the rows explained, pandas for all else.

        Returns
        -------
        frame : DataFrame
            The contributions in log-odds; in pandas it has the index of the rows explained. The sum of a row and
            `baseline` is the score.

        Raises
        ------
        MissingEngineError
            If the library is not installed.

        Examples
        --------
        >>> import pandas as pd
        >>> from opauc import OnePassGAM
        >>> table = pd.DataFrame({"age": [20.0, 30.0, 60.0, 70.0] * 30}, index=range(100, 220))
        >>> frame = OnePassGAM().fit(table, [0, 0, 1, 1] * 30).explain(table[:3]).to_frame()
        >>> frame.columns.tolist(), frame.index.tolist()
        (['age'], [100, 101, 102])
        """
        library = self.library if as_frame is None else as_frame
        columns = dict(zip(self.names, self.contributions.T, strict=True))
        return new_frame(columns, library, self.index if library == PANDAS else None)


@dataclass(frozen=True, eq=False)
class SavedTerms:
    """The numbers of the terms of a model that was saved without its sums."""

    column_weights: csr_array  # (n_columns, n_terms)
    means: Floats
    deviations: Floats
    baseline: float
    values: Floats  # of all terms along their grids
    errors: Floats
    trees: TreeTerms | None
    mean_contributions: Floats  # of all terms over the rows
    limits: Floats  # (2, n_terms): the lowest and the highest contribution of each term

    def along(self, grids: Sequence[Floats]) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Return the values of each term in the rows of its grid, and their standard errors, one after the other."""
        return self.values.copy(), self.errors.copy()

    def extremes(self, grids: Sequence[Floats]) -> Floats:  # noqa: ARG002
        """Return the lowest and the highest contribution of each term."""
        return self.limits.copy()
