"""What users get from an additive model: its terms, and scores as sums of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scipy.sparse import csr_array

from opauc.additive.tree_terms import TreeTerms
from opauc.types import Floats


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

    def scores(self) -> Floats:
        """Return the score of each row: the baseline and the sum of its contributions.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            The scores.
        """
        scores: Floats = self.baseline + self.contributions.sum(axis=1)
        return scores


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
