"""The one training loop: labels, width, batches, progressive validation, stop and resume."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any, Protocol, Self

import numpy as np

from opauc.core.batch import Batch, ResumePosition
from opauc.core.fit import Fit, FitFactory, IncompatibleSolverError
from opauc.core.labels import ClassLabels, PendingBatches
from opauc.core.model import CheckpointHeader, Model, RowReading, model_from_parts, model_parts
from opauc.core.registry import FACTORIES
from opauc.core.transaction import Transaction
from opauc.errors import InputError, Parameter, UnsupportedOperationError
from opauc.types import Arrays, Floats, GroupKeys, Json, Labels, NamedArrays, Rows, Settings


class Monitor(Protocol):
    """Progressive validation: scores rows by earlier weights before training on them."""

    @property
    def next_look(self) -> int:
        """Number of rows at which the weights are computed again."""

    def before(self, rows: Rows, labels: Labels, fit: Fit) -> Self:
        """Return the monitor after scoring rows, before training on them."""

    def after(self, fit: Fit, n_rows: int) -> Self:
        """Return the monitor with the current weights, if enough rows have been processed."""

    def to_parts(self) -> tuple[Json, Arrays]:
        """Return the monitor as parts of a header and arrays."""

    @classmethod
    def of_parts(cls, header: Settings, arrays: NamedArrays, fit: Fit) -> Self:
        """Return the monitor that gave these parts; raise ValueError unless one can have."""


class NoMonitor:
    """A monitor that scores nothing."""

    next_look: int = sys.maxsize

    def before(self, *_: object) -> Self:
        """Return itself."""
        return self

    def after(self, *_: object) -> Self:
        """Return itself."""
        return self

    def to_parts(self) -> tuple[Json, Arrays]:
        """Return nothing."""
        return {}, {}

    @classmethod
    def of_parts(cls, *_: object) -> Self:
        """Return it."""
        return cls()


class Trainer:
    """Trains a fit on batches in order.

    After any exception, Ctrl-C included, it is as it was before the batch. All
    of it depends on the rows and their batches alone, so that training resumed
    from `parts` ends in the same bits.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.core.loop import Trainer
    >>> from opauc.linear.resolve import opauc_factory
    >>> trainer = Trainer(opauc_factory({"alpha": 0.5, "standardize": False}))
    >>> trainer.train_rows(np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> trainer.fit.scorer.weights.round(4).tolist()
    [0.4444]
    """

    def __init__(
        self,
        factory: FitFactory,
        labels: ClassLabels | None = None,
        fit: Fit | None = None,
        monitor: Monitor | None = None,
    ) -> None:
        self.factory: FitFactory = factory
        self.pending: PendingBatches = PendingBatches(labels or ClassLabels())
        self.position: ResumePosition = ResumePosition()
        self.monitor: Any = NoMonitor() if monitor is None else monitor
        self._fit, self._width = fit, None if fit is None else fit.n_features

    @property
    def begun(self) -> bool:
        """Whether there is a fit yet."""
        return self._fit is not None

    @property
    def fit(self) -> Fit:
        """The fit so far."""
        if self._fit is None:
            raise ValueError("nothing has been trained yet")
        return self._fit

    @property
    def rows(self) -> int:
        """Rows of the stream processed so far."""
        return self.position.rows

    @property
    def labels(self) -> ClassLabels:
        """The classes so far."""
        return self.pending.labels

    def train_rows(
        self,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        groups: GroupKeys | None = None,
        within: Transaction | None = None,
    ) -> None:
        """Train on rows in memory, within another transaction if there is one; rows of weight zero are dropped."""
        with Transaction(self) if within is None else nullcontext(within) as transaction:
            fit = self._prepare(rows, None, transaction)
            rows = fit.align(rows)
            if weight is not None and not weight.all():
                positive = np.flatnonzero(weight)
                rows, labels, weight = rows[positive], labels[positive], weight[positive]
                groups = None if groups is None else groups[positive]
            if labels.size:
                self._fit = fit.update(rows, labels, weight, groups)

    def train(self, batch: Batch) -> None:
        """Train on a batch of a stream, or keep it until the classes are known."""
        with Transaction(self) as transaction:
            self.pending = self.pending.with_batch(batch)
            while (first := self.pending.ready()) is not None:
                if (n_classes := self.labels.n_classes) > 2:
                    self.factory = self.factory.for_classes(n_classes)
                try:
                    self._train_batch(first, transaction)
                except MemoryError as error:
                    raise too_wide(first) from error
                self.pending = self.pending.without_first()

    def finish(self, reading: RowReading, provenance: Settings | None = None) -> Model:
        """Return the model after the last batch; raise unless there were rows of every class."""
        self.labels.check_rows_of_all(self.fit.counts if self.begun else None, self.rows + self.pending.rows)
        if self.fit.n_features == 0:
            raise InputError(f"training needs rows with features, got {self.rows} rows without any")
        return finish_model(self.factory, self.fit, self.labels, reading.at(self.position, self.labels), provenance)

    def parts(self) -> tuple[Json, Arrays]:
        """Return all of it as a header and arrays."""
        model = Model(
            self.factory.estimator, dict(self.factory.parameters), self.fit, self.labels.classes, self.fit.n_features
        )
        header, arrays = model_parts(model, with_scorer=False)
        more, more_arrays = self.monitor.to_parts()
        stream = {"resume_position": self.position.to_json(), "positive": self.labels.positive}
        return {**header, **more, **stream}, {**arrays, **more_arrays}

    @classmethod
    def of_parts(cls, header: Settings, arrays: NamedArrays, monitor: type[Monitor] = NoMonitor) -> Trainer:
        """Return the trainer that gave these parts; raise ValueError unless one can have."""
        model = model_from_parts(header, arrays, kind=CheckpointHeader)
        position = ResumePosition.of_json(header["resume_position"])
        factory: FitFactory = FACTORIES[model.estimator](model.parameters).for_classes(model.classes.size)
        factory.check_resumed(model.fit, position)
        trainer = cls(factory, ClassLabels(model.classes, header["positive"]), model.fit)
        trainer.position, trainer.monitor = position, monitor.of_parts(header, arrays, model.fit)
        return trainer

    def _train_batch(self, batch: Batch, transaction: Transaction) -> None:
        labels = self.labels.encode(batch)
        fit = self._prepare_batch(batch, transaction)
        rows, begin, seen = fit.align(batch.rows), 0, batch.first_row
        while begin < labels.size:
            end = min(labels.size, max(begin + 1, begin + self.monitor.next_look - seen))
            block = rows[begin:end] if end - begin < labels.size else rows
            self.monitor = self.monitor.before(block, labels[begin:end], fit)
            groups = None if batch.groups is None else batch.groups[begin:end]
            fit = self._fit = fit.update(block, labels[begin:end], None, groups)
            seen, begin = seen + end - begin, end
            self.monitor = self.monitor.after(fit, seen)
        self.position = batch.resume_position

    def _prepare_batch(self, batch: Batch, transaction: Transaction) -> Fit:
        """Return the fit for a batch of a stream; errors name its source."""
        width, fixed = batch.rows.shape[1], isinstance(batch.rows, np.ndarray)
        if fixed and self._width not in (None, width):
            raise InputError(f"{batch.source}: has {width} features, those before had {self._width}")
        try:
            fit = self._prepare(batch.rows, batch.resume_position, transaction)
        except IncompatibleSolverError as error:
            began = error.before.fitted_attributes
            raise InputError(
                f"{batch.source}: a row from line {batch.first_line} on has feature {width}, too many for a model that "
                f"began with {error.before.n_features} ({began['solver_']}, rank {began['rank_']}); give their number "
                "at the start (", Parameter("n_features", ...), ")",
            ) from error  # fmt: skip
        except (InputError, UnsupportedOperationError):
            raise
        except ValueError as error:
            raise InputError(str(error)) from error
        if fixed and self._width != width:
            raise InputError(f"{batch.source}: has {width} features, those before had {self._width}")
        return fit

    def _prepare(self, rows: Rows, position: ResumePosition | None, transaction: Transaction) -> Fit:
        """Return the fit to update: one that begins with these rows, or the fit so far with enough features."""
        width, fit = self._width, self.factory.prepare(self._fit, rows, position)
        self._fit, self._width = fit, fit.n_features
        if width == self._width:
            # With the current parameters, on which it depends what a step writes into.
            transaction.restore_on_error(fit.rollback(rows))
        return fit


def finish_model(
    factory: FitFactory, fit: Fit, labels: ClassLabels, reading: RowReading, provenance: Settings | None = None
) -> Model:
    """Return the model of a fit after its last row."""
    fit, reading = fit.finish(reading)
    names = reading.feature_names()
    return Model(
        factory.estimator, dict(factory.parameters), fit, labels.classes,
        fit.n_features if names is None else len(names), None if names is None else tuple(names), reading,
        dict(provenance or {}),
    )  # fmt: skip


def too_wide(batch: Batch) -> InputError:
    """Return the error of a row with more features than there is memory for."""
    rows, message = batch.rows, f"not enough memory for {batch.rows.shape[1]:,} features"
    if isinstance(rows, np.ndarray) or not rows.nnz:
        return InputError(f"{batch.source}: {message}")
    widest = int(np.searchsorted(rows.indptr, rows.indices.argmax(), "right")) - 1
    where = f"{batch.source}, line {batch.line_of(widest)}"
    return InputError(f"{where}: {message}; hash them into fewer (", Parameter("hash_bits", ...), ")")
