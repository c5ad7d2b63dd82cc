"""`OPAUC`: the estimator for both solvers of the square pair loss, and for the logistic loss."""

from __future__ import annotations

from typing import ClassVar, Self

from numpy.typing import ArrayLike

from opauc.core.transaction import reading
from opauc.estimators.class_scoring import ClassScoringClassifier
from opauc.estimators.notebook import auc_text
from opauc.linear.drift import DriftingExact
from opauc.linear.estimator import SumsClassifier
from opauc.linear.exact_cv import Selection
from opauc.linear.moments.within_groups import GroupCounts, WithinGroupMoments
from opauc.linear.progressive_selection import ProgressiveSelection, SelectionLeaderboard
from opauc.linear.resolve import LinearFactory, opauc_factory
from opauc.linear.within_groups import WithinGroups
from opauc.types import RandomState


class OPAUC(SumsClassifier, ClassScoringClassifier):
    """Linear model that minimizes the square pair loss, a consistent surrogate of AUC, in one pass.

    The objective is alpha/2 |w|^2 plus the mean, over all pairs of a positive
    and a negative row, of (1 - w.(x_pos - x_neg))^2 / 2. Classes weigh the
    same however rare one of them is. Memory does not grow with the rows.

    With more than two classes (up to 100; solver "exact" with full covariance)
    each class has weights, which minimize alpha/2 |w|^2 plus the mean over the
    other classes of its mean pair loss against them.

    Parameters
    ----------
    solver : {"auto", "exact", "sgd", "progressive_selection"}, default="auto"
        "exact" keeps class statistics and solves for the minimizer: there is no
        step size, the order of the rows does not matter, models of shards merge,
        and rows can be removed. "sgd" takes one gradient step per row (Algorithm 1
        of the paper). "progressive_selection" trains eight models at once, each at
        a cost per row that grows with its nonzero entries, and keeps the one with
        the best progressive AUC, that of rows scored before training on them;
        it ignores alpha and the step sizes. It is for sparse rows of any lengths,
        in random order.
        "auto" is "exact" where full covariance fits, "sgd" with a `rank` you
        set, else "progressive_selection".
    alpha : float, default=1e-4
        Ridge penalty, the paper's lambda if `standardize` is False; zero is allowed.
    rank : "auto", None or int, default="auto"
        None keeps full covariance matrices. An integer keeps sketches of that
        rank, the paper's OPAUCr, at a cost per row that does not depend on
        the number of features; 0 keeps class means only. "auto" is None
        while two full matrices take at most 2 GiB (11,585 features), else 0
        (50 with solver="exact").
    eta0 : float, default=1e4
        With learning_rate="constant" or "invsqrt": the step size, or its value
        at the first row. With "curvature": number of rows after which steps
        begin to shrink.
    learning_rate : {"curvature", "constant", "invsqrt"}, default="curvature"
        "curvature" is 1 / (k (1 + sqrt(1 + t / eta0))) at row t, with k the
        largest curvature met so far, or with `standardize` half the mean
        curvature: it cannot diverge. It has the form of Theorem 2's step
        without its guarantee; that step is `opauc.linear.theorem_step_size`,
        for "constant". "constant" is eta0, "invsqrt" eta0 / sqrt(t).
    average : bool, default=True
        Whether "sgd" gives the mean of its iterates rather than the last one;
        with `standardize` or a rank, that of the t-th weighted by t^2.
    standardize : bool, default=True
        Whether features are divided by their standard deviation (from the mean
        of their variances in both classes), so that neither units nor shifts
        of them change a ranking: by "exact" from the statistics after the pass,
        by "sgd" with a running scale. Weights are in the units of the features
        either way. False is the paper's plain form. It is ignored with a `rank`
        and by "progressive_selection".
    forgetting_factor : float or "auto", default=1.0
        Factor on the weight of all earlier rows at each new row. With "auto"
        (solver "exact" only) 1, .9999, .999 or .99, whichever ranks the next
        rows best; `forgetting_factor_` says which.
    horizon : int, default=1000
        With forgetting_factor="auto": number of rows between two updates of the
        model that scores.
    objective : {"auc", "pauc"}, default="auc"
        "pauc" is the partial AUC up to the false-positive rate `max_fpr`. The
        candidates are the square loss, the logistic loss and two mixtures that
        give a share of the weight of the negatives to those with the highest
        scores, all as sums of one pass. The partial AUC of rows held out chooses
        among them. Expansion point and threshold are fixed by the first rows, as
        with loss="logistic", which says what else holds; it takes 25 covariance
        matrices, up to 3,276 features.
    max_fpr : float, default=0.01
        With objective="pauc": largest false-positive rate, in (0, 1].
    loss : {"square", "logistic", "balanced_logistic"}, default="square"
        "square" is the pair loss above. "logistic" is the mean logistic loss of
        single rows, plain or with equally weighted classes: each row is
        linearized once, at the minimizer of the first rows, so that this too is
        a set of sums in one pass. Its penalty is chosen by five-fold
        cross-validation inside the pass (`OPAUCCV` has its settings); alpha and
        the step sizes are ignored. It takes 15 covariance matrices: up to
        4,230 features.
    pairs : {"all", "within_groups"}, default="all"
        "within_groups" takes the pair loss of rows of the same group only: of one
        query, user or site, given as `groups`. What is the same for all rows of a
        group then has no weight. It takes the exact solver.
    group_weight : {"equal", "pairs", "rows"}, default="equal"
        Weight of a group: one, the product of its rows of each class, or its
        rows, all counted with their sample weights.
    max_gap : int, default=10000
        With `partial_fit`: the rows of other groups after which a group is
        complete; 0 where rows are sorted by group. If more rows of it come, they
        are another group. Memory is for the rows of the groups that are not
        complete. `fit` brings the rows of each group together first.
    init_size : int, default=16384
        With loss="logistic": first rows that are kept until the expansion point
        is fixed; up to eight times as many (128 MiB at most) while the rarer class
        has less than a sixteenth of this number. They should be in random order.
    n_jobs : int, default=None
        Number of threads of the exact solver; None is one, -1 all cores.
    random_state : int, RandomState instance or None, default=None
        Seed of the random signs of a sketch; shards to be merged need different ones.
    device : str, default=None
        A torch device ("cuda", "cuda:1", "cpu") that computes the statistics of
        dense rows and the exact minimizer, in float64, for solver="exact" with
        full covariances. By default torch is not used. X may be a torch tensor;
        one that is on the device stays there.

    Attributes
    ----------
    objective_selection_ : ObjectiveSelection
        With objective="pauc": the candidates, the partial AUC of each on rows held
        out, McClish-standardized, and the number of the one taken.
    classes_ : ndarray of shape (n_classes,)
        The class labels; the second of two is the positive class.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the features. If the candidate selected by progressive
        selection has `unit_rows`, they are for rows scaled to length one, which
        `decision_function` then does. With more than two classes the minimizer
        of each class, times a factor that makes scores of classes comparable.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept; a score of zero lies midway between the class means. With more than
        two classes the softmax of X @ coef_.T + intercept_ has the probabilities of
        classes of equal frequency, of which `decision_function` is the logarithm.
    moments_ : ClassMoments, MulticlassMoments or ClassSketch
        Statistics of the two classes, with full covariance matrices or with a
        sketch; absent where no covariances are kept.
    selection_ : SelectionLeaderboard or Selection
        With solver="progressive_selection": the candidates, the progressive
        AUC of each and the number of the one taken. With loss="logistic": the
        penalties, the held-out loss of each, negated, and the number of the one
        taken.
    forgetting_factor_ : float
        The factor in use, which "auto" may change with every batch.
    group_counts_ : GroupCounts
        With pairs="within_groups": `ranked`, the groups with rows of both classes,
        and `one_class`, those without, which have no pairs and count for nothing.
    solver_, rank_ : str, int or None
        The solver and the rank in use, also where "auto" chose them.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had string column names.

    See Also
    --------
    OPAUCCV : The same with a penalty chosen by cross-validation in the same pass.
    OnePassGAM : Additive model of raw tables, with curves, categories and pairs.

    Notes
    -----
    `predict` cuts midway between the class means unless `use_threshold` set a
    threshold; `predict_proba` uses the observed share of positives. On
    imbalanced data the two therefore disagree. `score` is the AUC.

    A model that the command trained takes what the command took: a data frame of
    pandas, polars or pyarrow with the columns by their names, rows given as
    dicts, or the path of a file. When rows are scored, a category that training
    did not have has no effect, with a warning; in `partial_fit` it becomes a new
    feature.

    Models are thread-safe: updates are serialized, and rows are scored by the
    weights before or after a batch, never in the middle of one. Only copying or
    pickling a model while another thread changes it is not safe; `opauc.save` is.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from opauc import OPAUC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = OPAUC()
    >>> for start in range(0, 400, 100):
    ...     model = model.partial_fit(X[start:start + 100], y[start:start + 100])
    >>> model.score(X[400:], y[400:]) > 0.99
    True
    """

    _several_classes: ClassVar[bool] = True
    _resolved: ClassVar[tuple[str, ...]] = ("solver_", "rank_")
    _unsaved: ClassVar[tuple[str, ...]] = ("device",)
    _all_rows: ClassVar[str] = "every row of positive weight"

    solver_: str
    rank_: int | None

    def __init__(
        self,
        *,
        solver: str = "auto",
        alpha: float = 1e-4,
        rank: str | int | None = "auto",
        eta0: float = 1e4,
        learning_rate: str = "curvature",
        average: bool = True,
        standardize: bool = True,
        forgetting_factor: float | str = 1.0,
        horizon: int = 1000,
        objective: str = "auc",
        max_fpr: float = 0.01,
        loss: str = "square",
        pairs: str = "all",
        group_weight: str = "equal",
        max_gap: int = 10_000,
        init_size: int = 16_384,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        device: str | None = None,
    ) -> None:
        self.solver = solver
        self.alpha = alpha
        self.rank = rank
        self.eta0 = eta0
        self.learning_rate = learning_rate
        self.average = average
        self.standardize = standardize
        self.forgetting_factor = forgetting_factor
        self.horizon = horizon
        self.objective = objective
        self.max_fpr = max_fpr
        self.loss = loss
        self.pairs = pairs
        self.group_weight = group_weight
        self.max_gap = max_gap
        self.init_size = init_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.device = device

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Fit to labeled rows in one pass over them, replacing any earlier fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, float32 or float64; anything else is converted to float64.
        y : array-like of shape (n_samples,)
            Labels; of two classes the greater label is the positive class.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row: a factor on its part in the statistics and on
            the step it leads to. Rows of weight zero are left out.
        groups : array-like of shape (n_samples,), default=None
            With pairs="within_groups": the group of each row.

        Returns
        -------
        self : OPAUC
            The estimator itself.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> X, y, user = [[0.0], [1.0], [5.0], [6.0]], [0, 1, 0, 1], ["ann", "ann", "bob", "bob"]
        >>> OPAUC(pairs="within_groups", alpha=0.0).fit(X, y, groups=user).coef_
        array([[1.]])
        """
        return self._fit(X, y, sample_weight, self._checked_groups(groups), groups_together=True)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train on one more batch of labeled rows.

        Any cut of the rows into batches gives the same model. If this raises, or
        is interrupted, the model is as it was before. Threads may share a model:
        a second caller waits until the first batch is processed.

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
            With pairs="within_groups": the group of each row.

        Returns
        -------
        self : OPAUC
            The estimator itself.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> model = OPAUC(pairs="within_groups").partial_fit([[0.0], [3.0]], [0, 0], [0, 1], groups=[7, 8])
        >>> model.partial_fit([[1.0]], [1], groups=[7]).group_counts_
        GroupCounts(ranked=1, one_class=1)
        """
        return self._partial_fit(X, y, classes, sample_weight, self._checked_groups(groups))

    def forget(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        row_numbers: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Remove rows from the sums: the model becomes that of the other rows, up to rounding.

        The model keeps sums, which do not show which rows they are made of.
        Removing rows that it was not trained on damages it silently, unless the
        result is impossible, which is an error. Keep account of the rows yourself.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows as they were trained on.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        row_numbers : array-like of int of shape (n_samples,), default=None
            With a sketch (a `rank`) or with loss="logistic": the number, from 0,
            under which this model was trained on each row.
        groups : array-like of shape (n_samples,), default=None
            With pairs="within_groups": the groups of the rows, and of each
            complete group all of its rows.

        Returns
        -------
        self : OPAUC
            The estimator itself.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> model = OPAUC().fit([[0.0], [2.0], [9.0]], [0, 1, 1])
        >>> model.forget([[9.0]], [1]).moments_.positive.mean
        array([2.])
        """
        return self._forget(X, y, sample_weight, row_numbers, self._checked_groups(groups))

    @property
    def group_counts_(self) -> GroupCounts:
        """Groups with rows of both classes, and groups without."""
        with reading(self):
            state = self._fitted.state
            if isinstance(state, WithinGroupMoments):
                return state.group_counts
        raise AttributeError(f"group_counts_ needs pairs='within_groups', here it is {self.pairs!r}")

    @property
    def selection_(self) -> SelectionLeaderboard | Selection:
        """The candidates of progressive selection or the penalties of the logistic loss, and which was taken."""
        with reading(self):
            learner = self._fitted.solver
            if isinstance(learner, ProgressiveSelection):
                return learner.leaderboard(self._fitted.state)
            if (chosen := self._fitted.selection) is not None:
                return chosen
        raise AttributeError(f"selection_ needs solver='progressive_selection', here it is {self.solver_!r}")

    @property
    def forgetting_factor_(self) -> float:
        """The factor on the weight of all earlier rows at each new row."""
        with reading(self):
            learner = self._fitted.solver
            if isinstance(learner, DriftingExact):
                return learner.leaderboard(self._fitted.state).forgetting_factor
        return float(self.forgetting_factor)

    def _known_auc(self) -> str:
        """Return the progressive AUC where candidates were compared by it."""
        learner = self._fitted.solver
        if not isinstance(learner, ProgressiveSelection):
            return ""
        board = learner.leaderboard(self._fitted.state)
        return f"Progressive AUC {auc_text(board.aucs[board.winner])}"

    def _checked_groups(self, groups: ArrayLike | None) -> ArrayLike | None:
        """Return the groups; raise where pairs are within groups and there are none, or the reverse."""
        if (self.pairs == WithinGroups.name) == (groups is None):
            if groups is None:
                raise ValueError("pairs='within_groups' needs the groups of the rows; give groups, or set pairs='all'")
            raise ValueError("groups are for pairs='within_groups', or for the folds of OPAUCCV")
        return groups

    def _factory(self) -> LinearFactory:
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "device"}
        return opauc_factory(parameters, type(self).__name__, self.device)
