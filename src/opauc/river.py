"""Estimators of this library behind the interface of river: one row at a time, as a dict.

Training on one row costs nearly as much as training on a hundred, so rows are trained on in batches, which give the
model of all rows up to rounding, whatever their size.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from opauc.additive.gam import OnePassGAM
from opauc.core.extras import needed
from opauc.core.labels import MAX_CLASSES
from opauc.core.parameters import Count, check_param
from opauc.data.formats.memory import label_array
from opauc.data.frames import of_one_kind, table_of_columns, to_table, with_text_names
from opauc.data.schema.table import table_of
from opauc.errors import InputError, Parameter, ParameterError
from opauc.types import Floats

with needed("river", "river"):
    from river.base import MiniBatchClassifier
    from river.utils.dataframe import into_frame, to_native_frame, to_native_series

__all__ = ["RiverClassifier"]

# A row by the names of its features, as river has it, and with names that are strings.
Features: TypeAlias = Mapping[Hashable, Any]
Row: TypeAlias = dict[str, Any]

# Until the first batch is complete, a preliminary model is fitted to the first 8, 10, 12, 15, ... rows: each time a
# quarter more, so that all of these fits together cost five times as much as the last one.
FIRST_ROWS, GROWTH = 8, 4
MAX_INTEGER = 2**63 - 1


class RiverClassifier(MiniBatchClassifier):  # type: ignore[misc]
    """Classifier of river that trains an estimator of this library with `partial_fit`.

    Rows wait until there are `batch_size` of them, then the estimator is trained on them, so that no more rows are in
    memory, but for the warm-up buffer of a `OnePassGAM`. Predictions are those of the complete batches: they are up to
    `batch_size` - 1 rows behind. The rows of the first batch fix the features and their types; until it is complete,
    predictions are those of a preliminary model of its rows so far. Features that are new later are ignored; one that a
    row lacks is a missing value, or zero where the estimator takes numbers only.

    Parameters
    ----------
    estimator : estimator, default=None
        An estimator of this library that has `partial_fit`; None is `OnePassGAM()`. It is copied. A fitted one is
        trained further.
    batch_size : int, default=1000
        Rows of a batch.
    classes : tuple of labels, default=None
        All labels, of two or more classes; None is those of a fitted estimator, else (False, True). Of two the greater
        one is the positive class.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> from opauc.river import RiverClassifier
    >>> model = RiverClassifier(OPAUC())
    >>> for hour in range(100):
    ...     model.learn_one({"hour": hour % 24}, hour % 24 > 12)
    >>> model.predict_one({"hour": 3}), model.predict_one({"hour": 20})
    (False, True)
    """

    def __init__(
        self, estimator: Any = None, batch_size: int = 1000, classes: tuple[Hashable, ...] | None = None
    ) -> None:
        self.estimator = estimator
        self.batch_size = batch_size
        self.classes = classes
        check_param(type(self).__name__, "batch_size", batch_size, Count())
        self._trained = copy.deepcopy(OnePassGAM() if estimator is None else estimator)
        _check_estimator(self._trained)
        self._is_begun = bool(self._trained.__sklearn_is_fitted__())
        self._takes_tables = takes_tables(self._trained)
        self._labels_by_value = {label: label for label in _labels(classes, self._trained if self._is_begun else None)}
        self._features = _fitted_features(self._trained) if self._is_begun else ()
        self._rows: list[Row] = []
        self._labels: list[Hashable] = []
        self._preliminary: Any = None
        self._n_preliminary = 0

    @property
    def _multiclass(self) -> bool:
        return len(self._labels_by_value) > 2

    def learn_one(self, x: Features, y: Hashable) -> None:
        """Add a row to the batch, and train on the batch if it is complete.

        Parameters
        ----------
        x : dict
            Values by the names of the features: numbers, and strings, dates, booleans and None where the estimator
            takes tables.
        y : label
            One of the labels.

        Raises
        ------
        InputError
            If the label or a value cannot be read; the model is then as it was.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> from opauc.river import RiverClassifier
        >>> model = RiverClassifier(OPAUC(), batch_size=2)
        >>> model.learn_one({"age": 30}, False)
        >>> model.learn_one({"age": 50}, True)
        >>> model.predict_one({"age": 60})
        True
        """
        row, label = self._checked(x), self._label(y)
        self._add(row, label)

    def learn_many(self, X: Any, y: Any) -> None:
        """Add rows of a data frame, in their order.

        Parameters
        ----------
        X : DataFrame
            A frame of pandas, polars or pyarrow.
        y : Series or sequence
            The labels.

        Examples
        --------
        >>> import pandas as pd
        >>> from opauc import OPAUC
        >>> from opauc.river import RiverClassifier
        >>> model = RiverClassifier(OPAUC(), batch_size=2)
        >>> model.learn_many(pd.DataFrame({"age": [30, 50]}), pd.Series([False, True]))
        >>> model.predict_one({"age": 60})
        True
        """
        rows, labels = self._checked_rows(X), [self._label(label) for label in label_array(y).tolist()]
        if len(rows) != len(labels):
            raise InputError(f"{len(labels)} labels for {len(rows)} rows")
        for row, label in zip(rows, labels, strict=True):
            self._add(row, label)

    def predict_proba_one(self, x: Features, **_: Any) -> dict[Hashable, float]:
        """Return the probability of each label.

        Parameters
        ----------
        x : dict
            A row as for `learn_one`.
        **_ : object
            Ignored: what pipelines of river pass on.

        Returns
        -------
        probabilities : dict
            All the same before there are rows of two classes.

        Examples
        --------
        >>> from opauc.river import RiverClassifier
        >>> RiverClassifier().predict_proba_one({"age": 60})
        {False: 0.5, True: 0.5}
        """
        return dict(zip(self._labels_by_value, self._probabilities([self._checked(x)])[0].tolist(), strict=True))

    def predict_one(self, x: Features, **_: Any) -> Hashable:
        """Return the label that the estimator predicts: the first one before there are rows of two classes.

        Parameters
        ----------
        x : dict
            A row as for `learn_one`.
        **_ : object
            Ignored: what pipelines of river pass on.

        Returns
        -------
        label : label
            One of the labels.

        Examples
        --------
        >>> from opauc.river import RiverClassifier
        >>> RiverClassifier(classes=("no", "yes")).predict_one({"age": 60})
        'no'
        """
        return self._predicted([self._checked(x)])[0]

    def predict_proba_many(self, X: Any) -> Any:
        """Return the probabilities of the rows of a data frame as a frame of the same library.

        Parameters
        ----------
        X : DataFrame
            A frame of pandas, polars or pyarrow.

        Returns
        -------
        probabilities : DataFrame
            One column per label; with the index of X in pandas.

        Examples
        --------
        >>> import pandas as pd
        >>> from opauc.river import RiverClassifier
        >>> RiverClassifier().predict_proba_many(pd.DataFrame({"age": [60]})).to_dict("list")
        {False: [0.5], True: [0.5]}
        """
        probabilities = self._probabilities(self._checked_rows(X)).T
        return to_native_frame(dict(zip(self._labels_by_value, probabilities, strict=True)), like=into_frame(X))

    def predict_many(self, X: Any) -> Any:
        """Return the labels that the estimator predicts for the rows of a data frame, as a series of its library.

        Parameters
        ----------
        X : DataFrame
            A frame of pandas, polars or pyarrow.

        Returns
        -------
        labels : Series
            The labels; with the index of X in pandas.

        Examples
        --------
        >>> import pandas as pd
        >>> from opauc.river import RiverClassifier
        >>> RiverClassifier().predict_many(pd.DataFrame({"age": [60]})).tolist()
        [False]
        """
        return to_native_series(self._predicted(self._checked_rows(X)), name=None, like=into_frame(X))

    def flush(self) -> Any:
        """Train on the rows that wait, and return the estimator.

        Returns
        -------
        estimator : estimator
            The estimator, trained on all rows: for `opauc.save`, `explain`, `merge`.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> from opauc.river import RiverClassifier
        >>> model = RiverClassifier(OPAUC())
        >>> for age, label in (30, False), (50, True):
        ...     model.learn_one({"age": age}, label)
        >>> model.flush().predict([[60.0]])
        array([ True])
        """
        if self._rows:
            features = self._features or _feature_names(self._rows)
            rows, labels = _input_of(self._rows, features, self._takes_tables), self._label_array(self._labels)
            self._trained.partial_fit(
                rows, labels, None if self._is_begun else self._label_array(self._labels_by_value)
            )
            self._features, self._is_begun = features, True
            self._rows, self._labels, self._preliminary, self._n_preliminary = [], [], None, 0
        return self._trained

    def _add(self, row: Row, label: Hashable) -> None:
        """Add a checked row, and train if the batch is complete; where training fails the row is not added."""
        self._rows.append(row)
        self._labels.append(label)
        if len(self._rows) >= self.batch_size:
            try:
                self.flush()
            except BaseException:
                del self._rows[-1], self._labels[-1]
                raise

    def _probabilities(self, rows: Sequence[Row]) -> Floats:
        model, features = self._current()
        if model is None or not rows:
            return np.full((len(rows), len(self._labels_by_value)), 1.0 / len(self._labels_by_value))
        return np.asarray(model.predict_proba(_input_of(rows, features, self._takes_tables)))

    def _predicted(self, rows: Sequence[Row]) -> list[Hashable]:
        model, features = self._current()
        if model is None or not rows:
            return [next(iter(self._labels_by_value))] * len(rows)
        labels = model.predict(_input_of(rows, features, self._takes_tables)).tolist()
        return [self._labels_by_value[label] for label in labels]

    def _current(self) -> tuple[Any, Sequence[str]]:
        """Return the model that predicts and its features; None where there are no rows of two classes."""
        if not self._is_begun:
            self._fit_preliminary()
            return self._preliminary, _feature_names(self._rows[: self._n_preliminary])
        n_seen = sum(count > 0.0 for count in self._trained._fitted.counts)
        return (self._trained if n_seen > 1 else None), self._features

    def _fit_preliminary(self) -> None:
        """Fit the preliminary model to the first rows, if there are enough new ones."""
        n_rows = _last_step(len(self._rows))
        if n_rows == self._n_preliminary:
            return
        self._n_preliminary = n_rows
        if len(set(self._labels[:n_rows])) > 1:
            rows = self._rows[:n_rows]
            self._preliminary = clone(self._trained)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of few rows, which the estimator will give of more
                self._preliminary.partial_fit(
                    _input_of(rows, _feature_names(rows), self._takes_tables), self._label_array(self._labels[:n_rows]),
                    self._label_array(self._labels_by_value),
                )  # fmt: skip

    def _checked(self, x: Features) -> Row:
        """Return a row with names that are strings; raise where a value cannot be read."""
        row = {str(name): value for name, value in x.items()}
        if len(row) < len(x):
            raise InputError(f"two features have the same name as strings: {', '.join(map(repr, x))}")
        if self._takes_tables:
            return {name: _plain(name, value) for name, value in row.items()}
        for name, value in row.items():
            if not (isinstance(value, Real | np.bool_) and math.isfinite(value)):
                estimator = type(self._trained).__name__
                raise InputError(f"feature {name}: {estimator} takes finite numbers, got {value!r}")
        return row

    def _checked_rows(self, X: Any) -> list[Row]:
        return [self._checked(row) for row in table_of(with_text_names(to_table(X))).to_pylist()]

    def _label(self, y: Hashable) -> Hashable:
        if y not in self._labels_by_value:
            first, *others, last = map(repr, self._labels_by_value)
            known = f"{', '.join([first, *others])} or {last}"
            raise InputError(f"expected the label {known}, got {y!r}; ", Parameter("classes"))
        return self._labels_by_value[y]

    def _label_array(self, labels: Iterable[Hashable]) -> Any:
        return np.array(list(labels))


def takes_tables(estimator: Any) -> bool:
    """Tell whether an estimator takes tables, with strings and missing values, or only numbers."""
    return bool(get_tags(estimator).input_tags.string) or estimator._reading is not None


def _check_estimator(estimator: Any) -> None:
    kind = type(estimator)
    if not kind.__module__.startswith("opauc.") or not callable(getattr(kind, "partial_fit", None)):
        raise ParameterError(
            Parameter("estimator"), f": expected an estimator of opauc that has partial_fit, got {kind.__name__}"
        )


def _labels(classes: tuple[Hashable, ...] | None, fitted: Any) -> list[Hashable]:
    """Return the sorted labels, of two the negative and the positive one."""
    known = None if fitted is None else fitted.classes_.tolist()
    given: Any = (known or (False, True)) if classes is None else classes
    is_distinct = 2 <= len({*given}) == len(given) <= MAX_CLASSES
    labels: list[Hashable] = sorted(given) if is_distinct else []
    if not labels or (known is not None and labels != known):
        expected = f"two to {MAX_CLASSES} labels" if known is None else known
        raise ParameterError(Parameter("classes", classes), f": expected {expected}")
    return labels


def _fitted_features(estimator: Any) -> tuple[str, ...]:
    """Return the names of the features of a fitted estimator."""
    names: tuple[str, ...] | None = estimator._feature_names()
    if names is None:
        raise ParameterError(
            Parameter("estimator"), ": was fitted to an array, whose columns have no names; fit it to a data frame"
        )
    return names


def _feature_names(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return the names of the features of rows, sorted: a dict has no order that counts."""
    return tuple(sorted({name for row in rows for name in row}))


