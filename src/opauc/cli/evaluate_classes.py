"""What `opauc evaluate` prints of a model of several classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from opauc.api.evaluate_classes import ClassesEvaluation
from opauc.cli.console import emit, number_of, show_table
from opauc.metrics import GroupAucInterval, MetricInterval, RankingMetric
from opauc.metrics.class_groups import ClassesGroup
from opauc.types import Json


def show_classes(
    title: str,
    found: ClassesEvaluation,
    metrics: Sequence[RankingMetric],
    within: str | None,
    at_least: float | None,
    against: Path | None,
    report: Path | None,
    as_json: bool,
) -> bool:
    """Show the evaluation of a model of several classes; return whether its interval lies below what is asked for."""
    too_low = at_least is not None and found.auc_ovo.high < at_least
    if as_json:
        written = None if report is None else str(report)
        emit("evaluated", **evaluation_as_json(found, within, at_least, against), report=written)
        return too_low
    facts = {
        "mean AUC over pairs of classes": interval_text(found.auc_ovo),
        "mean AUC, one class against the rest": interval_text(found.auc_ovr),
        "log loss": f"{found.log_loss:.4f}",
        "accuracy": f"{found.accuracy:.4f}",
        "rows": f"{found.rows:,}",
    }
    for metric in metrics:
        facts[f"mean over classes of {metric.title}"] = interval_text(found.metrics[metric.name])
    for weight, mean in found.within.items():
        facts[f"mean AUC within {within}{', by rows' if weight == 'rows' else ''}"] = interval_text(mean)
    if found.within:
        groups = found.within["equal"]
        facts["groups"] = f"{groups.n_groups:,} with several classes, {groups.n_one_class:,} with one, left out"
    low, high = found.bounds
    if low < high:
        facts["bounds of the first"] = f"{low:.5f} to {high:.5f} (the scores of so many rows are summarized)"
    if found.bad_rows:
        facts["skipped"] = number_of(found.bad_rows, "bad row")
    if found.difference is not None:
        gap, error, _, p_value = found.difference
        facts[f"the first, minus that of {against}"] = f"{gap:+.4f} ± {error:.4f}, p = {p_value:.2g} (paired test)"
    for metric in metrics if found.differences else []:
        gap, error, _, p_value = found.differences[metric.name]
        facts[f"{metric.name}, minus that of {against}"] = f"{gap:+.4f} ± {error:.4f}, p = {p_value:.2g}"
    if report is not None:
        facts["report"] = str(report)
    if at_least is not None:
        verdict = "the interval lies below" if too_low else "met" if found.auc >= at_least else "possible"
        facts[f"AUC of at least {at_least:g}"] = verdict
    show_table(title, facts)
    lines = {
        name: f"{number_of(found.rows_of[name], 'row')}, recall {recall:.3f}"
        for name, recall in found.recall_of.items()
    }
    show_table("classes", lines)
    for metric in metrics:
        of_classes = found.class_metrics[metric.name]
        show_table(f"{metric.title}, by class", {
            name: interval_text(value) for name, value in of_classes.items()
        })  # fmt: skip
    if found.by is not None:
        show_table(f"by {found.by}", {group.name: group_as_text(group) for group in found.groups})
    return too_low


def evaluation_as_json(
    found: ClassesEvaluation, within: str | None, at_least: float | None, against: Path | None
) -> Json:
    """Return all of an evaluation of several classes."""
    facts: Json = {
        "auc_ovo": found.auc_ovo._asdict(),
        "auc_ovr": found.auc_ovr._asdict(),
        "certain": list(found.bounds),
        "log_loss": found.log_loss,
        "accuracy": found.accuracy,
        "rows": found.rows,
        "rows_of": dict(found.rows_of),
        "recall_of": dict(found.recall_of),
        "skipped": found.bad_rows,
        "seconds": round(found.seconds, 3),
        "at_least": None if at_least is None else found.auc_ovo.high >= at_least,
        "against": None if found.difference is None else {"model": str(against), **found.difference._asdict()},
        "metrics": _as_json(found.metrics),
        "class_metrics": {name: _as_json(of_classes) for name, of_classes in found.class_metrics.items()},
        "differences": {name: value._asdict() for name, value in found.differences.items()},
        "within": None if within is None else {"column": within} | _as_json(found.within),
    }
    if found.by is not None:
        facts |= {"by": found.by, "groups": [group_as_json(group) for group in found.groups]}
    return facts


def group_as_text(group: ClassesGroup) -> str:
    """Return the mean AUCs of a group, over the classes that have rows in it."""
    rows = f"log loss {group.log_loss:.4f}, {number_of(group.n_rows, 'row')}"
    if group.n_classes < len(group.rows_of):
        rows += f" of {group.n_classes} classes" if group.n_classes > 1 else " of one class"
    if group.auc_ovo is None or group.auc_ovr is None:
        return rows
    ovo = f"{group.auc_ovo.value:.4f} ({group.auc_ovo.low:.4f} to {group.auc_ovo.high:.4f})"
    return f"AUC over pairs {ovo}, against the rest {group.auc_ovr.value:.4f}, {rows}"


def group_as_json(group: ClassesGroup) -> Json:
    """Return all of a group; the AUCs of a single class are null."""
    return {
        "name": group.name,
        "rows": group.n_rows,
        "rows_of": group.rows_of,
        "auc_ovo": None if group.auc_ovo is None else group.auc_ovo._asdict(),
        "auc_ovr": None if group.auc_ovr is None else group.auc_ovr._asdict(),
        "accuracy": group.accuracy,
        "log_loss": group.log_loss,
    }


def interval_text(metric: MetricInterval | GroupAucInterval) -> str:
    """Return a metric with its interval as text."""
    return f"{metric.value:.4f}, 95 % interval {metric.low:.4f} to {metric.high:.4f}"


def _as_json(values: Mapping[str, MetricInterval] | Mapping[str, GroupAucInterval]) -> Json:
    return {name: value._asdict() for name, value in values.items()}
