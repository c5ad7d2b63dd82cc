"""What a notebook shows below the diagram of a fitted model: its largest terms or weights, and its AUC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# Rows of the table.
MAX_ROWS = 8
RISES, FALLS, BOTH, NO_DIRECTION = "+", "\u2212", "\u00b1", ""
HEADER = "<tr><th style='text-align:left'>{what}</th><th>sign</th><th>{measure}</th></tr>"
ROW = (
    "<tr><td style='text-align:left'>{name}</td><td style='text-align:center'>{sign}</td>"
    "<td style='text-align:right'>{importance:.3g}</td></tr>"
)


class ShownPart(NamedTuple):
    """A term or a feature, its importance, and the direction of the score in it."""

    name: str
    importance: float
    sign: str


class FittedSummary(NamedTuple):
    """The most important parts of a model, the first first, of how many; what they are; what is known of its AUC."""

    parts: Sequence[ShownPart]
    n_parts: int
    what: str
    measure: str
    auc: str = ""


def sign_of(value: float) -> str:
    """Return the sign of a weight.

    Examples
    --------
    >>> from opauc.estimators.notebook import sign_of
    >>> sign_of(0.5), sign_of(-2.0), sign_of(0.0)
    ('+', '−', '')
    """
    return RISES if value > 0.0 else FALLS if value < 0.0 else NO_DIRECTION


def auc_text(auc: float) -> str:
    """Return an AUC as text, below one unless it is one."""
    from opauc.report.text import share

    return share(float(auc))


def summary_html(summary: FittedSummary) -> str:
    """Return a small table without scripts; names are escaped.

    Examples
    --------
    >>> from opauc.estimators.notebook import FittedSummary, ShownPart, summary_html
    >>> html = summary_html(FittedSummary([ShownPart("a<b", 0.5, "+")], 1, "term", "importance", "AUC 0.9"))
    >>> "a&lt;b" in html, "AUC 0.9" in html, "<script" in html
    (True, True, False)
    """
    from opauc.report.svg import shorten  # the report, which training does not wait for
    from opauc.report.text import safe

    rows = "".join(
        ROW.format(name=safe(shorten(part.name, 60)), sign=part.sign, importance=part.importance)
        for part in summary.parts
    )
    table = HEADER.format(what=safe(summary.what), measure=safe(summary.measure)) + rows
    n_others = summary.n_parts - len(summary.parts)
    others = f"<div>{n_others:,} more</div>" if n_others else ""
    auc = f"<div>{safe(summary.auc)}</div>" if summary.auc else ""
    return f"<div class='opauc-summary' style='margin-top:.5em'>{auc}<table>{table}</table>{others}</div>"


def message_html(message: object) -> str:
    """Return what stands in place of the table where the fitted model has none."""
    from opauc.report.text import safe

    return f"<div class='opauc-summary'>{safe(message)}</div>"
