"""How rows become an additive model: the initial sample and its basis, then batch by batch, or in shards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from opauc.additive.basis.group_levels import group_column
from opauc.additive.estimator.fitted import FittedGAM
from opauc.additive.factory import AdditiveFactory
from opauc.additive.initial_sample import draw_initial_sample
from opauc.additive.input import InMemoryRows, next_rows
from opauc.additive.policy import ADDITIVE_POLICY, AdditivePolicy
from opauc.additive.settings import AdditiveSettings, Inputs, fitted_whole, with_init_size
from opauc.additive.state import AdditiveFit
from opauc.additive.stream_fit import fit_stream
from opauc.core.loop import Trainer
from opauc.core.model import Model
from opauc.core.transaction import Transaction
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.options import DEFAULTS, ReadOptions
from opauc.data.sample import RowNumbers
from opauc.data.schema.table import TableSchema
from opauc.data.table_source import TableSource
from opauc.errors import InputError
from opauc.estimators.input_checks import CheckedBatch, check_not_exchanged
from opauc.types import Array, Floats, GroupKeys, Labels, RandomState, random_key


class EncodedRows(NamedTuple):
    """Labeled and weighted rows as numbers, and the schema of their table, None for an array.

    Where rows have groups, each ends with the number of its own.
    """

    rows: Floats
    labels: Labels
    weight: Floats | None
    schema: TableSchema | None

    @classmethod
    def of(
        cls, data: InMemoryRows, labels: Labels, weight: Floats | None, groups: GroupKeys | None = None
    ) -> EncodedRows:
        """Infer the column types from the rows and encode these; rows of weight zero are dropped."""
        rows, schema = data.encode(None, labels)
        if groups is not None:
            rows = np.column_stack([rows, group_column(groups)])
        if weight is None:
            return cls(rows, labels, None, schema)
        kept = np.flatnonzero(weight)
        return cls(rows[kept], labels[kept], weight[kept], schema)


class GAMTraining(FittedGAM):
    """Rows in memory, tables and streams as a fit."""

    monotone_constraints: Mapping[str | int, int] | Sequence[int] | None
    interaction_constraints: Sequence[Sequence[str | int]] | None
    random_state: RandomState

    classes_: Array
    _policy: AdditivePolicy = ADDITIVE_POLICY

    def _fit_rows(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        transaction: Transaction,
    ) -> None:
        """Fit few rows at once; of many draw the initial sample, then process all of them in order."""
        data = InMemoryRows.of(self, X, self._settings())
        n_rows, seed = data.n_rows, random_key(self.random_state)
        labeled = self._check(np.empty((n_rows, 0)), y, None, sample_weight)
        labels, weight, self.classes_ = labeled.labels, labeled.sample_weight, labeled.classes
        has_groups = groups is not None
        keys = labeled.with_groups(groups).groups if has_groups else None
        for name in ("_reading", "_threshold"):
            self.__dict__.pop(name, None)

        def take(numbers: RowNumbers) -> EncodedRows:
            own = None if keys is None else keys[numbers]
            return EncodedRows.of(data.take(numbers), labels[numbers], None if weight is None else weight[numbers], own)

        many = n_rows > fitted_whole(self._init_size(n_rows), self._policy.sample)
        if many and self._sample_basis(n_rows, seed, take, has_groups):
            trainer = Trainer(self._factory(n_rows, has_groups), fit=self._fitted)
            trainer.train_rows(data.encode(self._columns).rows, labels, weight, keys, within=transaction)
            self._fitted = cast(AdditiveFit, trainer.fit)
            return
        rows = take(np.arange(n_rows))
        self._set_columns(rows.schema)
        start = replace(self._factory(n_rows, has_groups).prepare(None, rows.rows), seed=seed)
        forgets_rows = rows.labels.size > self._policy.sample.max_buffered_rows and np.unique(rows.labels).size > 1
        if rows.labels.size:
            start = start.of_first_rows(rows.rows, rows.labels, rows.weight, copied=not forgets_rows)
        self._fitted = start
        if forgets_rows and self._fitted.counts.all_seen:
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

    def _train_batch(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: Array | None,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
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
        batch = batch if groups is None else batch.with_groups(groups)
        self.classes_ = batch.classes
        self._set_columns(columns)
        trainer = Trainer(self._factory(has_groups=groups is not None), fit=fit)
        trainer.train_rows(batch.rows, batch.labels, batch.sample_weight, batch.groups, transaction)
        self._fitted = cast(AdditiveFit, trainer.fit)
        self._trim_reading()

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

    def _sample_basis(
        self, n_rows: int, seed: int, take: Callable[[RowNumbers], EncodedRows], has_groups: bool = False
    ) -> bool:
        """Fix the column types and the basis from an initial sample; tell whether it has rows of both classes."""
        size, n_classes = self._init_size(n_rows), self.classes_.size
        sample = draw_initial_sample(n_rows, size, seed, take, self._policy.sample, n_classes)
        if sample is None or np.count_nonzero(np.bincount(sample.labels)) < 2:
            return False
        self._set_columns(sample.schema)
        start = replace(self._factory(n_rows, has_groups).prepare(None, sample.rows), seed=seed)
        self._fitted = start.of_sample(sample.rows, sample.labels, sample.weight)
        self._trim_reading()
        return True

    def _factory(self, n_rows: int = 0, has_groups: bool = False) -> AdditiveFactory:
        """Return how the parameters become a fit, where so many rows are known to come, with groups or without."""
        columns, parameters = self._columns, self.get_params(deep=False)
        inputs = Inputs.of(columns, () if columns is not None else self._column_names())
        if self.monotone_constraints is not None or self.interaction_constraints is not None:
            parameters |= self._constraint_parameters(inputs.names)
        factory = AdditiveFactory(
            parameters, inputs=inputs, n_rows=n_rows, width=self.n_features_in_, policy=self._policy,
            has_groups=has_groups,
        )  # fmt: skip
        return factory.for_classes(self.classes_.size)

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

    def _set_columns(self, columns: TableSchema | None) -> None:
        """Keep the schema of a table."""
        if columns is not None:
            self._reading = replace(self._reading or OrdinalReading(DEFAULTS), columns=columns)

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
