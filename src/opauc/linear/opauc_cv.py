"""`OPAUCCV`: both solvers of the square pair loss, with their settings chosen inside the one pass."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from opauc.core.transaction import changing
from opauc.estimators.class_scoring import ClassScoringClassifier
from opauc.estimators.docstrings import own_docstrings
from opauc.estimators.notebook import auc_text
from opauc.linear.estimator import SumsClassifier
from opauc.linear.exact_cv import ExactCV, Selection, scored_folds
from opauc.linear.grid import GridSelection, GridSolver
from opauc.linear.logistic import Logistic
from opauc.linear.multiclass.solver_cv import MulticlassExactCV
from opauc.linear.resolve import LinearFactory, opauc_cv_factory
from opauc.types import Array, Floats, RandomState


@own_docstrings("opauc")
class OPAUCCV(SumsClassifier, ClassScoringClassifier):
    """OPAUC with nothing to tune: cross-validated in one pass, with no row kept and none read twice.

    The objective is that of `OPAUC(solver="exact")`, alpha/2 |w|^2 plus the
    mean over all pairs of (1 - w.(x_pos - x_neg))^2 / 2. Rows are assigned to
    folds by their number, or by their groups, and class statistics are kept for
    each fold. After the pass, the weights of all folds but one are evaluated on
    that one by its statistics alone, for every penalty. More than two classes are
    taken as by `OPAUC`, with solver="exact" and one penalty for all of them.

    With solver="sgd", Algorithm 1 of the paper runs for every pair of a step
    size and a penalty at once. Each row is scored before training on it, and the
    pair that ranked the rows best is selected. There are no folds then.

    Parameters
    ----------
    solver : {"exact", "sgd"}, default="exact"
        "exact" solves for the minimizer, "sgd" takes one gradient step per row;
        folds, criterion, one_standard_error, standardize and n_jobs are for
        "exact" alone.
    rank : int or None, default=None
        None keeps full covariance matrices; with "sgd", an int keeps sketches
        of that rank, the paper's OPAUCr, for many sparse features.
    alphas : sequence of float, default=None
        Ridge penalties to choose from; by default 13 that suit the size of
        the features, with "sgd" the paper's 2^-10 to 2^2.
    etas : sequence of float, default=None
        Constant step sizes for "sgd" to choose from; by default the paper's
        2^-12 to 2^10, for features between -1 and 1.
    average : bool, default=True
        Whether "sgd" evaluates and returns the mean of its iterates rather than
        the last one; with a `rank` it is always the last.
    cv : int, default=5
        Number of folds; it cannot change between calls to `partial_fit`.
    criterion : {"pair_loss", "auc"}, default="pair_loss"
        What is evaluated on the fold held out: the mean pair loss, which is
        exact, or the AUC that the scores would have if they were normal.
    one_standard_error : bool, default=False
        Take the largest penalty whose score is within one standard error of the best.
    standardize : bool, default=True
        Whether the penalty acts on features of unit variance, so that their units
        do not matter. Weights are in the units of the features either way.
    objective : {"auc", "pauc"}, default="auc"
        "pauc" is the partial AUC up to the false-positive rate `max_fpr`, as in
        `OPAUC`; it needs solver="exact".
    max_fpr : float, default=0.01
        With objective="pauc": largest false-positive rate, in (0, 1].
    loss : {"square", "logistic", "balanced_logistic"}, default="square"
        The loss of pairs, or of rows as in `OPAUC`. The logistic losses need
        solver="exact"; they are evaluated on the fold held out by the loss itself,
        whatever the criterion.
    init_size : int, default=16384
        With a logistic loss: first rows that are kept until the expansion point is
        fixed, as in `OPAUC`.
    n_jobs : int, default=None
        Number of threads of the exact solver; None is one, -1 all cores.
    random_state : int, RandomState instance or None, default=None
        Seed of the random signs of a sketch.
    device : str, default=None
        A torch device ("cuda", "cuda:1", "cpu") that runs solver="sgd" with full
        covariances, in float64. By default torch is not used. X may be a torch
        tensor of dense rows.

    Attributes
    ----------
    alpha_ : float
        The penalty chosen; with `standardize`, that of standardized features.
    eta0_ : float
        The step size chosen by "sgd".
    cv_results_ : dict of ndarray
        "alpha", "mean_test_score", "std_test_score" and one "split{k}_test_score" per fold,
        the higher the better (a loss is negated). With "sgd": "eta0", "alpha" and, as
        "mean_test_score", the progressive AUC of each pair, zero where it diverged.
    coef_path_ : ndarray of shape (n_alphas, n_features) or (n_alphas, n_classes, n_features)
        Weights of all rows for each penalty; with "sgd", for each pair.
    moments_ : FoldMoments, MulticlassFoldMoments, ClassMoments or ClassSketch
        Class statistics, of every fold where there are folds.
    objective_selection_ : ObjectiveSelection
        With objective="pauc": the candidates, the partial AUC of each on rows held
        out, McClish-standardized, and the number of the one taken.
    classes_ : ndarray of shape (n_classes,)
        The class labels, the positive class of two last.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the scorer; of more than two classes as in `OPAUC`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the scorer, midway between the class means of the scores.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had string column names.

    See Also
    --------
    OPAUC : The same with a given penalty, sketches, and weights that follow drift.
    OnePassGAM : Additive model of raw tables, with curves, categories and pairs.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from opauc import OPAUCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = OPAUCCV().fit(X, y)
    >>> 0.001 < model.alpha_ < 1.0
    True
    """

    _several_classes: ClassVar[bool] = True
    _unsaved: ClassVar[tuple[str, ...]] = ("device",)

    def __init__(
        self,
        *,
        solver: str = "exact",
        rank: int | None = None,
        alphas: Sequence[float] | None = None,
        etas: Sequence[float] | None = None,
        average: bool = True,
        cv: int = 5,
        criterion: str = "pair_loss",
        one_standard_error: bool = False,
        standardize: bool = True,
        objective: str = "auc",
        max_fpr: float = 0.01,
        loss: str = "square",
        init_size: int = 16_384,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        device: str | None = None,
    ) -> None:
        self.solver = solver
        self.rank = rank
        self.alphas = alphas
        self.etas = etas
        self.average = average
        self.cv = cv
        self.criterion = criterion
        self.one_standard_error = one_standard_error
        self.standardize = standardize
        self.objective = objective
        self.max_fpr = max_fpr
        self.loss = loss
        self.init_size = init_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.device = device

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Fit the model to labeled rows in one pass; what was fitted before is discarded.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, float32 or float64; anything else is converted to float64.
        y : array-like of shape (n_samples,)
            Labels; of two classes the greater one is the positive class. Folds
            without rows of two classes are not scored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row. Rows of weight zero are dropped.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, a patient or a user, say: rows of one group
            are in one fold, so that no weights are evaluated on rows of a group
            that they were trained on. The fold is a hash of the group's value, the same in
            every batch and shard; no list of groups is kept. Of few groups the
            folds are uneven: 50 of one size differ by a third or so.

        Returns
        -------
        self : OPAUCCV
            The estimator itself.

        Examples
        --------
        >>> from opauc import OPAUCCV
        >>> OPAUCCV(cv=2, alphas=[0.1, 1.0]).fit([[0.0], [1.0], [2.0], [4.0]] * 9, [0, 0, 1, 1] * 9).predict([[3.5]])
        array([1])
        """
        with changing(self):
            self._fit(X, y, sample_weight, groups)
            learner = self._cv_solver()
            if isinstance(learner, ExactCV | MulticlassExactCV) and not scored_folds(self._fitted.state):
                which = "both classes" if self.classes_.size == 2 else "two classes"
                warnings.warn(
                    f"cv={self.cv}: no fold has rows of {which} in it and outside it, so nothing could be "
                    "chosen; give more rows or fewer folds",
                    UserWarning,
                    stacklevel=2,
                )
        return self

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train on one more batch of labeled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows as in `fit`.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All class labels; needed on the first call unless y holds all.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, as in `fit`; given with every batch or with none.

        Returns
        -------
        self : OPAUCCV
            The estimator itself.

        Examples
        --------
        >>> from opauc import OPAUCCV
        >>> model = OPAUCCV(cv=2).partial_fit([[0.0], [1.0]], [0, 1], groups=["ann", "bob"])
        >>> model.partial_fit([[2.0]], [1])
        Traceback (most recent call last):
            ...
        ValueError: groups must be given with all rows or with none: they were given before and are missing now
        """
        return self._partial_fit(X, y, classes, sample_weight, groups)

    def forget(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        row_numbers: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Remove rows from the sums: the model becomes that of the other rows, up to rounding.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows as they were trained on.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        row_numbers : array-like of int of shape (n_samples,), default=None
            The number, from 0, under which each row was trained on, where that was without groups.
        groups : array-like of shape (n_samples,), default=None
            The groups with which the rows were trained on.

        Returns
        -------
        self : OPAUCCV
            The estimator itself.

        Examples
        --------
        >>> from opauc import OPAUCCV
        >>> model = OPAUCCV(cv=2).partial_fit([[0.0], [1.0], [5.0]], [0, 1, 1], groups=[7, 8, 9])
        >>> model.forget([[5.0]], [1], groups=[9]).moments_.counts
        ClassCounts(negative=1.0, positive=1.0)
        """
        if row_numbers is not None and groups is not None:
            raise ValueError("forget takes row_numbers or groups, not both")
        return self._forget(X, y, sample_weight, row_numbers, groups)

    @property
    def alpha_(self) -> float:
        """The penalty chosen."""
        return self._selection().alpha

    @property
    def eta0_(self) -> float:
        """The step size chosen."""
        found = self._selection()
        if isinstance(found, GridSelection):
            return found.eta
        raise AttributeError("eta0_ needs solver='sgd', here it is 'exact'")

    @property
    def cv_results_(self) -> dict[str, Array]:
        """What each penalty scored on the folds held out, or each pair on rows before training on them."""
        found = self._selection()
        if isinstance(found, GridSelection):
            return {"eta0": found.etas, "alpha": found.alphas, "mean_test_score": found.aucs}
        splits = {f"split{k}_test_score": column for k, column in enumerate(found.scores.T)}
        return {
            "alpha": found.alphas, "mean_test_score": found.means(), "std_test_score": found.deviations(), **splits
        }  # fmt: skip

    @property
    def coef_path_(self) -> Floats:
        """Weights for each penalty, one per row, or for each pair."""
        learner, state = self._cv_solver(), self._fitted.state
        if isinstance(learner, ExactCV | MulticlassExactCV | Logistic):
            return self.path(self._selection().alphas.tolist())
        return learner.candidates(state).weights

    def _selection(self) -> Selection | GridSelection:
        learner, chosen = self._cv_solver(), self._fitted.selection
        return learner.selection(self._fitted.state) if chosen is None else chosen

    def _known_auc(self) -> str:
        """Return the AUC by which the settings were chosen, where it was one."""
        found = self._selection()
        if isinstance(found, GridSelection):
            return f"Progressive AUC {auc_text(found.aucs[found.winner])}"
        if found.criterion != "auc" or not found.scores.size:
            return ""
        return f"AUC on folds held out, if scores are normal: {auc_text(found.means()[found.chosen])}"

    def _cv_solver(self) -> ExactCV | MulticlassExactCV | Logistic | GridSolver[Any]:
        check_is_fitted(self)
        learner = self._fitted.solver
        assert isinstance(learner, ExactCV | MulticlassExactCV | Logistic | GridSolver), "no other is ever chosen"
        return learner

    def _factory(self) -> LinearFactory:
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "device"}
        return opauc_cv_factory(parameters, type(self).__name__, self.device)
