"""`OnePassGAM`: a generalized additive model with interactions for raw tables, fitted in one pass."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, Unpack, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from opauc.additive.basis.basis import Basis
from opauc.additive.constraints.constraints import Constraints
from opauc.additive.constraints.named import Bounds, ColumnPair, Columns, ConstraintOptions, NamedBasis
from opauc.additive.constraints.price import LabeledRows, Price, price
from opauc.additive.drift import FeatureDrift, find_drift
from opauc.additive.editing.edit import TermEdit, edit_term, list_edits, remove_term
from opauc.additive.factory import AdditiveFactory
from opauc.additive.initial_sample import draw_initial_sample
from opauc.additive.input import InMemoryRows, labeled_parts, labeled_table, next_rows
from opauc.additive.leaks import Leak, find_leaks
from opauc.additive.policy import ADDITIVE_POLICY, AdditivePolicy
from opauc.additive.selection import ModelSelection
from opauc.additive.settings import AdditiveSettings, Inputs, fitted_whole, with_init_size
from opauc.additive.state import AdditiveFit, ForgetReport
from opauc.additive.stream_fit import fit_stream
from opauc.additive.terms.explain import Terms
from opauc.additive.terms.reasons import FEATURE, Reasons, check_reasons, find_reasons, input_features
from opauc.additive.terms.terms import Explanation, Term
from opauc.core.fit import only_scores
from opauc.core.loop import Trainer
from opauc.core.model import Model, check_same_classes, different_kinds
from opauc.core.parameters import Count, Jobs, check_param
from opauc.core.threads import use_threads
from opauc.core.transaction import Transaction, changing, reading
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.frames import PandasTable, frame_library
from opauc.data.options import DEFAULTS, ReadOptions
from opauc.data.sample import RowNumbers
from opauc.data.schema.table import TableSchema
from opauc.data.table_source import TableSource
from opauc.errors import IncompatibleMomentsError, InputError
from opauc.estimators.algebra import SumsAlgebra
from opauc.estimators.docstrings import own_docstrings
from opauc.estimators.input_checks import (
    CheckedBatch,
    check_classes,
    check_labels,
    check_labels_given,
    check_not_exchanged,
)
from opauc.estimators.notebook import MAX_ROWS, FittedSummary, ShownPart, auc_text
from opauc.estimators.scoring import Scored
from opauc.types import Array, Floats, Labels, RandomState, random_key

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class EncodedRows(NamedTuple):
    """Labeled and weighted rows as numbers, and the schema of their table, None for an array."""

    rows: Floats
    labels: Labels
    weight: Floats | None
    schema: TableSchema | None

    @classmethod
    def of(cls, data: InMemoryRows, labels: Labels, weight: Floats | None) -> EncodedRows:
        """Infer the column types from the rows and encode these; rows of weight zero are dropped."""
        rows, schema = data.encode(None, labels)
        if weight is None:
            return cls(rows, labels, None, schema)
        kept = np.flatnonzero(weight)
        return cls(rows[kept], labels[kept], weight[kept], schema)


# Not stored in the models: copies, pickles and files have no terms.
_terms_of_models: WeakKeyDictionary[object, Terms] = WeakKeyDictionary()


@own_docstrings("opauc")
class OnePassGAM(SumsAlgebra):
    """Generalized additive model with pairwise interactions for raw tables, from one pass: nothing to set.

    An initial sample of the rows fixes a basis: a curve for each number, a
    level for each category, a surface for each pair of features that interact.
    From then on every row is a few sums, so that models merge and rows can be
    forgotten. The smoothing parameters are estimated from the sums alone
    (restricted maximum likelihood). The score is the log-odds of the positive
    class.

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
    random_state : int, RandomState or None, default=None
        Seed of the initial sample.
    n_jobs : int or None, default=-1
        Threads that `fit`, `partial_fit`, `explain` and scores use: -1 all cores, at most OMP_NUM_THREADS of them where
        that is set; None is one. Models and scores are the same to the last bit whatever it is, so it is not saved.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The class labels; the second is the positive class.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had string column names.
    basis_ : Basis
        The basis expansion; until it is fixed, that of the rows so far.
    terms_ : list of Term
        The curve of each feature and the surface of each pair, with standard errors, the most important first;
        "age (trees)" is what the tree ensemble does by its splits on age, which has no curve; "shop (categorical)" is
        what each whole number of a column does by itself, where such numbers turn out to be codes.
    term_importances_ : dict of str to float
        Standard deviation of each term over the rows.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importance of each column of X, zero if it is dropped: the sum over its terms, to which a pair adds one half
        for each of its two columns. All add up to the sum of `term_importances_`.
    edits_ : list of TermEdit
        The ledger of `edit` and `remove`, the oldest edit first: who, when, why, and the values before and after.
    forget_report_ : ForgetReport
        How many rows `forget` has removed (`rows`), and how many of them the basis was fitted to (`initial_rows`): what
        these contributed to its structure stays.
    selection_ : ModelSelection
        Which candidate model was selected: the full one, or a simpler one that ranked the rows after the initial
        sample better.
    leaks_ : list of Leak
        Columns that alone rank nearly all rows of the initial sample rightly (AUC above .999): they may have been
        recorded after the outcome. `fit` and `partial_fit` warn of them.
    drift_ : list of FeatureDrift
        Features whose values after the initial sample do not look like those before.
    dropped_columns_ : tuple of str
        Columns of a table that are not used: constant and empty ones, row counters, identifiers and free text.

    Examples
    --------
    >>> import pandas as pd
    >>> from opauc import OnePassGAM
    >>> table = pd.DataFrame({"age": [20.0, None, 60.0, 70.0] * 30, "sex": ["f", "m", "f", "m"] * 30})
    >>> model = OnePassGAM().fit(table, [0, 0, 1, 1] * 30)
    >>> model.predict(pd.DataFrame({"age": [25.0, 65.0], "sex": ["m", "f"]}))
    array([0, 1])
    """

    _families: ClassVar[tuple[str, ...]] = ("additive", "additive_scoring")
    _unsaved: ClassVar[tuple[str, ...]] = ("n_jobs",)
    _policy: AdditivePolicy = ADDITIVE_POLICY

    _fitted: AdditiveFit
    _reading: OrdinalReading | None = None

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
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
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
            Labels of two classes; the greater one is the positive class.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; rows of weight zero are dropped. With weights, a stream is read whole.
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
        with changing(self) as transaction, self._threads():
            table = None if in_memory or sample_weight is not None else labeled_table(X, y, label)
            if table is not None:
                self._fit_table(*table)
            else:
                assert y is not None, "labels are given in one way"
                self._fit_rows(X, y, sample_weight, transaction)
            if not self._fitted.counts.both:
                raise ValueError(
                    f"OnePassGAM needs rows of two classes, got one class: every row is of class {self._only_class()}"
                )
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
        classes : array-like of shape (2,), default=None
            Both class labels; needed on the first call unless y holds both.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; rows of weight zero are dropped.
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
        with changing(self) as transaction, self._threads():
            first = not self.__sklearn_is_fitted__()
            warned = set() if first else {(type(warning), warning.name) for warning in self._warnings()}
            known = check_classes(None if first else self.classes_, classes)
            whole: list[tuple[Any, Any, Any]] = [(X, y, sample_weight)]
            for rows, labels, weight in whole if in_memory else labeled_parts(X, y, sample_weight, label):
                self._train_batch(rows, labels, known, weight, transaction)
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
        """Score of each row: the log-odds of the positive class.

        Parameters
        ----------
        X : table, array-like, sparse matrix, list of dicts or path of a file
            Rows with the columns of the training, found by their names. Categories that were rare or absent in
            training count as one.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Above zero the positive class is the more likely one.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> model = OnePassGAM().fit([[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30)
        >>> model.decision_function([[0.0], [4.0]]) > 0
        array([False,  True])
        """
        return super().decision_function(X)

    def predict(self, X: ArrayLike) -> Array:
        """Label of each row: the class whose probability is above one half, unless `use_threshold` set a threshold.

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
        """Probability of each class: the logistic function of the score.

        Parameters
        ----------
        X : table, array-like, sparse matrix, list of dicts or path of a file
            Rows as for `decision_function`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            Columns in the order of `classes_`.

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

        Not the accuracy, which other classifiers of scikit-learn return; for that pass `scoring="accuracy"` to what
        takes a `scoring`.

        Parameters
        ----------
        X : table, array-like, sparse matrix, list of dicts or path of a file
            Rows as for `decision_function`.
        y : array-like of shape (n_samples,)
            Their labels; both classes must be there.
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

    def explain(self, X: ArrayLike) -> Explanation:
        """Return the score of each row as a sum of named terms.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Rows as for `predict`.

        Returns
        -------
        explanation : Explanation
            Names of the terms, the contribution of each to each row, and the baseline.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]]
        >>> model = OnePassGAM().fit(rows * 30, [0, 0, 1, 1] * 30)
        >>> explained = model.explain(rows)
        >>> explained.names
        ('x0', 'x1')
        >>> bool(abs(explained.scores() - model.decision_function(rows)).max() < 1e-9)
        True
        """
        with reading(self), self._threads():
            check_is_fitted(self)
            rows, _ = next_rows(self, X, self._columns, learn=False)
            explanation = self._terms().explain(rows)
        return replace(explanation, library=frame_library(X), index=X.index if isinstance(X, PandasTable) else None)

    def reasons(
        self,
        X: ArrayLike,
        k: int = 4,
        *,
        reference: str | ArrayLike = "mean",
        direction: str = "lower",
        by: str = "term",
    ) -> Reasons:
        """Return the k terms that lower, or raise, the score of each row most against a reference.

        These are the reasons that a lender states for an adverse action, or a clinician asks for: what sets this row
        apart from the average row, from the best possible one, or from another row.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Rows as for `predict`.
        k : int, default=4
            How many reasons for each row, at most: a term that does not lower (raise) the score is none.
        reference : {"mean", "best"} or one row, default="mean"
            What contributions are compared with: their mean over the training rows; the highest value of each term,
            the lowest where reasons are those that raise the score; or the contributions to a row.
        direction : {"lower", "raise"}, default="lower"
            Whether reasons lower or raise the score, which is that of the second class.
        by : {"term", "feature"}, default="term"
            Whether a reason is a term, such as "age", "age × fare" or "age (trees)", or a column: the sum over its
            terms, where the columns of a pair or a combination share it evenly.

        Returns
        -------
        reasons : Reasons
            The names of the reasons of each row, the strongest first, and the differences in log-odds.

        Raises
        ------
        ValueError
            If k is below one, or a name is none of those above.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]]
        >>> model = OnePassGAM(interactions=0).fit(rows * 30, [0, 0, 1, 1] * 30)
        >>> [reason.name for reason in model.reasons([[0.0, 5.0]], reference="best")[0]]
        ['x0']
        """
        with reading(self), self._threads():
            check_is_fitted(self)
            k = check_reasons(k, reference, direction, by)
            rows, _ = next_rows(self, X, self._columns, learn=False)
            if not isinstance(reference, str):
                reference, _ = next_rows(self, reference, self._columns, learn=False)
                if len(reference) != 1:
                    raise ValueError(
                        f"The 'reference' parameter of reasons must be one row. Got {len(reference)} rows."
                    )
            features = input_features(self._columns, self._column_names()) if by == FEATURE else None
            return find_reasons(self._terms(), rows, k, reference, direction, features)

    def edit(
        self,
        term: str,
        points: Sequence[tuple[float, float]] | Mapping[str, float],
        *,
        missing: float | None = None,
        who: str = "",
        why: str = "",
    ) -> OnePassGAM:
        """Return a model in which a term is what you say, and all others are the optimum given that.

        The term stays as it is when the model learns, merges or forgets rows; the others go on learning. Their
        weights are computed from the sums, without the rows. Values are what `terms_` shows afterwards, also where
        pairs or trees do something by the same column alone: it is taken off. A term that is set is not centered.
        The basis is fixed from then on. What the splits of trees on the column do in addition is a term of its own,
        "age (trees)", which `remove` takes away.

        Parameters
        ----------
        term : str
            The name of a main effect in `terms_`, such as "age", or of single values, such as "shop (categorical)".
        points : list of (value, contribution) pairs, or dict of level to contribution
            For a number the points of a curve, which is linear between them and constant beyond: its values at the
            knots of the basis are taken. A number without a curve has two values. For levels their contributions;
            levels that are not given keep theirs. "(others)" are all that have no level of their own.
        missing : float, default=None
            The contribution of a missing value; None keeps it.
        who : str, default=""
            Who edits, for the ledger.
        why : str, default=""
            The reason, for the ledger.

        Returns
        -------
        model : OnePassGAM
            A new model; this one stays as it is.

        Raises
        ------
        UnknownNameError
            If there is no such term or level.
        ParameterError
            If the points are not finite, or not those of such a term.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]]
        >>> model = OnePassGAM().fit(rows * 30, [0, 0, 1, 1] * 30)
        >>> edited = model.edit("x0", [(0, -1), (4, 1)], who="ann", why="must rise evenly")
        >>> [term.value.tolist() for term in edited.terms_ if term.name == "x0"]
        [[-1.0, -0.5, 0.0, 1.0]]
        """
        with reading(self), self._threads():
            other = self._with_basis()
            other._fitted = edit_term(other._terms(), term, points, missing, who, why)
            return other

    def remove(self, term: str, *, who: str = "", why: str = "") -> OnePassGAM:
        """Return a model without a term, in which all others are the optimum given that.

        Any term can be removed: a main effect, a pair, combinations, and the share of a column in the trees. It
        contributes nothing to any score. Where the share of a column in the trees is removed, the trees end at the
        splits on it, and curves keep what the splits that are cut off did by single columns. A score does not depend
        on a column all of whose terms are removed.

        Parameters
        ----------
        term : str
            The name of a term in `terms_`.
        who : str, default=""
            Who removes it, for the ledger.
        why : str, default=""
            The reason, for the ledger.

        Returns
        -------
        model : OnePassGAM
            A new model; this one stays as it is.

        Raises
        ------
        UnknownNameError
            If there is no such term.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]]
        >>> model = OnePassGAM().fit(rows * 30, [0, 0, 1, 1] * 30).remove("x1", why="not known in advance")
        >>> model.explain(rows).contributions[:, 1].tolist()
        [0.0, 0.0, 0.0, 0.0]
        """
        with reading(self), self._threads():
            other = self._with_basis()
            other._fitted = remove_term(other._terms(), term, who, why)
            return other

    @property
    def edits_(self) -> list[TermEdit]:
        """The ledger: every edit with who, when, why, and the values of the term before and after."""
        with reading(self):
            return list_edits(self._terms())

    def _with_basis(self) -> OnePassGAM:
        """Return a copy whose basis is fixed."""
        check_is_fitted(self)
        other = type(self)(**self.get_params(deep=False))
        other.__dict__.update(self.__dict__)
        other._fitted = self._fitted.with_basis()
        other._trim_reading()
        return other

    def constrain(
        self,
        *,
        increasing: Columns = (),
        decreasing: Columns = (),
        convex: Columns = (),
        concave: Columns = (),
        without: Columns = (),
        pairs: Sequence[ColumnPair] | None = None,
        no_pairs: bool = False,
        equal_mean: Columns = (),
        bounds: Bounds | None = None,
        fixed: str | Sequence[str] = (),
    ) -> OnePassGAM:
        """Return the best model of all rows seen that satisfies constraints, from the sums alone.

        The basis stays as it is, and is fixed if it was not. Weights are the exact
        minimum under the constraints, for all values of the other columns; later
        rows, `merge` and `forget` keep them so. Constraints add to those that the
        model has. This model does not change.

        Crossed codes and effects of single values of a column with a shape or a
        bound leave the model. Trees stay where columns increase or decrease, with
        leaf values in that order; they leave if they split on a column that is
        convex, concave, bounded or left out, and with `pairs`, `no_pairs` and
        `equal_mean`. A threshold of `use_threshold` is not taken over.

        Parameters
        ----------
        increasing, decreasing : str, int or list of these, default=()
            Numeric columns in which the score never falls, or never rises. Missing values are free.
        convex, concave : str, int or list of these, default=()
            Numeric columns in which the score bends upwards or downwards only, between their smallest and largest knot.
        without : str, int or list of these, default=()
            Columns that no term uses.
        pairs : list of pairs of str or int, default=None
            The only pairs that stay.
        no_pairs : bool, default=False
            Whether all pairs leave.
        equal_mean : str, int or list of these, default=()
            Columns of categories, or of two values, whose groups all have the same mean score; rows count with
            p (1 - p), as in all means of terms. Rare categories without a column of their own are one group.
        bounds : dict, default=None
            Intervals of the curve or the levels of columns, as in `terms_`, at some of their values:
            `{"age": {30: (None, 0.5)}}`, None where the interval is open.
        fixed : str or list of str, default=()
            Names of curves, levels and pairs ("age", "age × hours") whose weights stay as they are.

        Returns
        -------
        model : OnePassGAM
            The constrained model.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 1, 0, 1] * 30
        >>> model = OnePassGAM().fit(rows, labels).constrain(increasing="x0")
        >>> scores = model.decision_function([[0.0], [1.0], [2.0], [4.0]])
        >>> bool((scores[1:] > scores[:-1] - 1e-9).all())
        True
        """
        options = ConstraintOptions(
            increasing=increasing, decreasing=decreasing, convex=convex, concave=concave, without=without, pairs=pairs,
            no_pairs=no_pairs, equal_mean=equal_mean, bounds=bounds, fixed=fixed,
        )  # fmt: skip
        with reading(self):
            constraints = self._joined(self._resolve(options))
            other = type(self)(**self.get_params(deep=False))
            other.__dict__.update(self.__dict__)
            other.__dict__.pop("_threshold", None)  # it was chosen for other scores
            other._fitted = self._fitted.with_constraints(constraints, self._input_names())
            other._trim_reading()
            _ = other._fitted.scorer  # constraints that no weights satisfy are an error here
            return other

    def price_of(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **constraints: Unpack[ConstraintOptions],
    ) -> Price:
        """Return what constraints cost, each by itself and all together, without applying them.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features), default=None
            Rows to measure the AUC on, best those the model was not trained on.
        y : array-like of shape (n_samples,), default=None
            Their labels, of both classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        **constraints
            Constraints as in `constrain`.

        Returns
        -------
        price : Price
            Rises of the log loss, estimated from the sums, and AUCs if rows are given.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 1, 0, 1] * 30
        >>> price = OnePassGAM().fit(rows, labels).price_of(increasing="x0", X=rows, y=labels)
        >>> price.together.log_loss > 0, price.together.auc_change <= 0
        (True, True)
        """
        if (X is None) != (y is None):
            raise ValueError("X and y: expected both or neither")
        with reading(self), self._threads():
            resolved, rows = self._resolve(constraints), None
            self._joined(resolved)
            if not resolved:
                raise ValueError("price_of: expected a constraint, such as increasing='age'")
            if X is not None and y is not None:
                numbers = next_rows(self, X, self._columns, learn=False).rows
                checked = self._check(numbers, y, self.classes_, sample_weight)
                rows = LabeledRows(numbers, checked.labels, checked.sample_weight)
            return price(self._fitted, resolved, self._input_names(), rows)

    @property
    def constraints_(self) -> list[str]:
        """The constraints that the weights satisfy, in words."""
        with reading(self):
            check_is_fitted(self)
            return self._fitted.constraints.describe(self._input_names())

    def _resolve(self, options: ConstraintOptions) -> Constraints:
        """Return constraints by the positions of inputs."""
        check_is_fitted(self)
        if not self._fitted.can_train:
            raise only_scores()
        names, schema, parts = self._input_names(), self._columns, dict[str, list[int]]()
        for j, column in enumerate([c.name for c in schema.columns for _ in c.inputs] if schema else names):
            parts.setdefault(column, []).append(j)
        categories = [{}] * len(names) if schema is None else schema.category_names()
        named = NamedBasis(self._fitted.current.basis, names, categories, self._column_names(), parts)
        return named.resolve(options, self._fitted.final.weights)

    def _joined(self, constraints: Constraints) -> Constraints:
        """Return constraints with those that the model has; raise ParameterError where they contradict these."""
        joined = self._fitted.constraints.join(constraints)
        joined.check(self._input_names())
        return joined

    def empty_copy(self) -> OnePassGAM:
        """Return a model with the same basis and no rows: shards that begin with it can be merged.

        Returns
        -------
        model : OnePassGAM
            A model to `partial_fit` and `merge`.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30
        >>> model = OnePassGAM().fit(rows, labels)
        >>> shards = [model.empty_copy().partial_fit(rows[i::2], labels[i::2]) for i in range(2)]
        >>> shards[0].merge(shards[1]).score(rows, labels)
        1.0
        """
        with reading(self):
            check_is_fitted(self)
            other = type(self)(**self.get_params(deep=False))
            other.__dict__.update(self.__dict__)
            other._fitted = self._fitted.empty_copy()
            other._trim_reading()
            return other

    def merge(self, other: OnePassGAM) -> Self:
        """Add the rows of another model with the same basis, as if they had been processed here.

        Parameters
        ----------
        other : OnePassGAM
            A fitted model that began with the same basis (`empty_copy`), or that has no basis yet.

        Returns
        -------
        self : OnePassGAM
            The model of the rows of both.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30
        >>> model = OnePassGAM().fit(rows, labels)
        >>> model.merge(model.empty_copy().partial_fit(rows, labels)).score(rows, labels)
        1.0
        """
        with changing(self, other):
            self._check_same_kind(other)
            self._fitted = self._fitted.merge(other._fitted)
        return self

    def subtract(self, other: OnePassGAM) -> Self:
        """Remove the rows of another model with the same basis, as if they had never been processed here.

        The inverse of `merge`: a day is removed by its model, not by its rows. Rows that were never added are refused
        where the sums show it: a class, a category, a leaf or a range of scores would have fewer than no rows, or
        columns would vary by less than nothing.

        Parameters
        ----------
        other : OnePassGAM
            A fitted model that began with the same basis (`empty_copy`), or that has no basis yet.

        Returns
        -------
        self : OnePassGAM
            The model of the rows that are not in `other`.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30
        >>> model = OnePassGAM().fit(rows, labels)
        >>> day = model.empty_copy().partial_fit(rows, labels)
        >>> model.merge(day).subtract(day).score(rows, labels)
        1.0
        """
        with changing(self, other):
            self._check_same_kind(other)
            self._fitted = self._fitted.without(other._fitted)
        return self

    def _check_same_kind(self, other: object) -> None:
        """Raise unless another model is of the same classes and columns, and both can be trained."""
        if not isinstance(other, OnePassGAM):
            raise different_kinds(type(self).__name__, type(other).__name__)
        check_is_fitted(self)
        check_is_fitted(other)
        if not (self._fitted.can_train and other._fitted.can_train):
            raise only_scores()
        check_same_classes(self.classes_, other.classes_)
        mine, theirs = (None if one._columns is None else one._columns.to_json()["columns"] for one in (self, other))
        if self._input_names() != other._input_names() or mine != theirs:
            raise IncompatibleMomentsError("cannot merge models of features with different names or categories")

    def forget(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Remove rows from the model.

        While the model still has its initial sample (after `fit` on few rows,
        or `partial_fit` on fewer than `init_size`), the rows are taken out of
        that, and the next prediction uses a basis fitted to the other rows.
        Later, rows are subtracted from the sums and from the counts that select
        the model, so that weights are those of the other rows with the same
        basis. The basis stays: what rows of the initial sample contributed to
        knots, pairs, trees, candidate models and the expansion point is not
        removed. `forget_report_` counts the rows, and those of them. Column types
        and categories stay in any case.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            Rows as they were trained on.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        self : OnePassGAM
            The model without the rows.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30
        >>> model = OnePassGAM(init_size=60).partial_fit(rows, labels)
        >>> model.forget(rows[-4:], labels[-4:]).score(rows, labels)
        1.0
        >>> model.forget_report_
        ForgetReport(rows=4, initial_rows=4)
        """
        with changing(self):
            check_is_fitted(self)
            rows, _ = next_rows(self, X, self._columns, learn=False)
            batch = self._check(rows, y, self.classes_, sample_weight)
            kept = slice(None) if batch.sample_weight is None else np.flatnonzero(batch.sample_weight)
            weight = None if batch.sample_weight is None else batch.sample_weight[kept]
            self._fitted = self._fitted.subtract(batch.rows[kept], batch.labels[kept], weight)
        return self

    @property
    def forget_report_(self) -> ForgetReport:
        """How many rows `forget` has removed, and how many of them the basis was fitted to, which stays."""
        with reading(self):
            check_is_fitted(self)
            return self._fitted.removed

    @property
    def basis_(self) -> Basis:
        """The basis expansion; until it is fixed, that of the rows so far."""
        with reading(self):
            return self._fitted.current.basis

    @property
    def terms_(self) -> list[Term]:
        """Every term with standard errors, the most important first."""
        with reading(self):
            return self._terms().list_terms()

    def plot_term(self, name: str, ax: Axes | None = None) -> Axes:
        """Draw a term: a curve, levels, or a pair as a heat map.

        Curves have a band, and levels bars, of two standard errors; each tick along the bottom of a curve stands for
        one percent of the rows. Cells of a pair are pale where the value is within two standard errors of zero.

        Parameters
        ----------
        name : str
            The name of a term in `terms_`.
        ax : matplotlib Axes, default=None
            Where to draw; by default in a new figure.

        Returns
        -------
        ax : matplotlib Axes
            The axes, for titles, limits and `figure.savefig`.

        Raises
        ------
        UnknownNameError
            If there is no such term: the message has the nearest names.
        ParameterError
            If the term is the share of a column in trees, which has no curve.
        MissingEngineError
            If matplotlib is not installed: the extra is `plots`.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> model = OnePassGAM().fit([[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30)
        >>> model.plot_term("x0").get_title()
        'x0'
        """
        with reading(self), self._threads():
            terms = self._terms()
            term, shares = terms.term(name), terms.shares_along(name)
        from opauc.additive.terms.plots import plot_term  # which needs matplotlib

        return plot_term(term, shares, ax)

    def plot_importances(self, n: int = 15, ax: Axes | None = None) -> Axes:
        """Draw the importances of the most important terms as bars.

        Parameters
        ----------
        n : int, default=15
            How many terms.
        ax : matplotlib Axes, default=None
            Where to draw; by default in a new figure.

        Returns
        -------
        ax : matplotlib Axes
            The axes.

        Raises
        ------
        MissingEngineError
            If matplotlib is not installed: the extra is `plots`.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]]
        >>> model = OnePassGAM().fit(rows * 30, [0, 0, 1, 1] * 30)
        >>> [label.get_text() for label in model.plot_importances(n=1).get_yticklabels()]
        ['x0']
        """
        n = check_param("plot_importances", "n", n, Count())
        terms = self.terms_
        from opauc.additive.terms.plots import plot_importances  # which needs matplotlib

        return plot_importances(terms, n, ax)

    @property
    def term_importances_(self) -> dict[str, float]:
        """Standard deviation of each term over the rows."""
        with reading(self):
            return self._terms().importances()

    @property
    def feature_importances_(self) -> Floats:
        """Importance of each column of X: the sum of those of its terms, each of a pair having one half."""
        with reading(self):
            importances, names = self._terms().input_importances(), self._column_names()
        of_columns = dict.fromkeys(names, 0.0)
        for name, importance in zip(input_features(self._columns, names), importances.tolist(), strict=True):
            of_columns[name] += importance
        return np.array(list(of_columns.values()))

    @property
    def selection_(self) -> ModelSelection:
        """Which candidate model was selected, and how each ranked the rows after the initial sample."""
        with reading(self):
            return self._fitted.final.selection

    @property
    def leaks_(self) -> list[Leak]:
        """Columns that alone rank nearly all rows rightly, the best first."""
        with reading(self):
            return find_leaks(self._fitted, self._input_names())

    @property
    def drift_(self) -> list[FeatureDrift]:
        """Features whose values after the initial sample do not look like those before."""
        with reading(self):
            return find_drift(self._fitted, self._input_names())

    @property
    def dropped_columns_(self) -> tuple[str, ...]:
        """Columns the model does not use, such as identifiers, free text and constants."""
        with reading(self):
            names, columns = self._column_names(), self._columns
        used = set(names if columns is None else (column.name for column in columns.columns))
        return tuple(name for name in names if name not in used)

    def _summary(self) -> FittedSummary | None:
        """Return the most important terms, and the progressive AUC of the selected model."""
        if not self._fitted.counts.both:
            return None
        with self._threads():
            terms, selection = self._terms().list_terms(), self._fitted.final.selection
        parts = [ShownPart(term.name, term.importance, term.direction()) for term in terms[:MAX_ROWS]]
        auc = ""
        if selection.model in selection.aucs:
            rows = f"{sum(selection.rows):,.0f} rows after the initial sample"
            auc = f"Progressive AUC {auc_text(selection.aucs[selection.model])} on the {rows}"
        return FittedSummary(parts, len(terms), "term", "importance", auc)

    def _warnings(self) -> list[Leak | FeatureDrift]:
        """Return the leaks once the basis is fixed, which would have to be fitted at every batch before; and drift."""
        return [*([] if self._fitted.fixed is None else self.leaks_), *self.drift_]

    @property
    def _columns(self) -> TableSchema | None:
        """What the columns of a table become; None for a model fitted to arrays."""
        return None if self._reading is None else self._reading.columns

    def _scored(self, X: ArrayLike) -> Scored:
        with self._threads():
            check_is_fitted(self)
            with reading(self):
                rows, _ = next_rows(self, X, self._columns, learn=False)
                scorer, classes = self._fitted.scorer, self.classes_
            return Scored(scorer, scorer.scores(rows), classes)

    def _threads(self) -> AbstractContextManager[None]:
        """Let the body use as many threads as `n_jobs` says, which is checked."""
        return use_threads(check_param(type(self).__name__, "n_jobs", self.n_jobs, Jobs()))

    def _input_names(self) -> tuple[str, ...]:
        if self._columns is not None:
            return self._columns.inputs
        return self._column_names()

    def _column_names(self) -> tuple[str, ...]:
        """Return the names of the columns of X, those of an array by position."""
        return self._feature_names() or tuple(f"x{j}" for j in range(self.n_features_in_))

    def _terms(self) -> Terms:
        """The terms of the fitted model, kept until it changes."""
        check_is_fitted(self)
        terms = _terms_of_models.get(self)
        if terms is None or terms.solution is not self._fitted:
            names = self._input_names()
            categories = [{}] * len(names) if self._columns is None else self._columns.category_names()
            terms = _terms_of_models[self] = Terms(self._fitted, names, categories)
        return terms

    def _factory(self, n_rows: int = 0) -> AdditiveFactory:
        """Return how the parameters become a fit, where so many rows are known to come."""
        columns, parameters = self._columns, self.get_params(deep=False)
        inputs = Inputs.of(columns, () if columns is not None else self._column_names())
        if self.monotone_constraints is not None or self.interaction_constraints is not None:
            parameters |= self._constraint_parameters(inputs.names)
        return AdditiveFactory(parameters, inputs=inputs, n_rows=n_rows, width=self.n_features_in_, policy=self._policy)

    def _constraint_parameters(self, inputs: Sequence[str]) -> dict[str, object]:
        """Return the parameters that name columns of X by the names of their inputs; unused columns have none."""
        given, names, settings = self.monotone_constraints, self._column_names(), self._settings()
        if given is not None and not isinstance(given, Mapping) and len(given) != len(names):
            raise ValueError(f"monotone_constraints: expected {len(names)} numbers, one per column, got {len(given)}")

        def name_of(column: str | int) -> str | int:
            return names[column] if isinstance(column, int) and 0 <= column < len(names) else column

        unused = set(names) - set(inputs)
        directions = {name_of(column): sign for column, sign in settings.monotone_constraints}
        groups = settings.interaction_constraints
        return {
            "monotone_constraints": {name: sign for name, sign in directions.items() if name not in unused},
            "interaction_constraints": None
            if groups is None
            else [[name for name in map(name_of, group) if name not in unused] for group in groups],
        }

    def _settings(self) -> AdditiveSettings:
        """Return the parameters, checked."""
        return AdditiveFactory(self.get_params(deep=False)).settings()

    def _init_size(self, n_rows: int) -> int:
        """Return how many of the rows the initial sample should have."""
        return int(with_init_size(self._settings(), n_rows, self._policy.sample, self.n_features_in_).init_size)

    def _fit_rows(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, transaction: Transaction) -> None:
        """Fit few rows at once; of many draw the initial sample, then process all of them in order."""
        data = InMemoryRows.of(self, X, self._settings())
        n_rows, seed = data.n_rows, random_key(self.random_state)
        labeled = self._check(np.empty((n_rows, 0)), y, None, sample_weight)
        labels, weight, self.classes_ = labeled.labels, labeled.sample_weight, labeled.classes
        for name in ("_reading", "_threshold"):
            self.__dict__.pop(name, None)

        def take(numbers: RowNumbers) -> EncodedRows:
            return EncodedRows.of(data.take(numbers), labels[numbers], None if weight is None else weight[numbers])

        many = n_rows > fitted_whole(self._init_size(n_rows), self._policy.sample)
        if many and self._sample_basis(n_rows, seed, take):
            trainer = Trainer(self._factory(n_rows), fit=self._fitted)
            trainer.train_rows(data.encode(self._columns).rows, labels, weight, within=transaction)
            self._fitted = cast(AdditiveFit, trainer.fit)
            return
        rows = take(np.arange(n_rows))
        self._set_columns(rows.schema)
        start = replace(self._factory(n_rows).prepare(None, rows.rows), seed=seed)
        forgets_rows = rows.labels.size > self._policy.sample.max_buffered_rows and np.unique(rows.labels).size > 1
        if rows.labels.size:
            start = start.of_first_rows(rows.rows, rows.labels, rows.weight, copied=not forgets_rows)
        self._fitted = start
        if forgets_rows and self._fitted.counts.both:
            self._fitted = self._fitted.with_basis()
            self._trim_reading()

    def _fit_table(self, table: TableSource, label: str | int) -> None:
        """Fit a table or a stream whose label is one of its columns, batch by batch."""
        settings = self._settings()
        options = ReadOptions(
            label=label, categorical=settings.categorical, numeric=settings.numeric, drop=settings.drop
        )
        factory = AdditiveFactory(self.get_params(deep=False), policy=self._policy)
        self._adopt(fit_stream(factory, table, options))

    def _fix_basis(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fix the column types and the basis from an initial sample of the rows; none of them is processed."""
        data = InMemoryRows.of(self, X, self._settings())
        labeled = self._check(np.empty((data.n_rows, 0)), y, None, None)
        self.classes_ = labeled.classes

        def take(numbers: RowNumbers) -> EncodedRows:
            return EncodedRows.of(data.take(numbers), labeled.labels[numbers], None)

        with self._threads():
            if not self._sample_basis(data.n_rows, random_key(self.random_state), take):
                raise InputError(f"{type(self).__name__}: all rows of the initial sample are of one class")
        return self

    def _train_batch(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: Array | None,
        sample_weight: ArrayLike | None,
        transaction: Transaction,
    ) -> None:
        """Process a batch; the first one gives the column types."""
        check_not_exchanged(X, y)
        fit = None
        if self.__sklearn_is_fitted__():
            rows, columns = next_rows(self, X, self._columns, learn=True)
            fit = self._fitted
            batch = self._check(rows, y, classes, sample_weight)
        else:
            data = InMemoryRows.of(self, X, self._settings())
            labeled = self._check(np.empty((data.n_rows, 0)), y, classes, sample_weight)
            rows, columns = data.encode(None, labeled.labels, keep_constant=True)
            batch = labeled._replace(rows=rows)
        self.classes_ = batch.classes
        self._set_columns(columns)
        trainer = Trainer(self._factory(), fit=fit)
        trainer.train_rows(batch.rows, batch.labels, batch.sample_weight, within=transaction)
        self._fitted = cast(AdditiveFit, trainer.fit)
        self._trim_reading()

    def _sample_basis(self, n_rows: int, seed: int, take: Callable[[RowNumbers], EncodedRows]) -> bool:
        """Fix the column types and the basis from an initial sample; tell whether it has rows of both classes."""
        sample = draw_initial_sample(n_rows, self._init_size(n_rows), seed, take, self._policy.sample)
        if sample is None or np.bincount(sample.labels, minlength=2).min() == 0:
            return False
        self._set_columns(sample.schema)
        start = replace(self._factory(n_rows).prepare(None, sample.rows), seed=seed)
        self._fitted = start.of_sample(sample.rows, sample.labels, sample.weight)
        self._trim_reading()
        return True

    def _check(
        self, rows: Floats, y: ArrayLike, classes: Array | None, sample_weight: ArrayLike | None
    ) -> CheckedBatch:
        """Check labels and weights."""
        if not len(rows):
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required by OnePassGAM.")
        return check_labels(rows, y, sample_weight, classes)

    def _set_columns(self, columns: TableSchema | None) -> None:
        """Keep the schema of a table."""
        if columns is not None:
            self._reading = replace(self._reading or OrdinalReading(DEFAULTS), columns=columns)

    def _trim_reading(self) -> None:
        """Drop the categories that have no level of their own, once the basis is fixed."""
        if self._reading is not None:
            self._reading = cast(OrdinalReading, self._fitted.trim_reading(self._reading))

    def _shard_factory(self) -> AdditiveFactory:
        """Return the factory that shards of rows are trained by: each begins with the basis."""
        parameters = self.get_params(deep=False)
        if isinstance(self.random_state, np.random.RandomState):
            parameters["random_state"] = random_key(self.random_state) % 2**32
        initial = self._fitted if self.__sklearn_is_fitted__() else None
        return AdditiveFactory(parameters, initial, policy=self._policy)

    def _encode_shard(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        classes: Array,
        first: bool,  # noqa: ARG002
    ) -> CheckedBatch:
        """Check rows of a shard; nothing new is learned of their columns."""
        rows, _ = next_rows(self, X, self._columns, learn=False)
        return self._check(rows, y, classes, sample_weight)

    def _begin_shards(self, rows: Any, classes: Array) -> Self:
        """Return an estimator of these parameters with the basis of an initial sample, and no row processed."""
        begun = type(self)(**self.get_params(deep=False))
        begun.classes_ = classes

        def take(numbers: RowNumbers) -> EncodedRows:
            X, y, sample_weight = rows.take(numbers)
            data = InMemoryRows.of(begun, X, begun._settings())
            labeled = begun._check(np.empty((data.n_rows, 0)), y, classes, sample_weight)
            return EncodedRows.of(data, labeled.labels, labeled.sample_weight)

        take(np.arange(1))  # the width of the rows decides how many are drawn
        if not begun._sample_basis(rows.n_rows(), random_key(self.random_state), take):
            raise InputError(f"{type(self).__name__}: all rows of the initial sample are of one class")
        return begun

    def _adopt_shards(self, model: Model) -> None:
        """Take over the model of all shards."""
        self._adopt(model)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags
