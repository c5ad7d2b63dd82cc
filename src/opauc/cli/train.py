"""`opauc train`: train a model in one pass over the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opauc.api.cube.training import train_cube
from opauc.api.options import TrainOptions
from opauc.api.output_file import named_after
from opauc.api.scored_stream import report_unreadable
from opauc.api.tables import data_or_query, paths_only, sources_of
from opauc.api.train import run_training
from opauc.cli import options as shared
from opauc.cli.console import INTERRUPTED, Reporter
from opauc.cli.help import LINEAR
from opauc.cli.train_report import report_cube, report_training, show_columns
from opauc.errors import Parameter, ParameterError

TRAINING, CUBES = "Training", "Cubes"


def command(
    context: typer.Context,
    data: shared.DataOrQuery = None,
    output: shared.NewModel = None,
    solver: Annotated[
        str | None,
        typer.Option(
            help="gam (an additive model with interactions), or a linear solver: exact, sgd, progressive_selection, "
            "or auto, whichever suits the number of features. Default: gam for tables; auto for sparse rows, and "
            "wherever an option of the linear solvers is given.",
            rich_help_panel=TRAINING,
            show_default=False,
        ),
    ] = None,
    basis_from: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            help="Use the basis of this additive model and read rows as it does: models trained with the same basis "
            "can be merged.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    sql: shared.Sql = None,
    database: shared.Database = None,
    label: shared.Label = None,
    features: shared.Features = None,
    categorical: shared.Categorical = None,
    numeric: shared.Numeric = None,
    drop: shared.Drop = None,
    explain_columns: shared.ExplainColumns = False,
    alpha: Annotated[
        str,
        typer.Option(
            help="Ridge penalty: a number, or auto to choose it by cross-validation in the same pass.",
            rich_help_panel=LINEAR,
        ),
    ] = "1e-4",
    rank: Annotated[
        str,
        typer.Option(
            help="Rank of a sketch of the covariances, none (full covariances) or auto.", rich_help_panel=LINEAR
        ),
    ] = "auto",
    eta0: Annotated[
        float,
        typer.Option(
            help="Step size of sgd; with --learning-rate curvature the rows after which steps shrink.",
            rich_help_panel=LINEAR,
        ),
    ] = 1e4,
    learning_rate: Annotated[
        str, typer.Option(help="Schedule of the step size: curvature, constant or invsqrt.", rich_help_panel=LINEAR)
    ] = "curvature",
    average: Annotated[
        bool,
        typer.Option(
            "--average/--last", help="Use the mean of the iterates of sgd, or the last one.", rich_help_panel=LINEAR
        ),
    ] = True,
    standardize: Annotated[
        bool,
        typer.Option(
            "--standardize/--no-standardize",
            help="Divide each feature by its standard deviation, or not.",
            rich_help_panel=LINEAR,
        ),
    ] = True,
    forgetting_factor: Annotated[
        str,
        typer.Option(
            help="Factor on the weight of earlier rows at each new row; auto chooses it during training.",
            rich_help_panel=LINEAR,
        ),
    ] = "1.0",
    horizon: Annotated[
        int,
        typer.Option(
            help="With --forgetting-factor auto: rows between two updates of the weights.",
            rich_help_panel=LINEAR,
            min=1,
        ),
    ] = 1000,
    cv: Annotated[int, typer.Option(help="With --alpha auto: number of folds.", rich_help_panel=LINEAR, min=2)] = 5,
    criterion: Annotated[
        str, typer.Option(help="With --alpha auto: choose by pair_loss or auc.", rich_help_panel=LINEAR)
    ] = "pair_loss",
    one_standard_error: Annotated[
        bool,
        typer.Option(
            "--one-standard-error",
            help="With --alpha auto: choose the largest penalty within one standard error of the best.",
            rich_help_panel=LINEAR,
        ),
    ] = False,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Rank rows within the groups of this column, a query or a user, say: only pairs of rows of one group "
            "count, in a linear model; with --solver gam, an additive model with a level of its own for each group. It "
            "is not a feature unless --categorical names it.",
        ),
    ] = None,
    group_weight: Annotated[
        str,
        typer.Option(help="With --within: weight of a group, equal, pairs or rows.", rich_help_panel=LINEAR),
    ] = "equal",
    max_gap: Annotated[
        int,
        typer.Option(
            help="With --within: rows of other groups after which a group is complete; 0 for rows sorted by group.",
            rich_help_panel=LINEAR,
            min=0,
        ),
    ] = 10_000,
    loss: Annotated[
        str,
        typer.Option(
            help="Loss of linear models: square (of pairs), logistic or balanced_logistic, whose penalty is chosen in "
            "the same pass.",
            rich_help_panel=LINEAR,
        ),
    ] = "square",
    objective: Annotated[
        str,
        typer.Option(
            help="What the model is chosen by: auc, or pauc, the partial AUC up to --max-fpr.",
            rich_help_panel=TRAINING,
        ),
    ] = "auc",
    max_fpr: Annotated[
        float,
        typer.Option(
            help="With --objective pauc: largest false-positive rate, above 0, at most 1.", rich_help_panel=TRAINING
        ),
    ] = 0.01,
    init_size: Annotated[
        int | None,
        typer.Option(
            metavar="ROWS",
            min=2,
            help="Rows of the initial sample of an additive model. Default: all of up to 174,080 rows, else 139,264; "
            "16,384 of a pipe.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    trees: Annotated[
        bool, typer.Option(help="Whether a tree ensemble may join an additive model.", rich_help_panel=TRAINING)
    ] = True,
    effort: Annotated[
        str, typer.Option(help="How slowly the trees grow: normal or high.", rich_help_panel=TRAINING)
    ] = "normal",
    increasing: shared.Increasing = None,
    decreasing: shared.Decreasing = None,
    max_columns: Annotated[
        int,
        typer.Option(
            metavar="COLUMNS",
            min=8,
            rich_help_panel=TRAINING,
            help="Columns of the basis of an additive model; with --by the default is 300.",
        ),
    ] = 1500,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            rich_help_panel=CUBES,
            help="Write a cube to the folder -o: the sums of each segment of the rows by these columns, separated by "
            "commas, such as day,country. They are no features unless --features, --categorical or --numeric names "
            "them.",
        ),
    ] = None,
    sample_rows: Annotated[
        int,
        typer.Option(
            metavar="ROWS",
            min=0,
            rich_help_panel=CUBES,
            help="Rows of each segment that its file keeps to evaluate models of other segments.",
        ),
    ] = 200,
    seed: Annotated[
        int,
        typer.Option(
            help="Seed of the initial sample, or of the random signs of a sketch.",
            rich_help_panel=TRAINING,
        ),
    ] = 0,
    n_jobs: Annotated[
        int | None,
        typer.Option(
            help="Number of threads, or of workers; -1 uses all cores. With a number other than 1, gam and exact read "
            "and train on shards of the files in parallel, without checkpoints unless a checkpoint option is given. "
            "Default: gam reads rows in order and uses all cores for its sums, linear solvers use one.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="Label of the positive rows; all others are negative.", rich_help_panel=TRAINING)
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            help="All class labels, separated by commas: two, or more for an additive model and --solver exact.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Checkpoint file. Default: the output with .checkpoint appended.", rich_help_panel=shared.CHECKPOINTS
        ),
    ] = None,
    checkpoint_every: shared.CheckpointEvery = None,
    resume: shared.Resume = False,
    max_seconds: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Time budget: no more rows are read after so many seconds. The model is that of the rows so far; "
            "--resume goes on from there.",
            rich_help_panel=shared.CHECKPOINTS,
        ),
    ] = None,
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
    decimal: shared.Decimal = None,
    drop_unlabeled: shared.DropUnlabeled = False,
    on_bad_row: shared.OnBadRow = "error",
    max_bad_rows: shared.MaxBadRows = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Train a model on labeled rows in one pass.

    A table needs only --label. Column types are inferred, strings, dates and missing values included, and an
    additive model is trained. Sparse rows get a linear model, and so does a table
    where --solver or an option of the linear solvers is given.

    Example: opauc train orders.csv --label returned
    Example: opauc train day1.csv.gz day2.csv.gz --label returned -o days.opauc
    Example: zcat rows.svm.gz | opauc train - --format libsvm -o rows.opauc
    """
    data = data_or_query(data, sql, database)
    keys, sources = shared.names(by), sources_of(data)
    target = output if keys else output or named_after(data if sql is None else ["-"])
    reporter, given = Reporter(json, quiet), shared.given_options(context)
    if within is not None and groups is not None:
        raise ParameterError(
            Parameter("within"), " and ", Parameter("groups"), " name two columns of groups; leave out one"
        )
    reading = shared.reading_options(
        format=format_, label=label, features=features, categorical=categorical, numeric=numeric, drop=drop,
        groups=groups if within is None else within, missing=missing, hash_bits=hash_bits, n_features=n_features,
        zero_based=zero_based, delimiter=delimiter, header=header, decimal=decimal, drop_unlabeled=drop_unlabeled,
    )  # fmt: skip
    options = TrainOptions(
        solver=solver, alpha=shared.number_or_auto("alpha", alpha), rank=shared.rank(rank), eta0=eta0,
        learning_rate=learning_rate, average=average, standardize=standardize,
        forgetting_factor=shared.number_or_auto("forgetting_factor", forgetting_factor), horizon=horizon, cv=cv,
        criterion=criterion, one_standard_error=one_standard_error, loss=loss,
        objective=objective, max_fpr=max_fpr,
        pairs="all" if within is None else "within_groups", group_weight=group_weight, max_gap=max_gap,
        init_size="auto" if init_size is None else init_size, trees=trees, effort=effort,
        increasing=shared.columns(increasing or ""), decreasing=shared.columns(decreasing or ""), random_state=seed,
        n_jobs=n_jobs, positive=positive,
        classes=shared.class_names(classes), basis_from=basis_from, checkpoint=checkpoint,
        checkpoint_every=checkpoint_every, resume=resume, max_seconds=max_seconds, engine=engine,
        scheduler=scheduler,
        max_columns=max_columns, by=keys or None, sample_rows=sample_rows,
    )  # fmt: skip
    renamed = {"seed": "random_state", "format_": "format", "within": "groups"}
    asked = {renamed.get(name, name) for name in given} - ({"n_jobs"} if n_jobs == 1 else set())
    bad_rows = shared.bad_rows(on_bad_row, max_bad_rows, drop_unlabeled)
    if by is not None:
        trained = train_cube(paths_only(sources), reading, options, target, asked, keys, bad_rows, reporter)
        if explain_columns:
            show_columns(trained.column_profiles, reporter)
        reporter.unlabeled(bad_rows.unlabeled)
        report_cube(trained, reporter)
        return 0
    assert target is not None, "named after the data"
    result = run_training(sources, reading, options, target, asked, bad_rows, reporter)
    if result.model is None:
        saved = checkpoint or Path(f"{target}.checkpoint")
        resume_hint = "; continue with --resume" if result.begun else ""
        reporter.say(
            "interrupted", f"interrupted after row {result.rows:,}{resume_hint}", rows=result.rows,
            checkpoint=str(saved) if result.begun else None,
        )  # fmt: skip
        return INTERRUPTED
    if explain_columns:
        show_columns(result.column_profiles, reporter)
    report_unreadable(result.unreadable, reporter)
    reporter.unlabeled(bad_rows.unlabeled)
    report_training(result, target, reporter)
    if result.out_of_time:
        reporter.warn(
            f"the time budget of {max_seconds:g} s ended after row {result.rows:,}: the model is that of the rows so "
            "far; continue with --resume"
        )
    return 0