def _input_of(rows: Sequence[Row], features: Sequence[str], takes_tables: bool) -> Any:
    """Return rows as an estimator takes them: as a table, or as numbers with zeros for what a row lacks."""
    if not takes_tables:
        return np.array([[row.get(name, 0.0) for name in features] for row in rows], np.float64)
    if len(rows) == 1:
        return [{name: rows[0].get(name) for name in features}]
    return table_of_columns({name: of_one_kind([row.get(name) for row in rows]) for name in features})


def _plain(name: str, value: Any) -> Any:
    """Return a value as one of those that tables hold; raise where it cannot be read."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="backslashreplace").decode()
    if value is None or isinstance(value, bool | date | time):
        return value
    if isinstance(value, int) and -MAX_INTEGER <= value <= MAX_INTEGER:
        return int(value)
    if not isinstance(value, Real | Decimal):
        raise InputError(f"feature {name}: cannot read a {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise InputError(f"feature {name}: expected a finite number, got {value}")
    return number


def _last_step(n_rows: int) -> int:
    """Return how many of the first rows the preliminary model is fitted to, 0 where they are too few.

    >>> from opauc.river import _last_step
    >>> [_last_step(n_rows) for n_rows in (7, 8, 9, 10, 13, 100)]
    [0, 8, 8, 10, 12, 97]
    """
    step = FIRST_ROWS
    while step + step // GROWTH <= n_rows:
        step += step // GROWTH
    return step if step <= n_rows else 0
