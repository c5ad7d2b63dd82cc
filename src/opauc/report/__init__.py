"""The report of an evaluation: one HTML page that needs nothing else."""

from opauc.report.page import Report, render_report

__all__ = ["Report", "render_report"]
