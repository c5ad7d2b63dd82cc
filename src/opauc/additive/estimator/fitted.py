"""What a fitted `OnePassGAM` knows of itself: its columns, its scores and its terms."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import ClassVar, Self, cast
from weakref import WeakKeyDictionary

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from opauc.additive.estimator.row_access import AdditiveRows
from opauc.additive.input import next_rows
from opauc.additive.state import AdditiveFit
from opauc.additive.terms.explain import Terms
from opauc.core.parameters import Jobs, check_param
from opauc.core.threads import use_threads
from opauc.core.transaction import reading
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.schema.table import TableSchema
from opauc.estimators.algebra import SumsAlgebra
from opauc.estimators.input_checks import CheckedBatch, check_labels
from opauc.estimators.scoring import Scored
from opauc.types import Array, Floats

# Not stored in the models: copies, pickles and files have no terms.
_terms_of_models: WeakKeyDictionary[object, Terms] = WeakKeyDictionary()


class FittedGAM(SumsAlgebra):
    """An additive model: the fit, how its rows are read, and its terms."""

    n_jobs: int | None

    _families: ClassVar[tuple[str, ...]] = ("additive", "additive_scoring")
    _unsaved: ClassVar[tuple[str, ...]] = ("n_jobs",)

    _fitted: AdditiveFit
    _reading: OrdinalReading | None = None

    def _row_access(self) -> AdditiveRows:
        return AdditiveRows.of(self._copied(), self._fitted.scorer)

    def _scored(self, X: ArrayLike) -> Scored:
        with self._threads():
            check_is_fitted(self)
            with reading(self):
                rows, _ = next_rows(self, X, self._columns, learn=False)
                scorer, classes = self._fitted.scorer, self.classes_
            return Scored(scorer, scorer.scores(rows), classes)

    @property
    def _columns(self) -> TableSchema | None:
        """What the columns of a table become; None for a model fitted to arrays."""
        return None if self._reading is None else self._reading.columns

    def _input_names(self) -> tuple[str, ...]:
        if self._columns is not None:
            return self._columns.inputs
        return self._column_names()

    def _column_names(self) -> tuple[str, ...]:
        """Return the names of the columns of X, those of an array by position."""
        return self._feature_names() or tuple(f"x{j}" for j in range(self.n_features_in_))

    def _threads(self) -> AbstractContextManager[None]:
        """Let the body use as many threads as `n_jobs` says, which is checked."""
        return use_threads(check_param(type(self).__name__, "n_jobs", self.n_jobs, Jobs()))

    def _terms(self) -> Terms:
        """The terms of the fitted model, kept until it changes."""
        check_is_fitted(self)
        terms = _terms_of_models.get(self)
        if terms is None or terms.solution is not self._fitted:
            names = self._input_names()
            categories = [{}] * len(names) if self._columns is None else self._columns.category_names()
            terms = _terms_of_models[self] = Terms(self._fitted, names, categories)
        return terms

    def _with_fit(self, fit: AdditiveFit) -> Self:
        """Return a copy with another fit of the same columns."""
        other = self._copied()
        other._fitted = fit
        other._trim_reading()
        return other

    def _trim_reading(self) -> None:
        """Drop the categories that have no level of their own, once the basis is fixed."""
        if self._reading is not None:
            self._reading = cast(OrdinalReading, self._fitted.trim_reading(self._reading))

    def _check(
        self, rows: Floats, y: ArrayLike, classes: Array | None, sample_weight: ArrayLike | None
    ) -> CheckedBatch:
        """Check labels and weights."""
        if not len(rows):
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required by OnePassGAM.")
        return check_labels(rows, y, sample_weight, classes)
