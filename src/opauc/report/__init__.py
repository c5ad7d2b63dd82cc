"""The HTML report of an evaluation: `render_report` turns a `Report` into one self-contained page."""

from opauc.report.inputs import (
    CandidateRow,
    Contribution,
    DecisionPoint,
    EditRow,
    ExplainedRow,
    FileRow,
    PenaltyChoice,
    Report,
    ShownTerm,
    TermsSection,
    WeightRow,
)
from opauc.report.page import render_report

__all__ = [
    "CandidateRow",
    "Contribution",
    "DecisionPoint",
    "EditRow",
    "ExplainedRow",
    "FileRow",
    "PenaltyChoice",
    "Report",
    "ShownTerm",
    "TermsSection",
    "WeightRow",
    "render_report",
]
