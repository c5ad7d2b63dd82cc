"""Scorecards as CSV and as a sheet of XLSX, in which text is never a formula."""

from __future__ import annotations

import csv
import io

from opauc.core.extras import needed
from opauc.exports.format import ExportFormat, ExportOptions
from opauc.exports.portable import PortableModel
from opauc.exports.scorecard import Scorecard, make_scorecard, scale_of

HEADER = ("term", "bin", "points", "log_odds")
# With these spreadsheets begin a formula, also in CSV.
BEGIN_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# The longest text of a cell, and the widths of columns in characters.
MOST_CHARACTERS, WIDTHS = 32_767, (28, 48, 12, 12)


def harmless(text: str) -> str:
    """Return text that no spreadsheet takes for a formula: an apostrophe before it says that it is text.

    Examples
    --------
    >>> from opauc.exports.scorecard_files import harmless
    >>> harmless("=1+1"), harmless("age: 23 to 27")
    ("'=1+1", 'age: 23 to 27')
    """
    return f"'{text}" if text.lstrip(" ").startswith(BEGIN_FORMULA) else text


def write_csv(model: PortableModel, options: ExportOptions) -> bytes:
    """Return the content of a CSV file of the scorecard of a model."""
    written = io.StringIO()
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(HEADER)
    for term, words, points, log_odds in make_scorecard(model, scale_of(options)).lines():
        numbers = ["" if number is None else repr(number) for number in (points, log_odds)]
        lines.writerow([harmless(term), harmless(words), *numbers])
    return written.getvalue().encode()


def write_xlsx(model: PortableModel, options: ExportOptions) -> bytes:
    """Return the content of an XLSX file of the scorecard of a model."""
    return xlsx_of(make_scorecard(model, scale_of(options)))


def xlsx_of(scorecard: Scorecard) -> bytes:
    """Return a scorecard as the content of an XLSX file; its text is stored as text, whatever it begins with."""
    with needed("xlsxwriter", "excel"):
        import xlsxwriter
    written = io.BytesIO()
    with xlsxwriter.Workbook(written, {"in_memory": True}) as book:
        sheet, bold = book.add_worksheet("scorecard"), book.add_format({"bold": True})
        for column, (name, width) in enumerate(zip(HEADER, WIDTHS, strict=True)):
            sheet.write_string(0, column, name, bold)
            sheet.set_column(column, column, width)
        sheet.freeze_panes(1, 0)
        for row, (term, words, points, log_odds) in enumerate(scorecard.lines(), 1):
            sheet.write_string(row, 0, harmless(term)[:MOST_CHARACTERS])
            sheet.write_string(row, 1, harmless(words)[:MOST_CHARACTERS])
            for column, number in enumerate((points, log_odds), 2):
                if number is not None:
                    sheet.write_number(row, column, number)
    return written.getvalue()


SCORECARD = ExportFormat(
    "scorecard", (".csv", ".xlsx"), write_csv, ("points_to_double", "base_points", "base_odds"), {".xlsx": write_xlsx}
)
