"""A fitted model that scores one row at a time, for services."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.parameters import Count, check_param
from opauc.core.scorer import Scorer
from opauc.core.threshold import Threshold
from opauc.errors import InputError
from opauc.estimators.input_checks import is_in_memory
from opauc.types import Floats, Rows


class RowExplanation(NamedTuple):
    """The score of a row as a sum: the baseline, the contributions of the strongest terms, and those of all others.

    Examples
    --------
    >>> from opauc import OnePassGAM
    >>> scorer = OnePassGAM().fit([[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]] * 30, [0, 0, 1, 1] * 30).scorer()
    >>> explanation = scorer.explain([4.0, 5.0], k=1)
    >>> [name for name, _ in explanation.contributions]
    ['x0']
    >>> abs(explanation.score() - scorer.score([4.0, 5.0])) < 1e-9
    True
    """

    baseline: float
    contributions: tuple[tuple[str, float], ...]  # name of the term and log-odds, the largest first, of either sign
    others: float

    def score(self) -> float:
        """Return the sum of all parts, which is the score."""
        return self.baseline + sum(contribution for _, contribution in self.contributions) + self.others


class RowAccess(ABC):
    """What a family of models adds to a `RowScorer`: how its rows are read, and how their scores are explained.

    Immutable: it does not change when the model is trained further.
    """

    @abstractmethod
    def records(self, records: Sequence[Mapping[str, object]]) -> Rows:
        """Return rows given as dicts as the scorer takes them."""

    @abstractmethod
    def array(self, row: Floats) -> Rows | None:
        """Return one row of numbers as the scorer takes it; None where `rows` has to check it."""

    @abstractmethod
    def rows(self, X: ArrayLike) -> Rows:
        """Return any rows as the scorer takes them, checked as `decision_function` checks them."""

    @abstractmethod
    def score(self, rows: Rows) -> float:
        """Return the score of one row."""

    @abstractmethod
    def scores(self, rows: Rows) -> Floats:
        """Return the score of each row."""

    def row(self, row: Mapping[str, object] | ArrayLike) -> Rows:
        """Return one row, a dict or an array of one dimension, as the scorer takes it."""
        if isinstance(row, Mapping):
            return self.records((row,))
        values = np.asarray(row)
        if values.ndim != 1:
            raise InputError(f"expected one row, a dict or an array of one dimension, got {type(row).__name__}")
        rows = self.array(values) if values.dtype.kind == "f" else None
        return self.rows(values[None]) if rows is None else rows

    def many_rows(self, X: Any) -> Rows:
        """Return rows in memory as the scorer takes them; those of a list of dicts are read one by one."""
        if isinstance(X, list) and X and all(isinstance(row, Mapping) for row in X):
            return self.records(X)
        return self.rows(X)

    def scores_of(self, X: Any) -> Floats:
        """Return the scores of rows in memory, or of a stream of tables."""
        if is_in_memory(X):
            return self.scores(self.many_rows(X))
        from opauc.data.formats.table import table_parts  # pyarrow, which arrays do not wait for

        parts = [self.scores(self.rows(part)) for part in table_parts(X)]
        if not parts:
            raise InputError("expected rows to score, the stream has none")
        return np.concatenate(parts)

    @abstractmethod
    def contributions(self, rows: Rows) -> tuple[Sequence[str], Floats, float]:
        """Return the names of the terms, their contributions to each row, and the baseline."""


@dataclass(frozen=True, eq=False, repr=False)
class RowScorer:
    """A model at one moment, ready to score single rows: what `model.scorer()` returns.

    It never changes, any number of threads may share it, and it is replaced as a whole by that of a newer model.

    A row is a dict of column names and raw values, as a JSON object is: strings, numbers, numbers and dates written as
    text, booleans, None; or an array of one dimension, of a model that takes arrays. In a dict

    - a column that is absent is missing, as None is: `OnePassGAM` scores such rows, linear models refuse them unless
      they were trained to fill missing values. A row without any column of the model is an error.
    - keys that are no columns of the model are ignored.
    - categories that the model does not know, and strings that are no numbers in a column of numbers, count as they do
      in `decision_function`: as the pooled category, and as missing.

    Attributes
    ----------
    classes : tuple of two labels
        The labels; the second is that of the positive class.
    threshold : Threshold or None
        The score above which a row is labeled positive; None stands for zero.

    Examples
    --------
    >>> import pandas as pd
    >>> from opauc import OnePassGAM
    >>> table = pd.DataFrame({"age": [20.0, None, 60.0, 70.0] * 30, "sex": ["f", "m", "f", "m"] * 30})
    >>> model = OnePassGAM().fit(table, ["no", "no", "yes", "yes"] * 30)
    >>> scorer = model.scorer()
    >>> scorer.label({"age": "65", "sex": "f", "customer": 7}), scorer.label({"sex": "m"})
    ('yes', 'no')
    >>> scorer.score({"age": 65, "sex": "f"}) == model.decision_function([{"age": 65, "sex": "f"}]).item()
    True
    """

    _scorer: Scorer
    _access: RowAccess
    classes: tuple[Any, Any]
    threshold: Threshold | None = None

    def __repr__(self) -> str:
        return f"RowScorer(classes={self.classes!r})"

    def score(self, row: Mapping[str, object] | ArrayLike) -> float:
        """Return the score of a row: the higher, the more likely positive.

        Parameters
        ----------
        row : dict or array-like of shape (n_features,)
            A row.

        Returns
        -------
        score : float
            To the bit that of `decision_function`.

        Raises
        ------
        InputError
            If a value cannot be read, or the row has no column of the model.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC().fit([[-1.0], [-0.5], [0.5], [1.0]], [0, 0, 1, 1]).scorer().score([0.0])
        0.0
        """
        return self._access.score(self._access.row(row))

    def probability(self, row: Mapping[str, object] | ArrayLike) -> float:
        """Return the probability of the positive class.

        Parameters
        ----------
        row : dict or array-like of shape (n_features,)
            A row.

        Returns
        -------
        probability : float
            To the bit that of `predict_proba`.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC().fit([[-1.0], [-0.5], [0.5], [1.0]], [0, 0, 1, 1]).scorer().probability([0.0])
        0.5
        """
        return self.probability_of(self.score(row))

    def label(self, row: Mapping[str, object] | ArrayLike) -> Any:
        """Return the label: that of the positive class where the score is above the threshold.

        Parameters
        ----------
        row : dict or array-like of shape (n_features,)
            A row.

        Returns
        -------
        label : label
            One of `classes`.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC().fit([[-1.0], [-0.5], [0.5], [1.0]], [0, 0, 1, 1]).scorer().label([0.2])
        1
        """
        return self.label_of(self.score(row))

    def explain(self, row: Mapping[str, object] | ArrayLike, k: int | None = None) -> RowExplanation:
        """Return the score of a row as a sum of terms.

        Parameters
        ----------
        row : dict or array-like of shape (n_features,)
            A row.
        k : int, default=None
            How many terms, the largest contributions of either sign first; None is all.

        Returns
        -------
        explanation : RowExplanation
            The baseline, the contributions of k terms, and the sum of those of all others.

        Raises
        ------
        UnsupportedOperationError
            If the model has no terms: a linear one.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> scorer = OnePassGAM().fit([[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30).scorer()
        >>> [name for name, _ in scorer.explain([4.0]).contributions]
        ['x0']
        """
        return self._explanations(self._access.row(row), k)[0]

    def explain_rows(self, X: Any, k: int | None = None) -> list[RowExplanation]:
        """Return what `explain` returns for each row, in much less time.

        Parameters
        ----------
        X : table, array-like of shape (n_rows, n_features), or list of dicts
            Rows as for `score_rows`.
        k : int, default=None
            How many terms of each row; None is all.

        Returns
        -------
        explanations : list of RowExplanation
            One for each row.

        Raises
        ------
        UnsupportedOperationError
            If the model has no terms: a linear one.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> scorer = OnePassGAM().fit([[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30).scorer()
        >>> [explanation.contributions[0][0] for explanation in scorer.explain_rows([[4.0], [0.0]])]
        ['x0', 'x0']
        """
        return self._explanations(self._access.many_rows(X), k)

    def score_rows(self, X: Any) -> Floats:
        """Return the score of each row.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features), or list of dicts
            Rows as for `decision_function`; in a list of dicts each one is read as `score` reads it.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            One score per row.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC().fit([[-1.0], [-0.5], [0.5], [1.0]], [0, 0, 1, 1]).scorer().score_rows([[0.0], [0.0]])
        array([0., 0.])
        """
        return self._access.scores_of(X)

    def probability_of(self, score: float) -> float:
        """Return the probability of the positive class of a row with this score.

        Parameters
        ----------
        score : float
            What `score` returned.

        Returns
        -------
        probability : float
            Between 0 and 1.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC().fit([[-1.0], [-0.5], [0.5], [1.0]], [0, 0, 1, 1]).scorer().probability_of(0.0)
        0.5
        """
        return float(self._scorer.probabilities(np.array([score]))[0])

    def label_of(self, score: float) -> Any:
        """Return the label of a row with this score.

        Parameters
        ----------
        score : float
            What `score` returned.

        Returns
        -------
        label : label
            One of `classes`.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC().fit([[-1.0], [-0.5], [0.5], [1.0]], [0, 0, 1, 1]).scorer().label_of(-0.2)
        0
        """
        return self.classes[int(score > (0.0 if self.threshold is None else self.threshold.score))]

    def _explanations(self, rows: Rows, k: int | None) -> list[RowExplanation]:
        n_terms = None if k is None else int(check_param("explain", "k", k, Count()))
        names, contributions, baseline = self._access.contributions(rows)
        explanations = []
        for of_row, order in zip(contributions, np.argsort(-np.abs(contributions), axis=1, kind="stable"), strict=True):
            first = order[:n_terms].tolist()
            parts = tuple(zip((names[at] for at in first), of_row[first].tolist(), strict=True))
            others = float(of_row[order[len(first) :]].sum())
            explanations.append(RowExplanation(float(baseline), parts, others))
        return explanations
