"""Plots of the terms of an additive model, for notebooks: curves, levels, pairs, importances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opauc.additive.terms.terms import MISSING_NAME, N_ERRORS, Term
from opauc.core.extras import needed
from opauc.errors import ParameterError
from opauc.report.svg import shorten
from opauc.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOG_ODDS = "Contribution, log-odds"
CURVE, GUIDE = "C0", "0.75"
DIVERGING = "RdBu_r"


@dataclass(frozen=True)
class PlotPolicy:
    """What fits into a plot.

    Attributes
    ----------
    n_errors : float
        Standard errors of a band or a bar to either side; cells of pairs within them are faded.
    faded : float
        Opacity of faded cells.
    max_levels : int
        Levels drawn, those with the most rows.
    n_ticks : int
        Ticks of the density strip, each of an equal share of the rows.
    max_labels : int
        Labels along a side of a heat map.
    letters : int
        Letters of a label.
    missing_at : float
        Position of missing values right of the numbers, as a share of their range.
    line_height : float
        Inches per level or bar in a new figure, which is taller where there are many.
    """

    n_errors: float = N_ERRORS
    faded: float = 0.25
    max_levels: int = 30
    n_ticks: int = 100
    max_labels: int = 12
    letters: int = 28
    missing_at: float = 0.08
    line_height: float = 0.22


PLOT_POLICY = PlotPolicy()


def plot_term(term: Term, shares: Floats | None, ax: Axes | None, policy: PlotPolicy = PLOT_POLICY) -> Axes:
    """Draw a term, given the share of the rows at each of its values, and return the axes.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.terms.plots import plot_term
    >>> from opauc.additive.terms.terms import Term
    >>> term = Term("city", ("city",), (("Bern", "Chur"),), np.array([0.5, -0.5]), np.array([0.1, 0.1]), 0.5)
    >>> [label.get_text() for label in plot_term(term, None, None).get_yticklabels()]
    ['Chur', 'Bern']
    """
    if not term.value.size:
        raise ParameterError(
            f"term {term.name!r} has no values to draw: what trees do by a column depends on other columns too; "
            "explain has its contribution to each row"
        )
    is_curve = len(term.at) == 1 and term.is_numeric(0) and len(term.present(0)) > 2
    n_lines = 0 if is_curve or len(term.at) == 2 else min(term.value.size, policy.max_levels)
    ax = _axes(ax, n_lines, policy)
    if len(term.at) == 2:
        _draw_pair(ax, term, policy)
    elif is_curve:
        _draw_curve(ax, term, shares, policy)
    else:
        _draw_levels(ax, term, shares, policy)
    ax.set_title(term.name, parse_math=False)
    return ax


def plot_importances(terms: Sequence[Term], n: int, ax: Axes | None, policy: PlotPolicy = PLOT_POLICY) -> Axes:
    """Draw the importances of the first terms, the first on top, and return the axes.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.terms.plots import plot_importances
    >>> from opauc.additive.terms.terms import Term
    >>> term = Term("city", ("city",), (("Bern",),), np.array([0.5]), np.array([0.1]), 0.5)
    >>> [float(bar.get_width()) for bar in plot_importances([term], 15, None).patches]
    [0.5]
    """
    shown = terms[:n]
    ax = _axes(ax, len(shown), policy)
    places = np.arange(len(shown))
    ax.barh(places, [term.importance for term in shown], color=CURVE)
    _label(ax, "y", places, [term.name for term in shown], policy)
    ax.invert_yaxis()
    ax.set_xlabel("Importance: standard deviation, log-odds")
    ax.set_title("Most important terms" if len(shown) == len(terms) else f"{len(shown)} of {len(terms)} terms")
    return ax


def _axes(ax: Axes | None, n_lines: int, policy: PlotPolicy) -> Axes:
    """Return axes to draw in: where there are none, those of a new figure that has room for lines of text."""
    with needed("matplotlib", "plots"):
        from matplotlib import pyplot
    if ax is not None:
        return ax
    width, height = pyplot.rcParams["figure.figsize"]
    created: Axes = pyplot.subplots(
        figsize=(width, max(height, policy.line_height * (n_lines + 4))), layout="constrained"
    )[1]
    return created


def _draw_curve(ax: Axes, term: Term, shares: Floats | None, policy: PlotPolicy) -> None:
    points = np.array(term.present(0), np.float64)
    n, values, errors = points.size, term.value, policy.n_errors * term.error
    ax.axhline(0.0, color=GUIDE, linewidth=0.8, zorder=0)
    ax.fill_between(points, (values - errors)[:n], (values + errors)[:n], color=CURVE, alpha=0.2, linewidth=0.0)
    ax.plot(points, values[:n], color=CURVE)
    if values.size > n:
        at = points[-1] + policy.missing_at * (points[-1] - points[0])
        ax.errorbar([at], values[n:], yerr=errors[n:], fmt="o", color=CURVE)
        ax.annotate(MISSING_NAME, (at, values[n]), (-6, 0), textcoords="offset points", ha="right", va="center")
    if shares is not None and shares[:n].any():
        ticks = row_quantiles(points, shares[:n], policy.n_ticks)
        ax.vlines(ticks, 0.0, 0.03, transform=ax.get_xaxis_transform(), color="0.2", alpha=0.5, linewidth=0.7)
    ax.set_xlabel(shorten(term.inputs[0], policy.letters), parse_math=False)
    ax.set_ylabel(LOG_ODDS)


def row_quantiles(points: Floats, shares: Floats, n: int) -> Floats:
    """Return n values with equal shares of the rows between them; each point has the rows nearest to it.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.terms.plots import row_quantiles
    >>> row_quantiles(np.array([0.0, 2.0, 4.0]), np.array([0.25, 0.5, 0.25]), 4)
    array([0.5, 1.5, 2.5, 3.5])
    """
    edges = np.concatenate([points[:1], 0.5 * (points[1:] + points[:-1]), points[-1:]])
    below = np.append(0.0, np.cumsum(shares)) / shares.sum()
    quantiles: Floats = np.interp((np.arange(n) + 0.5) / n, below, edges)
    return quantiles


def _draw_levels(ax: Axes, term: Term, shares: Floats | None, policy: PlotPolicy) -> None:
    values, names = term.value, [_shown(value) for value in term.at[0]]
    order = np.argsort(-(np.abs(values) if shares is None else shares), kind="stable")[: policy.max_levels]
    order = order[np.argsort(values[order], kind="stable")]
    places = np.arange(order.size)
    ax.axvline(0.0, color=GUIDE, linewidth=0.8, zorder=0)
    ax.errorbar(values[order], places, xerr=policy.n_errors * term.error[order], fmt="o", color=CURVE)
    _label(ax, "y", places, [names[level] for level in order], policy)
    ax.set_xlabel(LOG_ODDS)
    axis_name = term.inputs[0] if len(term.inputs) == 1 else term.name
    some = f" ({order.size} of {values.size})" if order.size < values.size else ""
    ax.set_ylabel(shorten(axis_name, policy.letters) + some, parse_math=False)


def _draw_pair(ax: Axes, term: Term, policy: PlotPolicy) -> None:
    limit = float(np.abs(term.value).max()) or 1.0
    opacity = np.where(np.abs(term.value) <= policy.n_errors * term.error, policy.faded, 1.0)
    image = ax.imshow(
        term.value, cmap=DIVERGING, vmin=-limit, vmax=limit, alpha=opacity, aspect="auto", origin="lower",
        interpolation="nearest",
    )  # fmt: skip
    for side, axis in (("y", 0), ("x", 1)):
        names = [_shown(value) for value in term.at[axis]]
        places = _spread(len(names), policy.max_labels)
        _label(ax, side, places, [names[place] for place in places], policy)
    ax.tick_params(axis="x", rotation=45)
    ax.set_xlabel(shorten(term.inputs[1], policy.letters), parse_math=False)
    ax.set_ylabel(shorten(term.inputs[0], policy.letters), parse_math=False)
    bar = ax.figure.colorbar(image, ax=ax)
    bar.set_label(f"{LOG_ODDS} (pale: within {policy.n_errors:g} standard errors)")


def _spread(size: int, n: int) -> NDArray[np.int64]:
    """Return at most n positions, spread evenly and with both ends."""
    return np.unique(np.linspace(0, size - 1, min(size, n)).round().astype(np.int64))


def _label(ax: Axes, side: str, places: NDArray[np.int64], names: Sequence[str], policy: PlotPolicy) -> None:
    """Put names at places along a side; a dollar sign in a name is no mathematics."""
    labels = [shorten(name, policy.letters) for name in names]
    (ax.set_xticks if side == "x" else ax.set_yticks)(places, labels, parse_math=False)


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
