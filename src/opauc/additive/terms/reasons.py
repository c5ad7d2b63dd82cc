"""The reasons for a score: the terms that lower or raise it most against a reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.additive.terms.explain import Terms
from opauc.core.parameters import Count, Option, check_param
from opauc.data.schema.table import TableSchema
from opauc.types import Floats

MEAN, BEST = REFERENCES = ("mean", "best")
LOWER, RAISE = DIRECTIONS = ("lower", "raise")
TERM, FEATURE = ATTRIBUTIONS = ("term", "feature")
# The place of a reason where a row has fewer than asked for.
NO_REASON = -1


class Reason(NamedTuple):
    """One reason: the name of a term or a feature, and its contribution less that of the reference, in log-odds."""

    name: str
    difference: float


@dataclass(frozen=True, eq=False)
class Reasons:
    """The reasons for the scores of rows, the strongest first.

    Attributes
    ----------
    names : tuple of str
        The names of all terms, or of all features.
    order : ndarray of shape (n_rows, k)
        The position in `names` of each reason of each row; -1 where a row has fewer than k.
    differences : ndarray of shape (n_rows, k)
        What each reason adds to the score less what it adds in the reference, in log-odds; zero where there is none.
    reference : ndarray of shape (n_names,)
        The contributions of the reference.

    Examples
    --------
    >>> from opauc import OnePassGAM
    >>> rows = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]]
    >>> model = OnePassGAM(interactions=0).fit(rows * 30, [0, 0, 1, 1] * 30)
    >>> reasons = model.reasons([[0.0, 5.0], [4.0, 7.0]], k=1)
    >>> [reason.name for reason in reasons[0]], len(reasons)
    (['x0'], 2)
    """

    names: tuple[str, ...]
    order: NDArray[np.int64]
    differences: Floats
    reference: Floats

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, row: int) -> list[Reason]:
        """Return the reasons of one row."""
        parts = zip(self.order[row].tolist(), self.differences[row].tolist(), strict=True)
        return [Reason(self.names[at], difference) for at, difference in parts if at != NO_REASON]

    def names_of_rows(self) -> list[list[str | None]]:
        """Return the names of the k reasons of each row, None where there are fewer."""
        names = (*self.names, None)  # which position -1 means
        return [[names[at] for at in row] for row in self.order.tolist()]


def check_reasons(k: object, reference: object, direction: object, by: object) -> int:
    """Return how many reasons; raise ValueError for values that `reasons` does not take."""
    check_param("reasons", "direction", direction, Option(DIRECTIONS))
    check_param("reasons", "by", by, Option(ATTRIBUTIONS))
    if isinstance(reference, str):
        check_param("reasons", "reference", reference, Option(REFERENCES))
    return int(check_param("reasons", "k", k, Count()))


def find_reasons(
    terms: Terms,
    rows: Floats,
    k: int,
    reference: str | Floats = MEAN,
    direction: str = LOWER,
    features: Sequence[str] | None = None,
) -> Reasons:
    """Return the reasons for the scores of rows.

    `reference` is "mean", "best" or a row; `features` has the name of the feature that each input belongs to where
    reasons are features.
    """
    contributions = terms.explain(rows).contributions
    of_reference = _reference(terms, reference, direction)
    names = terms.names
    if features is not None:
        names, shares = _by_feature(terms, features)
        contributions, of_reference = contributions @ shares, of_reference @ shares
    differences = contributions - of_reference
    if direction == RAISE:
        differences = -differences
    k = min(k, len(names))
    order = np.tile(np.arange(k), (len(rows), 1))
    if 0 < k < len(names):
        order = np.argpartition(differences, k - 1, axis=1)[:, :k]
    values = np.take_along_axis(differences, order, axis=1)
    ranks = np.argsort(values, axis=1, kind="stable")
    order, values = np.take_along_axis(order, ranks, axis=1), np.take_along_axis(values, ranks, axis=1)
    is_reason = values < 0.0
    sign = -1.0 if direction == RAISE else 1.0
    return Reasons(names, np.where(is_reason, order, NO_REASON), np.where(is_reason, sign * values, 0.0), of_reference)


def _reference(terms: Terms, reference: str | Floats, direction: str) -> Floats:
    """Return the contributions of the reference: of the mean, of the best value of each term, or of a row."""
    if not isinstance(reference, str):
        of_row: Floats = terms.explain(reference).contributions[0]
        return of_row
    if reference == MEAN:
        return terms.numbers.mean_contributions
    extremes = terms.numbers.extremes(terms.grid_rows)
    best: Floats = extremes[int(direction == LOWER)]
    return best


def _by_feature(terms: Terms, features: Sequence[str]) -> tuple[tuple[str, ...], Floats]:
    """Return the names of the features, and the share of each in each term: its inputs share it evenly."""
    names = tuple(dict.fromkeys(features))
    shares = np.zeros((len(terms.term_columns), len(names)))
    for number, term in enumerate(terms.term_columns):
        for j in term.inputs:
            shares[number, names.index(features[j])] += 1.0 / len(term.inputs)
    return names, shares


def input_features(columns: TableSchema | None, names: Sequence[str]) -> tuple[str, ...]:
    """Return the name of the column that each input is made from: a date makes several; names are those of an array."""
    return tuple(names) if columns is None else tuple(column.name for column in columns.columns for _ in column.inputs)
