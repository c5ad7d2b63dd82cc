"""How well a model ranks the rows of files, in memory that does not grow with them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from opauc.api import engines
from opauc.api.class_report import write_class_report
from opauc.api.describe import ExampleRows, describe_fit
from opauc.api.engines import CLUSTERS, check_engine, cluster
from opauc.api.evaluate_classes import (
    ClassesEvaluation,
    check_read_twice,
    evaluate_classes,
    evaluate_classes_table,
)
from opauc.api.group_columns import GroupColumns, groups_of_batch, values_of_batch
from opauc.api.observer import CallbackObserver, Observer, Progress, stopwatch
from opauc.api.page_facts import (
    about_page,
    described_estimator,
    provenance_rows,
    rows_by_file,
    training_file_rows,
    write_page,
)
from opauc.api.scored_stream import Purpose, ScoredStream, model_source, report_unknown, report_unreadable
from opauc.api.tables import (
    column_values,
    data_or_query,
    fitted_estimator,
    groups_of_table,
    scores_of_table,
    sources_of,
)
from opauc.api.train import shard_progress
from opauc.api.training_files import trained_before, training_rows_warning
from opauc.core.batch import SourceRecord
from opauc.core.labels import shown_label
from opauc.core.model import Model
from opauc.core.parameters import ALL_CORES
from opauc.core.scorer import Scorer
from opauc.data.bad_rows import BadRows
from opauc.data.find_sources import is_paths
from opauc.data.sources import IN_MEMORY
from opauc.data.table_source import Source, TableSource
from opauc.errors import InputError, Parameter, ParameterError
from opauc.metrics import (
    AucDifference,
    CalibrationBins,
    GroupAuc,
    GroupAucInterval,
    MetricInterval,
    ProgressPoint,
    Ranking,
    RankingMetric,
    ScoreBuffer,
    StreamingGroupAuc,
    compare_aucs,
    ranking_metric,
)
from opauc.metrics.comparison import MAX_EXACT_ROWS, NO_METRICS, metrics_of_stream
from opauc.metrics.groups import GroupedScores, GroupEvaluation
from opauc.metrics.intervals import AucInterval
from opauc.metrics.metric_names import ranking_metrics
from opauc.report import DecisionPoint, Report, render_report

NO_DIFFERENCES: Mapping[str, AucDifference] = MappingProxyType({})
NO_GROUPS: Mapping[str, GroupAucInterval] = MappingProxyType({})


class Evaluation(NamedTuple):
    """How a model ranks rows.

    Attributes
    ----------
    ranking : Ranking
        AUC, curves, operating points.
    calibration : CalibrationBins
        Calibration of the probabilities.
    rows : int
        Number of rows evaluated.
    bad_rows : int
        Number of rows skipped.
    seconds : float
        Time of the evaluation.
    examples : ExampleRows
        Rows that the report explains.
    difference : AucDifference or None
        The difference of the AUC to that of the model given as `against`.
    metrics : mapping of str to MetricInterval
        Further metrics by name, such as "pauc@0.01".
    differences : mapping of str to AucDifference
        The differences of those metrics to the other model.
    within : mapping of str to GroupAucInterval
        The mean AUC within groups, by how groups count.
    groups : sequence of GroupEvaluation
        The evaluation of each group of the column `by`.
    by : str or None
        That column.
    above_threshold : tuple of int or None
        The negative and the positive rows of files that `predict` calls positive.
    trained_on : sequence of SourceRecord
        The files that the model was trained on, by the hashes of their content: the AUC of their rows is too high.

    Examples
    --------
    >>> import pandas as pd
    >>> import opauc
    >>> table = pd.DataFrame({"age": [20.0, 30.0, 60.0, 70.0] * 30, "bought": [0, 0, 1, 1] * 30})
    >>> evaluation = opauc.evaluate(opauc.train(table, label="bought"), table, label="bought")
    >>> evaluation.auc, evaluation.rows
    (1.0, 120)
    """

    ranking: Ranking
    calibration: CalibrationBins
    rows: int
    bad_rows: int
    seconds: float
    examples: ExampleRows = ExampleRows()
    difference: AucDifference | None = None  # to the model that it was evaluated against
    metrics: Mapping[str, MetricInterval] = NO_METRICS  # further metrics by name, such as "pauc@0.01"
    differences: Mapping[str, AucDifference] = NO_DIFFERENCES  # of those metrics, to the other model
    within: Mapping[str, GroupAucInterval] = NO_GROUPS  # mean AUC within groups, by how groups count
    groups: Sequence[GroupEvaluation] = ()  # by the values or bands of the column `by`
    by: str | None = None
    above_threshold: tuple[int, int] | None = None  # negatives and positives that `predict` calls positive
    trained_on: Sequence[SourceRecord] = ()  # the files that the model was trained on: their AUC is too high

    @property
    def auc(self) -> float:
        """The AUC."""
        return self.ranking.confidence.auc

    @property
    def interval(self) -> AucInterval:
        """The AUC with its confidence limits."""
        return self.ranking.confidence


def evaluate(
    model: Any,
    data: Any = None,
    label: str | int | None = None,
    *,
    sql: str | None = None,
    database: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
    bad_rows: BadRows | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    report: str | os.PathLike[str] | None = None,
    against: Any = None,
    metrics: Sequence[str | RankingMetric] = (),
    within: str | None = None,
    by: str | None = None,
) -> Evaluation | ClassesEvaluation:
    """Return how well a model ranks labeled rows.

    Parameters
    ----------
    model : estimator or path
        A fitted estimator of this library, or the file of one.
    data : path, sequence of paths, or table
        Files, glob patterns, folders or "-"; or a data frame with the label in a column.
    label : str or int, optional
        The label column, by default that of the training files; of files by its name.
    sql : str, optional
        A query in place of `data`: of the database, or of DuckDB, which reads files: "from 'days/*.parquet'".
    database : str or path, optional
        The database of the query: a file of DuckDB or SQLite, or "postgresql://user@host/name".
    format : str, optional
        Format of the files; by default inferred.
    bad_rows : BadRows, optional
        What to do with rows that cannot be read; by default the first one is an error.
    on_progress : callable, optional
        Called with a `Progress` after every batch.
    report : path, optional
        Where to write a report page, for files.
    against : estimator or path, optional
        Another model, to be compared on the same rows by a paired test: see `Evaluation.difference`.
    metrics : sequence of str, optional
        Further metrics, each with an interval: see `Evaluation.metrics`. Names are as for
        `opauc.metrics.ranking_metric`: "pauc@0.01", "ap", "precision@100", "recall@0.01", "lift@0.1".
    within : str, optional
        A column of groups, such as users or queries, for the mean AUC within groups: see `Evaluation.within`.
    by : str, optional
        A column of the data, a feature or not, for each of whose values the rows are evaluated apart: see
        `Evaluation.groups`. Many numbers are cut into five bands.

    Returns
    -------
    evaluation : Evaluation or ClassesEvaluation
        The AUC with its confidence interval, curves, calibration; of a model of more than two classes its mean AUCs
        over classes, and the metrics of each class against the rest.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import opauc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     march, april = Path(folder, "march.csv"), Path(folder, "april.csv")
    ...     _ = march.write_text("age,bought\\n" + "30,no\\n45,yes\\n50,yes\\n25,no\\n" * 30)
    ...     _ = april.write_text("age,bought\\n" + "31,no\\n46,yes\\n" * 30)
    ...     opauc.evaluate(opauc.train(march, label="bought"), april).auc
    1.0
    """
    data = data_or_query(data, sql, database)
    wanted = ranking_metrics(metrics)
    if not is_paths(data) and not isinstance(data, TableSource):
        return _evaluate_table(model, data, label, against, wanted, GroupColumns(within, by))
    purpose = Purpose.EVALUATE if report is None else Purpose.REPORT
    source, paths = model_source(model, data), sources_of(data)
    policy, observer = bad_rows or BadRows(), CallbackObserver(on_progress)
    columns = GroupColumns(within, by)
    scored = ScoredStream(source, paths, format, policy, purpose, columns.names, label=label)
    if scored.model.several_classes:
        other_stream = None
        if against is not None:
            other_stream = ScoredStream(
                model_source(against, data), paths, format, policy.fresh_copy(), Purpose.EVALUATE, label=label
            )
        of_classes = evaluate_classes(scored, observer, other_stream, wanted, columns, detailed=report is not None)
        if report is not None:
            write_class_report(Path(report), model_name(model), scored, of_classes)
        return of_classes
    if against is None:
        evaluation = evaluate_stream(scored, observer, metrics=wanted, columns=columns)
    else:
        other = model_source(against, data)
        evaluation = evaluate_against(
            scored, ScoredStream(other, paths, format, policy.fresh_copy(), Purpose.EVALUATE, label=label), observer,
            wanted, columns,
        )  # fmt: skip
    if report is not None:
        write_report(Path(report), model_name(model), scored, evaluation)
    return evaluation


def model_name(model: Any) -> str:
    """Return the name of the file of a model, or of its estimator."""
    return Path(model).name if isinstance(model, str | os.PathLike) else type(model).__name__


def evaluate_on(
    engine: str,
    address: str | None,
    scored: ScoredStream,
    paths: Sequence[Source],
    format_: str | None,
    observer: Observer,
    metrics: Sequence[RankingMetric] = (),
) -> Evaluation:
    """Score files on an engine and rank all their rows."""
    check_engine(engine, address, additive=False)
    if engine == engines.DEVICE:
        from opauc.engines.torch.scorer import DeviceScorer

        return evaluate_stream(scored, observer, DeviceScorer.of(scored.model.scorer, engines.DEVICE), metrics=metrics)
    assert engine in CLUSTERS, "checked before"
    from opauc.engines.files import score_files

    with cluster(engine, address, ALL_CORES, observer) as workers, stopwatch(observer.compiling) as seconds:
        with shard_progress("scoring", paths, observer) as on_progress:
            shards = score_files(scored.model, paths, workers, format_, scored.stream.bad_rows, on_progress)
        report_unknown(shards.unknown, scored.reading, observer)
        report_unreadable(shards.unreadable, observer)
        check_both_classes(scored, *shards.auc.counts.tolist())
        scored.stream.bad_rows.first = list(shards.first_bad)
        return Evaluation(
            Ranking.of_stream(shards.auc), shards.bins, shards.rows, shards.bad_rows, seconds(),
            metrics=metrics_of_stream(shards.auc, metrics),
        )  # fmt: skip


def evaluate_against(
    scored: ScoredStream,
    other: ScoredStream,
    observer: Observer,
    metrics: Sequence[RankingMetric] = (),
    columns: GroupColumns = GroupColumns(),  # noqa: B008 immutable
) -> Evaluation:
    """Score the same rows by two models, and test whether their AUCs differ."""
    check_read_twice(scored)
    mine, theirs = ScoreBuffer(), ScoreBuffer()
    evaluation = evaluate_stream(scored, observer, scores=mine, metrics=metrics, columns=columns)
    evaluate_stream(other, observer, scores=theirs)
    return _with_differences(evaluation, mine, theirs, metrics)


def evaluate_stream(
    scored: ScoredStream,
    observer: Observer,
    scorer: Scorer | None = None,
    scores: ScoreBuffer | None = None,
    metrics: Sequence[RankingMetric] = (),
    columns: GroupColumns = GroupColumns(),  # noqa: B008 immutable
) -> Evaluation:
    """Score all rows and rank them; `scorer` may do the work of the model's on a device, `scores` keeps the scores.

    The stream passes through the columns of groups.
    """
    groups = None if columns.by is None else GroupedScores(columns.by)
    labels, scorer, scores = scored.labels, scorer or scored.model.scorer, scores or ScoreBuffer()
    bins, examples, by_group = CalibrationBins.empty(), ExampleRows(), StreamingGroupAuc.empty()
    records: Sequence[SourceRecord] = ()
    above = np.zeros(2, np.int64)
    with stopwatch(observer.compiling) as seconds:
        with observer.progress("scoring", scored.stream.total_bytes) as show:
            for part in scored.score(scorer):
                actual = labels.encode(part.batch)
                probabilities = scorer.probabilities(part.scores)
                bins = bins.update(actual, probabilities)
                if isinstance(part.rows, np.ndarray):
                    examples = examples.after(part.rows, actual, part.scores, scores.n_rows)
                scores.add(actual, part.scores)
                above += np.bincount(actual[scored.model.predicted_positive(part.scores)], minlength=2)
                if columns.within is not None:
                    by_group = by_group.update(actual, part.scores, groups_of_batch(part.batch, columns.within))
                if groups is not None:
                    groups.add(values_of_batch(part.batch, groups.column), actual, part.scores, probabilities)
                records = part.batch.resume_position.records
                show(scores.n_rows, part.batch.bytes_read, scores.stream.estimate())
        scored.report_unknown(observer)
        check_both_classes(scored, *scores.stream.counts.tolist())
        trained_on = trained_before(scored.model.provenance, records)
        if trained_on:
            observer.warn(training_rows_warning(trained_on, len(records)))
        return Evaluation(
            scores.ranking(), bins, scores.n_rows, scored.stream.bad_rows.total, seconds(), examples,
            metrics=scores.metrics(metrics), within=NO_GROUPS if columns.within is None else _aucs_within(by_group),
            groups=() if groups is None else groups.evaluate(), by=columns.by,
            above_threshold=(int(above[0]), int(above[1])), trained_on=trained_on,
        )  # fmt: skip


def _aucs_within(by_group: StreamingGroupAuc) -> dict[str, GroupAucInterval]:
    """Return the mean AUC within groups, where all count the same and where they count by their rows."""
    try:
        return {weight: by_group.interval(GroupAuc(weight)) for weight in ("equal", "rows")}
    except ParameterError as error:
        raise ParameterError(Parameter("within"), f": {error}") from error


def _evaluate_table(
    model: Any,
    table: Any,
    label: str | int | None,
    against: Any,
    metrics: Sequence[RankingMetric],
    columns: GroupColumns,
) -> Evaluation | ClassesEvaluation:
    """Evaluate a model on a table, a stream part by part."""
    from opauc.data.formats.table import table_parts
    from opauc.data.tables import is_stream

    model = fitted_estimator(model, table)
    against = None if against is None else fitted_estimator(against, table)
    if model.classes_.size > 2:
        return evaluate_classes_table(model, table_parts(table), label, against, metrics, columns)
    most = MAX_EXACT_ROWS if is_stream(table) else sys.maxsize
    mine, theirs, bins = ScoreBuffer(most), ScoreBuffer(most), CalibrationBins.empty()
    by_group, grouped = StreamingGroupAuc.empty(most), None if columns.by is None else GroupedScores(columns.by)
    for part in table_parts(table):
        actual, scores, probabilities = scores_of_table(model, part, label)
        mine.add(actual, scores)
        bins = bins.update(actual, probabilities)
        if columns.within is not None:
            by_group = by_group.update(actual, scores, groups_of_table(part, columns.within))
        if grouped is not None and columns.by is not None:
            grouped.add(column_values(part, columns.by), actual, scores, probabilities)
        if against is not None:
            theirs.add(actual, scores_of_table(against, part, label)[1])
    if not mine.n_rows:
        raise InputError(f"{IN_MEMORY}: there are no rows; AUC needs rows of both classes")
    evaluation = Evaluation(mine.ranking(), bins, mine.n_rows, 0, 0.0, metrics=mine.metrics(metrics))
    if columns.within is not None:
        evaluation = evaluation._replace(within=_aucs_within(by_group))
    if grouped is not None:
        evaluation = evaluation._replace(groups=grouped.evaluate(), by=columns.by)
    return evaluation if against is None else _with_differences(evaluation, mine, theirs, metrics)


def _with_differences(
    evaluation: Evaluation, mine: ScoreBuffer, theirs: ScoreBuffer, metrics: Sequence[RankingMetric]
) -> Evaluation:
    """Return an evaluation with tests of whether two models differ on the same rows."""
    one, two = mine.all_rows, theirs.all_rows
    if one is None or two is None:
        raise ParameterError(Parameter("against"), f" is for up to {MAX_EXACT_ROWS:,} rows, got {mine.n_rows:,}")
    if not np.array_equal(one[0], two[0]):
        raise InputError("the models must be of the same classes and read the same rows to be compared")
    return evaluation._replace(
        difference=compare_aucs(one[0], one[1], two[1]),
        differences={metric.name: metric.compare(one[0], one[1], two[1]) for metric in metrics},
    )


def check_both_classes(scored: ScoredStream, negatives: int, positives: int) -> None:
    """Raise unless there are rows of both classes: without pairs there is no AUC."""
    if negatives and positives:
        return
    rows, sources = negatives + positives, ", ".join(scored.stream.sources)
    if not rows:
        raise InputError(f"{sources}: there are no rows; AUC needs rows of both classes")
    only = shown_label(scored.model.classes[int(positives > 0)])
    raise InputError(f"{sources}: AUC needs rows of both classes, got {rows:,} rows, all labeled {only}")


def write_report(path: Path, name: str, scored: ScoredStream, evaluation: Evaluation, command: str = "") -> None:
    """Write the report page; `command` is the command line that made it, where there is one."""
    write_page(path, render_report(report_of(name, scored, evaluation, command)))


def report_of(name: str, scored: ScoredStream, evaluation: Evaluation, command: str = "") -> Report:
    """Return the content of the page."""
    model, ranking = scored.model, evaluation.ranking
    thresholds = np.array([point.threshold for point in ranking.operating_points])
    curve = [ProgressPoint(*point) for point in model.provenance.get("learning_curve", ())]
    shown = describe_fit(model, evaluation.examples)
    settings = {**model.parameters, **{f"{name} chosen": value for name, value in shown.chosen.items()}}
    return Report(
        title=f"{name} on {', '.join(Path(source).name for source in scored.stream.sources[:3])}",
        ranking=ranking,
        model=described_estimator(model),
        n_features=model.n_features,
        calibration=evaluation.calibration,
        learning_curve=curve,
        penalty=shown.penalty,
        metrics={ranking_metric(name).title: value for name, value in evaluation.metrics.items()},
        within=evaluation.within,
        additive=shown.terms,
        weights=shown.weights,
        weight_order=shown.weight_order,
        training_files=rows_by_file(evaluation.trained_on),
        groups=evaluation.groups,
        group_column=evaluation.by or "",
        data={
            "Sources": ", ".join(scored.stream.sources),
            "Rows": evaluation.rows,
            "Rows skipped": evaluation.bad_rows,
            "Negative class": shown_label(model.classes[0]),
            "Positive class": shown_label(model.classes[1]),
        },
        settings=settings,
        timings={"Reading and scoring": evaluation.seconds},
        provenance=provenance_rows(model),
        training_data=training_file_rows(model),
        decision=_decision(model, evaluation),
        threshold_probabilities=model.scorer.probabilities(thresholds).tolist(),
        about=about_page(command),
    )


def _decision(model: Model, evaluation: Evaluation) -> DecisionPoint | None:
    """Return the threshold at which `predict` decides, with the rows above it; None where those were not counted."""
    if evaluation.above_threshold is None:
        return None
    chosen = model.threshold
    name = "predict: zero, its default" if chosen is None else f"predict: {chosen.rule}"
    score = 0.0 if chosen is None else chosen.score
    return DecisionPoint(
        name, score, float(model.scorer.probabilities(np.array([score]))[0]), *evaluation.above_threshold
    )
