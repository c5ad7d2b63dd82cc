"""The paper's figures from the store, as inline SVG in the look of the report page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from experiments.paper.claims.influence import STUDY, best_by
from experiments.paper.data_set import BENCHMARK, HIGH_DIMENSION
from experiments.paper.evidence import Evidence
from experiments.paper.plan import WANTED
from opauc.report.svg import Axis, Frame
from opauc.report.text import safe
from opauc.report.text import seconds as spoken
from opauc.types import Floats

ONLINE = ("online Uni-Squ", "online Uni-Exp", "OAM_gra", "OAM_seq")
PROJECTED = ("OPAUC_f", "OPAUC_rp", "OPAUC_pca")
# The place of a column in this list is its look: color and shape.
LOOKS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
MOST_CHARTS = 4
LEFT, WIDTH, LINE, TOP, BOTTOM = 176, 720, 26, 10, 44


class Figure(NamedTuple):
    """A titled drawing with a note beneath the title and, where there are several things to tell apart, a key."""

    title: str
    note: str
    drawing: str
    key: Sequence[str] = ()
    wide: bool = False


def all_figures(evidence: Evidence) -> Iterator[Figure]:
    """Every figure that the store has points for."""
    yield from running_time(evidence, BENCHMARK, ("OPAUC", *ONLINE), "Figure 1")
    yield from running_time(evidence, HIGH_DIMENSION, ("OPAUCr", *ONLINE, *PROJECTED), "Figure 2")
    yield from influences(evidence)
    yield from ranks(evidence)
    yield from convergences(evidence)


def running_time(evidence: Evidence, suite: str, columns: Sequence[str], number: str) -> Iterator[Figure]:
    """Processor time of learning once, a line a set, on a log scale."""
    found = {name: _times(evidence, name, columns) for name in evidence.names(columns[0], suite=suite)}
    times = {name: some for name, some in found.items() if len(some) > 1}
    if times:
        drawing = _dots(times, columns, f"time-{number[-1]}")
        note = "Mean processor time of learning from four fifths of the rows, one core"
        yield Figure(f"{number}: running time, {suite} sets", note, drawing, columns, wide=True)


def influences(evidence: Evidence) -> Iterator[Figure]:
    """AUC against step size, and against penalty, the other at its best."""
    found = {name: evidence.points(name, STUDY) for name in (*WANTED, *evidence.sets)}
    chosen = [(name, points) for name, points in found.items() if points is not None][:MOST_CHARTS]
    for number, axis, what in ((3, 0, "step size η"), (4, 1, "penalty λ")):
        for name, points in chosen:
            values, aucs = best_by(points, axis)
            note = (
                f"Best AUC over the other parameter; {what} from 2^{np.log2(values[0]):g} to 2^{np.log2(values[-1]):g}"
            )
            drawing = _lines({"OPAUC": (values, aucs)}, what.capitalize(), f"influence-{number}-{name}")
            yield Figure(f"Figure {number}: {what}, {name}", note, drawing)


def ranks(evidence: Evidence) -> Iterator[Figure]:
    """AUC against the rank of the sketch."""
    for name in evidence.names("OPAUCr", suite=HIGH_DIMENSION):
        points = evidence.points(name, "OPAUCr")
        if points is not None:
            drawing = _lines({"OPAUCr": (points[:, 0], points[:, 1])}, "Rank τ", f"rank-{name}")
            yield Figure(f"Figure 5: rank τ, {name}", "Step size and penalty as chosen for rank 50", drawing)


def convergences(evidence: Evidence) -> Iterator[Figure]:
    """AUC on held-out rows along the pass."""
    columns, shown = ("OPAUC", "OAM_seq", "OAM_gra"), 0
    for name in sorted(evidence.names(*columns, suite=BENCHMARK), key=lambda name: -evidence.sets[name].shape.n_rows):
        curves = {column: evidence.points(name, column) for column in columns}
        if shown < MOST_CHARTS and all(curve is not None for curve in curves.values()):
            shown += 1
            series = {column: (curve[:, 0], curve[:, 1]) for column, curve in curves.items() if curve is not None}
            drawing = _lines(series, "Rows learned", f"convergence-{name}")
            yield Figure(f"Figure 6: convergence, {name}", "AUC of held-out rows", drawing, columns)


def _times(evidence: Evidence, name: str, columns: Sequence[str]) -> dict[str, float]:
    found = {column: evidence.seconds(name, column) for column in columns}
    return {column: value for column, value in found.items() if np.isfinite(value) and value > 0.0}


def _lines(series: Mapping[str, tuple[Floats, Floats]], x_name: str, slug: str) -> str:
    """Lines through points, places on a log scale."""
    places = np.concatenate([x for x, _ in series.values()])
    aucs = np.concatenate([y for _, y in series.values()])
    room = max(0.08 * float(np.ptp(aucs)), 0.002)
    up = Axis.linear(max(0.0, float(aucs.min()) - room), min(1.0, float(aucs.max()) + room))
    frame = Frame(Axis.powers(float(places.min()), float(places.max())), up, x_name, "AUC")
    marks = ""
    for look, (name, (x, y)) in zip(LOOKS, series.items(), strict=False):
        marks += f'<path class="series {look}" d="{frame.path(x, y)}"/>'
        marks += "".join(
            f'<circle class="point {look}" cx="{frame.x(a)}" cy="{frame.y(b)}" r="2.5">'
            f"<title>{safe(name)}: {b:.4f} at {a:g}</title></circle>"
            for a, b in zip(x.tolist(), y.tolist(), strict=True)
        )
    best = {name: float(y.max()) for name, (_, y) in series.items()}
    told = ", ".join(f"{name} at most {auc:.4f}" for name, auc in best.items())
    return frame.chart(_slug(slug), x_name, told, marks)


def _dots(times: Mapping[str, Mapping[str, float]], columns: Sequence[str], slug: str) -> str:
    """One line a set, one dot a column, time to the right on a log scale."""
    values = [value for found in times.values() for value in found.values()]
    axis = Axis.powers(0.8 * min(values), 1.25 * max(values))
    height = TOP + LINE * len(times) + BOTTOM

    def x(value: float) -> str:
        return f"{LEFT + (WIDTH - LEFT - 16) * float(axis.at(value)):.1f}"

    foot = height - BOTTOM
    marks = "".join(
        f'<path class="grid" d="M{x(tick)} {TOP}V{foot}"/>'
        f'<text x="{x(tick)}" y="{foot + 18}" text-anchor="middle">{label}</text>'
        for tick, label in zip(axis.ticks, axis.labels, strict=True)
    )
    for place, (name, found) in enumerate(times.items()):
        y = TOP + LINE * (place + 0.5)
        marks += f'<path class="grid" d="M{LEFT} {y}H{WIDTH - 16}"/>'
        marks += f'<text x="{LEFT - 10}" y="{y}" dy=".35em" text-anchor="end">{safe(name)}</text>'
        marks += "".join(
            f'<circle class="point {look}" cx="{x(found[column])}" cy="{y}" r="5">'
            f"<title>{safe(column)} on {safe(name)}: {spoken(found[column])}</title></circle>"
            for look, column in zip(LOOKS, columns, strict=False) if column in found
        )  # fmt: skip
    title = "Seconds of processor time, log scale"
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{slug}-title {slug}-about">'
        f'<title id="{slug}-title">{title}</title><desc id="{slug}-about">One line a data set.</desc>{marks}'
        f'<text class="name" x="{(LEFT + WIDTH) / 2}" y="{height - 6}" text-anchor="middle">{title}</text></svg>'
    )


def _slug(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter == "-" else "-" for letter in text)
