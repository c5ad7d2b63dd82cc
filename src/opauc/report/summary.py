"""The top of the page: what the numbers say, a note where rows were training rows, facts and contents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from opauc.metrics.ranking import Ranking
from opauc.report.inputs import Report
from opauc.report.text import chance, outward, percent, plain, share

METHOD = "DeLong’s variance with a floor for small classes"
# Files that the note on training rows names.
MAX_NAMED_FILES = 5
# The false positive rate of the operating point of the summary, and at which groups are shown.
SHOWN_RATE = 0.1
# A percent sign that stays on the line of its number.
UNBROKEN_PERCENT = "\u00a0%"


class Fact(NamedTuple):
    """A name, its value, and a smaller value below it."""

    name: str
    value: str
    below: str = ""


def shown_point(limits: Sequence[float]) -> int:
    """Return the position of the operating point that stands for all, given their limits of the false positive rate.

    Examples
    --------
    >>> from opauc.report.summary import shown_point
    >>> shown_point([0.001, 0.01, 0.1, 0.2]), shown_point([0.001, 0.01])
    (2, 1)
    """
    return next((at for at, limit in enumerate(limits) if limit >= SHOWN_RATE), len(limits) - 1)


def page_facts(report: Report) -> list[Fact]:
    """Return the counts and further measures beside the AUC."""
    ranking, calibration = report.ranking, report.calibration
    n_rows = ranking.n_positives + ranking.n_negatives
    facts = [
        Fact("Rows", plain(n_rows)),
        Fact("Positives", plain(ranking.n_positives), percent(ranking.n_positives / n_rows)),
        Fact("Negatives", plain(ranking.n_negatives), percent(ranking.n_negatives / n_rows)),
        Fact("Features", "" if report.n_features is None else plain(report.n_features)),
        Fact("Average precision", share(ranking.average_precision)),
        Fact("Brier score", "" if calibration is None else share(calibration.brier_score())),
    ]
    return [fact for fact in facts if fact.value]


def training_note(files: Mapping[str, int], n_rows: int) -> str:
    """Return how many of the evaluation rows the model was trained on, given the rows of files; empty if none."""
    n_seen = sum(files.values())
    if not files:
        return ""
    shown = ", ".join(list(files)[:MAX_NAMED_FILES])
    more = f" and {plain(len(files) - MAX_NAMED_FILES)} more files" if len(files) > MAX_NAMED_FILES else ""
    part = "all" if n_seen >= n_rows else f"{plain(n_seen)} of the {plain(n_rows)}"
    return (
        f"The model was trained on {part} rows of this page: {shown}{more}. "
        "A model ranks the rows it was trained on better than new ones; evaluate it on other rows."
    )


def in_short(report: Report) -> str:
    """Return what the numbers say, in two sentences."""
    ranking, calibration = report.ranking, report.calibration
    area = ranking.confidence
    first = (
        f"The model ranks a random positive above a random negative {chance(area.auc)} of the time "
        f"(95 % confidence interval {chance(area.low)} to {chance(area.high)})."
    )
    parts = []
    points = ranking.operating_points
    if points:
        point = points[shown_point([point.max_false_positive_rate for point in points])]
        parts.append(
            f"at a false positive rate of at most {percent(point.max_false_positive_rate)} it finds "
            f"{chance(point.true_positive_rate)} of the positives, and {chance(point.precision)} of the rows that it "
            "flags are positive"
        )
    if calibration is not None and calibration.n_rows:
        parts.append(f"its probabilities are off by {share(calibration.expected_error())} on average")
    second = "; ".join(parts)
    text = f"{first} {second[0].upper()}{second[1:]}." if parts else first
    return text.replace(" %", UNBROKEN_PERCENT)


def page_contents(report: Report) -> list[tuple[str, str]]:
    """Return the anchor and the title of the parts of the page."""
    parts = [
        ("charts", "Charts", True),
        ("thresholds", "Operating points", bool(report.ranking.operating_points) or report.decision is not None),
        ("groups", f"By {report.group_column}", bool(report.groups)),
        ("terms", "Terms", report.additive is not None),
        ("weights", "Largest weights", bool(report.weights)),
        ("details", "Data and settings", bool(report.data or report.settings or report.about or report.timings)),
        ("origin", "Provenance", bool(report.provenance or report.training_data)),
    ]
    return [(anchor, title) for anchor, title, shown in parts if shown]


def interval_note(ranking: Ranking) -> str:
    """Return where the interval of the AUC comes from."""
    if ranking.auc_bounds is None:
        return f"{METHOD}, from the exact ranks of all rows."
    low, high = ranking.auc_bounds
    if low == high:
        return f"{METHOD}; streamed in fixed memory, and the AUC of these rows is exact."
    return (
        f"{METHOD}, widened for streaming in fixed memory: "
        f"the exact AUC of these rows lies within {outward(low, high)}."
    )
