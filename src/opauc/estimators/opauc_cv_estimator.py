"""`OPAUCCV`: the exact minimiser of the square pair loss, its penalty chosen inside the one pass."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from opauc.estimators.model_lock import changing
from opauc.estimators.statistic_classifier import StatisticClassifier
from opauc.learners.exact_cv import ExactCV, Selection
from opauc.rows import Array, Floats


class OPAUCCV(StatisticClassifier):
    """OPAUC with nothing to tune: cross-validated in one pass, with no row kept and none read twice.

    The objective is that of `OPAUC(solver="exact")`, alpha/2 |w|^2 plus the
    mean over all pairs of (1 - w.(x_pos - x_neg))^2 / 2. Rows are put into
    folds by their number; class statistics are kept for each fold. After the
    pass, weights learnt from all folds but one are judged on that one by its
    statistics alone, for every penalty.

    Parameters
    ----------
    alphas : sequence of float, default=None
        Ridge penalties to choose from; by default 13 that suit the size of the features.
    folds : int, default=5
        Number of folds; it cannot change between calls to `partial_fit`.
    criterion : {"pair_loss", "auc"}, default="pair_loss"
        What is judged on the fold held out: its mean pair loss, which is
        exact, or the AUC that its scores would have if they were normal.
    one_standard_error : bool, default=False
        Take the largest penalty whose score is within one standard error of the best.
    standardize : bool, default=True
        Let the ridge act on features of unit variance, so that their units
        play no part. Weights are in the units of the features either way.
    n_jobs : int, default=None
        Threads that gather the statistics; None is one, -1 all cores.

    Attributes
    ----------
    alpha_ : float
        The penalty chosen; with `standardize`, that of standardised features.
    cv_results_ : dict of ndarray
        "alpha", "mean_test_score", "std_test_score" and one "split{k}_test_score" a fold,
        the higher the better (a pair loss is negated).
    coef_path_ : ndarray of shape (n_alphas, n_features)
        Weights of all rows for each penalty.
    moments_ : FoldMoments
        Class statistics of every fold.
    classes_, coef_, intercept_, n_features_in_, feature_names_in_
        As in `OPAUC`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from opauc import OPAUCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = OPAUCCV().fit(X, y)
    >>> 0.001 < model.alpha_ < 1.0
    True
    """

    _kind = ExactCV

    def __init__(
        self,
        *,
        alphas: Sequence[float] | None = None,
        folds: int = 5,
        criterion: str = "pair_loss",
        one_standard_error: bool = False,
        standardize: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.alphas = alphas
        self.folds = folds
        self.criterion = criterion
        self.one_standard_error = one_standard_error
        self.standardize = standardize
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from labelled rows, in one pass over them, forgetting what was learnt before.

        Parameters
        ----------
        X, y, sample_weight
            As in `OPAUC`. Folds without a row of one class are not judged.

        Returns
        -------
        self : OPAUCCV

        Examples
        --------
        >>> from opauc import OPAUCCV
        >>> OPAUCCV(folds=2, alphas=[0.1, 1.0]).fit([[0.0], [1.0], [2.0], [4.0]] * 9, [0, 0, 1, 1] * 9).predict([[3.5]])
        array([1])
        """
        with changing(self):
            super().fit(X, y, sample_weight)
            if not self._selection().scores.size:
                warnings.warn(
                    f"folds={self.folds}: no fold has rows of both classes in it and outside it, so nothing could be "
                    "chosen; give more rows or fewer folds",
                    UserWarning,
                    stacklevel=2,
                )
        return self

    @property
    def alpha_(self) -> float:
        """The penalty chosen."""
        return self._selection().alpha

    @property
    def cv_results_(self) -> dict[str, Array]:
        """What each penalty scored on the folds held out."""
        alphas, scores, _ = self._selection()
        splits = {f"split{k}_test_score": column for k, column in enumerate(scores.T)}
        return {
            "alpha": alphas, "mean_test_score": scores.mean(axis=1), "std_test_score": scores.std(axis=1), **splits
        }  # fmt: skip

    @property
    def coef_path_(self) -> Floats:
        """Weights for each penalty, one a row."""
        return self.path(self._selection().alphas.tolist())

    def _selection(self) -> Selection:
        check_is_fitted(self)
        learner = self.solution_.learner
        assert isinstance(learner, ExactCV), "no other is ever chosen"
        return learner.selection(self.solution_.state)
