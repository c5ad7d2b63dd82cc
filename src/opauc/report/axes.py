"""Axes of a chart: where a value lies on them, and which values are written beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from opauc.report.text import MINUS
from opauc.rows import Floats

ROUND_STEPS = (1.0, 2.0, 5.0, 10.0)
UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of finite values, linear or logarithmic, with its ticks and their labels."""

    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    logarithmic: bool = False

    @classmethod
    def linear(cls, low: float, high: float, n_ticks: int = 5) -> Axis:
        """From `low` to `high`, with about `n_ticks` round numbers.

        Examples
        --------
        >>> from opauc.report.axes import Axis
        >>> Axis.linear(0, 1).labels
        ('0', '0.2', '0.4', '0.6', '0.8', '1')
        >>> Axis.linear(-3.1, 4.2).labels
        ('−2', '0', '2', '4')
        """
        rough = (high - low) / n_ticks
        unit = 10.0 ** np.floor(np.log10(rough))
        step = unit * min(ROUND_STEPS, key=lambda round_step: abs(np.log(round_step * unit / rough)))
        first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
        ticks = tuple(float(step * at) for at in np.arange(first, last + 1))
        return cls(low, high, ticks, tuple(_label(tick, step) for tick in ticks))

    @classmethod
    def fitting(cls, low: float, high: float, room: int = 32) -> Axis:
        """A linear axis with fewer ticks where five labels would have more than `room` characters in all."""
        for n_ticks in (5, 4, 3, 2):
            axis = cls.linear(low, high, n_ticks)
            if sum(map(len, axis.labels)) <= room:
                break
        return axis

    @classmethod
    def powers(cls, low: float, high: float) -> Axis:
        """A logarithmic axis with ticks at powers of ten and, where those are few, between them.

        Examples
        --------
        >>> from opauc.report.axes import Axis
        >>> Axis.powers(128, 48_842).labels
        ('300', '1k', '3k', '10k', '30k')
        >>> Axis.powers(0.00002, 0.05).labels
        ('1e−4', '0.001', '0.01')
        """
        exponents = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
        for multiples in ((1,), (1, 3), (1, 2, 5)):
            ticks = tuple(m * 10.0**power for power in exponents for m in multiples if low <= m * 10.0**power <= high)
            if len(ticks) >= 3:
                break
        ticks = ticks[:: -(-len(ticks) // 6)]
        return cls(low, high, ticks, tuple(_with_unit(tick) for tick in ticks), True)

    def whole(self) -> Axis:
        """Return the axis with ticks at whole numbers only, as it is where fewer than two would be left.

        Examples
        --------
        >>> from opauc.report.axes import Axis
        >>> Axis.linear(1, 3, 4).labels, Axis.linear(1, 3, 4).whole().labels
        (('1', '1.5', '2', '2.5', '3'), ('1', '2', '3'))
        """
        kept = [(tick, label) for tick, label in zip(self.ticks, self.labels, strict=True) if tick == round(tick)]
        if len(kept) < 2:
            return self
        ticks, labels = zip(*kept, strict=True)
        return Axis(self.low, self.high, ticks, labels, self.logarithmic)

    def at(self, values: ArrayLike) -> Floats:
        """Where values lie, 0 at the low end and 1 at the high end; what is beyond an end is put on it."""
        value = np.clip(np.asarray(values, np.float64), self.low, self.high)
        if self.logarithmic:
            reached: Floats = np.log(value / self.low) / np.log(self.high / self.low)
            return reached
        return (value - self.low) / (self.high - self.low)


def _label(tick: float, step: float) -> str:
    """Return a tick with as many decimals as its step needs, or a power of ten where those would be many."""
    power = _power(step)
    if tick != 0 and (abs(tick) >= 1e5 or power < -3):
        return _with_power(tick, max(_power(tick) - power, 0))
    text = f"{tick:.{max(0, -power)}f}" if tick != round(tick) else f"{tick + 0.0:.0f}"
    return text.replace("-", MINUS)


def _power(value: float) -> int:
    return int(f"{value:.6e}".split("e")[1])


def _with_power(tick: float, decimals: int) -> str:
    leading, power = f"{tick:.{decimals}e}".split("e")
    return f"{leading}e{int(power)}".replace("-", MINUS)


def _with_unit(tick: float) -> str:
    if tick < 1e-3 or tick >= 1e12:
        return _with_power(tick, 0)
    for size, unit in UNITS:
        if tick >= size:
            return f"{tick / size:g}{unit}"
    return f"{tick:g}"
