"""The names of grid points of terms in charts: categories, and numbers with few digits."""

from __future__ import annotations

from collections.abc import Sequence

from opauc.report.text import plain


def point_name(point: float | str, digits: int | None = None) -> str:
    """Return the name of a grid point, a number with at most `digits` significant digits.

    Examples
    --------
    >>> from opauc.report.point_names import point_name
    >>> point_name(1234.5), point_name(1234.5, 2), point_name("north")
    ('1234.5', '1200', 'north')
    """
    if isinstance(point, str):
        return point
    return plain(float(point) if digits is None else float(f"{point:.{digits}g}"))


def point_names(points: Sequence[float | str]) -> list[str]:
    """Return the names of grid points, numbers with three significant digits or as many as tell them apart.

    Examples
    --------
    >>> from opauc.report.point_names import point_names
    >>> point_names([0.12345, 2.0, "missing"]), point_names([2015.0, 2016.0, 2017.0])
    (['0.123', '2', 'missing'], ['2015', '2016', '2017'])
    """
    for digits in range(3, 17):
        names = [point_name(point, digits) for point in points]
        if len(set(names)) == len(names):
            break
    return names
