"""The paper's figures from the store, as inline SVG in the look of the report page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from experiments.paper.claims.influence import (
    BIG_RIDGE,
    STUDY,
    best_by,
    good_steps,
    lead_along_the_pass,
    spread_over_ridges,
)
from experiments.paper.data_set import BENCHMARK, HIGH_DIMENSION
from experiments.paper.evidence import Evidence
from experiments.paper.marks import LOOKS, line, marker, powers_of_two
from opauc.report.svg import Axis, Frame
from opauc.report.text import safe
from opauc.report.text import seconds as spoken
from opauc.types import Floats

ONLINE = ("online Uni-Squ", "online Uni-Exp", "OAM_gra", "OAM_seq")
PROJECTED = ("OPAUC_f", "OPAUC_rp", "OPAUC_pca")
MOST_CHARTS = 4
# AUCs further below the best than this are drawn at the foot of Figures 3 and 4; panels span at least so much of AUC.
DEPTH, SPAN = 0.1, 0.05


class Layout(NamedTuple):
    """Sizes of a chart with a line for each set; on narrow screens names stand above the lines."""

    name: str
    width: float
    left: float
    line: float
    names_above: bool


BROAD, NARROW = Layout("broad", 720, 176, 42, False), Layout("narrow", 400, 12, 62, True)
RIGHT, TOP, BOTTOM = 16, 10, 44
# Height of a name above its line, and between the points of two sets.
NAME, BETWEEN = 20.0, 8.0


class Figure(NamedTuple):
    """A titled drawing with a note beneath the title and, where there are several things to tell apart, a key.

    A wide one has a second drawing for narrow screens. `with_lines` says that
    the series are lines and not points alone.
    """

    title: str
    note: str
    drawing: str
    key: Sequence[str] = ()
    narrow: str = ""
    with_lines: bool = True


def all_figures(evidence: Evidence) -> Iterator[Figure]:
    """Every figure that the store has points for."""
    yield from running_time(evidence, BENCHMARK, ("OPAUC", "exact", *ONLINE), "Figure 1")
    yield from running_time(evidence, HIGH_DIMENSION, ("OPAUCr", *ONLINE, *PROJECTED), "Figure 2")
    yield from influences(evidence)
    yield from ranks(evidence)
    yield from convergences(evidence)


def running_time(evidence: Evidence, suite: str, columns: Sequence[str], number: str) -> Iterator[Figure]:
    """Processor time of training once, a line a set, on a log scale."""
    found = {name: _times(evidence, name, columns) for name in evidence.names(columns[0], suite=suite)}
    times = {name: some for name, some in found.items() if len(some) > 1}
    if times:
        broad, narrow = (_dots(times, columns, f"time-{number[-1]}", layout) for layout in (BROAD, NARROW))
        note = "Mean processor time of training on four fifths of the rows, one core"
        yield Figure(f"{number}: running time, {suite} sets", note, broad, columns, narrow, with_lines=False)


def influences(evidence: Evidence) -> Iterator[Figure]:
    """AUC against step size, and against penalty, the other at its best, on the sets most against a claim."""
    found = {name: evidence.points(name, STUDY) for name in evidence.sets}
    curves = {name: points for name, points in found.items() if points is not None}
    kinds: tuple[tuple[int, int, str, Callable[[Floats], float]], ...] = (
        (3, 0, "step size η", good_steps),
        (4, 1, "penalty λ", lambda points: -spread_over_ridges(points, BIG_RIDGE)),
    )
    for number, axis, what, in_favor in kinds:
        for name, why in _deciding({name: float(in_favor(points)) for name, points in curves.items()}):
            values, aucs = best_by(curves[name], axis)
            note = (
                f"{why}. Best AUC over the other parameter; AUCs more than {DEPTH} below the best are drawn at the foot"
            )
            best, least = float(aucs.max()), max(float(aucs.min()), float(aucs.max()) - DEPTH)
            up = Axis.linear(min(least, best - SPAN) - 0.002, best + 0.004)
            slug = f"influence-{number}-{name}"
            drawing = _lines({"OPAUC": (values, aucs)}, what.capitalize(), slug, powers_of_two(values), up)
            yield Figure(f"Figure {number}: {what}, {name}", note, drawing)


def ranks(evidence: Evidence) -> Iterator[Figure]:
    """AUC against the rank of the sketch."""
    for name in evidence.names("OPAUCr", suite=HIGH_DIMENSION):
        points = evidence.points(name, "OPAUCr")
        if points is not None:
            places, aucs = points[:, 0], points[:, 1]
            middle = 0.5 * float(aucs.max() + aucs.min())
            high = min(1.0, middle + 0.5 * SPAN)
            up = Axis.linear(min(high - SPAN, float(aucs.min()) - 0.002), high)
            across = Axis(1.0, float(places.max()), tuple(places), tuple(f"{place:g}" for place in places), True)
            drawing = _lines({"OPAUCr": (places, aucs)}, "Rank τ", f"rank-{name}", across, up)
            note = f"Step size and penalty as chosen for rank 50; every panel spans {SPAN} of AUC"
            yield Figure(f"Figure 5: rank τ, {name}", note, drawing)


def convergences(evidence: Evidence) -> Iterator[Figure]:
    """AUC on held-out rows along the pass, on the sets that speak most against the claim and most for it."""
    columns = ("OPAUC", "OAM_seq", "OAM_gra")
    for name, why in _deciding(lead_along_the_pass(evidence)):
        curves = {column: evidence.points(name, column) for column in columns}
        series = {column: (curve[:, 0], curve[:, 1]) for column, curve in curves.items() if curve is not None}
        aucs = np.concatenate([y for _, y in series.values()])
        places = np.concatenate([x for x, _ in series.values()])
        room = max(0.08 * float(np.ptp(aucs)), 0.002)
        up = Axis.linear(max(0.0, float(aucs.min()) - room), min(1.0, float(aucs.max()) + room))
        across = Axis.powers(float(places.min()), float(places.max()))
        drawing = _lines(series, "Training rows", f"convergence-{name}", across, up)
        yield Figure(f"Figure 6: convergence, {name}", f"{why}. AUC of held-out rows", drawing, columns)


def _deciding(in_favor: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Three sets that speak most against a claim and the one that speaks most for it, with these words."""
    order = sorted(in_favor, key=lambda name: (in_favor[name], name))
    against = order[: MOST_CHARTS - 1]
    for name in against:
        yield name, "One of the three sets most against the claim"
    if len(order) > len(against):
        yield order[-1], "The set most in favor of the claim"


