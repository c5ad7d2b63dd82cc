"""`OnePassGAM`: a generalized additive model with interactions for raw tables, fitted in one pass."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from opauc.additive.estimator.algebra import GAMAlgebra
from opauc.additive.estimator.inspection import GAMInspection
from opauc.additive.estimator.shaping import GAMShaping
from opauc.additive.estimator.training import GAMTraining
from opauc.additive.input import labeled_parts, labeled_table
from opauc.additive.leaks import find_leaks
from opauc.core.transaction import changing
from opauc.errors import Parameter, ParameterError
from opauc.estimators.class_scoring import ClassScoringClassifier
from opauc.estimators.docstrings import own_docstrings
from opauc.estimators.input_checks import check_classes, check_labels_given
from opauc.types import Array, Floats, RandomState


@own_docstrings("opauc")
class OnePassGAM(GAMTraining, GAMInspection, GAMShaping, GAMAlgebra, ClassScoringClassifier):
    """Generalized additive model with pairwise interactions for raw tables, from one pass: nothing to set.

    An initial sample of the rows fixes a basis: a curve for each number, a
    level for each category, a surface for each pair of features that interact.
    From then on every row is a few sums, so that models merge and rows can be
    forgotten. The smoothing parameters are estimated from the sums alone
    (restricted maximum likelihood). The score is the log-odds of the positive
    class.

    Of K > 2 classes (at most 100), each has an additive score against the rest, with
    curves, surfaces and trees of its own on one basis for all: a row is encoded once.
    The probabilities of the classes come from these K scores, and the columns of
    `decision_function` are their log-odds. `classes_`, merging, removing rows, files
    and explanations of each class are as with two classes; thresholds, constraints,
    edits, exports, cubes and files for scoring only are for two.

    `fit` draws the initial sample at random from all rows. `partial_fit` takes
    the first rows, which should therefore come in random order: a warning names
    features whose later values do not look like the first.

    Parameters
    ----------
    max_columns : int, default=1500
        Largest number of columns of the basis. Time grows with its square per row and with its cube per solve. Pairs
        have at most 600 of them where trees may join.
    interactions : "auto", int or list of pairs, default="auto"
        How many pairs of features may interact, or which: pairs of names or positions. With anything but "auto"
        neither trees nor effects of combinations of columns (crossed codes) join the model.
    trees : bool, default=True
        Whether a tree ensemble, grown on the initial sample by LightGBM, is blended with curves and pairs where that
        pays on rows held out. Without trees every term is a curve, a surface, or a set of levels.
    effort : {"normal", "high"}, default="normal"
        With "high" trees grow slowly, on random parts of rows and columns; of fewer than 16,384 rows in two ways, which
        are averaged. That ranks a little better and takes three to ten times as long.
    n_knots : "auto" or int, default="auto"
        Largest number of knots of a curve.
    init_size : "auto" or int, default="auto"
        Rows of the initial sample, which fixes knots, pairs and trees: with "auto" 16,384 in `partial_fit`, and in
        `fit` all of up to 174,080 rows, else 139,264 of them. Where one class is rare, more rows are drawn. Rows of
        the initial sample cannot be removed from what they fixed: give a number where rows must be forgotten.
    categorical : list of str or int, default=None
        Columns whose values are categories, by name or position, whatever would be inferred. Columns of a categorical
        type, and strings of digits in a frame, are categories anyway.
    numeric : list of str or int, default=None
        Columns whose values are numbers, whatever would be inferred; their values are no codes either.
    drop : list of str or int, default=None
        Columns to leave out.
    monotone_constraints : dict or array-like of int, default=None
        Columns in which the score never falls (1) or never rises (-1), whatever the other columns are: a dict by name
        or position, or an array with 0 for all other columns. Trees grow under it too. Categories have no order.
    interaction_constraints : list of lists of str or int, default=None
        Groups of columns, by name or position: only columns of one group interact, in pairs, trees and crossed codes.
        Columns in no group are one more group.
    objective : {"auc", "pauc"}, default="auc"
        "pauc" is the partial AUC up to the false-positive rate `max_fpr`: next to the likelihood of all rows, two
        mixtures that weigh the negatives with the highest scores are candidates; one is taken only where it ranks rows
        of the initial sample held out better by more than a standard error. Scores of a mixture are no log-odds.
    max_fpr : float, default=0.01
        With objective="pauc": largest false-positive rate, in (0, 1].
    random_state : int, RandomState or None, default=None
        Seed of the initial sample.
    n_jobs : int or None, default=-1
        Threads that `fit`, `partial_fit`, `explain` and scores use: -1 all cores, at most OMP_NUM_THREADS of them where
        that is set; None is one. Models and scores are the same to the last bit whatever it is, so it is not saved.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels; of two the second is the positive class.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had string column names.
    basis_ : Basis
        The basis expansion; until it is fixed, that of the rows so far.
    terms_ : list of Term, or with K > 2 classes list of K such lists
        The curve of each feature and the surface of each pair, with standard errors, the most important first;
        "age (trees)" is what the tree ensemble does by its splits on age, which has no curve; "shop (categorical)" is
        what each whole number of a column does by itself, where such numbers turn out to be codes.
    term_importances_ : dict of str to float, or with K > 2 classes list of K such dicts
        Standard deviation of each term over the rows.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importance of each column of X, zero if it is dropped: the sum over its terms, to which a pair adds one half
        for each of its two columns. All add up to the sum of `term_importances_`. With K > 2 classes the mean over the
        classes.
    group_counts_ : GroupCounts
        With `groups`: `ranked`, the groups with rows of both classes; `one_class`, those with rows of one class, which
        have no pairs; `unused_rows`, the rows of groups without a level.
    edits_ : list of TermEdit
        The ledger of `edit` and `remove`, the oldest edit first: who, when, why, and the values before and after.
    forget_report_ : ForgetReport
        How many rows `forget` has removed (`rows`), and how many of them the basis was fitted to (`initial_rows`): what
        these contributed to its structure stays.
    selection_ : ModelSelection, or with K > 2 classes list of K of them
        Which candidate model was selected: the full one, or a simpler one that ranked the rows after the initial
        sample better.
    objective_selection_ : ObjectiveSelection
        With objective="pauc": the candidates, the partial AUC of each on rows of the initial sample held out, without
        trees, and the one taken; only the first candidate where rows are too few to compare them (fewer than 50
        positives, or than 20 negatives among the share `max_fpr`).
    leaks_ : list of Leak
        Columns that alone rank nearly all rows of the initial sample rightly (AUC above .999): they may have been
        recorded after the outcome. `fit` and `partial_fit` warn of them. With more than two classes none is looked for:
        a column may rightly tell one class from all others.
    drift_ : list of FeatureDrift
        Features whose values after the initial sample do not look like those before.
    dropped_columns_ : tuple of str
        Columns of a table that are not used: constant and empty ones, row counters, identifiers and free text.

    See Also
    --------
    OPAUC : Linear model that minimizes the pairwise square loss; for sparse rows too.
    opauc.train : The same from files, by one call.

    Examples
    --------
    >>> import pandas as pd
    >>> from opauc import OnePassGAM
    >>> table = pd.DataFrame({"age": [20.0, None, 60.0, 70.0] * 30, "sex": ["f", "m", "f", "m"] * 30})
    >>> model = OnePassGAM().fit(table, [0, 0, 1, 1] * 30)
    >>> model.predict(pd.DataFrame({"age": [25.0, 65.0], "sex": ["m", "f"]}))
    array([0, 1])
    """

    def __init__(
        self,
        *,
        max_columns: int = 1500,
        interactions: str | int | Sequence[tuple[str | int, str | int]] = "auto",
        trees: bool = True,
        effort: str = "normal",
        n_knots: str | int = "auto",
        init_size: str | int = "auto",
        categorical: Sequence[str | int] | None = None,
        numeric: Sequence[str | int] | None = None,
        drop: Sequence[str | int] | None = None,
        monotone_constraints: Mapping[str | int, int] | Sequence[int] | None = None,
        interaction_constraints: Sequence[Sequence[str | int]] | None = None,
        objective: str = "auc",
        max_fpr: float = 0.01,
        random_state: RandomState = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.max_columns = max_columns
        self.interactions = interactions
        self.trees = trees
        self.effort = effort
        self.n_knots = n_knots
        self.init_size = init_size
        self.categorical = categorical
        self.numeric = numeric
        self.drop = drop
        self.monotone_constraints = monotone_constraints
        self.interaction_constraints = interaction_constraints
        self.objective = objective
        self.max_fpr = max_fpr
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        label: str | int | None = None,
    ) -> Self:
        """Fit the model to labeled rows in one pass; what was fitted before is discarded.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            A data frame of pandas, polars or pyarrow with numbers, strings, booleans,
            dates and missing values, whose column types are inferred from the initial
            sample and its labels as `opauc.train` infers those of files; or an array of
            numbers with nan where missing, all of which are used as numbers. What streams as
            Arrow (a relation of DuckDB, a LazyFrame, a table of Ibis, a dataset, a reader) is read batch by batch, in
            constant memory; the initial sample of a stream that can be read once is its first rows.
        y : array-like of shape (n_samples,), default=None
            Labels of 2 to 100 classes; of two the greater one is the positive class.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; rows of weight zero are dropped. With weights, a stream is read whole.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, a user or a query, within which rows are to be ranked: each group gets a level of its
            own in addition to the terms, so that these learn what differs between rows of one group. Scores need no
            groups; they are those of the mean group. For rows in memory of two classes.
        label : str or int, default=None
            The column of a table that has the labels, by name or position, in place of y. Rows are then read as
            `opauc.train` reads those of files.

        Returns
        -------
        self : OnePassGAM
            The fitted estimator.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> OnePassGAM().fit([[0.0], [1.0], [2.0], [4.0]] * 30, ["no", "no", "yes", "yes"] * 30).predict([[3.5]])
        array(['yes'], dtype='<U3')
        """
        in_memory = check_labels_given(type(self).__name__, X, y, label, sample_weight)
        if groups is not None and not in_memory:
            raise _groups_of_stream()
        with changing(self) as transaction, self._threads():
            table = None if in_memory or sample_weight is not None else labeled_table(X, y, label)
            if table is not None:
                self._fit_table(*table)
            else:
                assert y is not None, "labels are given in one way"
                self._fit_rows(X, y, sample_weight, groups, transaction)
            if not self._fitted.counts.all_seen:
                raise ValueError(f"OnePassGAM needs rows of {self._lacking_rows()}")
            _ = self._fitted.scorer
            for leak in find_leaks(self._fitted, self._input_names()):
                warnings.warn(leak, stacklevel=2)
        return self

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        label: str | int | None = None,
    ) -> Self:
        """Train on one more batch of labeled rows; any cut of the rows into batches gives the same model.

        The column types are inferred from the first batch, and the first rows are
        the initial sample: they wait in a warm-up buffer until there are `init_size`
        of them, of which 1,000, or a sixteenth if that is less, are of the rarer
        class. If this raises, or is interrupted, the model is as it was before.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            Rows as in `fit`, streams too. Categories that turn up after the initial sample are pooled.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All class labels; needed on the first call unless y holds all of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; rows of weight zero are dropped.
        groups : array-like of shape (n_samples,), default=None
            The group of each row as in `fit`: given with every batch, or with none. Groups have a level of their own if
            the initial sample has two rows of them; rows of all others are not used.
        label : str or int, default=None
            The column of a table that has the labels, by name or position, in place of y.

        Returns
        -------
        self : OnePassGAM
            The fitted estimator.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> model = OnePassGAM().partial_fit([[0.0], [1.0]], [-1, -1], classes=[-1, 1])
        >>> model.partial_fit([[2.0]], [1]).classes_
        array([-1,  1])
        """
        in_memory = check_labels_given(type(self).__name__, X, y, label, sample_weight)
        if groups is not None and not in_memory:
            raise _groups_of_stream()
        with changing(self) as transaction, self._threads():
            first = not self.__sklearn_is_fitted__()
            warned = set() if first else {(type(warning), warning.name) for warning in self._warnings()}
            known = check_classes(None if first else self.classes_, classes, self._several_classes)
            whole: list[tuple[Any, Any, Any]] = [(X, y, sample_weight)]
            for rows, labels, weight in whole if in_memory else labeled_parts(X, y, sample_weight, label):
                self._train_batch(rows, labels, known, weight, groups, transaction)
                known = self.classes_
                if known.size < 2:
                    raise ValueError(
                        "classes must be passed on the first call to partial_fit when y holds one class only, "
                        f"here {known.tolist()[0]!r}"
                    )
            for warning in self._warnings():
                if (type(warning), warning.name) not in warned:
                    warnings.warn(warning, stacklevel=2)
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Score of each row: the log-odds of the positive class; with more than two classes those of each.

        Parameters
        ----------
        X : table, array-like, sparse matrix, list of dicts or path of a file
            Rows with the columns of the training, found by their names. Categories that were rare or absent in
            training count as one.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Above zero the positive class is the more likely one. With more than two classes a column for each, in the
            order of `classes_`.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> model = OnePassGAM().fit([[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30)
        >>> model.decision_function([[0.0], [4.0]]) > 0
        array([False,  True])
        """
        return super().decision_function(X)

    def predict(self, X: ArrayLike) -> Array:
        """Label of each row: the most likely class; of two classes `use_threshold` may set another threshold.

        Parameters
        ----------
        X : table, array-like, sparse matrix, list of dicts or path of a file
            Rows as for `decision_function`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Labels of `classes_`.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> OnePassGAM().fit([[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30).predict([[0.5], [3.0]])
        array([0, 1])
        """
        return super().predict(X)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probability of each class: the logistic function of its score.

        Parameters
        ----------
        X : table, array-like, sparse matrix, list of dicts or path of a file
            Rows as for `decision_function`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`; each row adds up to one.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> model = OnePassGAM().fit([[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30)
        >>> model.predict_proba([[0.0], [4.0]]).argmax(axis=1)
        array([0, 1])
        """
        return super().predict_proba(X)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """AUC of labeled rows: the share of pairs of a positive and a negative row that are ranked rightly.

        With more than two classes the mean AUC over ordered pairs of classes (Hand and Till's M).

        Not the accuracy, which other classifiers of scikit-learn return; for that pass `scoring="accuracy"` to what
        takes a `scoring`.

        Parameters
        ----------
        X : table, array-like, sparse matrix, list of dicts or path of a file
            Rows as for `decision_function`.
        y : array-like of shape (n_samples,)
            Their labels; every class must be there.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: a pair counts with the product of its two.

        Returns
        -------
        auc : float
            Between 0 and 1; ties count half.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30
        >>> OnePassGAM().fit(rows, labels).score(rows, labels)
        1.0
        """
        return super().score(X, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _groups_of_stream() -> ParameterError:
    """Return the error of groups that come with a stream of rows, which has no row numbers to find them by."""
    return ParameterError(
        Parameter("groups"), " are for rows in memory with labels as y; of a table or a stream `opauc.train` takes "
        "the column of groups by its name",
    )  # fmt: skip
