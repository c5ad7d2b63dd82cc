"""Work of the command on more than one core: on threads, on a cluster, on a device."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from opauc.additive.model_file import AdditiveModel
from opauc.cli.console import Reporter, Show
from opauc.cli.evaluation import Evaluation, evaluate, refuse_one_class
from opauc.cli.scored_stream import ScoredStream, report_unknown
from opauc.cli.stopwatch import stopwatch
from opauc.cli.train_report import LearntRows, report_columns, report_model, report_unreadable
from opauc.core.parameters import Threads
from opauc.data import BadRows
from opauc.data.encode.categories import describe_unknown_categories
from opauc.data.encode.ordinal import describe_pooled_categories
from opauc.data.find_sources import find_sources
from opauc.engines.files import train_files
from opauc.engines.scheduler import Scheduler
from opauc.engines.shards import ShardLearning, Trained
from opauc.engines.threads import ThreadScheduler
from opauc.errors import InputError, OpaucError
from opauc.linear.resolve import LinearRecipe
from opauc.training.model_files import save_any

CLUSTERS, DEVICE = ("dask", "spark"), "cuda"
ALL_CORES = -1


@contextmanager
def cluster(engine: str | None, address: str | None, n_jobs: int, reporter: Reporter) -> Iterator[Scheduler]:
    """Give what works on shards: threads where no engine is named; where a person can watch it is told.

    A cluster on this machine has a worker for each core unless a number is asked for.
    """
    if engine is None:
        yield ThreadScheduler(Threads().check(n_jobs))
        return
    workers = Threads().check(ALL_CORES if n_jobs == 1 else n_jobs)
    with _started(engine, address, workers) as found:
        if found.address is not None:
            text = f"{engine}: watch it at {found.address}"
            reporter.say("engine", text, engine=engine, dashboard=found.address)
        yield found


@contextmanager
def _started(engine: str, address: str | None, workers: int) -> Iterator[Scheduler]:
    if engine == "dask":
        from opauc.engines.dask.scheduler import dask_cluster

        with dask_cluster(address, workers) as of_dask:
            yield of_dask
    else:
        from opauc.engines.spark.scheduler import spark_session

        with spark_session(address, workers) as of_spark:
            yield of_spark


def refuse_engine(engine: str | None, address: str | None, additive: bool, n_jobs: int = ALL_CORES) -> None:
    """Say that there is no such engine, that it has no address, no workers or no work for an additive model."""
    if not n_jobs:
        raise InputError("--n-jobs must be a number other than 0; -1 uses all cores")
    if engine not in (None, *CLUSTERS, DEVICE):
        raise InputError(f"--engine must be one of {', '.join((*CLUSTERS, DEVICE))}, got {engine!r}")
    if address is not None and engine not in CLUSTERS:
        raise InputError(f"--scheduler is the address of a cluster: add --engine {' or --engine '.join(CLUSTERS)}")
    if additive and engine == DEVICE:
        raise InputError(
            f"--engine {DEVICE} is for linear scorers (--solver exact); an additive model takes --n-jobs, "
            f"--engine {' or --engine '.join(CLUSTERS)}"
        )


def recipe_on(engine: str | None, recipe: LinearRecipe) -> LinearRecipe:
    """Return how to learn on an engine what is learned so in one process; refused where there is no device."""
    if engine != DEVICE:
        return recipe
    from opauc.engines.torch.resolve import DeviceCVRecipe, DeviceRecipe
    from opauc.engines.torch.rows import checked_device

    if recipe.owner != "OPAUC" and recipe.parameters["solver"] != "sgd":
        raise InputError(f"--engine {DEVICE} with --alpha auto needs --solver sgd; or leave --alpha auto out")
    with naming_the_flag():
        kind: type[DeviceRecipe | DeviceCVRecipe] = DeviceRecipe if recipe.owner == "OPAUC" else DeviceCVRecipe
        return kind(recipe.parameters, device=checked_device(DEVICE))


@contextmanager
def naming_the_flag() -> Iterator[None]:
    """Have what refuses a device speak of the flag that asked for it."""
    try:
        yield
    except OpaucError as error:
        parameter = f"device={DEVICE!r}"
        if parameter not in str(error):
            raise
        raise type(error)(str(error).replace(parameter, f"--engine {DEVICE}")) from error


def refuse_checkpoints(engine: str | None, asked: bool) -> None:
    """Say that a cluster keeps no checkpoints, where some are asked for."""
    if engine is not None and asked:
        raise InputError(f"--engine {engine}: checkpoints are for rows in order; a cluster repeats lost work by itself")


def train_on(
    workers: AbstractContextManager[Scheduler],
    begin: Callable[[], ShardLearning[Trained]],
    output: Path,
    bad_rows: BadRows,
    reporter: Reporter,
    explain_columns: bool = False,
) -> None:
    """Learn shards of files and write the model; workers are called once the files show that shards will do."""
    try:
        with stopwatch(reporter.compiling) as seconds:
            learning = begin()
            report_columns(learning.column_profiles, explain_columns, reporter)
            before = seconds()
        with workers as scheduler, stopwatch(reporter.compiling) as seconds:
            with _progress("learning", learning.paths, reporter) as told:
                learned = train_files(learning, scheduler, bad_rows, told)
            model = learned.model
            assert model is not None, "train_files refuses what has no rows"
            save_any(model, output)
            report_unreadable(learned.unreadable, reporter)
            rows = LearntRows(learned.rows, learned.bad_rows, learned.first_bad, shards=learned.shards)
            report_model(model, rows, output, reporter, (before + seconds(), 0.0))
    except OpaucError:
        raise
    except ValueError as error:
        raise InputError(str(error)) from error


def evaluate_on(
    place: tuple[str | None, str | None],
    scored: ScoredStream,
    data: Sequence[str],
    format_: str | None,
    reporter: Reporter,
) -> Evaluation:
    """Score files on an engine, which may have an address, and rank all their rows."""
    engine, address = place
    refuse_engine(engine, address, additive=False)
    if engine in CLUSTERS:
        with cluster(engine, address, ALL_CORES, reporter) as workers:
            return _evaluate_shards(workers, scored, data, format_, reporter)
    from opauc.engines.torch.scorer import DeviceScorer

    with naming_the_flag():
        return evaluate(scored, reporter, DeviceScorer.of(scored.model.scorer, DEVICE))


def _evaluate_shards(
    workers: Scheduler, scored: ScoredStream, data: Sequence[str], format_: str | None, reporter: Reporter
) -> Evaluation:
    """Score shards of files and rank all their rows."""
    from opauc.engines.files import score_files
    from opauc.metrics import Ranking

    words = describe_pooled_categories if isinstance(scored.model, AdditiveModel) else describe_unknown_categories
    with stopwatch(reporter.compiling) as seconds:
        with _progress("scoring", data, reporter) as told:
            found = score_files(scored.model, data, workers, format_, scored.stream.bad_rows, told)
        report_unknown(found.unknown, reporter, words)
        report_unreadable(found.unreadable, reporter)
        refuse_one_class(scored, *found.auc.counts.tolist())
        scored.stream.bad_rows.first = list(found.first_bad)
        return Evaluation(Ranking.of_stream(found.auc), found.bins, found.rows, found.bad_rows, seconds())


@contextmanager
def _progress(title: str, data: Sequence[str | os.PathLike[str]], reporter: Reporter) -> Iterator[Told]:
    """Give what is told how many shards of how many are done, and shows it as a share of the bytes."""
    files = [path for path in find_sources(data) if os.path.isfile(path)]
    total = sum(map(os.path.getsize, files))
    with reporter.progress(title, total) as show:
        yield _shown(show, total)


Told = Callable[[int, int], None]


def _shown(show: Show, total: int) -> Told:
    def told(shards: int, done: int) -> None:
        show(0, total * done // shards)

    return told