def _times(evidence: Evidence, name: str, columns: Sequence[str]) -> dict[str, float]:
    found = {column: evidence.seconds(name, column) for column in columns}
    return {column: value for column, value in found.items() if np.isfinite(value) and value > 0.0}


def _lines(series: Mapping[str, tuple[Floats, Floats]], x_name: str, slug: str, across: Axis, up: Axis) -> str:
    """Lines through points."""
    frame = Frame(across, up, x_name, "AUC")
    marks = ""
    for look, (name, (x, y)) in zip(LOOKS, series.items(), strict=False):
        marks += line(look, frame.path(x, y))
        marks += "".join(
            marker(look, frame.x(a), frame.y(b), 3.0, f"{name}: {b:.4f} at {a:g}")
            for a, b in zip(x.tolist(), y.tolist(), strict=True)
        )
    best = {name: float(y.max()) for name, (_, y) in series.items()}
    told = ", ".join(f"{name} at most {auc:.4f}" for name, auc in best.items())
    return frame.chart(_slug(slug), x_name, told, marks)


def _dots(times: Mapping[str, Mapping[str, float]], columns: Sequence[str], slug: str, layout: Layout) -> str:
    """One line a set, one point a column, time to the right on a log scale; points are set apart so that all show."""
    values = [value for found in times.values() for value in found.values()]
    axis = Axis.powers(0.8 * min(values), 1.25 * max(values))
    width, left = layout.width, layout.left
    height = TOP + layout.line * len(times) + BOTTOM
    foot = height - BOTTOM

    def x(value: float) -> str:
        return f"{left + (width - left - RIGHT) * float(axis.at(value)):.1f}"

    marks = "".join(
        f'<path class="grid" d="M{x(tick)} {TOP}V{foot}"/>'
        f'<text x="{x(tick)}" y="{foot + 18}" text-anchor="middle">{label}</text>'
        for tick, label in zip(axis.ticks, axis.labels, strict=True)
    )
    for place, (name, found) in enumerate(times.items()):
        top = TOP + layout.line * place
        head = NAME if layout.names_above else 0.0
        room = layout.line - head - BETWEEN
        y = top + head + 0.5 * (layout.line - head)
        marks += f'<path class="grid" d="M{left} {y:g}H{width - RIGHT}"/>'
        marks += (
            f'<text class="name" x="{left}" y="{top + 13:g}">{safe(name)}</text>'
            if layout.names_above
            else f'<text x="{left - 10}" y="{y:g}" dy=".35em" text-anchor="end">{safe(name)}</text>'
        )
        for number, (look, column) in enumerate(zip(LOOKS, columns, strict=False)):
            if column in found:
                shift = room * ((number + 0.5) / len(columns) - 0.5)
                tooltip = f"{column} on {name}: {spoken(found[column])}"
                marks += marker(look, x(found[column]), f"{y + shift:.1f}", 4.0, tooltip)
    title, slug = "Seconds of processor time, log scale", f"{slug}-{layout.name}"
    return (
        f'<svg class="chart" viewBox="0 0 {width:g} {height:g}" role="img" aria-labelledby="{slug}-title {slug}-about">'
        f'<title id="{slug}-title">{title}</title><desc id="{slug}-about">One line a data set.</desc>{marks}'
        f'<text class="name" x="{(left + width) / 2:g}" y="{height - 6:g}" text-anchor="middle">{title}</text></svg>'
    )


def _slug(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter == "-" else "-" for letter in text)
