"""The methods of `opauc compare`: solvers, `OnePassGAM`, and methods of other libraries where those are installed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple, Protocol, Self, TypeVar, cast

import numpy as np

from opauc.additive.initial_sample import draw_initial_sample
from opauc.additive.multiclass.fit import MulticlassFit
from opauc.additive.settings import AdditiveSettings, fitted_whole, with_init_size
from opauc.additive.state import AdditiveFit
from opauc.api.further_methods import FEATURE_GROUP, TABLE_GROUP, further_methods, load_method
from opauc.core.fit import only_two_classes
from opauc.core.loop import Trainer
from opauc.core.registry import SOLVERS
from opauc.core.row_blocks import widen_rows
from opauc.core.scorer import Scorer
from opauc.core.solver import AnySolver
from opauc.errors import (
    InputError,
    InputWarning,
    OpaucError,
    Parameter,
    ParameterError,
    UnsupportedOperationError,
    unknown_name,
)
from opauc.linear.multiclass.resolve import multiclass_solver
from opauc.linear.resolve import LinearFactory, bytes_of_state, fixed_factory, takes_several
from opauc.linear.scorer import LinearScorer
from opauc.metrics import FittedMethod, Method
from opauc.metrics.exact_auc import Flags
from opauc.metrics.runner import Collected, Scoring
from opauc.types import Floats, Labels, Rows, random_key

# A solver whose state would be larger is left out.
MAX_STATE_BYTES = 2 * 2**30
# Up to so many bytes of rows are in memory at once: of other libraries, and before `gam` draws its initial sample.
MAX_ROW_BYTES = 2**30
WARM_UP_ROWS, SEED = 512, 0

T = TypeVar("T")


@dataclass(eq=False)
class SolverMethod:
    """A solver with its settings, trained batch by batch.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.exact import Exact
    >>> from opauc.api.methods import SolverMethod
    >>> method = SolverMethod("exact", Exact(alpha=0.5))
    >>> method.train(np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> method.finish()
    >>> method.scores(np.array([[9.0]])).round(2).tolist()
    [4.0]
    """

    name: str
    solver: AnySolver
    n_classes: int = 2
    _scorer: Scorer | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._factory = fixed_factory(self.solver).for_classes(self.n_classes)
        self._trainer = Trainer(self._factory)

    def fresh(self) -> Self:
        """Return the method before any row."""
        return type(self)(self.name, self.solver, self.n_classes)

    def warm_up(self, rows: Rows) -> None:
        """Train on two rows of the same kind, so that kernels are compiled, and discard the result."""
        trainer = Trainer(self._factory)
        trainer.train_rows(rows[[0, 0], :1], np.array([0, 1], np.int8))
        _ = trainer.fit.scorer

    def train(self, rows: Rows, labels: Labels) -> None:
        """Train on rows in order."""
        width = rows.shape[1]
        if not self._trainer.begun or width > self._trainer.fit.n_features:
            solver = self.solver if self.n_classes == 2 else multiclass_solver(self.solver, self.n_classes)
            size = bytes_of_state(solver, width)
            if size > MAX_STATE_BYTES:
                raise UnsupportedOperationError(f"would take {size / 2**30:.1f} GiB for {width:,} features")
        self._trainer.train_rows(rows, labels)

    def finish(self) -> None:
        """Compute the weights."""
        if not self._trainer.begun:
            raise OpaucError("there are no rows to train on")
        scorer = self._trainer.fit.scorer
        self._scorer = replace(cast(LinearScorer, scorer), intercept=0.0) if self.n_classes == 2 else scorer

    def scores(self, rows: Rows) -> Floats:
        """Return the scores of rows; of two classes by the weights alone."""
        if self._scorer is None:
            raise OpaucError("there are no weights yet to score rows with")
        return self._scorer.scores(widen_rows(rows, self._scorer.n_inputs))


class InitialRows(NamedTuple):
    """The rows of an initial sample and their labels."""

    rows: Floats
    labels: Labels


@dataclass(eq=False)
class GamMethod:
    """`OnePassGAM` as `opauc train` fits it: a basis from an initial sample of the training rows, then one pass.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.api.methods import GamMethod
    >>> rows, labels = np.array([[0.0, 1.0], [np.nan, 0.0], [2.0, 1.0], [4.0, 0.0]] * 30), np.array([0, 0, 1, 1] * 30)
    >>> method = GamMethod(categorical=np.array([False, True]))
    >>> method.train(rows, labels.astype(np.int8))
    >>> method.finish()
    >>> bool(method.scores(rows[:1]) < method.scores(rows[3:4]))
    True
    """

    name: ClassVar[str] = "gam"
    categorical: Flags | None = None
    max_bytes: int = MAX_ROW_BYTES
    settings: AdditiveSettings = field(default_factory=AdditiveSettings)
    n_classes: int = 2
    collected: Collected = field(default_factory=Collected, repr=False)
    fit: AdditiveFit | None = field(default=None, repr=False)

    def fresh(self) -> Self:
        """Return the method, not fitted."""
        return type(self)(self.categorical, self.max_bytes, self.settings, self.n_classes)

    def warm_up(self, rows: Rows) -> None:
        """Fit the first rows with alternating labels, so that all kernels are compiled."""
        first = _check_dense(rows)[:WARM_UP_ROWS]
        _ = self._fit(first, np.arange(len(first), dtype=np.int8) % self.n_classes).scorer

    def train(self, rows: Rows, labels: Labels) -> None:
        """Collect the rows, or train on them once there is a basis."""
        dense = _check_dense(rows)
        if self.fit is not None:
            self.fit = self.fit.update(dense, labels)
            return
        self.collected.add(dense, labels)
        if self.collected.bytes() > self.max_bytes:
            self.fit = self._fit_collected()

    def finish(self) -> None:
        """Compute the weights."""
        self.fit = self.fit or self._fit_collected()
        if not self.fit.counts.all_seen:
            every = "two classes" if self.n_classes == 2 else "every class"
            raise OpaucError(f"there are no rows of {every} to train on")
        _ = self.fit.scorer

    def scores(self, rows: Rows) -> Floats:
        """Return the log-odds of rows."""
        if self.fit is None:
            raise OpaucError("there are no weights yet to score rows with")
        return self.fit.scorer.scores(_check_dense(rows))

    def _fit_collected(self) -> AdditiveFit:
        rows, labels = self.collected.whole()
        self.collected = Collected()
        return self._fit(np.asarray(rows), labels)

    def _fit(self, rows: Floats, labels: Labels) -> AdditiveFit:
        """Return the fit of rows that are all in memory, as `OnePassGAM.fit` does."""
        n_rows, width = rows.shape
        categorical = np.zeros(width, np.bool_) if self.categorical is None else self.categorical
        settings = with_init_size(self.settings, n_rows, width=width)
        start = self._start(settings, categorical)
        init_size = int(settings.init_size)
        if n_rows <= fitted_whole(init_size):
            return start.of_first_rows(rows, labels)
        sample = draw_initial_sample(
            n_rows, init_size, start.seed, lambda numbers: InitialRows(rows[numbers], labels[numbers]),
            n_classes=self.n_classes,
        )  # fmt: skip
        if sample is None or np.count_nonzero(np.bincount(sample.labels)) < 2:
            return start.of_first_rows(rows, labels)
        return start.of_sample(*sample).update(rows, labels)

    def _start(self, settings: AdditiveSettings, categorical: Flags) -> AdditiveFit:
        if self.n_classes > 2:
            return MulticlassFit.start_of(self.n_classes, settings, categorical, random_key(SEED))
        return AdditiveFit.start(settings, categorical, random_key(SEED))


def lightgbm(categorical: Flags | None) -> FittedMethod:
    """Return LightGBM with default settings, on one core as the others; it knows which columns are categorical.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.api.methods import lightgbm
    >>> method = lightgbm(np.array([True]))
    >>> method.train(np.array([[0.0], [1.0], [2.0]] * 100), np.array([1, 0, 1] * 100, np.int8))
    >>> method.finish()
    >>> method.scores(np.array([[0.0], [1.0]])) > 0
    array([ True, False])
    """
    from lightgbm import LGBMClassifier

    def prepare(rows: Rows) -> Floats:
        """Return rows with unknown categories missing: LightGBM takes no codes below zero."""
        prepared = np.array(_check_dense(rows))
        if categorical is not None:
            prepared[(prepared < 0) & categorical] = np.nan
        return prepared

    def fit(rows: Rows, labels: Labels) -> Scoring:
        columns = [] if categorical is None else np.flatnonzero(categorical).tolist()
        model = LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)
        model.fit(prepare(rows), labels, categorical_feature=columns)
        two = len(model.classes_) == 2  # of several classes probabilities rank: raw scores have no scale of their own
        return lambda rows: np.asarray(model.booster_.predict(prepare(rows), raw_score=two), np.float64)

    return FittedMethod("lightgbm", fit, MAX_ROW_BYTES)


def logistic_regression() -> FittedMethod:
    """Return scikit-learn's `LogisticRegression` on scaled features; sparse ones are scaled without centering.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.api.methods import logistic_regression
    >>> method = logistic_regression()
    >>> method.train(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1], np.int8))
    >>> method.finish()
    >>> bool(method.scores(np.array([[9.0]])) > method.scores(np.array([[1.5]])))
    True
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    def fit(rows: Rows, labels: Labels) -> Scoring:
        scaler = StandardScaler() if isinstance(rows, np.ndarray) else MaxAbsScaler()
        model = make_pipeline(scaler, LogisticRegression(max_iter=1000))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # weights after 1000 iterations rank well
            model.fit(rows, labels)
        scoring: Scoring = model.decision_function if len(model.classes_) == 2 else model.predict_log_proba
        return scoring

    return FittedMethod("logistic_regression", fit, MAX_ROW_BYTES)


