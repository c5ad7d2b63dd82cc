"""`OnePassGAM`: tables as they come, an additive model with interactions, one pass."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, column_or_1d

from opauc.additive.basis.basis import Basis
from opauc.additive.explain import Effect, Explanation, Terms
from opauc.additive.initial_sample import draw_initial_sample
from opauc.additive.input import InMemoryRows, next_rows
from opauc.additive.model_file import AdditiveModel
from opauc.additive.scorer import MappedScorer
from opauc.additive.selection import ModelSelection
from opauc.additive.settings import AdditiveSettings, fitted_whole, with_init_size, with_positions
from opauc.additive.shifts import FeatureDrift, find_drift
from opauc.additive.state import AdditiveSolution
from opauc.additive.training import GamRecipe
from opauc.core.labels import ClassLabels
from opauc.core.parameters import from_params
from opauc.core.transaction import changing, reading
from opauc.data import ReadOptions
from opauc.data.sample import RowNumbers
from opauc.data.schema.table import TableSchema
from opauc.errors import IncompatibleMomentsError, InputError
from opauc.estimators.input_checks import check_classes, encode_labels
from opauc.estimators.scoring import Scored, ScoringClassifier
from opauc.linear.training import ShardPlace
from opauc.training.model_files import AnyModel, same_columns
from opauc.types import Array, Floats, Labels, RandomState, Settings, random_key

if TYPE_CHECKING:
    from opauc.engines.additive_shards import AdditiveShards
    from opauc.engines.partitions import RawChunk, RemoteRows, Sharding


class EncodedRows(NamedTuple):
    """Labeled and weighted rows as numbers, and the schema of their table, None for an array."""

    rows: Floats
    labels: Labels
    weight: Floats | None
    schema: TableSchema | None

    @classmethod
    def of(cls, data: InMemoryRows, labels: Labels, weight: Floats | None, keep_constant: bool = False) -> EncodedRows:
        """Infer the column types from the rows and encode these; rows of weight zero are left out."""
        rows, schema = data.encode(data.infer_schema(labels, keep_constant))
        return cls(*_weighted(rows, labels, weight), schema)


def _weighted(rows: Floats, labels: Labels, weight: Floats | None) -> tuple[Floats, Labels, Floats | None]:
    """Return the rows of a weight above zero."""
    if weight is None:
        return rows, labels, None
    kept = np.flatnonzero(weight)
    return rows[kept], labels[kept], weight[kept]


class AdditiveClassifier(ScoringClassifier):
    """A binary classifier whose `solution_` is a sum of effects of one or two features."""

    solution_: AdditiveSolution
    # What is known of the columns of the table it was fitted to; None for one fitted to arrays.
    columns_: TableSchema | None
    # How the command read the rows of a model that it trained.
    _reading: Settings = MappingProxyType({})

    def explain(self, X: ArrayLike) -> Explanation:
        """Return the score of each row as a sum of named effects.

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
        with reading(self):
            check_is_fitted(self)
            rows, _ = next_rows(self, X, self.columns_, learn=False)
            return self._effects().explained(rows)

    @property
    def basis_(self) -> Basis:
        """What the columns are; until it is fixed, that of the rows so far."""
        with reading(self):
            return self.solution_.current.basis

    @property
    def terms_(self) -> list[Effect]:
        """Every effect with standard errors, the most important first."""
        with reading(self):
            return self._effects().all()

    @property
    def term_importances_(self) -> dict[str, float]:
        """Standard deviation of each effect over the rows."""
        with reading(self):
            return self._effects().importances()

    @property
    def selection_(self) -> ModelSelection:
        """Which model was taken, and how each of them ranked the rows after the basis."""
        with reading(self):
            return self.solution_.final.selection

    @property
    def drift_(self) -> list[FeatureDrift]:
        """Features whose values after the basis do not look like those before."""
        with reading(self):
            return find_drift(self.solution_, self._input_names())

    @property
    def dropped_columns_(self) -> tuple[str, ...]:
        """Columns of a table that are not used: constant and empty ones, row counters, identifiers and free text."""
        with reading(self):
            names, columns = self._feature_names(), self.columns_
        if names is None or columns is None:
            return ()
        used = {column.name for column in columns.columns}
        return tuple(name for name in names if name not in used)

    def _scorer(self) -> MappedScorer:
        """What scores rows of numbers, as of the last chunk that is wholly learned."""
        with reading(self):
            return self.solution_.scorer

    def _raw_columns(self) -> TableSchema | None:
        """What the columns of a table become; None for one fitted to arrays."""
        return self.columns_

    def _known(self) -> AdditiveModel:
        """All that the fitted estimator knows."""
        check_is_fitted(self)
        return AdditiveModel(
            type(self).__name__,
            self.get_params(deep=False),
            self.solution_,
            self.classes_,
            self.n_features_in_,
            self._feature_names(),
            self.columns_,
            dict(self._reading),
        )

    def _adopt(self, model: AdditiveModel) -> None:
        """Know what a model does, and nothing else."""
        with changing(self):
            self.classes_, self.n_features_in_ = model.classes, model.n_features
            self.solution_, self.columns_ = model.solution, model.columns
            for name in ("feature_names_in_", "_reading"):
                self.__dict__.pop(name, None)
            if model.reading:
                self._reading = model.reading
            if model.feature_names is not None:
                self.feature_names_in_ = np.array(model.feature_names, dtype=object)

    def _input_names(self) -> tuple[str, ...]:
        if self.columns_ is not None:
            return self.columns_.inputs
        return self._feature_names() or tuple(f"x{j}" for j in range(self.n_features_in_))

    def _effects(self) -> Terms:
        check_is_fitted(self)
        names = self._input_names()
        words = [{}] * len(names) if self.columns_ is None else self.columns_.words()
        return Terms(self.solution_, names, words)

    def _scored(self, X: ArrayLike) -> Scored:
        with reading(self):
            check_is_fitted(self)
            rows, _ = next_rows(self, X, self.columns_, learn=False)
            scorer, classes = self.solution_.scorer, self.classes_
        return Scored(scorer, scorer.scores(rows), classes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class ShardedAdditive(AdditiveClassifier):
    """An additive model that learns rows in order, or shards of them that begin with one basis."""

    random_state: RandomState

    def _file_shards(self, paths: Sequence[str], options: ReadOptions) -> AdditiveShards:
        """How the shards of files are learned."""
        from opauc.engines.additive_shards import additive_shards  # which others do not wait for

        given = self.get_params(deep=False)
        if isinstance(self.random_state, np.random.RandomState):
            given["random_state"] = random_key(self.random_state) % 2**32
        return additive_shards(paths, options, GamRecipe(given), ClassLabels())

    def _sharding(self, n_features: int) -> Sharding:  # noqa: ARG002
        """What shards must know of each other: nothing but the basis."""
        from opauc.engines.partitions import Sharding

        return Sharding()

    def _begun_with(self, rows: RemoteRows, classes: Array) -> Self:
        """Return an estimator of these parameters with the basis of an initial sample, and no row processed."""
        begun = type(self)(**self.get_params(deep=False))
        begun.classes_ = classes

        def take(numbers: RowNumbers) -> EncodedRows:
            X, y, sample_weight = rows.take(numbers)
            data = InMemoryRows.of(begun, X)
            labels, weight, _ = begun._check_labels(data.n_rows, y, classes, sample_weight)
            return EncodedRows.of(data, labels, weight)

        if not begun._sample_basis(rows.n_rows(), random_key(self.random_state), take):
            raise InputError(f"{type(self).__name__}: all rows of the initial sample are of one class")
        return begun

    def _sample_basis(self, n_rows: int, seed: int, take: Callable[[RowNumbers], EncodedRows]) -> bool:
        """Fix the column types and the basis from an initial sample; tell whether it has rows of both classes."""
        init_size = int(with_init_size(self._checked_settings(), n_rows).init_size)
        sample = draw_initial_sample(n_rows, init_size, seed, take)
        if sample is None or np.bincount(sample.labels, minlength=2).min() == 0:
            return False
        self.columns_ = sample.schema
        self.solution_ = self._started(sample, n_rows, seed).of_sample(sample.rows, sample.labels, sample.weight)
        self._freeze()
        return True

    def _shard(self, chunks: Iterable[RawChunk], classes: Array, place: ShardPlace) -> AdditiveModel:  # noqa: ARG002
        """What the rows of one of several shards teach an estimator with a basis, which stays as it is."""
        solution = self.solution_
        for X, y, sample_weight in chunks:
            numbers, _ = next_rows(self, X, self.columns_, learn=False)
            rows, labels, weight, _ = self._labeled(numbers, y, classes, sample_weight)
            solution = solution.after(rows, labels, weight) if labels.size else solution
        return replace(self._known(), solution=solution)

    def _adopt_shards(self, model: AnyModel) -> None:
        """Know what all shards have taught."""
        self._adopt(cast(AdditiveModel, model))

    def _checked_settings(self) -> AdditiveSettings:
        return from_params(type(self).__name__, AdditiveSettings, self.get_params(deep=False))

    def _settings(self) -> AdditiveSettings:
        """The parameters, checked, with pairs by the positions of their columns."""
        return with_positions(self._checked_settings(), self._input_names())

    def _started(self, first: EncodedRows, n_rows: int, seed: int) -> AdditiveSolution:
        """Return the state before any row of such columns, where so many rows are known to come."""
        width = first.rows.shape[1]
        categorical = np.zeros(width, np.bool_) if first.schema is None else first.schema.categorical
        settings = with_init_size(self._settings(), n_rows)
        return replace(AdditiveSolution.start(settings, categorical, 0), seed=seed)

    def _check_labels(
        self, n_rows: int, y: ArrayLike, classes: Array | None, sample_weight: ArrayLike | None
    ) -> tuple[Labels, Floats | None, Array]:
        """Return the labels as 0 and 1, the weights and the classes, checked."""
        given, numbers = column_or_1d(y, warn=True), np.empty((n_rows, 0))
        check_consistent_length(numbers, given)
        if not n_rows:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required by OnePassGAM.")
        labels, found = encode_labels(given, classes)
        if sample_weight is None:
            return labels, None, found
        return (
            labels,
            _check_sample_weight(sample_weight, numbers, dtype=np.float64, ensure_non_negative=True),
            found,
        )

    def _labeled(
        self, rows: Floats, y: ArrayLike, classes: Array | None, sample_weight: ArrayLike | None
    ) -> tuple[Floats, Labels, Floats | None, Array]:
        """Check labels and weights; rows of weight zero are left out."""
        labels, weight, found = self._check_labels(len(rows), y, classes, sample_weight)
        return (*_weighted(rows, labels, weight), found)

    def _freeze(self) -> None:
        """Forget the categories that have no level of their own, once the basis is fixed."""
        if self.columns_ is not None and not self.columns_.frozen and self.solution_.fixed is not None:
            self.columns_ = self.columns_.kept(self.solution_.fixed.basis.kept_numbers())


class OnePassGAM(ShardedAdditive):
    """Generalized additive model with pairwise interactions for raw tables, from one pass: nothing to set.

    An initial sample of the rows fixes the column types and a basis: a curve for each number, a
    level for each category, a surface for each pair of features that act
    together. From then on every row is a few sums, so that models merge and
    rows can be forgotten, exactly. How smooth each curve is is found from the
    sums alone (restricted maximum likelihood). The score is the log-odds of the
    positive class.

    `fit` draws the initial sample at random from all rows, so that their order does
    not matter; the same table gives the same model as a frame and as a file.
    `partial_fit` takes the first rows: these should be in random order, and a warning
    names features whose later values do not look like the first.

    Parameters
    ----------
    max_columns : int, default=2000
        Most columns in all; time grows with their square for a row, and with their cube for a solution. With
        interactions "auto" a quarter of them is kept for the leaves of trees.
    interactions : "auto", int or list of pairs, default="auto"
        How many pairs of features may act together, or which: by names or positions. With "auto" all features may
        act together beside, by trees grown on the first rows, where that pays on rows held out.
    n_knots : "auto" or int, default="auto"
        Most knots of a curve.
    init_size : "auto" or int, default="auto"
        Rows of the initial sample: with "auto" 16,384 in `partial_fit`; in `fit` all of up to 20,480 rows, else a
        third of them, from 16,384 to 65,536. Where one class is rare, more rows are drawn.
    random_state : int, RandomState or None, default=None
        Seed of the initial sample.

    Attributes
    ----------
    basis_ : Basis
        What the columns are; `basis_.probe` says what trying trees showed.
    terms_ : list of Effect
        The curve of each feature and the surface of each pair, with standard errors, the most important first;
        "age, with others" is what trees do by their splits on age, which has no curve; "shop, as a code" is what each
        whole number of a column does by itself, where such numbers turn out to be codes.
    term_importances_ : dict of str to float
        Standard deviation of each effect.
    selection_ : ModelSelection
        Which model was taken: the full one, or a simpler one that ranked the rows after the basis better.
    drift_ : list of ShiftedFeature
        Features whose values after the basis do not look like those before.
    dropped_columns_ : tuple of str
        Columns of a table that are not used: constant and empty ones, row counters, identifiers and free text.
    classes_, n_features_in_, feature_names_in_
        As usual.

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
        max_columns: int = 2000,
        interactions: str | int | Sequence[tuple[str | int, str | int]] = "auto",
        n_knots: str | int = "auto",
        init_size: str | int = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.max_columns = max_columns
        self.interactions = interactions
        self.n_knots = n_knots
        self.init_size = init_size
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to labeled rows, in any order; nothing fitted before is kept.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            A data frame of pandas, polars or pyarrow with numbers, strings, booleans,
            dates and missing values, whose column types are inferred from the initial
            sample and its labels as `opauc train` infers those of files; or numbers
            with nan where missing, all of which are used as numbers.
        y : array-like of shape (n_samples,)
            Two kinds of label; the greater one is the positive class.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; rows of weight zero are left out.

        Returns
        -------
        self : OnePassGAM

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> OnePassGAM().fit([[0.0], [1.0], [2.0], [4.0]] * 30, ["no", "no", "yes", "yes"] * 30).predict([[3.5]])
        array(['yes'], dtype='<U3')
        """
        with changing(self):
            self._fit(X, y, sample_weight)
            counts = self.solution_.counts
            if not counts.both:
                only = self.classes_[[-1 if counts.positive > 0 else 0]].tolist()[0]
                raise ValueError(f"OnePassGAM needs rows of two classes, got one class: every row is of class {only!r}")
            _ = self.solution_.scorer
        return self

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train on one more chunk of labeled rows; any cut of the rows gives the same model.

        The column types are inferred from the first chunk, and the first rows are the
        initial sample: they wait in a warm-up buffer until there are `init_size` of them,
        with a thousand of the rarer class. If this raises, or is interrupted, the model
        is as it was before.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. Categories that turn up after the basis are pooled.
        classes : array-like of shape (2,), default=None
            Both class labels; needed on the first call unless y holds both.

        Returns
        -------
        self : OnePassGAM

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> model = OnePassGAM().partial_fit([[0.0], [1.0]], [-1, -1], classes=[-1, 1])
        >>> model.partial_fit([[2.0]], [1]).solution_.counts
        ClassCounts(negative=2.0, positive=1.0)
        """
        with changing(self):
            first = not self.__sklearn_is_fitted__()
            known = set() if first else {shift.name for shift in self.drift_}
            self._partial_fit(X, y, check_classes(None if first else self.classes_, classes), sample_weight)
            if self.classes_.size < 2:
                raise ValueError(
                    "classes must be passed on the first call to partial_fit when y holds one class only, "
                    f"here {self.classes_.tolist()[0]!r}"
                )
            for shift in self.drift_:
                if shift.name not in known:
                    warnings.warn(shift, stacklevel=2)
        return self

    def empty_copy(self) -> OnePassGAM:
        """Return a model with the same basis that has learned no row: shards that begin with it can be merged.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30
        >>> model = OnePassGAM().fit(rows, labels)
        >>> shards = [model.empty_copy().partial_fit(rows[i::2], labels[i::2]) for i in range(2)]
        >>> shards[0].merge(shards[1]).solution_.counts
        ClassCounts(negative=60.0, positive=60.0)
        """
        with reading(self):
            check_is_fitted(self)
            other = type(self)(**self.get_params(deep=False))
            other.__dict__.update(self.__dict__)
            other.solution_ = self.solution_.empty_copy()
            other._freeze()
            return other

    def merge(self, other: OnePassGAM) -> Self:
        """Take in all that another model with the same basis learned, as if its rows had been seen here too.

        Parameters
        ----------
        other : OnePassGAM
            A fitted model that began with the same basis (`empty_copy`), or that has no basis yet.

        Returns
        -------
        self : OnePassGAM
        """
        with changing(self, other):
            check_is_fitted(self)
            check_is_fitted(other)
            if not np.array_equal(self.classes_, other.classes_):
                raise IncompatibleMomentsError(
                    f"cannot merge models of classes {self.classes_.tolist()} and {other.classes_.tolist()}"
                )
            if self._input_names() != other._input_names() or not same_columns(self.columns_, other.columns_):
                raise IncompatibleMomentsError("cannot merge models of features with different names or categories")
            self.solution_ = self.solution_.merged(other.solution_)
        return self

    def forget(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Unlearn rows that came after the basis: the model becomes what it would be had they never been seen.

        While rows still wait for a basis it is fixed first. Rows that the basis
        was made of are taken out of the sums; the basis itself stays.

        Parameters
        ----------
        X, y, sample_weight
            Rows as they were learned.

        Returns
        -------
        self : OnePassGAM
        """
        with changing(self):
            check_is_fitted(self)
            self.solution_ = self.solution_.with_basis()
            self._freeze()
            rows, _ = next_rows(self, X, self.columns_, learn=False)
            self.solution_ = self.solution_.subtract(*self._labeled(rows, y, self.classes_, sample_weight)[:3])
        return self

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        """Fit few rows at once; of many draw the initial sample, then process all of them in order."""
        data = InMemoryRows.of(self, X)
        n_rows, seed = data.n_rows, random_key(self.random_state)
        labels, weight, self.classes_ = self._check_labels(n_rows, y, None, sample_weight)

        def take(numbers: RowNumbers) -> EncodedRows:
            return EncodedRows.of(data.take(numbers), labels[numbers], None if weight is None else weight[numbers])

        self.columns_ = None
        many = n_rows > fitted_whole(int(with_init_size(self._checked_settings(), n_rows).init_size))
        if many and self._sample_basis(n_rows, seed, take):
            rows = data.encode(self.columns_).rows
            self.solution_ = self.solution_.after(*_weighted(rows, labels, weight))
            return
        every = take(np.arange(n_rows))
        self.columns_ = every.schema
        start = self._started(every, n_rows, seed)
        self.solution_ = start.of_first_rows(every.rows, every.labels, every.weight) if every.labels.size else start

    def _partial_fit(self, X: ArrayLike, y: ArrayLike, classes: Array | None, sample_weight: ArrayLike | None) -> None:
        """Process a chunk; of the first one infer the column types."""
        if self.__sklearn_is_fitted__():
            numbers, self.columns_ = next_rows(self, X, self.columns_, learn=True)
            rows, labels, weight, self.classes_ = self._labeled(numbers, y, classes, sample_weight)
            before = self.solution_.with_settings(self._settings())
        else:
            data = InMemoryRows.of(self, X)
            labels, weight, self.classes_ = self._check_labels(data.n_rows, y, classes, sample_weight)
            first = EncodedRows.of(data, labels, weight, keep_constant=True)
            rows, labels, weight, self.columns_ = first
            before = self._started(first, 0, random_key(self.random_state))
        self.solution_ = before.after(rows, labels, weight) if labels.size else before
        self._freeze()
