"""The HTML report of an evaluation: `render_report` turns a `Report` into one self-contained page,
`render_class_report` a `ClassReport` of several classes."""

from opauc.report.class_inputs import ClassReport, ClassRow, ClassTerms
from opauc.report.class_page import render_class_report
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
    "ClassReport",
    "ClassRow",
    "ClassTerms",
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
    "render_class_report",
    "render_report",
]
