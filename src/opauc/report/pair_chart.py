"""The chart of a pair of an additive model, as SVG: a heat map, and the color scale of all pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from opauc.report.inputs import ShownTerm
from opauc.report.point_names import point_names
from opauc.report.svg import shorten
from opauc.report.text import safe, signed
from opauc.types import Floats

WIDTH, HEIGHT = 400, 330
# Below the cells: names of grid points that fit under their columns, and longer ones, which are written upward.
LEFT, RIGHT, TOP, BOTTOM = 120, 4, 4, 62
UPRIGHT_BOTTOM, UPRIGHT_LETTER = 48, 8
# Cells drawn along either feature.
MAX_CELLS = 8
# Letters of a grid point beside the cells, width of a letter below them, and letters of a feature's name.
POINT_LETTERS, LETTER_WIDTH, FEATURE_LETTERS = 11, 9.5, 30
CELL_GAP = 1.5
# Of the opacity, what is left of a cell within two standard errors of zero.
FADED = 0.3
# Cells of the legend, and their width.
LEGEND_CELLS, LEGEND_WIDTH = 9, 22


def pair_chart(slug: str, term: ShownTerm, largest: float) -> str:
    """Draw a pair as a heat map: orange raises the score, blue lowers it.

    A value of magnitude `largest` has the darkest color. Cells within two standard errors of zero are faded.
    """
    rows, columns = _shown_cells(term, 0), _shown_cells(term, 1)
    values, errors = term.values[np.ix_(rows, columns)], term.standard_errors[np.ix_(rows, columns)]
    row_names, column_names = (
        point_names([term.grid[side][i] for i in kept]) for side, kept in enumerate((rows, columns))
    )
    width = (WIDTH - LEFT - RIGHT) / len(columns)
    n_letters = min(max(map(len, column_names)), POINT_LETTERS)
    upright = n_letters > width / LETTER_WIDTH
    bottom = UPRIGHT_BOTTOM + UPRIGHT_LETTER * n_letters if upright else BOTTOM
    height = (HEIGHT - TOP - bottom) / len(rows)
    marks = ""
    for i, row in enumerate(row_names):
        top = HEIGHT - bottom - height * (i + 1)  # larger numbers are higher up
        middle = f"{top + height / 2:.2f}"
        marks += f'<text x="{LEFT - 8}" y="{middle}" dy=".35em" text-anchor="end">{safe(shorten(row, POINT_LETTERS))}'
        marks += f"<title>{safe(row)}</title></text>"
        for j, column in enumerate(column_names):
            tooltip = f"{row}, {column}: {signed(values[i, j])} ± {2 * errors[i, j]:.2g}"
            opacity = _opacity(values[i, j], largest, abs(values[i, j]) <= 2 * errors[i, j])
            marks += _cell((LEFT + width * j, top, width, height), float(values[i, j]), opacity, tooltip)
    for j, column in enumerate(column_names):
        marks += _column_name(column, LEFT + width * (j + 0.5), HEIGHT - bottom, upright)
    return _pair_frame(slug, term, marks, bottom)


def _column_name(name: str, middle: float, end: float, upright: bool) -> str:
    """Return the name of a grid point below the end of its column of cells, across or from bottom to top."""
    place = f'x="{middle:.2f}" y="{end + 20:g}" text-anchor="middle"'
    if upright:
        place = f'transform="translate({middle:.2f} {end + 8:g}) rotate(-90)" dy=".35em" text-anchor="end"'
    return f"<text {place}>{safe(shorten(name, POINT_LETTERS))}<title>{safe(name)}</title></text>"


def pair_legend(largest: float) -> str:
    """Return the color scale of all pairs from minus to plus the largest value."""
    values = np.linspace(-1.0, 1.0, LEGEND_CELLS)
    cells = "".join(
        f'<rect class="{_sign_class(value)}" x="{LEGEND_WIDTH * i}" y="0" width="{LEGEND_WIDTH - CELL_GAP}" '
        f'height="12" fill-opacity="{_opacity(value, 1.0)}"/>'
        for i, value in enumerate(values.tolist())
    )
    return (
        f'<span class="legend"><span>{signed(-largest, 2)}</span>'
        f'<svg viewBox="0 0 {LEGEND_WIDTH * LEGEND_CELLS} 12" aria-hidden="true">{cells}</svg>'
        f"<span>{signed(largest, 2)}</span></span>"
    )


def largest_value(terms: Sequence[ShownTerm]) -> float:
    """Return the largest magnitude of the values of some terms.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.report import ShownTerm
    >>> from opauc.report.pair_chart import largest_value
    >>> largest_value([ShownTerm("sex", ("sex",), (("f", "m"),), np.array([-0.5, 0.25]), np.zeros(2), 0.1)])
    0.5
    """
    return max([float(np.abs(term.values).max(initial=0.0)) for term in terms] + [1e-12])


def is_beyond_error(term: ShownTerm) -> bool:
    """Return whether any value is more than two standard errors from zero.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.report import ShownTerm
    >>> from opauc.report.pair_chart import is_beyond_error
    >>> sex = ShownTerm("sex", ("sex",), (("f", "m"),), np.array([-0.5, 0.25]), np.full(2, 0.3), 0.1)
    >>> is_beyond_error(sex), is_beyond_error(sex._replace(standard_errors=np.full(2, 0.2)))
    (False, True)
    """
    return bool((np.abs(term.values) > 2.0 * term.standard_errors).any())


def _cell(box: tuple[float, float, float, float], value: float, opacity: str, tooltip: str) -> str:
    left, top, width, height = box
    return (
        f'<rect class="{_sign_class(value)}" x="{left:.2f}" y="{top:.2f}" width="{width - CELL_GAP:.2f}" '
        f'height="{height - CELL_GAP:.2f}" fill-opacity="{opacity}">'
        f"<title>{safe(tooltip)}</title></rect>"
    )


def _pair_frame(slug: str, term: ShownTerm, marks: str, bottom: int) -> str:
    y_name, x_name = (safe(shorten(name, FEATURE_LETTERS)) for name in term.features)
    middle, center = LEFT + (WIDTH - LEFT - RIGHT) / 2, TOP + (HEIGHT - TOP - bottom) / 2
    description = (
        f"From {signed(term.values.min())} to {signed(term.values.max())} log-odds in addition to the main effects."
    )
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{slug}-title {slug}-about">'
        f'<title id="{slug}-title">{safe(term.name)}</title><desc id="{slug}-about">{safe(description)}</desc>'
        f'{marks}<text class="name" x="{middle:g}" y="{HEIGHT - 8}" text-anchor="middle">{x_name}</text>'
        f'<text class="name" transform="translate(12 {center:g}) rotate(-90)" text-anchor="middle">{y_name}</text>'
        "</svg>"
    )


def _shown_cells(term: ShownTerm, side: int) -> NDArray[np.int64]:
    """Return the grid points of one feature to draw: all, or those of the largest values, in order."""
    sizes: Floats = np.abs(term.values).max(axis=1 - side)
    return np.sort(np.argsort(-sizes, kind="stable")[:MAX_CELLS])


def _sign_class(value: float) -> str:
    return "up" if value > 0.0 else "down"


def _opacity(value: float, largest: float, faded: bool = False) -> str:
    return f"{(FADED if faded else 1.0) * (0.06 + 0.94 * abs(value) / largest):.3f}"
