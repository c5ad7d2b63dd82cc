"""The effects of the levels of a feature as bars with their errors."""

from __future__ import annotations

import numpy as np

from opauc.report.additive import ShownEffect
from opauc.report.axes import Axis
from opauc.report.bar_frame import BarFrame
from opauc.report.effect_range import EFFECT, effect_range
from opauc.report.text import percent, plain, signed

MOST_LEVELS, NAME_LETTERS, TICKS_ROOM = 10, 15, 18


def level_chart(slug: str, effect: ShownEffect) -> str:
    """The effect of each of the levels that most rows have, two standard errors about it, and the share of the rows."""
    shown = shown_levels(effect)
    value, spread = effect.value[shown], 2.0 * effect.error[shown]
    frame = BarFrame(Axis.fitting(*effect_range(value, spread), room=TICKS_ROOM), EFFECT, len(shown), NAME_LETTERS)
    marks = ""
    for line, at in enumerate(shown):
        name, rows = level_name(effect, at), "" if effect.rows is None else rounded_percent(float(effect.rows[at]))
        says = f"{name}: {signed(value[line])} ± {spread[line]:.2g}"
        marks += frame.bar(line, 0.0, float(value[line]), says)
        marks += frame.reach(line, value[line] - spread[line], value[line] + spread[line])
        marks += frame.words(line, name, rows)
    about = (
        f"From {signed(effect.value.min())} to {signed(effect.value.max())} log-odds; lines are ± 2 standard errors."
    )
    return frame.chart(slug, f"Effect of {effect.name}", about, marks)


def shown_levels(effect: ShownEffect) -> list[int]:
    """Return the levels that are drawn: those of most rows, numbers in their order, names by their effect.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.report.additive import ShownEffect
    >>> from opauc.report.level_chart import shown_levels
    >>> port = ShownEffect("port", ("port",), (("S", "C", "Q"),), np.array([0.1, -0.5, 0.4]), np.zeros(3), 0.1)
    >>> shown_levels(port)
    [2, 0, 1]
    """
    weight = np.abs(effect.value) if effect.rows is None else effect.rows
    most = np.sort(np.argsort(-weight, kind="stable")[: min(MOST_LEVELS, n_levels(effect))])
    order: list[int] = (most if effect.n_numbers else most[np.argsort(-effect.value[most], kind="stable")]).tolist()
    return order


def n_levels(effect: ShownEffect) -> int:
    """Return how many levels there are that any rows have; all where that is not known."""
    seen = 0 if effect.rows is None else int(np.count_nonzero(effect.rows > 0.0))
    return seen or effect.value.size


def level_name(effect: ShownEffect, at: int) -> str:
    """Return what a level is called."""
    name = effect.at[0][at]
    return name if isinstance(name, str) else plain(float(name))


def rounded_percent(value: float) -> str:
    """Return a share as whole per cent, or that it is less than one.

    Examples
    --------
    >>> from opauc.report.level_chart import rounded_percent
    >>> rounded_percent(0.213), rounded_percent(0.004), rounded_percent(0.0)
    ('21 %', '< 1 %', '0 %')
    """
    return "< 1 %" if 0.0 < value < 0.01 else percent(round(value, 2))
