"""Train a cube: rows go to the segments of their keys, all of one basis, in memory that does not grow with them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from opauc.api.cube.keys import Values, key_text
from opauc.api.cube.manifest import BASIS, checked_path, read_manifest
from opauc.api.cube.policy import CUBE_POLICY, CubePolicy
from opauc.api.cube.writer import CubeWriter, check_new_cube
from opauc.api.observer import Observer, stopping, stopwatch
from opauc.api.options import TrainOptions
from opauc.api.scored_stream import check_data_files
from opauc.api.train import begin_training, report_columns
from opauc.core.atomic_write import temporary_directory
from opauc.core.batch import Batch, ResumePosition, SourceRecord
from opauc.core.fit import Fit, FitFactory, only_two_classes
from opauc.core.labels import ClassLabels, batches_with_classes
from opauc.core.loop import finish_model
from opauc.core.model import Model, RowReading, load_model
from opauc.core.parameters import ALL_CORES
from opauc.core.registry import FACTORIES
from opauc.core.row_blocks import widen_rows
from opauc.core.threads import use_threads
from opauc.data import BadRows, DataStream, ReadOptions
from opauc.errors import InputError, MalformedRowError, Parameter, ParameterError
from opauc.types import Labels, Rows
from opauc.version import __version__

NOT_WITH_KEYS = ("checkpoint", "checkpoint_every", "resume", "max_seconds", "engine", "scheduler", "groups")


@dataclass(frozen=True, eq=False)
class CubeTraining:
    """A training run of a cube: the rows it added, and what the cube has now."""

    folder: Path
    rows: int
    n_segments: int
    bad_rows: int = 0
    first_bad: Sequence[str] = ()
    column_profiles: Sequence[Any] = ()
    unreadable: dict[str, int] | None = None
    inputs: Sequence[SourceRecord] = ()
    seconds: float = 0.0


class CubeOpening(NamedTuple):
    """How rows of a cube become fits: the factory, the reading of rows, and the classes as far as they are known."""

    factory: FitFactory
    reading: RowReading
    labels: ClassLabels
    column_profiles: Sequence[Any] = ()


def train_cube(
    paths: Sequence[str],
    reading: ReadOptions,
    options: TrainOptions,
    output: Path | None,
    given: Collection[str],
    by: Sequence[str],
    bad_rows: BadRows,
    observer: Observer,
    policy: CubePolicy = CUBE_POLICY,
) -> CubeTraining:
    """Train a new cube on files; its folder appears whole or not at all.

    Key columns are no features unless `features`, `categorical` or `numeric` name them.
    """
    target = check_keys(by, output, given)
    check_data_files(paths)
    opening = open_cube(paths, reading, options, given, by, policy)
    with temporary_directory(target) as temporary:
        folder = temporary / "cube"
        folder.mkdir()
        writer = CubeWriter(folder, by, sample_rows=options.sample_rows, policy=policy)
        stream = opening.reading.training_stream(paths, ResumePosition(), bad_rows, by)
        with use_threads(options.additive_jobs), stopwatch(observer.compiling) as seconds:
            trained = write_stream(stream, opening, by, writer, observer, policy)
            os.replace(folder, target)
            return replace(trained, folder=target, seconds=seconds())


def update_cube(
    folder: Path,
    paths: Sequence[str],
    format_: str | None,
    bad_rows: BadRows,
    observer: Observer,
    policy: CubePolicy = CUBE_POLICY,
) -> CubeTraining:
    """Add the rows of files to the segments of a cube, new ones among them; all of them, or none after an error."""
    check_data_files(paths)
    before = read_manifest(folder)
    basis = load_model(checked_path(folder, Path(BASIS), before.basis_checksum))
    known: Any = basis.reading
    if known is None:
        raise InputError(f"{folder}: was trained on arrays; rows can be added to cubes of tables")
    known = replace(known, options=known.options.with_format(format_))
    factory: Any = FACTORIES[basis.estimator](basis.parameters)
    if basis.fit.has_basis:
        factory = factory.with_basis_of(basis.fit)
    opening = CubeOpening(factory, known, basis.labels)
    writer = CubeWriter(folder, before.keys, before, policy=policy)
    stream = known.training_stream(paths, ResumePosition(), bad_rows, before.keys)
    with use_threads(ALL_CORES), stopwatch(observer.compiling) as seconds:
        trained = write_stream(stream, opening, before.keys, writer, observer, policy)
        seen = {record["sha256"] for record in before.inputs}
        for record in trained.inputs:
            if record["sha256"] in seen:
                observer.warn(f"{record['path']}: the cube has these rows already; they count twice now")
        return replace(trained, folder=folder, seconds=seconds())


def check_keys(by: Sequence[str], output: Path | None, given: Collection[str]) -> Path:
    """Return the folder of a new cube; raise where options do not go together."""
    for name in NOT_WITH_KEYS:
        if name in given:
            raise ParameterError(
                Parameter("by", list(by)), " keeps a file per segment; leave ", Parameter(name), " out"
            )
    if not by or len(set(by)) < len(by):
        raise ParameterError(Parameter("by", list(by)), ": expected columns, each once")
    if output is None:
        raise ParameterError(Parameter("by", list(by)), " needs a folder to write (", Parameter("output", ...), ")")
    check_new_cube(output)
    return output


def open_cube(
    paths: Sequence[str],
    reading: ReadOptions,
    options: TrainOptions,
    given: Collection[str],
    by: Sequence[str],
    policy: CubePolicy = CUBE_POLICY,
) -> CubeOpening:
    """Return the one basis of all segments, fixed before the pass, and how rows are read for it."""
    additive = options.is_additive(paths, reading, given)
    labels = options.labels(several=additive)
    if options.basis_from is None:
        reading = without_keys(reading, by)
    if additive and "max_columns" not in given:
        options = replace(options, max_columns=policy.max_columns)
    row_reading, factory, labels = begin_training(reading, options, labels, additive, given)
    opening = factory.for_segments().open_files(paths, row_reading, labels)
    if opening.labels.n_classes > 2:
        raise only_two_classes("cubes", opening.labels.n_classes, "leave the keys out to train one model")
    if not opening.factory.begins_fixed:
        raise InputError(
            f"{', '.join(paths)}: the basis of a cube is fixed before the pass, from a sample of files with rows of "
            "both classes; of a pipe, begin with the basis of another model (", Parameter("basis_from", ...), ")",
        )  # fmt: skip
    return CubeOpening(opening.factory, opening.reading, opening.labels, opening.column_profiles)


def without_keys(reading: ReadOptions, by: Sequence[str]) -> ReadOptions:
    """Return the options with the keys left out of the features, but for those that are named as features."""
    named = {*(reading.features or ()), *reading.categorical, *reading.numeric}
    return replace(reading, drop=(*reading.drop, *(key for key in by if key not in {*named, *reading.drop})))


def write_stream(
    stream: DataStream,
    opening: CubeOpening,
    by: Sequence[str],
    writer: CubeWriter,
    observer: Observer,
    policy: CubePolicy = CUBE_POLICY,
) -> CubeTraining:
    """Add all rows of a stream to the segments of a cube, and finish it."""
    if not stream.has_columns:
        raise InputError(f"{', '.join(stream.sources)}: only tables have columns that can be keys")
    profiles, first = list(opening.column_profiles), writer.n_rows
    report_columns(profiles, observer)
    buffer = SegmentBuffer(opening.factory, writer, policy)
    last, labels = None, opening.labels
    with stopping() as stop, observer.progress("training", stream.total_bytes) as show:
        batches = stop.until_asked(stream.batches())
        for batch, labels in batches_with_classes(batches, opening.labels):
            groups, good = rows_by_key(batch, by, stream.bad_rows)
            encoded = labels.encode(batch)
            if not profiles and (profiles := list(stream.column_profiles)):
                report_columns(profiles, observer)
            for values, at in groups.items():
                buffer.add(values, batch.rows[at], encoded[at], first + batch.first_row + at)
            last = batch
            show(batch.first_row + good, batch.bytes_read)
        if stop.asked:
            raise KeyboardInterrupt
    if last is None:
        raise InputError(f"{', '.join(stream.sources)}: there are no rows to train on")
    basis = buffer.finish(opening.reading.at(last.resume_position, labels), labels)
    manifest = writer.finish(basis, [dict(record) for record in last.resume_position.records])
    return CubeTraining(
        writer.folder, buffer.n_rows, len(manifest.segments), stream.bad_rows.total, tuple(stream.bad_rows.first),
        profiles, dict(stream.unreadable_values), last.resume_position.records,
    )  # fmt: skip


def rows_by_key(batch: Batch, by: Sequence[str], bad_rows: BadRows) -> tuple[dict[Values, NDArray[np.int64]], int]:
    """Return the positions of the rows of each segment, and how many rows have all keys; others are bad rows."""
    assert batch.passthrough is not None, "the keys are passed through"
    n_rows, code = batch.rows.shape[0], np.zeros(batch.rows.shape[0], np.int64)
    texts: list[list[str | None]] = []
    good = np.ones(n_rows, np.bool_)
    for key in by:
        encoded = batch.passthrough.column(key).dictionary_encode()
        values = [key_text(value) for value in encoded.dictionary.to_pylist()]
        distinct = {text: number for number, text in enumerate(dict.fromkeys([None, *values]))}
        numbers = np.array([distinct[text] for text in values] + [0], np.int64)
        indices = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
        of_rows = numbers[indices]
        for row in np.flatnonzero((of_rows == 0) & good).tolist():
            bad_rows.handle(MalformedRowError(batch.source, batch.line_of(row), "the key is missing", column=key))
        good &= of_rows > 0
        code = code * len(distinct) + of_rows
        texts.append(list(distinct))
    at = np.flatnonzero(good)
    distinct_codes, member = np.unique(code[at], return_inverse=True)
    order = np.argsort(member, kind="stable")
    parts = np.split(at[order], np.cumsum(np.bincount(member, minlength=distinct_codes.size))[:-1])
    return dict(zip(_decode(distinct_codes, texts), parts, strict=True)) if at.size else {}, at.size


def _decode(codes: NDArray[np.int64], texts: Sequence[Sequence[str | None]]) -> Iterator[Values]:
    """Yield the values of the keys that codes stand for."""
    for code in codes.tolist():
        values = list[str]()
        for names in reversed(texts):
            code, number = divmod(code, len(names))
            values.append(str(names[number]))
        yield tuple(reversed(values))


class SegmentBuffer:
    """Rows that wait for their segments: they are added to the files when they fill the memory that is allowed."""

    def __init__(self, factory: FitFactory, writer: CubeWriter, policy: CubePolicy = CUBE_POLICY) -> None:
        self.n_rows: int = 0
        self._factory, self._writer, self._policy = factory, writer, policy
        self._parts: dict[Values, list[tuple[Rows, Labels, NDArray[np.int64]]]] = {}
        self._bytes, self._width = 0, 0

    def add(self, values: Values, rows: Rows, labels: Labels, row_numbers: NDArray[np.int64]) -> None:
        """Add rows of one segment; raise UnsupportedOperationError where fits of such rows are no sums."""
        if not self.n_rows:
            self._start(rows).basis_key()
        self._parts.setdefault(values, []).append((rows, labels, row_numbers))
        self.n_rows += labels.size
        self._width = max(self._width, rows.shape[1])
        self._bytes += 16 * labels.size + (rows.nbytes if isinstance(rows, np.ndarray) else 12 * rows.nnz)
        if self._bytes >= self._policy.buffer_bytes:
            self.flush()

    def flush(self) -> None:
        """Add the rows that wait to the files of their segments."""
        for values, parts in self._parts.items():
            rows = _stack([rows for rows, _, _ in parts], self._width)
            labels, numbers = (np.concatenate([part[at] for part in parts]) for at in (1, 2))
            fit = self._start(rows)
            self._writer.add(values, fit.update(fit.align(rows), labels), rows, labels, numbers)
        self._parts, self._bytes = {}, 0

    def finish(self, reading: RowReading, labels: ClassLabels) -> Model:
        """Add the last rows, and return the model of no rows with the basis of all segments."""
        self.flush()
        if not self.n_rows:
            raise InputError("no row has all keys")
        empty = self._start(np.empty((0, self._width)))
        return finish_model(self._factory, empty, labels, reading, {"library": __version__})

    def _start(self, rows: Rows) -> Fit:
        """Return the fit of no rows, with the basis."""
        return self._factory.prepare(None, rows)


def _stack(parts: Sequence[Rows], width: int) -> Rows:
    """Return rows of several batches together, as wide as the widest."""
    if all(isinstance(rows, np.ndarray) for rows in parts):
        return np.concatenate([np.asarray(rows) for rows in parts])
    wide = [widen_rows(csr_array(rows), width) for rows in parts]
    return csr_array(vstack(wide, format="csr"))
