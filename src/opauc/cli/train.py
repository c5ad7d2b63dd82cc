"""`opauc train`: one pass over the data, a model at its end."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from opauc.additive.training import GamRecipe
from opauc.cli import options as shared
from opauc.cli.additive_run import AdditiveRun, shards_of, takes_additive
from opauc.cli.console import Reporter
from opauc.cli.engines import (
    CLUSTERS,
    DEVICE,
    cluster,
    naming_the_flag,
    recipe_on,
    refuse_checkpoints,
    refuse_engine,
    train_on,
)
from opauc.cli.linear_run import LinearRun, Run
from opauc.cli.model_like import model_like
from opauc.cli.options import LINEAR
from opauc.cli.output_file import named_after, refuse_unwritable
from opauc.cli.stopping import stopping
from opauc.cli.stopwatch import stopwatch
from opauc.cli.train_recipe import AUTO, FOLD_OPTIONS, refuse_idle, train_recipe
from opauc.cli.train_report import LearntRows, report_columns, report_many_categories, report_model, report_unreadable
from opauc.engines.linear_shards import FilesToLearn, linear_shards
from opauc.errors import UnsupportedOperationError
from opauc.training.checkpoints import Checkpoints
from opauc.training.loop import StreamTraining
from opauc.training.model_files import save_any

LEARNING, SAFETY = "Learning", "Checkpoints"
INTERRUPTED = 130


def command(
    context: typer.Context,
    data: shared.Data,
    output: shared.NewModel = None,
    solver: Annotated[
        str | None,
        typer.Option(
            help="gam (an additive model with interactions), or a linear scorer: exact, sgd, progressive_selection, "
            "or auto, whichever suits the number of features. Default: gam for tables; auto for sparse rows, and "
            "wherever an option of the linear scorers is given.",
            rich_help_panel=LEARNING,
            show_default=False,
        ),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            help="Learn the same curves as this additive model (its basis) and read rows as it does: models of shards "
            "that are learned so can be merged.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    label: shared.Label = None,
    features: shared.Features = None,
    categorical: shared.Categorical = None,
    numeric: shared.Numeric = None,
    drop: shared.Drop = None,
    explain_columns: shared.ExplainColumns = False,
    alpha: Annotated[
        str,
        typer.Option(
            help="Ridge penalty: a number, or auto to choose it by cross-validation within the one pass.",
            rich_help_panel=LINEAR,
        ),
    ] = "1e-4",
    rank: Annotated[
        str, typer.Option(help="auto, none (full covariance) or the rank of a sketch.", rich_help_panel=LINEAR)
    ] = "auto",
    eta0: Annotated[
        float, typer.Option(help="Step size of sgd; with theorem a ratio without unit.", rich_help_panel=LINEAR)
    ] = 1e4,
    learning_rate: Annotated[
        str, typer.Option(help="theorem, constant or invsqrt.", rich_help_panel=LINEAR)
    ] = "theorem",
    average: Annotated[
        bool,
        typer.Option(
            "--average/--last", help="Return the mean of the iterates, or the last one.", rich_help_panel=LINEAR
        ),
    ] = True,
    standardize: Annotated[
        bool,
        typer.Option(
            "--standardize/--no-standardize",
            help="Learn in units of each feature's own deviation, or in those of the data.",
            rich_help_panel=LINEAR,
        ),
    ] = True,
    forgetting_factor: Annotated[
        str,
        typer.Option(
            help="Factor on the weight of earlier rows at each new row, or auto to choose it as rows come.",
            rich_help_panel=LINEAR,
        ),
    ] = "1.0",
    horizon: Annotated[
        int,
        typer.Option(
            help="With --forgetting-factor auto: rows between two updates of the model that scores.",
            rich_help_panel=LINEAR,
            min=1,
        ),
    ] = 1000,
    cv: Annotated[
        int, typer.Option(help="Folds that a penalty is chosen by.", rich_help_panel=LINEAR, min=2)
    ] = FOLD_OPTIONS["cv"],
    criterion: Annotated[
        str, typer.Option(help="What a penalty is chosen by: pair_loss or auc.", rich_help_panel=LINEAR)
    ] = FOLD_OPTIONS["criterion"],
    one_standard_error: Annotated[
        bool,
        typer.Option(
            "--one-standard-error",
            help="Choose the largest penalty within one standard error of the best.",
            rich_help_panel=LINEAR,
        ),
    ] = False,
    seed: Annotated[
        int,
        typer.Option(
            help="Seed of the rows sampled before the pass, or of the random codes of a sketch.",
            rich_help_panel=LEARNING,
        ),
    ] = 0,
    n_jobs: Annotated[
        int,
        typer.Option(
            help="Number of threads, or of workers; -1 uses all cores. With more than one, gam and exact learn shards "
            "of the files apart, without checkpoints unless those are asked for.",
            rich_help_panel=LEARNING,
        ),
    ] = 1,
    positive: Annotated[
        str | None, typer.Option(help="Label of the positive rows; all others are negative.", rich_help_panel=LEARNING)
    ] = None,
    classes: Annotated[
        str | None, typer.Option(help="Both class labels, separated by a comma.", rich_help_panel=LEARNING)
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Checkpoint file. Default: the output with .checkpoint appended.", rich_help_panel=SAFETY),
    ] = None,
    checkpoint_every: Annotated[
        int | None,
        typer.Option(
            metavar="ROWS",
            min=1,
            help="Rows between checkpoints. Default: as many as keep their cost at 2 % of the time.",
            rich_help_panel=SAFETY,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume from the checkpoint, if there is one.", rich_help_panel=SAFETY)
    ] = False,
    engine: shared.Engine = None,
    scheduler: shared.Scheduler = None,
    format_: shared.Format = None,
    groups: shared.Groups = None,
    missing: shared.Missing = "error",
    hash_bits: shared.HashBits = None,
    n_features: shared.NFeatures = None,
    zero_based: shared.ZeroBased = False,
    delimiter: shared.Delimiter = None,
    header: shared.Header = None,
    decimal: shared.Decimal = ".",
    on_bad_row: shared.OnBadRow = "error",
    max_bad_rows: shared.MaxBadRows = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Train a model on labeled rows in one pass.

    A table needs no option but --label: opauc train customers.csv --label churned.
    Its columns are typed by looking, words, dates and missing values included,
    and an additive model learns them. Sparse rows are learned by a linear scorer,
    and so is a table where a --solver or an option for linear scorers is given.
    """
    target = output or named_after(data)
    saved = checkpoint or Path(f"{target}.checkpoint")
    refuse_unwritable(target, saved)
    reading, labels = shared.reading_options(locals()), shared.class_labels(classes, positive)
    given = shared.given_options(context) - ({"n_jobs"} if n_jobs == 1 else set())
    additive = takes_additive(solver, given, data, reading, like)
    template = None if like is None else model_like(like, given, reading, labels, seed)
    if template is not None:
        reading = template.row_reading().further(reading).options
    refuse_engine(engine, scheduler, additive, n_jobs)
    refuse_idle(given, locals())
    linear = None if additive else recipe_on(engine, train_recipe({**locals(), "solver": solver or AUTO}))
    recipe = GamRecipe({"random_state": seed}) if linear is None else linear
    said = {"data": list(data), "reading": reading.to_json(), "positive": positive, "classes": classes}
    plan = {**said, **recipe.parameters, **({} if like is None else {"like": str(like)})}
    checkpoints, reporter = Checkpoints(saved, checkpoint_every, plan), Reporter(json, quiet)
    bad_rows = shared.bad_rows(on_bad_row, max_bad_rows)
    safe = resume or checkpoint is not None or checkpoint_every is not None
    if engine in CLUSTERS or (engine is None and n_jobs != 1 and not safe):
        refuse_checkpoints(engine, safe)
        # Where no cluster was asked for and shards do not add up, rows are learned in order below.
        with nullcontext() if engine else suppress(UnsupportedOperationError):
            workers = cluster(engine, scheduler, n_jobs, reporter)
            if linear is not None:
                files = FilesToLearn(data, linear, linear.parameters, linear.owner, reading, labels)
                train_on(workers, partial(linear_shards, files), target, bad_rows, reporter)
            else:
                begin = partial(shards_of, data, reading, labels, GamRecipe({"random_state": seed}), template)
                train_on(workers, begin, target, bad_rows, reporter, explain_columns)
            return 0
    training = None
    if resume and checkpoints.path.exists():
        training = checkpoints.taken_up()
        reporter.say("resumed", f"resuming after row {training.rows:,}", rows=training.rows)
    elif resume:
        text = f"no checkpoint {checkpoints.path}: starting from the first row"
        reporter.say("not_resumed", text, checkpoint=str(checkpoints.path))
    task: Run
    with stopwatch(reporter.compiling) as seconds, naming_the_flag():
        if linear is not None:
            task = LinearRun.of(training or StreamTraining(linear, labels), linear, data, reading, bad_rows)
            if engine == DEVICE:
                task.training.recipe = linear  # where learning takes place is no part of what a checkpoint keeps
        elif training is not None:
            task = AdditiveRun.resumed(training, data, reading, bad_rows)
        elif template is not None:
            task = AdditiveRun.like(template, data, reading, bad_rows)
        else:
            task = AdditiveRun.begun(data, reading, labels, GamRecipe({"random_state": seed}), bad_rows)
        whole = run(task, checkpoints, reporter, explain_columns)
        training = task.training
        if whole:
            model = task.finished()
            save_any(model, target)
            report_unreadable(task.stream.unreadable_values, reporter)
            report_model(model, LearntRows.of(training), target, reporter, (seconds(), checkpoints.seconds))
    if not whole:
        go_on = "; continue with --resume" if training.begun else ""
        reporter.say(
            "interrupted", f"interrupted after row {training.rows:,}{go_on}", rows=training.rows,
            checkpoint=str(checkpoints.path) if training.begun else None,
        )  # fmt: skip
        return INTERRUPTED
    checkpoints.remove()
    return 0


def run(task: Run, checkpoints: Checkpoints, reporter: Reporter, explain: bool) -> bool:
    """Learn all chunks; return False if a signal asked to stop, with a checkpoint written."""
    training, stream = task.training, task.stream
    told = bool(task.column_profiles)
    report_columns(task.column_profiles, explain, reporter)
    with stopping() as stop, reporter.progress("learning", stream.total_bytes) as show:
        many: set[str] = set()
        for chunk in stop.until_asked(stream.chunks()):
            many |= report_many_categories(stream, many, reporter)
            if not told:
                report_columns(task.column_profiles, explain, reporter)
                told = True
            training.learn(chunk)
            show(training.rows, chunk.bytes_read, training.progress.running_auc())
            if training.begun and not stop.asked and checkpoints.due(training.rows):
                checkpoints.write(training)
        if stop.asked and training.begun:
            checkpoints.write(training)
    return not stop.asked
