"""Train a model from files, folders, streams or frames, in one pass and constant memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.sparse import issparse

from opauc.additive.leaks import find_leaks
from opauc.api.describe import input_names
from opauc.api.engines import check_engine, cluster
from opauc.api.observer import CallbackObserver, Observer, Progress, stopping, stopwatch
from opauc.api.options import TrainOptions, split_options
from opauc.api.output_file import check_writable
from opauc.api.saving import estimator_of, save
from opauc.api.scored_stream import check_data_files
from opauc.api.tables import data_or_query, paths_only, sources_of
from opauc.core.checkpoints import Checkpoints
from opauc.core.fit import FitFactory, Opening, only_scores
from opauc.core.labels import ClassLabels
from opauc.core.loop import Trainer
from opauc.core.model import Model, RowReading, load_model, save_model
from opauc.core.registry import FACTORIES, READINGS
from opauc.core.threads import use_threads
from opauc.core.threshold import Threshold
from opauc.data import BadRows, DataStream, ReadOptions
from opauc.data.columns import TableColumns, quoted_list
from opauc.data.encode.table_features import OneHotReading
from opauc.data.find_sources import find_sources, is_paths, name_of
from opauc.data.storage import file_size
from opauc.data.table_source import ResolvedSource, Source, TableSource
from opauc.engines.files import train_files
from opauc.engines.shards import plan_training, whole_files
from opauc.errors import (
    InputError,
    OpaucError,
    Parameter,
    ParameterError,
    UnreadableFileError,
    UnsupportedOperationError,
)
from opauc.metrics.intervals import AucInterval
from opauc.metrics.progressive import ProgressiveValidation
from opauc.types import Json, Settings
from opauc.version import __version__

# Parameters that the model of a basis settles, and their defaults.
BASIS_PARAMETERS: Json = {
    "init_size": "auto", "trees": True, "effort": "normal", "max_columns": 1500, "random_state": "auto",
}  # fmt: skip
# Options that data in memory has no use for.
FILE_OPTIONS = (
    "engine", "scheduler", "checkpoint", "checkpoint_every", "resume", "max_seconds", "basis_from", "format",
)  # fmt: skip
# Options of reading that a basis fixes: with `basis_from` they may be repeated, not changed.
BASIS_READING = ("label", "features", "drop", "categorical", "numeric", "delimiter", "header", "decimal")


@dataclass(frozen=True, eq=False)
class Training:
    """A training run and its result.

    `model` is None where a signal stopped the run; a checkpoint was written
    then if `trainer` had begun.
    """

    model: Model | None
    rows: int
    bad_rows: int = 0
    first_bad: Sequence[str] = ()
    auc: AucInterval | None = None  # progressive: rows scored before they were trained on
    shards: int | None = None
    column_profiles: Sequence[Any] = ()
    unreadable: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    checkpoint_seconds: float = 0.0
    begun: bool = True
    out_of_time: bool = False  # whether the time budget ended before the rows


def train(
    data: Any = None,
    label: str | int | None = None,
    *,
    sql: str | None = None,
    database: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    bad_rows: BadRows | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Any:
    """Train a model on labeled rows in one pass and return the fitted estimator.

    Parameters
    ----------
    data : path, sequence of paths, or table
        Files, glob patterns, folders or "-" for standard input, of any format and compressed or not; or a table: a data
        frame of pandas, polars or pyarrow, or anything that streams as Arrow, which is read batch by batch: a relation
        of DuckDB, a LazyFrame, a table of Ibis, a dataset, a reader of ADBC.
    label : str or int, optional
        The label column, by name or by position. By default the one named label, target, class or y.
    sql : str, optional
        A query in place of `data`: of the database, or of DuckDB, which reads files: "from 'days/*.parquet'".
    database : str or path, optional
        The database of the query: a file of DuckDB or SQLite, or "postgresql://user@host/name".
    output : path, optional
        Where to save the model as well.
    bad_rows : BadRows, optional
        What to do with rows that cannot be read; by default the first one is an error.
    on_progress : callable, optional
        Called with a `Progress` after every batch.
    **options
        Fields of `ReadOptions` and `TrainOptions`: `solver="exact"`, `categorical=["shop"]`, `n_jobs=-1`, ...

    Returns
    -------
    model : OnePassGAM, OPAUC, OPAUCCV or Cube
        The fitted estimator: `OnePassGAM` for tables unless the options ask for a linear solver. With `by`, a `Cube`
        in the folder `output`.

    Examples
    --------
    >>> import tempfile
    >>> import opauc
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,city,bought\\n" + b"30,Bern,no\\n45,Chur,yes\\n50,Bern,yes\\n25,Chur,no\\n" * 30)
    ...     _ = file.flush()
    ...     model = opauc.train(file.name, label="bought")
    >>> type(model).__name__, model.predict([{"age": 48, "city": "Bern"}])
    ('OnePassGAM', array(['yes'], dtype='<U3'))
    """
    reading, training = split_options({**options, **({} if label is None else {"label": label})})
    given, observer = set(options), CallbackObserver(on_progress)
    target = None if output is None else Path(output)
    data = data_or_query(data, sql, database)
    if training.by is not None:
        from opauc.api.cube.cube import Cube  # which trains by this module
        from opauc.api.cube.table import train_cube_table
        from opauc.api.cube.training import train_cube

        train_on = train_cube if sql is not None or is_paths(data) else train_cube_table
        policy, rows = bad_rows or BadRows(), paths_only(sources_of(data)) if train_on is train_cube else data
        return Cube(train_on(rows, reading, training, target, given, training.keys, policy, observer).folder)
    if isinstance(data, np.ndarray) or issparse(data):
        return _train_array(data, reading, training, given, target, observer)
    sources = sources_of(data, label)
    if sql is None and not is_paths(data):
        for name in FILE_OPTIONS:
            if name in given:
                raise ParameterError(Parameter(name), " is for files; this is a table in memory")
    result = run_training(sources, reading, training, target, given, bad_rows or BadRows(), observer)
    if result.model is None:
        raise KeyboardInterrupt
    model = estimator_of(result.model)
    if isinstance(sources[0], TableSource) and training.is_additive(sources, reading, given):
        model.set_params(**_declared(sources[0], reading))
        if "n_jobs" in given:
            model.set_params(n_jobs=training.n_jobs)
    for leak in find_leaks(result.model.fit, input_names(result.model)):
        warnings.warn(leak, stacklevel=2)
    return model


def _declared(table: TableSource, reading: ReadOptions) -> Json:
    """Return the columns that a user declares categorical or numeric, by name, as parameters of an estimator."""
    requested = TableColumns(reading.label, categorical=reading.categorical, numeric=reading.numeric)
    columns = requested.resolve(table.schema.names, table.name).by_name
    return {name: list(getattr(columns, name)) or None for name in ("categorical", "numeric")}


def _train_array(
    array: Any,
    reading: ReadOptions,
    options: TrainOptions,
    given: Collection[str],
    output: Path | None,
    observer: Observer,
) -> Any:
    """Train a linear model on an array or sparse rows in memory, batch by batch as from a file."""
    if options.is_additive_table(given):
        raise InputError(f"expected paths or a table with a label column, got {type(array).__name__}")
    factory, labels = options.factory(given=given), options.labels(several=True)
    trainer, rows = Trainer(factory, labels), OneHotReading(reading, positive=labels.positive)
    stream = DataStream.of_memory(array, None, reading, rows.training_encoder())
    with observer.progress("training", None) as show:
        for batch in stream.batches():
            trainer.train(batch)
            show(trainer.rows, 0)
    model = estimator_of(trainer.finish(rows))
    if output is not None:
        save(model, output)
    return model


def run_training(
    paths: Sequence[ResolvedSource],
    reading: ReadOptions,
    options: TrainOptions,
    output: Path | None,
    given: Collection[str],
    bad_rows: BadRows,
    observer: Observer,
) -> Training:
    """Train on files or tables and write the model, for `train` and the command.

    `given` are the names of the options that the user gave, defaults included.
    """
    target = None if output is None else output
    checkpoint = options.checkpoint or (None if target is None else f"{target}.checkpoint")
    if target is not None:
        check_writable(target, *([Path(checkpoint)] if checkpoint is not None else []))
        _check_replaced(target, paths, options)
    check_data_files(paths)
    labels = options.labels(several=True)
    additive = options.is_additive(paths, reading, given)
    check_engine(options.engine, options.scheduler, additive)
    opening, factory, labels = begin_training(reading, options, labels, additive, given)
    safe = options.resume or any(
        option is not None for option in (options.checkpoint, options.checkpoint_every, options.max_seconds)
    )
    if options.in_shards and (options.engine is not None or not safe):
        if safe:
            raise ParameterError(
                Parameter("engine", options.engine), ": checkpoints and time budgets are for rows in order; a cluster "
                "repeats lost work by itself",
            )  # fmt: skip
        # Without a cluster, rows are processed in order below where shards do not merge.
        with (
            use_threads(options.additive_jobs),
            nullcontext() if options.engine else suppress(UnsupportedOperationError),
        ):
            return _train_shards(paths, opening, factory, labels, options, target, bad_rows, observer)
    plan: Json = {
        "data": list(map(name_of, paths)), "reading": reading.to_json(), "positive": options.positive,
        "classes": None if options.classes is None else list(options.classes), **factory.parameters,
    }  # fmt: skip
    if options.basis_from is not None:
        plan["basis_from"] = os.fspath(options.basis_from)
    checkpoints = None
    if checkpoint is not None:
        checkpoints = Checkpoints(Path(checkpoint), options.checkpoint_every, plan, ProgressiveValidation)
    with use_threads(options.additive_jobs), stopwatch(observer.compiling) as seconds:
        trainer, start = _resume_or_start(paths, opening, factory, labels, options, checkpoints, observer)
        return train_in_order(
            trainer, start, paths, bad_rows, target, checkpoints, observer, seconds, max_seconds=options.max_seconds
        )


def train_in_order(
    trainer: Trainer,
    start: Opening,
    paths: Sequence[ResolvedSource],
    bad_rows: BadRows,
    target: Path | None,
    checkpoints: Checkpoints | None,
    observer: Observer,
    seconds: Callable[[], float],
    before: Settings = MappingProxyType({}),
    threshold: Threshold | None = None,
    max_seconds: float | None = None,
) -> Training:
    """Train on the rows of files in order and write the model with a threshold.

    `before` is the provenance of its earlier rows. After `max_seconds` the model is that of the rows so far, and the
    checkpoint stays.
    """
    stream = start.reading.training_stream(paths, trainer.position, bad_rows)
    out_of_time = False

    def is_late() -> bool:
        nonlocal out_of_time
        out_of_time = max_seconds is not None and seconds() >= max_seconds
        return out_of_time

    if _run(trainer, stream, start, checkpoints, observer, is_late):
        return Training(None, trainer.rows, begun=trainer.begun)
    if not trainer.position.records and not trainer.pending.rows and not out_of_time:
        raise InputError(f"{', '.join(stream.sources)}: there are no rows to train on")
    model = replace(trainer.finish(start.reading, provenance_of(trainer, before)), threshold=threshold)
    if target is not None:
        save_model(model, target)
    if checkpoints is not None and not out_of_time:
        checkpoints.remove()
    return Training(
        model, trainer.rows, trainer.position.bad_rows, trainer.position.first_bad, trainer.monitor.interval(),
        None, start.column_profiles or tuple(stream.column_profiles), dict(stream.unreadable_values), seconds(),
        0.0 if checkpoints is None else checkpoints.seconds, out_of_time=out_of_time,
    )  # fmt: skip


def _check_replaced(target: Path, paths: Sequence[ResolvedSource], options: TrainOptions) -> None:
    """Raise where the user seems to expect that the model in the output file is trained further."""
    advice = f"train it further with opauc update {target}, or write another file"
    if options.basis_from is not None and Path(options.basis_from).resolve() == target.resolve():
        raise InputError(
            f"{target}: ", Parameter("basis_from"), f" would replace it by a model of the new rows alone; {advice}"
        )
    if not options.resume or Path(options.checkpoint or f"{target}.checkpoint").exists():
        return
    with suppress(UnreadableFileError):
        inputs = {record["path"] for record in load_model(target, can_train=False).provenance.get("inputs", ())}
        if not inputs or not inputs <= set(map(name_of, find_sources(paths))):
            raise InputError(
                f"{target}: ", Parameter("resume"), " finds no checkpoint, and would replace this model of other data; "
                f"{advice}",
            )  # fmt: skip


def begin_training(
    reading: ReadOptions,
    options: TrainOptions,
    labels: ClassLabels,
    additive: bool,
    given: Collection[str],
) -> tuple[RowReading, FitFactory, ClassLabels]:
    """Return how rows are to be read, how the options become a fit, and the classes as far as they are known."""
    factory = options.factory(additive, given)
    if options.basis_from is None:
        kind = READINGS["ordinal" if additive else "onehot"]
        labels = labels.limited(factory.several_classes, factory.estimator)
        return kind(reading, positive=labels.positive), factory, labels
    template = load_model(options.basis_from)
    if not template.fit.can_train:
        raise only_scores()
    if not template.fit.has_basis or template.reading is None:
        raise InputError(f"{options.basis_from}: holds a linear model, which has no basis to begin with")
    _check_basis_options(template, options, reading, labels, given)
    known: Any = template.reading
    same = FACTORIES[template.estimator](template.parameters)
    return known.further(reading), same.with_basis_of(template.fit), template.labels


def _resume_or_start(
    paths: Sequence[ResolvedSource],
    reading: RowReading,
    factory: FitFactory,
    labels: ClassLabels,
    options: TrainOptions,
    checkpoints: Checkpoints | None,
    observer: Observer,
) -> tuple[Trainer, Opening]:
    """Return the trainer where its checkpoint left it, or at its beginning."""
    if options.resume and checkpoints is not None:
        if checkpoints.path.exists():
            trainer = checkpoints.resume()
            if trainer.factory.estimator != factory.estimator:
                raise InputError(
                    "the checkpoint is of another estimator; resume with the same settings, or start afresh"
                )
            if options.engine is not None:
                trainer.factory = factory  # a checkpoint does not record the device
            observer.say("resumed", f"resuming after row {trainer.rows:,}", rows=trainer.rows)
            return trainer, Opening(trainer.factory, reading.at(trainer.position, trainer.labels), trainer.labels)
        text = f"no checkpoint {checkpoints.path}: starting from the first row"
        observer.say("not_resumed", text, checkpoint=str(checkpoints.path))
    opening = factory.open_files(paths, reading, labels)
    return Trainer(opening.factory, opening.labels, monitor=ProgressiveValidation()), opening


def _run(
    trainer: Trainer,
    stream: Any,
    opening: Opening,
    checkpoints: Checkpoints | None,
    observer: Observer,
    is_late: Callable[[], bool],
) -> bool:
    """Train on all batches, or until it is late; return True if a signal asked to stop. Both write a checkpoint."""
    profiles = list(opening.column_profiles)
    if profiles:
        report_columns(profiles, observer)
    with stopping() as stop, observer.progress("training", stream.total_bytes) as show:
        counts, many, late = stream.category_counts, set[str](), False  # the counts grow with the rows
        for n_before, batch in enumerate(stop.until_asked(stream.batches())):
            if late := n_before > 0 and is_late():
                break
            many |= report_many_categories(counts, many, observer)
            if not profiles and (profiles := list(stream.column_profiles)):
                report_columns(profiles, observer)
            trainer.train(batch)
            show(trainer.rows, batch.bytes_read, trainer.monitor.running_auc())
            if checkpoints is not None and trainer.begun and not stop.asked and checkpoints.due(trainer.rows):
                checkpoints.write(trainer)
        if (stop.asked or late) and trainer.begun and checkpoints is not None:
            checkpoints.write(trainer)
    return bool(stop.asked)


def _train_shards(
    paths: Sequence[ResolvedSource],
    reading: RowReading,
    factory: FitFactory,
    labels: ClassLabels,
    options: TrainOptions,
    output: Path | None,
    bad_rows: BadRows,
    observer: Observer,
) -> Training:
    """Train on shards of the files; workers start after the plan shows that shards merge."""
    try:
        with stopwatch(observer.compiling) as seconds:
            plan = plan_training(factory, paths, reading, labels)
            report_columns(plan.column_profiles, observer)
            before = seconds()
        workers: AbstractContextManager[Any] = cluster(options.engine, options.scheduler, options.n_jobs, observer)
        with workers as scheduler, stopwatch(observer.compiling) as seconds:
            with shard_progress("training", plan.paths, observer) as on_progress:
                trained = train_files(plan, scheduler, bad_rows, on_progress)
            assert trained.model is not None, "train_files raises where there are no rows"
            if output is not None:
                save_model(trained.model, output)
            return Training(
                trained.model, trained.rows, trained.bad_rows, trained.first_bad, None, trained.shards,
                plan.column_profiles, dict(trained.unreadable), before + seconds(),
            )  # fmt: skip
    except OpaucError:
        raise
    except ValueError as error:
        raise InputError(str(error)) from error


@contextmanager
def shard_progress(title: str, paths: Sequence[Source], observer: Observer) -> Iterator[Callable[[int, int], None]]:
    """Give a function that takes the number of shards and of those done and shows the share of bytes."""
    total = sum(map(file_size, whole_files(paths)))
    with observer.progress(title, total) as show:
        yield lambda shards, done: show(0, total * done // shards)


def provenance_of(trainer: Trainer, before: Settings) -> Json:
    """Return where the rows of a model come from: nothing that depends on the time of training."""
    curve = trainer.monitor.curve(trainer.rows)
    return {
        **before,
        "library": __version__,
        "rows": trainer.rows,
        "skipped_rows": before.get("skipped_rows", 0) + trainer.position.bad_rows,
        "inputs": [*before.get("inputs", ()), *trainer.position.records],
        "learning_curve": [*before.get("learning_curve", ()), *(list(point) for point in curve)],
    }


# A column with more categories is reported: it may hold names or row numbers.
MANY_CATEGORIES = 300


def report_columns(profiles: Sequence[Any], observer: Observer) -> None:
    """Report how many columns of each type there are, and which are dropped."""
    if not profiles:
        return
    used: dict[str, int] = {}
    for one in profiles:
        if one.column is not None:
            used[one.kind] = used.get(one.kind, 0) + 1
    dropped = {one.name: one.kind for one in profiles if one.column is None}
    plural = {"category": "categories"}
    text = ", ".join(f"{n} {plural.get(kind, kind + 's') if n > 1 else kind}" for kind, n in used.items())
    rest = "; dropped: " + ", ".join(f"{name} ({kind})" for name, kind in dropped.items()) if dropped else ""
    observer.say("columns", f"columns: {text}{rest}", used=used, dropped=dropped)


def report_many_categories(counts: Mapping[str, int], reported: set[str], observer: Observer) -> set[str]:
    """Report columns, once each, that have so many categories that they may be names or row numbers."""
    many = {name: count for name, count in counts.items() if count > MANY_CATEGORIES}
    for name in many:
        if name not in reported:
            observer.say(
                "many_categories",
                f"column {name}: {many[name]:,} categories so far, a feature each; --hash-bits spreads them over "
                f"fewer, --drop {quoted_list([name])} leaves the column out",
                column=name, categories=many[name],
            )  # fmt: skip
    return set(many)


def _check_basis_options(
    template: Model, options: TrainOptions, reading: ReadOptions, labels: ClassLabels, given: Collection[str]
) -> None:
    """Raise where given options differ from those of the model that the basis is from."""
    known: Any = template.reading
    asked: Json = {name: getattr(reading, name) for name in BASIS_READING}
    asked |= {"positive": labels.positive, "classes": tuple(labels.classes.tolist())}
    asked |= {name: getattr(options, name) for name in BASIS_PARAMETERS}
    settled: Json = {name: getattr(known.options, name) for name in BASIS_READING}
    label = asked["label"]
    if label not in (settled["label"], known.label) and (settled["label"], known.label) != (None, None):
        label = settled["label"] if known.label is None else known.label
    settled |= {"label": label, "positive": known.positive, "classes": tuple(template.classes.tolist())}
    settled |= {name: template.parameters.get(name, default) for name, default in BASIS_PARAMETERS.items()}
    others = [name for name in asked if name in given and asked[name] != settled[name]]
    if others:
        parts: list[str | Parameter] = []
        for name in others:
            parts += [", " if parts else "", Parameter(name)]
        parts.append((" is" if len(others) == 1 else " are") + " settled by ")
        parts += [Parameter("basis_from"), f": rows are read as those of {options.basis_from} were"]
        for name in others:
            parts += [", without " if settled[name] in (None, ()) else ", with ", Parameter(name, settled[name])]
        raise ParameterError(*parts)
