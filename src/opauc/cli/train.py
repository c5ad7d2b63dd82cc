"""`opauc train`: one pass over the data, a model at its end."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from opauc.cli import options as shared
from opauc.cli.console import Reporter
from opauc.cli.engines import CLUSTERS, DEVICE, cluster, recipe_on, refuse_checkpoints, train_on
from opauc.cli.output_file import refuse_unwritable
from opauc.cli.stopping import stopping
from opauc.cli.stopwatch import stopwatch
from opauc.cli.train_recipe import FOLD_OPTIONS, train_recipe
from opauc.engines.file_training import FilesToLearn
from opauc.errors import InputError, UnsupportedOperation
from opauc.features import open_stream
from opauc.features.table_features import TableFeatures
from opauc.learners.penalty_selection import Selection
from opauc.reading import DataStream
from opauc.reading.table_columns import quoted_list
from opauc.rows import Json
from opauc.training.checkpoints import Checkpoints
from opauc.training.model_file import Model, save_model
from opauc.training.provenance import provenance_of
from opauc.training.stream_training import StreamTraining

LEARNING, SAFETY = "Learning", "Checkpoints"
INTERRUPTED = 130
# So many categories of one column are said: it may be a name, or the number of a row.
MANY_CATEGORIES = 300


def command(
    data: shared.Data,
    output: shared.Output,
    solver: Annotated[
        str, typer.Option(help="auto, exact, sgd or progressive_selection.", rich_help_panel=LEARNING)
    ] = "auto",
    alpha: Annotated[
        str,
        typer.Option(
            help="Ridge penalty: a number, or auto to choose it by cross-validation within the one pass.",
            rich_help_panel=LEARNING,
        ),
    ] = "1e-4",
    rank: Annotated[
        str, typer.Option(help="auto, none (full covariance) or the rank of a sketch.", rich_help_panel=LEARNING)
    ] = "auto",
    eta0: Annotated[
        float, typer.Option(help="Step size of sgd; with theorem a ratio without unit.", rich_help_panel=LEARNING)
    ] = 1e4,
    learning_rate: Annotated[
        str, typer.Option(help="theorem, constant or invsqrt.", rich_help_panel=LEARNING)
    ] = "theorem",
    average: Annotated[
        bool,
        typer.Option(
            "--average/--last", help="Return the mean of the iterates, or the last one.", rich_help_panel=LEARNING
        ),
    ] = True,
    standardize: Annotated[
        bool,
        typer.Option(
            "--standardize/--no-standardize",
            help="Learn in units of each feature's own deviation, or in those of the data.",
            rich_help_panel=LEARNING,
        ),
    ] = True,
    forgetting: Annotated[
        str,
        typer.Option(
            help="Factor on the weight of earlier rows at each new row, or auto to choose it as rows come.",
            rich_help_panel=LEARNING,
        ),
    ] = "1.0",
    horizon: Annotated[
        int,
        typer.Option(
            help="With --forgetting auto: rows between two updates of the model that scores.",
            rich_help_panel=LEARNING,
            min=1,
        ),
    ] = 1000,
    folds: Annotated[
        int, typer.Option(help="Folds that a penalty is chosen by.", rich_help_panel=LEARNING, min=2)
    ] = FOLD_OPTIONS["folds"],
    criterion: Annotated[
        str, typer.Option(help="What a penalty is chosen by: pair_loss or auc.", rich_help_panel=LEARNING)
    ] = FOLD_OPTIONS["criterion"],
    one_standard_error: Annotated[
        bool,
        typer.Option(
            "--one-standard-error",
            help="Choose the largest penalty within one standard error of the best.",
            rich_help_panel=LEARNING,
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the random codes of a sketch.", rich_help_panel=LEARNING)] = 0,
    n_jobs: Annotated[
        int,
        typer.Option(
            help="Number of threads, or of workers; -1 uses all cores. With more than one, exact learns shards of "
            "the files apart, without checkpoints unless those are asked for.",
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
    label: shared.Label = None,
    features: shared.Features = None,
    categorical: shared.Categorical = None,
    drop: shared.Drop = None,
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
    """Train a model on labelled rows in one pass."""
    saved = checkpoint or Path(f"{output}.checkpoint")
    refuse_unwritable(output, saved)
    reading, recipe = shared.reading_options(locals()), recipe_on(engine, train_recipe(locals()))
    said = {"data": list(data), "reading": reading.to_json(), "positive": positive, "classes": classes}
    plan = {**said, **recipe.parameters}
    checkpoints = Checkpoints(saved, checkpoint_every, plan)
    reporter = Reporter(json, quiet)
    safe = resume or checkpoint is not None or checkpoint_every is not None
    if engine in CLUSTERS or (engine is None and n_jobs != 1 and not safe):
        refuse_checkpoints(engine, safe)
        labels = shared.class_labels(classes, positive)
        files = FilesToLearn(data, recipe, recipe.parameters, recipe.owner, reading, labels)
        # Where no cluster was asked for and shards do not add up, rows are learnt in order below.
        with nullcontext() if engine else suppress(UnsupportedOperation):
            with cluster(engine, scheduler, n_jobs, reporter) as workers:
                train_on(workers, files, output, shared.bad_rows(on_bad_row, max_bad_rows), reporter)
            return 0
    if resume and checkpoints.path.exists():
        training = checkpoints.taken_up()
        reporter.say("resumed", f"resuming after row {training.rows:,}", rows=training.rows)
    else:
        if resume:
            text = f"no checkpoint {checkpoints.path}: starting from the first row"
            reporter.say("not_resumed", text, checkpoint=str(checkpoints.path))
        training = StreamTraining(recipe, shared.class_labels(classes, positive))
    if engine == DEVICE:
        training.recipe = recipe  # where learning takes place is no part of what a checkpoint keeps
    stream = open_stream(data, reading, training.bookmark, shared.bad_rows(on_bad_row, max_bad_rows))
    if groups is not None and not stream.has_columns:
        raise InputError(f"{', '.join(data)}: only tables have columns, of which --groups could be one")
    with stopwatch(reporter.compiling) as seconds:
        whole = run(training, stream, checkpoints, reporter)
        if whole:
            tables = TableFeatures(reading, training.bookmark.learnt(), positive)
            model = finished_model(training, stream, tables.to_json())
            save_model(model, output)
            report_trained(model, training, output, reporter, seconds(), checkpoints.seconds)
    if not whole:
        go_on = "; continue with --resume" if training.begun else ""
        reporter.say(
            "interrupted", f"interrupted after row {training.rows:,}{go_on}", rows=training.rows,
            checkpoint=str(checkpoints.path) if training.begun else None,
        )  # fmt: skip
        return INTERRUPTED
    checkpoints.remove()
    return 0


def finished_model(training: StreamTraining, stream: DataStream, reader: Json) -> Model:
    """Return the model with all that is known of its rows."""
    names = stream.feature_names
    return replace(
        training.finished(),
        feature_names=None if names is None else tuple(names),
        reading=reader,
        provenance=provenance_of(training),
    )


def run(training: StreamTraining, stream: DataStream, checkpoints: Checkpoints, reporter: Reporter) -> bool:
    """Learn all chunks; return False if a signal asked to stop, with a checkpoint written."""
    with stopping() as stop, reporter.progress("learning", stream.total_bytes) as show:
        many: set[str] = set()
        for chunk in stop.until_asked(stream.chunks()):
            many |= report_many_categories(stream, many, reporter)
            training.learn(chunk)
            show(training.rows, chunk.bytes_read, training.progress.running_auc())
            if training.begun and not stop.asked and checkpoints.due(training.rows):
                checkpoints.write(training)
        if stop.asked and training.begun:
            checkpoints.write(training)
    return not stop.asked


def report_many_categories(stream: DataStream, told: set[str], reporter: Reporter) -> set[str]:
    """Tell of columns, but those told of, that have so many categories that they may be names or numbers of rows."""
    many = {name: count for name, count in stream.category_counts.items() if count > MANY_CATEGORIES}
    for name in [name for name in many if name not in told]:
        flag = quoted_list([name])
        reporter.say(
            "many_categories",
            f"column {name}: {many[name]:,} categories so far, a feature each; --hash-bits spreads them over fewer, "
            f"--drop {flag} leaves the column out",
            column=name, categories=many[name],
        )  # fmt: skip
    return set(many)


def report_skipped(training: StreamTraining, reporter: Reporter) -> None:
    """Tell how many rows could not be used, and which were the first."""
    reporter.skipped(training.bookmark.bad_rows, training.bookmark.first_bad)


def report_trained(
    model: Model, training: StreamTraining, output: Path, reporter: Reporter, seconds: float, checkpoint_seconds: float
) -> None:
    """Tell what was learnt, after what had to be left out."""
    report_skipped(training, reporter)
    auc, solution = training.progress.running_auc(), model.learnt()
    solver, rank = (solution.published.get(name, usual) for name, usual in (("solver_", "exact"), ("rank_", None)))
    told = "" if auc is None else f", progressive AUC {auc:.4f}"
    chosen = solution.chosen_settings
    if solution.selection is None:
        told = "".join(f", {name} {value:.3g}" for name, value in chosen.items()) + told
    report_penalty(solution.selection, reporter)
    reporter.say(
        "trained",
        f"{output}: {training.rows:,} rows, {model.n_features:,} features, {solver}"
        f"{f' of rank {rank}' if rank else ''}, {seconds:.1f} s{told}",
        model=str(output), rows=training.rows, features=model.n_features, solver=solver, rank=rank,
        seconds=round(seconds, 3), checkpoint_seconds=round(checkpoint_seconds, 3), progressive_auc=auc,
        skipped=training.bookmark.bad_rows, chosen=chosen,
    )  # fmt: skip


def report_penalty(found: Selection | None, reporter: Reporter) -> None:
    """Tell which penalty was chosen, if one was to be."""
    if found is None:
        return
    if not found.n_folds:
        reporter.warn(
            f"alpha {found.alpha:.3g} was not chosen but taken from the middle: no fold has rows of both classes in it "
            "and outside it; give more rows, fewer --folds, or more --groups"
        )
        return
    score = found.means()[found.chosen]
    name, score = ("pair loss", -score) if found.criterion == "pair_loss" else ("AUC", score)
    reporter.say(
        "chosen",
        f"chose alpha {found.alpha:.3g} of {found.alphas.size} between {found.alphas.min():.2g} and "
        f"{found.alphas.max():.2g}: {name} {score:.4f} on {found.n_folds} folds held out",
        alpha=found.alpha, criterion=found.criterion, score=float(score), folds=found.n_folds,
        alphas=found.alphas.tolist(),
    )  # fmt: skip
