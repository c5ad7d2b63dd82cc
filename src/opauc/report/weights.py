"""The table of the largest weights, in an order that does not depend on the units of the features."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from opauc.report.charts import weight_bar
from opauc.report.text import MINUS, aligned, safe

MOST_WEIGHTS = 20


class WeightRow(NamedTuple):
    """A feature by its name, its weight, and its effect: weight times standard deviation, None where unknown."""

    name: str
    weight: float
    effect: float | None = None

    @property
    def size(self) -> float:
        """What the rows are ordered by: the effect where there is one, else the weight."""
        return self.weight if self.effect is None else self.effect


def largest(rows: Iterable[WeightRow]) -> list[WeightRow]:
    """Return the rows that are shown, the largest first; what is no number goes last and leaves the others in order.

    Examples
    --------
    >>> from opauc.report.weights import WeightRow, largest
    >>> [row.name for row in largest([WeightRow("metres", 5.0, 0.1), WeightRow("years", -0.2, -3.0)])]
    ['years', 'metres']
    """
    return sorted(rows, key=lambda row: (math.isnan(row.size), -abs(row.size)))[:MOST_WEIGHTS]


def weight_table(rows: Sequence[WeightRow]) -> str:
    """Return the table of rows that are in order: feature, effect where there is one, weight, and a bar."""
    effects = all(row.effect is not None for row in rows)
    sizes, weights = [row.size for row in rows], [row.weight for row in rows]
    reach = _largest(sizes)
    columns = {"Effect" if effects else "Weight": aligned(sizes, reach, 4)}
    if effects:  # weights of features in different units have no scale in common
        columns["Weight"] = [f"{weight:.4g}".replace("-", MINUS) for weight in weights]
    numbers = zip(*columns.values(), strict=True)
    body = "".join(
        f'<tr><th scope="row"><bdi>{safe(row.name)}</bdi></th>'
        + "".join(f'<td class="number">{number}</td>' for number in line)
        + f"<td>{weight_bar(row.size, reach)}</td></tr>"
        for row, line in zip(rows, numbers, strict=True)
    )
    heads = "".join(f'<th scope="col" class="number">{name}</th>' for name in columns)
    head = f'<tr><th scope="col">Feature</th>{heads}<td></td></tr>'
    return f'<table class="weights"><thead>{head}</thead><tbody>{body}</tbody></table>'


def _largest(values: Iterable[float]) -> float:
    return max((abs(value) for value in values if np.isfinite(value)), default=0.0)
