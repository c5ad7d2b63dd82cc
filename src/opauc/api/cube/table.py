"""Train a cube on a table in memory."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from opauc.additive.factory import AdditiveFactory
from opauc.additive.gam import OnePassGAM
from opauc.api.cube.policy import CUBE_POLICY, CubePolicy
from opauc.api.cube.training import CubeOpening, CubeTraining, check_keys, without_keys, write_stream
from opauc.api.cube.writer import CubeWriter
from opauc.api.observer import Observer, stopwatch
from opauc.api.options import TrainOptions
from opauc.core.atomic_write import temporary_directory
from opauc.core.labels import ClassLabels
from opauc.core.threads import use_threads
from opauc.data import BadRows, DataStream, ReadOptions
from opauc.data.columns import TableColumns
from opauc.data.encode.table_features import OneHotReading
from opauc.data.formats.memory import table_names
from opauc.data.frames import to_table
from opauc.data.labeled import split_label
from opauc.errors import Parameter, ParameterError
from opauc.types import Json


def train_cube_table(
    table: Any,
    reading: ReadOptions,
    options: TrainOptions,
    output: Path | None,
    given: Collection[str],
    by: Sequence[str],
    bad_rows: BadRows,
    observer: Observer,
    policy: CubePolicy = CUBE_POLICY,
) -> CubeTraining:
    """Train a new cube on a table in memory, as on a file with the same rows."""
    target = check_keys(by, output, given)
    for name in ("basis_from", "format"):
        if name in given:
            raise ParameterError(Parameter(name), " is for files; this is a table in memory")
    table, reading = to_table(table), without_keys(reading, by)
    opening = _open_additive if options.is_additive_table(given) else _open_linear
    with use_threads(options.additive_jobs), stopwatch(observer.compiling) as seconds:
        opened = opening(table, reading, options, given, policy)
        encoder = opened.reading.training_encoder(by)
        stream = DataStream.of_memory(table, None, reading, encoder)
        stream.bad_rows = bad_rows
        with temporary_directory(target) as temporary:
            folder = temporary / "cube"
            folder.mkdir()
            writer = CubeWriter(folder, by, sample_rows=options.sample_rows, policy=policy)
            trained = write_stream(stream, opened, by, writer, observer, policy)
            os.replace(folder, target)
            return replace(trained, folder=target, seconds=seconds())


def _open_linear(
    _table: Any,
    reading: ReadOptions,
    options: TrainOptions,
    given: Collection[str],
    _policy: CubePolicy,
) -> CubeOpening:
    labels = options.labels()
    return CubeOpening(options.factory(given=given), OneHotReading(reading, positive=labels.positive), labels)


def _open_additive(
    table: Any, reading: ReadOptions, options: TrainOptions, given: Collection[str], policy: CubePolicy
) -> CubeOpening:
    """Return the basis of an initial sample of the rows."""
    if "max_columns" not in given:
        options = replace(options, max_columns=policy.max_columns)
    labels = options.labels()
    X, y = split_label(table, reading.label, reading.features, reading.drop, reading.drop_unlabeled)
    requested = TableColumns(
        reading.label, reading.features, reading.categorical, drop=reading.drop, numeric=reading.numeric
    )
    columns = requested.resolve(table_names(table) or (), "the table").by_name
    parameters = options.factory(additive=True).parameters
    declared: Json = {name: list(getattr(columns, name)) or None for name in ("categorical", "numeric")}
    model = OnePassGAM(**{**parameters, **declared}, n_jobs=options.additive_jobs)
    if labels.positive is not None:
        y = (y == labels.positive).astype(int)
    begun = model._fix_basis(X, y)
    known = ClassLabels(begun.classes_, None) if labels.positive is None else labels
    assert begun._reading is not None, "rows of tables are read somehow"
    typed = replace(begun._reading, options=reading, label=str(columns.label), positive=labels.positive)
    factory = AdditiveFactory(parameters).with_basis_of(begun._fitted)
    return CubeOpening(factory, typed, known)
