"""The report page of a model of several classes, from its evaluation."""

from __future__ import annotations

from pathlib import Path

from opauc.api.describe import class_sections, describe_fit
from opauc.api.evaluate_classes import ClassesEvaluation
from opauc.api.page_facts import (
    about_page,
    described_estimator,
    provenance_rows,
    rows_by_file,
    training_file_rows,
    write_page,
)
from opauc.api.scored_stream import ScoredStream
from opauc.metrics import ProgressPoint, ranking_metric
from opauc.report import ClassReport, ClassRow, ClassTerms, render_class_report


def write_class_report(
    path: Path, name: str, scored: ScoredStream, evaluation: ClassesEvaluation, command: str = ""
) -> None:
    """Write the report page; `command` is the command line that made it, where there is one."""
    write_page(path, render_class_report(class_report_of(name, scored, evaluation, command)))


def class_report_of(name: str, scored: ScoredStream, evaluation: ClassesEvaluation, command: str = "") -> ClassReport:
    """Return the content of the page, of an evaluation with details."""
    model, details = scored.model, evaluation.details
    assert details is not None, "pages are of evaluations with details"
    shown = describe_fit(model)
    labels = list(evaluation.rows_of)
    return ClassReport(
        title=f"{name} on {', '.join(Path(source).name for source in scored.stream.sources[:3])}",
        auc_ovo=evaluation.auc_ovo,
        auc_ovr=evaluation.auc_ovr,
        bounds=evaluation.bounds,
        classes=[
            ClassRow(label, evaluation.rows_of[label], evaluation.recall_of[label], auc, bins)
            for label, auc, bins in zip(labels, details.aucs, details.calibration, strict=True)
        ],
        pair_aucs=details.pair_aucs,
        accuracy=evaluation.accuracy,
        log_loss=evaluation.log_loss,
        model=described_estimator(model),
        n_features=model.n_features,
        metrics={ranking_metric(metric).title: value for metric, value in evaluation.metrics.items()},
        class_metrics={
            ranking_metric(metric).title: list(values.values()) for metric, values in evaluation.class_metrics.items()
        },
        within=evaluation.within,
        groups=evaluation.groups,
        group_column=evaluation.by or "",
        learning_curve=[ProgressPoint(*point) for point in model.provenance.get("learning_curve", ())],
        penalty=shown.penalty,
        terms=[ClassTerms(label, section) for label, section in class_sections(model).items()],
        weights=shown.weights,
        weight_order=shown.weight_order,
        training_files=rows_by_file(details.trained_on),
        data={
            "Sources": ", ".join(scored.stream.sources),
            "Rows": evaluation.rows,
            "Rows skipped": evaluation.bad_rows,
        },
        settings={**model.parameters, **{f"{key} chosen": value for key, value in shown.chosen.items()}},
        timings={"Reading and scoring": evaluation.seconds},
        provenance=provenance_rows(model),
        training_data=training_file_rows(model),
        about=about_page(command),
    )