class TableMethod(Protocol):
    """Makes a method for tables."""

    def __call__(self, categorical: Flags | None) -> Method:
        """Return the method for rows of which these columns are categorical, none where that is None."""


# Methods that are no solvers: those that take features, and those that take columns of tables.
FEATURE_METHODS: Mapping[str, Callable[[], FittedMethod]] = {"logistic_regression": logistic_regression}
TABLE_METHODS: Mapping[str, TableMethod] = {"gam": GamMethod, "lightgbm": lightgbm}
# Names that methods of other packages cannot have.
OWN_METHODS = frozenset({*SOLVERS, *FEATURE_METHODS, *TABLE_METHODS})


def find_feature_method(name: str) -> Method | None:
    """Return the method of that name that takes features; None where its library is not installed.

    >>> from opauc.api.methods import find_feature_method
    >>> find_feature_method("logistic_regression").name
    'logistic_regression'
    """
    make = FEATURE_METHODS.get(name)
    return _if_installed(make) if make is not None else load_method(FEATURE_GROUP, name)()


def find_table_method(name: str, categorical: Flags | None = None) -> Method | None:
    """Return the method of that name that takes tables; None where its library is not installed.

    >>> from opauc.api.methods import find_table_method
    >>> find_table_method("gam").name
    'gam'
    """
    make = TABLE_METHODS.get(name)
    return _if_installed(lambda: make(categorical)) if make is not None else load_method(TABLE_GROUP, name)(categorical)


