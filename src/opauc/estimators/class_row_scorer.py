"""A fitted model of several classes that scores one row at a time, for services."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from opauc.core.scorer import Scorer
from opauc.estimators.row_scorer import RowAccess
from opauc.types import Floats


@dataclass(frozen=True, eq=False, repr=False)
class ClassRowScorer:
    """A model of several classes at one moment, ready to score single rows: what `model.class_scorer()` returns.

    It never changes, and any number of threads may share it. Rows are those of `RowScorer`.

    Attributes
    ----------
    classes : tuple of labels
        The labels, in the order of scores and probabilities.

    Examples
    --------
    >>> import pandas as pd
    >>> from opauc import OnePassGAM
    >>> table = pd.DataFrame({"age": [8.0, None, 40.0, 45.0, 80.0, 85.0] * 30, "sex": list("fmfmfm") * 30})
    >>> model = OnePassGAM().fit(table, ["child", "child", "adult", "adult", "elder", "elder"] * 30)
    >>> scorer = model.class_scorer()
    >>> scorer.label({"age": "83", "sex": "f", "customer": 7}), scorer.label({"age": 41})
    ('elder', 'adult')
    >>> bool((scorer.scores({"age": 83}) == model.decision_function([{"age": 83, "sex": None}])[0]).all())
    True
    """

    _scorer: Scorer
    _access: RowAccess
    classes: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"ClassRowScorer(classes={self.classes!r})"

    def scores(self, row: Mapping[str, object] | ArrayLike) -> Floats:
        """Return the score of a row for each class.

        Parameters
        ----------
        row : dict or array-like of shape (n_features,)
            A row.

        Returns
        -------
        scores : ndarray of shape (n_classes,)
            To the bit those of `decision_function` of this row.

        Raises
        ------
        InputError
            If a value cannot be read, or the row has no column of the model.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC().fit([[-1.0], [0.0], [1.0]], [0, 1, 2]).class_scorer().scores([0.0]).shape
        (3,)
        """
        scores: Floats = self._access.scores(self._access.row(row))[0]
        return scores

    def probabilities(self, row: Mapping[str, object] | ArrayLike) -> Floats:
        """Return the probability of each class.

        Parameters
        ----------
        row : dict or array-like of shape (n_features,)
            A row.

        Returns
        -------
        probabilities : ndarray of shape (n_classes,)
            To the bit those of `predict_proba` of this row; they add up to one.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> scorer = OPAUC().fit([[-1.0], [0.0], [1.0]], [0, 1, 2]).class_scorer()
        >>> round(float(scorer.probabilities([0.3]).sum()), 9)
        1.0
        """
        probabilities: Floats = self._scorer.probabilities(self.scores(row)[None])[0]
        return probabilities

    def label(self, row: Mapping[str, object] | ArrayLike) -> Any:
        """Return the label: that of the class with the greatest score.

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
        >>> OPAUC().fit([[-1.0], [0.0], [1.0]], ["a", "b", "c"]).class_scorer().label([2.0])
        'c'
        """
        return self.classes[int(self.scores(row).argmax())]

    def score_rows(self, X: Any) -> Floats:
        """Return the scores of rows.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features), or list of dicts
            Rows as for `decision_function`; in a list of dicts each one is read as `scores` reads it.

        Returns
        -------
        scores : ndarray of shape (n_rows, n_classes)
            The scores of each row.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC().fit([[-1.0], [0.0], [1.0]], [0, 1, 2]).class_scorer().score_rows([[0.0], [0.5]]).shape
        (2, 3)
        """
        return self._access.scores_of(X)
