"""What a fitted `OnePassGAM` knows of itself: its columns, its scores and its terms."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from opauc.additive.basis.packed_tables import PackedTables
from opauc.additive.estimator.row_access import AdditiveRows
from opauc.additive.input import next_rows
from opauc.additive.state import AdditiveFit
from opauc.additive.terms.explain import Terms
from opauc.core.fit import only_two_classes
from opauc.core.parameters import Jobs, check_param
from opauc.core.threads import use_threads
from opauc.core.transaction import reading
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.schema.table import TableSchema
from opauc.errors import Parameter, ParameterError, unknown_name
from opauc.estimators.algebra import SumsAlgebra
from opauc.estimators.input_checks import CheckedBatch, check_labels
from opauc.estimators.scoring import Scored
from opauc.types import Array, Floats

# Not stored in the models: copies, pickles and files have no terms.
_terms_of_models: WeakKeyDictionary[object, dict[int, Terms]] = WeakKeyDictionary()


class FittedGAM(SumsAlgebra):
    """An additive model: the fit, how its rows are read, and its terms."""

    n_jobs: int | None

    _several_classes: ClassVar[bool] = True
    _families: ClassVar[tuple[str, ...]] = ("additive", "additive_scoring", "additive_multiclass")
    _unsaved: ClassVar[tuple[str, ...]] = ("n_jobs",)

    _fitted: AdditiveFit
    _reading: OrdinalReading | None = None

    def _row_access(self) -> AdditiveRows:
        scorer = self._fitted.scorer
        tables = PackedTables.of(scorer.tables) if self.classes_.size <= 2 else None
        return AdditiveRows.of(self._copied(), scorer, tables)

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

    def _terms(self, class_: object = None) -> Terms:
        """The terms of the fitted model, or those of one of more than two classes, kept until it changes."""
        check_is_fitted(self)
        return self._terms_of(self._class_number(class_))

    def _terms_of(self, number: int) -> Terms:
        """The terms of a class, given its number; of two classes those of the only score."""
        kept, fit = _terms_of_models.setdefault(self, {}), self._fitted.class_fits[number]
        terms = kept.get(number)
        if terms is None or terms.solution is not fit:
            names = self._input_names()
            categories = [{}] * len(names) if self._columns is None else self._columns.category_names()
            terms = kept[number] = Terms(fit, names, categories)
        return terms

    def _terms_of_all(self) -> list[Terms]:
        """The terms of each class; of two classes those of the only score."""
        check_is_fitted(self)
        return [self._terms_of(number) for number in range(len(self._fitted.class_fits))]

    def _class_number(self, class_: object) -> int:
        """Return the number of a class among those with a score of their own: zero of two classes."""
        known = self.classes_.tolist()
        several = len(known) > 2
        if class_ is None and not several:
            return 0
        if class_ is None:
            raise ParameterError(
                f"each of the {len(known)} classes has its own score: give one of classes_, such as ",
                Parameter("class_", known[0]),
            )
        if class_ not in known[0 if several else -1 :]:
            expected = known if several else [f"{known[-1]}, whose score it is"]
            raise ParameterError(Parameter("class_"), f": {unknown_name('class', class_, list(map(str, expected)))}")
        return known.index(class_) if several else 0

    def _lacking_rows(self) -> str:
        """Return which classes rows are needed of, and which one has none."""
        counts = self._fitted.counts
        if len(counts) == 2:
            return f"two classes, got one class: every row is of class {self._only_class()}"
        return f"every class, got none of class {self.classes_.tolist()[int(np.argmin(counts))]!r}"

    def _check_two_classes(self, what: str) -> None:
        """Raise unless there are two classes."""
        check_is_fitted(self)
        if self.classes_.size > 2:
            works = "explain, reasons and terms_ show what a model of several classes has learned"
            raise only_two_classes(what, self.classes_.size, works)

    def _with_fit(self, fit: AdditiveFit) -> Self:
        """Return a copy with another fit of the same columns."""
        other = self._copied()
        other._fitted = fit
        other._trim_reading()
        return other

    def _trim_reading(self) -> None:
        """Drop the categories that have no level of their own, once the basis is fixed."""
        if self._reading is not None:
            self._reading = self._fitted.trim_reading(self._reading)

    def _check(
        self, rows: Floats, y: ArrayLike, classes: Array | None, sample_weight: ArrayLike | None
    ) -> CheckedBatch:
        """Check labels and weights."""
        if not len(rows):
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required by OnePassGAM.")
        return check_labels(rows, y, sample_weight, classes, self._several_classes)
