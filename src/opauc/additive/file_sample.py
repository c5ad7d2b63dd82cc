"""The initial sample of files, drawn and read before their rows are processed in order."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from opauc.additive.basis.group_levels import group_column
from opauc.additive.factory import AdditiveFactory
from opauc.additive.initial_sample import draw_initial_sample
from opauc.additive.policy import SAMPLE_POLICY, SamplePolicy
from opauc.additive.settings import Inputs, fitted_whole, with_init_size
from opauc.core.batch import Batch, ResumePosition
from opauc.core.fit import Opening
from opauc.core.free_memory import give_back_memory
from opauc.core.labels import ClassLabels
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.encode.ordinal import OrdinalEncoder
from opauc.data.sample import RowFiles, RowNumbers, read_sample
from opauc.data.table_source import Source, TableSource
from opauc.errors import MalformedRowError
from opauc.types import Floats, Labels, random_key


@dataclass(frozen=True, eq=False)
class EncodedSample:
    """Rows of files as numbers, their labels, and the classes and the encoder inferred from them.

    Where rows have groups, each ends with the number of its own.
    """

    rows: Floats
    labels: Labels
    classes: ClassLabels
    encoder: OrdinalEncoder


def open_files(
    factory: AdditiveFactory, paths: Sequence[Source], reading: OrdinalReading, labels: ClassLabels
) -> Opening:
    """Return the basis and the column types of an initial sample of files and tables.

    Where the rows are few, all of them are fitted at once: the sample gives the
    column types, and the basis comes after the last row. Where a sample cannot
    serve (pipes, one class, a third label), the first rows do. A stream in memory
    is held ahead until it turns out to have few rows or many: of few it is a table
    like others, of many the first rows serve, as many as a sample would have.
    """
    if factory.initial is not None:
        return Opening(factory, reading, labels)
    policy, held, width = factory.policy.sample, 0, 1
    for source in paths:
        if isinstance(source, TableSource) and not source.repeatable:
            width = len(source.schema.names)
            limit = with_init_size(factory.settings(), sys.maxsize, policy, width).init_size
            held = fitted_whole(int(limit), policy) + 1
            source.hold(held - 1)
    files = RowFiles.of(paths, reading)
    if files is None:
        return Opening(replace(factory, n_rows=held, width=max(1, width)), reading, labels)
    n_rows, seed = files.n_rows, random_key(factory.parameters.get("random_state"))
    width = files.count_columns(reading.requested_columns())
    init_size = int(with_init_size(factory.settings(), n_rows, policy, width).init_size)
    sample = read_initial_sample(files, reading, labels, init_size, seed, policy)
    if sample is None or np.count_nonzero(np.bincount(sample.labels)) < 2:
        return Opening(factory, reading, labels)
    factory = factory.for_classes(sample.classes.n_classes)
    schema = sample.encoder.schema
    inputs = Inputs.of(schema, sample.encoder.feature_names())
    start = replace(replace(factory, n_rows=n_rows, width=width).start(inputs), seed=seed)
    if factory.fixes_basis or n_rows > fitted_whole(init_size, policy):
        start = start.of_sample(sample.rows, sample.labels)
        give_back_memory()  # the fit to the sample takes more than the pass over the rows
        schema = None if schema is None else schema.keep_categories(start.current.basis.kept_numbers())
    label = sample.encoder.pinned_columns.label
    typed = replace(reading, columns=schema, label=None if label is None else str(label))
    profiles = tuple(sample.encoder.column_profiles)
    shards = not files.compressed and start.fixed is not None
    return Opening(replace(factory, initial=start, shards=shards), typed, sample.classes, profiles)


def read_initial_sample(
    files: RowFiles,
    reading: OrdinalReading,
    labels: ClassLabels,
    init_size: int,
    seed: int,
    policy: SamplePolicy = SAMPLE_POLICY,
) -> EncodedSample | None:
    """Return the initial sample of files as numbers; None where some of its rows are errors when read in order."""

    def take(numbers: RowNumbers) -> EncodedSample | None:
        sample, classes, batches = read_sample(files, reading, numbers), labels, list[Batch]()
        given = [raw for _, raw, *_ in sample.parts if raw is not None]
        if len({raw.dtype.kind for raw in given}) == 1:
            classes = classes.with_labels(np.concatenate(given))  # the classes are those of all rows
        for (rows, raw, lines, _, groups), source in zip(sample.parts, sample.sources, strict=True):
            if raw is None:
                return None
            classes = classes.with_labels(raw)
            own = rows if groups is None else np.column_stack([np.asarray(rows), group_column(groups)])
            batches.append(Batch(own, raw, 0, source, 1, lines, ResumePosition(), 0))
        if not classes.known or not batches:
            return None
        try:
            encoded = np.concatenate([classes.encode(batch) for batch in batches])
        except MalformedRowError:  # a third label, an error with its line when it is read in order
            return None
        return EncodedSample(
            np.concatenate([np.asarray(batch.rows) for batch in batches]), encoded, classes, sample.encoder
        )

    return draw_initial_sample(files.n_rows, init_size, seed, take, policy)
