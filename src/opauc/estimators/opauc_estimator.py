"""`OPAUC`: the estimator for both solvers of the square pair loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from opauc.errors import IncompatibleMoments
from opauc.estimators.fit_signature import FitBySolver
from opauc.estimators.input_checks import (
    Chunk,
    announced_classes,
    checked_chunk,
    unchanged_on_error,
)
from opauc.estimators.linear_scoring import LinearScoringClassifier
from opauc.estimators.parameter_checks import check_number
from opauc.learners.exact import Exact
from opauc.learners.sketched_exact import SketchedExact
from opauc.statistics.chunk_rows import Labels, Rows
from opauc.training.settings import make_learner
from opauc.training.solution import Solution


class OPAUC(LinearScoringClassifier):
    """Linear scorer that minimises the square pair loss, a consistent surrogate of AUC, in one pass.

    The objective is alpha/2 |w|^2 plus the mean, over all pairs of a positive
    and a negative row, of (1 - w.(x_pos - x_neg))^2 / 2. Classes weigh the
    same however rare one of them is. Memory does not grow with the rows.

    Parameters
    ----------
    solver : {"auto", "exact", "sgd", "contest"}, default="auto"
        "exact" keeps class statistics and solves for the minimiser: no step
        size, any order of rows, shards can be merged and rows taken out.
        "sgd" takes one gradient step a row (Algorithm 1 of the paper).
        "contest" learns eight scorers at once, O(entries) a row each, and
        keeps the one that ranked rows best before it learnt from them; alpha
        and the step sizes play no part in it. It is for sparse rows of about
        the same length, in random order.
        "auto" is "exact" where full covariance fits, "sgd" with a `rank` you
        set, else "contest".
    alpha : float, default=1e-4
        Ridge penalty, the paper's lambda; zero is allowed.
    rank : "auto", None or int, default="auto"
        None keeps full covariance matrices. An integer keeps sketches of that
        rank, the paper's OPAUCr, at a cost per row that does not depend on
        the number of features; 0 keeps class means only. "auto" is None
        while two full matrices take at most 2 GiB (11,585 features), else 0
        (50 with solver="exact").
    eta0 : float, default=1e4
        With learning_rate="constant" or "invsqrt": the step size, or its value
        at the first row. With "theorem": the ratio curvature * B^2 / L of
        Theorem 2 (B bounds |w|, L the best loss), a number without unit.
    learning_rate : {"theorem", "constant", "invsqrt"}, default="theorem"
        "theorem" is 1 / (k (1 + sqrt(1 + t / eta0))) at row t, with k the
        largest curvature met so far: it cannot diverge and does not depend on
        the units of the features. "constant" is eta0, "invsqrt" eta0 / sqrt(t).
    average : bool, default=True
        Whether "sgd" gives the mean of its iterates rather than the last one.
    forgetting : float, default=1.0
        Factor on the weight of all earlier rows at each new row.
    n_jobs : int, default=None
        Threads that gather statistics for "exact"; None is one, -1 all cores.
    random_state : int, RandomState instance or None, default=None
        Of the random codes of a sketch; shards to be merged need different ones.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The class labels; the second is the positive class.
    coef_ : ndarray of shape (1, n_features)
        Weights of the scorer.
    intercept_ : ndarray of shape (1,)
        Places score zero midway between the class means.
    moments_ : ClassMoments
        Statistics of the two classes.
    solver_, rank_ : str, int or None
        What "auto" took.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had string column names.

    Notes
    -----
    `predict` cuts midway between the class means, as befits an AUC model of
    rare events; `predict_proba` uses the observed share of positives, so on
    imbalanced data the two disagree on purpose.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import roc_auc_score
    >>> from opauc import OPAUC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = OPAUC()
    >>> for start in range(0, 400, 100):
    ...     model = model.partial_fit(X[start:start + 100], y[start:start + 100])
    >>> bool(roc_auc_score(y[400:], model.decision_function(X[400:])) > 0.99)
    True
    """

    solver_: str
    rank_: int | None

    def __init__(
        self,
        *,
        solver: str = "auto",
        alpha: float = 1e-4,
        rank: str | int | None = "auto",
        eta0: float = 1e4,
        learning_rate: str = "theorem",
        average: bool = True,
        forgetting: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.solver = solver
        self.alpha = alpha
        self.rank = rank
        self.eta0 = eta0
        self.learning_rate = learning_rate
        self.average = average
        self.forgetting = forgetting
        self.n_jobs = n_jobs
        self.random_state = random_state

    @FitBySolver
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> OPAUC:
        """Learn from labelled rows, in one pass over them, forgetting what was learnt before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, float32 or float64; anything else is converted to float64.
        y : array-like of shape (n_samples,)
            Two kinds of label; the greater one is the positive class.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row. Not with solver="sgd" or forgetting below one:
            a weight has to mean as many copies of the row in any order, and
            there the order matters.

        Returns
        -------
        self : OPAUC

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC(alpha=0.0).fit([[0.0], [1.0], [2.0], [4.0]], ["no", "no", "yes", "yes"]).predict([[3.5]])
        array(['yes'], dtype='<U3')
        """
        with unchanged_on_error(self):
            self._learn(X, y, sample_weight, None, first=True)
            if min(self._counts()) == 0:
                raise ValueError(
                    f"{type(self).__name__} needs rows of two classes, got one class: "
                    f"every row of positive weight is of class {self._only_class()}"
                )
        return self

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> OPAUC:
        """Learn from one more chunk of labelled rows.

        Any cut of the rows into chunks gives what `fit` gives. A chunk may
        hold one class only if `classes` names both on the first call.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like of shape (2,), default=None
            Both class labels; needed on the first call unless y holds both.

        Returns
        -------
        self : OPAUC

        Examples
        --------
        >>> from opauc import OPAUC
        >>> model = OPAUC().partial_fit([[0.0], [1.0]], [-1, -1], classes=[-1, 1])
        >>> model.partial_fit([[2.0]], [1]).classes_
        array([-1,  1])
        """
        with unchanged_on_error(self):
            first = not hasattr(self, "solution_")
            known = announced_classes(self, classes) if not first or classes is not None else None
            chunk = self._learn(X, y, sample_weight, known, first)
            if chunk.classes.size < 2:
                raise ValueError(
                    "classes must be passed on the first call to partial_fit when y holds one class only, "
                    f"here {self._only_class()}"
                )
        return self

    def merge(self, other: OPAUC) -> OPAUC:
        """Take in all that another model learnt, as if its rows had been seen here too.

        Parameters
        ----------
        other : OPAUC
            A fitted model with solver "exact" and the same classes and features.

        Returns
        -------
        self : OPAUC

        Examples
        --------
        >>> from opauc import OPAUC
        >>> one = OPAUC().fit([[0.0], [2.0]], [0, 1])
        >>> other = OPAUC().fit([[1.0], [5.0]], [0, 1])
        >>> one.merge(other).moments_.positive.mean
        array([3.5])
        """
        check_is_fitted(self)
        check_is_fitted(other)
        if not np.array_equal(self.classes_, other.classes_):
            raise IncompatibleMoments(
                f"cannot merge models of classes {self.classes_.tolist()} and {other.classes_.tolist()}"
            )
        if list(getattr(self, "feature_names_in_", [])) != list(getattr(other, "feature_names_in_", [])):
            raise IncompatibleMoments("cannot merge models of features with different names")
        state = self._statistics("merge").merge(other._statistics("merge"))
        self.solution_ = Solution(self._learner()[0], state)
        return self

    def forget(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        row_numbers: ArrayLike | None = None,
    ) -> OPAUC:
        """Unlearn rows: the model becomes what it would be had they never been seen.

        Parameters
        ----------
        X, y, sample_weight
            Rows as they were learnt.
        row_numbers : array-like of int of shape (n_samples,), default=None
            With a sketch (a `rank`): the number, from 0, under which each row
            was learnt by this model, for its random code depends on it.

        Returns
        -------
        self : OPAUC

        Examples
        --------
        >>> from opauc import OPAUC
        >>> model = OPAUC().fit([[0.0], [2.0], [9.0]], [0, 1, 1])
        >>> model.forget([[9.0]], [1]).moments_.positive.mean
        array([2.])
        """
        check_is_fitted(self)
        with unchanged_on_error(self):
            chunk = checked_chunk(self, X, y, sample_weight, self.classes_, first=False)
            self._forget(chunk.rows, chunk.labels, chunk.sample_weight, row_numbers)
        return self

    def path(self, alphas: Sequence[float]) -> NDArray[np.float64]:
        """Weights for many values of alpha, at the price of little more than one.

        Parameters
        ----------
        alphas : sequence of float
            Ridge penalties, in any order.

        Returns
        -------
        coefs : ndarray of shape (n_alphas, n_features)
            Row i is what `coef_` would be with alpha=alphas[i].

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC().fit([[0.0], [2.0]], [0, 1]).path([0.0, 0.5]).round(4)
        array([[0.5   ],
               [0.4444]])
        """
        check_is_fitted(self)
        state = self._statistics("path")
        checked = [check_number(type(self).__name__, "alphas", alpha, 0.0) for alpha in alphas]
        return self._learner()[0].path(state, checked)  # type: ignore[no-any-return]

    def _forget(
        self, rows: Rows, labels: Labels, sample_weight: NDArray[np.float64] | None, row_numbers: ArrayLike | None
    ) -> None:
        statistics, learner = self._statistics("forget"), self._learner()[0]
        if self.forgetting != 1.0:
            raise ValueError(
                f"forget needs forgetting=1.0, got {self.forgetting}: the weight the rows still have is unknown"
            )
        if isinstance(learner, Exact):
            state = statistics.forget(rows, labels, sample_weight, learner.n_jobs)
        elif row_numbers is None:
            raise ValueError("forget needs row_numbers where the model keeps a sketch, rank > 0")
        else:
            state = statistics.forget(rows, labels, row_numbers)
        self.solution_ = Solution(learner, state)

    def _learn(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, classes: Any, first: bool) -> Chunk:
        chunk = checked_chunk(self, X, y, sample_weight, classes, first)
        learner, solver, rank = self._learner(str(chunk.rows.dtype))
        if not first and type(self.solution_.learner) is not type(learner):
            raise ValueError(
                f"solver was {self.solver_!r} with rank {self.rank_} on the last call to partial_fit, "
                f"now it is {solver!r} with rank {rank}"
            )
        state = learner.start(self.n_features_in_) if first else self.solution_.state
        if chunk.sample_weight is None:
            state = learner.step(state, chunk.rows, chunk.labels)
        elif self._takes_weights() and isinstance(learner, Exact):
            state = learner.step(state, chunk.rows, chunk.labels, chunk.sample_weight)
        else:
            raise ValueError(
                "sample_weight needs solver='exact', full covariance and forgetting=1.0: else the order of rows matters"
            )
        self.classes_ = chunk.classes
        self.solver_, self.rank_ = solver, rank
        self.solution_ = Solution(learner, state)
        return chunk

    def _learner(self, dtype: str = "float64") -> tuple[Any, str, int | None]:
        return make_learner(type(self).__name__, self.get_params(deep=False), self.n_features_in_, dtype)

    def _takes_weights(self) -> bool:
        return self.solver in ("auto", "exact") and self.forgetting == 1.0 and self.rank in (None, "auto")

    def _statistics(self, wanted_by: str) -> Any:
        if not isinstance(self.solution_.learner, Exact | SketchedExact):
            raise ValueError(f"{wanted_by} needs solver='exact': those of solver='sgd' depend on each row in turn")
        return self.solution_.state
