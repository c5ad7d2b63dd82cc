"""Rows of the cases as other programs are given them: numbers, booleans, and text of dates."""

import math
from datetime import date


def plain(value):
    """Return a value as JSON has it: dates as ISO text, None where missing."""
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, str):
        return value
    return None if math.isnan(value) else bool(value) if isinstance(value, bool) else float(value)


def plain_rows(rows):
    return [{name: plain(value) for name, value in row.items()} for row in rows]
