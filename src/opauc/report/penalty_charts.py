"""The charts of a penalty chosen by cross-validation: what each one scored, and the weights it leads to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opauc.report.svg import TOP, Axis, Frame
from opauc.report.text import plain, safe
from opauc.types import Floats

NAMES = {"pair_loss": "Pair loss of folds held out", "auc": "AUC of folds held out"}
# Zero weights have a pair loss of one half: what is above is worse than nothing, and by how much is of no interest.
WORST_LOSS = 0.55
# Heights of a line of text, and of room at the ends of an axis.
LINE, ROOM = 17.0, 0.06
# Ticks closer than a thousandth would need more digits than there is room for.
LEAST_ROOM = 0.002
# The axis of penalties begins so much earlier, as a share of its length, that the numbers of the lines have room.
NUMBERS = 0.1
# Length of the line from a number to what it names.
LEADER = 14.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PenaltyChoice:
    """What a choice among penalties came to.

    `means` and `errors` are the mean and its standard error, over the folds, of
    the `criterion` ("pair_loss" or "auc") of each penalty; `chosen` and
    `careful` are the numbers of the one taken and of the largest within one
    standard error of the best. `effects` has a row for each penalty and a column for
    each of the features named: weight times standard deviation. Both may be
    empty, where no fold could be judged or no feature is worth showing.
    """

    alphas: Floats
    criterion: str
    means: Floats
    errors: Floats
    chosen: int
    careful: int
    n_folds: int
    names: Sequence[str]
    effects: Floats

    @property
    def can_be_drawn(self) -> bool:
        """Whether there are two penalties or more to put on an axis."""
        return np.unique(self.alphas).size > 1

    @property
    def places(self) -> Floats:
        """Where each penalty stands on a logarithmic axis: zero a little before the others."""
        return np.where(self.alphas > 0.0, self.alphas, self.alphas[self.alphas > 0.0].min(initial=np.inf) / 10.0)


def criterion_chart(found: PenaltyChoice) -> str:
    """The criterion of each penalty, mean and standard error over the folds, and the penalties to take."""
    order = np.argsort(found.places)
    at, means, errors = found.places[order], found.means[order], found.errors[order]
    low, high = means - errors, means + errors
    if found.criterion == "pair_loss":
        high = np.minimum(high, max(WORST_LOSS, 1.1 * float(found.means[found.chosen])))
    room = max(ROOM * float(high.max() - low.min()), LEAST_ROOM)
    up = Axis.linear(float(low.min()) - room, float(high.max()) + room)
    frame = Frame(Axis.powers(float(at[0]), float(at[-1])), up, "Penalty alpha", NAMES[found.criterion])
    band = frame.path(np.concatenate([at, at[::-1]]), np.concatenate([high, low[::-1]]))
    marks = f'<path class="area" d="{band}Z"/><path class="curve" d="{frame.path(at, means)}"/>'
    marks += "".join(
        frame.dot(where, mean, f"alpha {plain(float(alpha))}: {plain(float(mean))} ± {plain(float(error))}")
        for alpha, where, mean, error in zip(found.alphas[order], at, means, errors, strict=True)
    )
    marks += _marked(frame, found, found.chosen, "chosen")
    if found.careful != found.chosen:
        marks += _marked(frame, found, found.careful, "careful")
    chosen = _short(found, found.chosen)
    description = f"Mean of {found.n_folds} folds, band of one standard error; the penalty chosen is {chosen}."
    return frame.chart("criterion", "Criterion by penalty", description, marks)


def criterion_key(found: PenaltyChoice) -> str:
    """Return what the filled dots of the chart of the criterion are."""
    marks = {"chosen": ("chosen", found.chosen)}
    if found.careful != found.chosen:
        marks["careful"] = ("largest within one standard error", found.careful)
    parts = (f'<span class="{look}">{word}: {_short(found, at)}</span>' for look, (word, at) in marks.items())
    return f'<span class="key dots">{"".join(parts)}</span>'


def path_chart(found: PenaltyChoice) -> str:
    """The effects of the largest features by penalty, one numbered line a feature, and the penalty chosen."""
    order = np.argsort(found.places)
    at, effects = found.places[order], found.effects[order]
    across = Axis.powers(float(at[0] * (at[0] / at[-1]) ** NUMBERS), float(at[-1]))
    low, high = min(0.0, float(effects.min())), max(0.0, float(effects.max()))
    room = ROOM * (high - low or 1.0)
    frame = Frame(across, Axis.linear(low - room, high + room), "Penalty alpha", "Effect")
    chosen = found.places[found.chosen]
    marks = f'<path class="guide" d="{frame.path([chosen, chosen], [frame.up.low, frame.up.high])}"/>'
    marks += f'<path class="axis" d="{frame.path([across.low, across.high], [0.0, 0.0])}"/>'
    lines = zip(found.names, effects.T, effects[order.tolist().index(found.chosen)], strict=True)
    for name, line, now in lines:
        look = "rise" if now > 0.0 else "fall"
        marks += f'<path class="{look}" d="{frame.path(at, line)}"><title>{safe(name)}</title></path>'
    tops = _apart([float(frame.y(value)) for value in effects[0]], LINE, TOP + LINE / 2, float(frame.y(frame.up.low)))
    first = float(frame.x(at[0]))
    for number, (top, value) in enumerate(zip(tops, effects[0], strict=True), start=1):
        marks += f'<path class="leader" d="M{first - LEADER:.2f} {top:.2f}L{first:.2f} {frame.y(value)}"/>'
        marks += f'<text x="{first - LEADER - 3:.2f}" y="{top:.2f}" dy=".35em" text-anchor="end">{number}</text>'
    description = f"The {len(found.names)} largest effects by penalty; dashes: the one chosen."
    return frame.chart("path", "Terms by penalty", description, marks)


def path_names(found: PenaltyChoice) -> str:
    """Return the names of the features whose lines are numbered, as a list."""
    now = found.effects[found.chosen]
    items = "".join(
        f'<li class="{"rise" if effect > 0.0 else "fall"}"><bdi>{safe(name)}</bdi></li>'
        for name, effect in zip(found.names, now, strict=True)
    )
    return f'<ol class="names">{items}</ol>'


def _short(found: PenaltyChoice, number: int) -> str:
    return plain(float(f"{found.alphas[number]:.3g}"))


def _marked(frame: Frame, found: PenaltyChoice, number: int, look: str) -> str:
    """Return an upright line at a penalty, and its dot filled."""
    at, mean = float(found.places[number]), float(found.means[number])
    return (
        f'<path class="guide" d="{frame.path([at, at], [frame.up.low, frame.up.high])}"/>'
        f'<circle class="{look}" cx="{frame.x(at)}" cy="{frame.y(mean)}" r="5"/>'
    )


def _apart(wanted: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """Return the places nearest to the wanted ones that are so far apart, none beyond the ends if there is room.

    Less k distances, the k-th place must not fall: neighbors that would are put at their mean.

    >>> from opauc.report.penalty_charts import _apart
    >>> _apart([10.0, 11.0, 50.0], 5.0, 0.0, 100.0)
    [8.0, 13.0, 50.0]
    """
    order = np.argsort(wanted, kind="stable")
    steps = distance * np.arange(order.size)
    runs: list[list[float]] = []
    for value in np.array(wanted, float)[order] - steps:
        runs.append([float(value)])
        while len(runs) > 1 and np.mean(runs[-2]) > np.mean(runs[-1]):
            runs[-2:] = [runs[-2] + runs[-1]]
    level = np.concatenate([np.full(len(run), np.mean(run)) for run in runs])
    out = np.empty(order.size)
    out[order] = np.clip(level, low, max(low, high - steps[-1])) + steps
    return [float(place) for place in out]