def _if_installed(make: Callable[[], T]) -> T | None:
    try:
        return make()
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("opauc"):
            raise
        return None


class MethodNames(NamedTuple):
    """Names of methods that are installed: those that take features, and those that take columns of tables.

    Examples
    --------
    >>> from opauc.api.methods import MethodNames
    >>> names = MethodNames.of(["exact", "gam"])
    >>> names
    MethodNames(of_features=['exact'], of_tables=['gam'])
    >>> [method.name for method in names.feature_methods() + names.table_methods(None)]
    ['exact', 'gam']
    """

    of_features: list[str]
    of_tables: list[str]

    @classmethod
    def of(cls, names: Sequence[str] | None) -> MethodNames:
        """Return the methods of these names; where that is None, all that are installed and not slow."""
        of_tables = [*TABLE_METHODS, *further_methods(TABLE_GROUP, OWN_METHODS)]
        of_features = [*SOLVERS, *FEATURE_METHODS, *further_methods(FEATURE_GROUP, {*OWN_METHODS, *of_tables})]
        every = [*of_tables, *of_features]
        if names is None:  # only then is every solver imported
            chosen = [name for name in every if name not in SOLVERS or not SOLVERS[name].is_slow]
        else:
            chosen = list(dict.fromkeys(names))
        unknown = [name for name in chosen if name not in every]
        if unknown:
            raise ParameterError(Parameter("methods"), f": {unknown_name('method', unknown[0], every)}")
        absent = []
        for name in chosen:
            try:
                is_present = _is_installed(name, name in of_tables)
            except InputError as error:  # of another package
                if names is not None:
                    raise
                warnings.warn(InputWarning(str(error)), stacklevel=2)
                is_present = False
            absent += [] if is_present else [name]
        if absent and names is not None:
            raise InputError(f"{absent[0]} needs a package that is not installed")
        present = [name for name in chosen if name not in absent]
        return cls([name for name in present if name not in of_tables], [name for name in present if name in of_tables])

    def taking(self, n_classes: int, asked: bool) -> MethodNames:
        """Return the methods that take so many classes; where a user asked for these methods, raise for another.

        Examples
        --------
        >>> from opauc.api.methods import MethodNames
        >>> MethodNames(["exact", "sgd"], ["gam"]).taking(3, asked=False)
        MethodNames(of_features=['exact'], of_tables=['gam'])
        """
        if n_classes == 2:
            return self
        refused = [name for name in self.of_features if name in SOLVERS and not takes_several(_factory_of(name))]
        if refused and asked:
            solvers = [name for name in SOLVERS if takes_several(_factory_of(name))]
            takers = ", ".join([*TABLE_METHODS, *solvers, *FEATURE_METHODS])
            raise only_two_classes(Parameter("methods", refused[0]), n_classes, f"{takers} take more")
        return self._replace(of_features=[name for name in self.of_features if name not in refused])

    def feature_methods(self, n_classes: int = 2) -> list[Method]:
        """Return the methods that take features, solvers with their default settings."""
        methods = [
            SolverMethod(name, SOLVERS[name](), n_classes) if name in SOLVERS else find_feature_method(name)
            for name in self.of_features
        ]
        return [method for method in methods if method is not None]

    def table_methods(self, categorical: Flags | None, n_classes: int = 2) -> list[Method]:
        """Return the methods that take tables, of which these columns are categorical."""
        methods = [find_table_method(name, categorical) for name in self.of_tables]
        return [
            replace(method, n_classes=n_classes) if isinstance(method, GamMethod) else method
            for method in methods
            if method is not None
        ]


def _factory_of(solver: str) -> LinearFactory:
    return fixed_factory(SOLVERS[solver]())


def _is_installed(name: str, of_tables: bool) -> bool:
    if name in SOLVERS:
        return True
    return (find_table_method(name) if of_tables else find_feature_method(name)) is not None


def _check_dense(rows: Rows) -> Floats:
    """Return dense rows as float64; raise where they are sparse."""
    if not isinstance(rows, np.ndarray):
        raise UnsupportedOperationError("takes tables, these rows are sparse")
    return np.asarray(rows, np.float64)
