"""The figures of the page on theory, as SVG files that stand alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from experiments.paper.marks import LOOKS, Panel, line, marker, sheet
from experiments.paper.theory.low_rank import LowRank
from experiments.paper.theory.regret import CORRECTED, PRINTED, REMARK, Regret
from opauc.report.svg import Axis, Frame
from opauc.types import Floats

SERIES = (PRINTED, CORRECTED, "bound of Theorem 2", REMARK)
KEY = ("printed step", "corrected step", "bound of Theorem 2", "the Remark's steps 1/(λt)")
LOW_RANK_KEY = ("|sketched losses − losses of the best weights|", "regret in the true losses", "printed bound")
Points = tuple[Floats, Floats]


def regret_figure(regrets: Mapping[str, Sequence[Regret]], alpha: float) -> str:
    """Regret against rows for one penalty, a panel a set."""
    panels = []
    for name, found in regrets.items():
        series: dict[str, Points] = {}
        for steps in (PRINTED, CORRECTED, REMARK):
            some = [one for one in found if (one.alpha, one.steps) == (alpha, steps)]
            series[steps] = np.array([one.end for one in some]), np.array([one.regret for one in some])
            if steps == CORRECTED:
                series[SERIES[2]] = series[steps][0], np.array([one.bound for one in some])
        panels.append(Panel(name, _chart({key: series[key] for key in SERIES}, "Rows", "Regret", f"regret-{name}")))
    return sheet(panels, KEY, n_columns=2)


def low_rank_figure(found: Mapping[str, Sequence[LowRank]]) -> str:
    """Losses of OPAUCr against the rank of the sketch, a panel a set."""
    panels = []
    for name, some in found.items():
        ranks = np.array([float(one.rank) for one in some])
        promised = [(one.rank, one.printed_bound) for one in some if one.printed_bound is not None]
        series: dict[str, Points] = {
            "distance": (ranks, np.array([one.distance for one in some])),
            "regret": (ranks, np.array([one.regret for one in some])),
        }
        if promised:
            series["bound"] = tuple(map(np.array, zip(*promised, strict=True)))  # type: ignore[assignment]
        panels.append(Panel(name, _chart(series, "Rank τ of the sketch", "Sum of losses", f"rank-{name}")))
    return sheet(panels, LOW_RANK_KEY, n_columns=2)


def _chart(series: Mapping[str, Points], x_name: str, y_name: str, slug: str) -> str:
    """Lines on two log scales; what is not above zero is left out."""
    kept = {name: (x[y > 0], y[y > 0]) for name, (x, y) in series.items()}
    places, values = (np.concatenate([points[axis] for points in kept.values()]) for axis in (0, 1))
    frame = Frame(
        Axis.powers(float(places.min()), float(places.max())),
        Axis.powers(0.8 * float(values.min()), 1.25 * float(values.max())),
        x_name,
        y_name,
    )
    marks = ""
    for look, (name, (x, y)) in zip(LOOKS, kept.items(), strict=False):
        if not x.size:
            continue
        marks += line(look, frame.path(x, y))
        marks += "".join(
            marker(look, frame.x(a), frame.y(b), 3.5, f"{name}: {b:.4g} at {a:g}")
            for a, b in zip(x.tolist(), y.tolist(), strict=True)
        )
    return frame.chart(slug, f"{y_name} against {x_name}", ", ".join(kept), marks)
