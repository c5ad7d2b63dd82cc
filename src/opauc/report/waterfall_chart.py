"""A row's score as a sum of named effects, each bar beginning where the last one ended."""

from __future__ import annotations

import numpy as np

from opauc.report.svg import Axis, BarFrame, short
from opauc.report.term_charts import effect_range
from opauc.report.terms import ExplainedPart, ExplainedRow
from opauc.report.text import aligned, plain, signed

MOST_PARTS, NAME_LETTERS, VALUE_LETTERS, TICKS_ROOM = 9, 22, 7, 14
EQUALS = " = "
# Ways in which a feature acts, for a label.
SHORT_WAYS = {" (categorical)": " (cat.)"}


def waterfall_chart(slug: str, row: ExplainedRow) -> str:
    """From the baseline by the largest parts, and the sum of the rest, to the score."""
    parts = shown_parts(row)
    ends = np.cumsum([row.baseline, *(part.value for part in parts)])
    axis = Axis.fitting(*effect_range(ends, np.zeros_like(ends)), room=TICKS_ROOM)
    frame = BarFrame(axis, "Log-odds", len(parts) + 2, NAME_LETTERS)
    lines = [ExplainedPart("baseline", "", row.baseline), *parts, ExplainedPart("score", "", row.score())]
    figures = aligned([part.value for part in lines], min(1.0, max(abs(part.value) for part in lines)), 3)
    marks = ""
    for line, (part, start, figure) in enumerate(zip(lines, [0.0, *ends[:-1], 0.0], figures, strict=True)):
        marks += frame.bar(line, start, start + part.value, f"{part}: {signed(part.value)}")
        look = "name" if 0 < line <= len(parts) else "name sum"
        marks += frame.words(line, part_label(part), f"+{figure}" if part.value > 0.0 else figure, look)
    about = (
        f"From the baseline, {signed(row.baseline)}, to the score, {signed(row.score())}, by {len(row.parts)} effects."
    )
    return frame.chart(slug, row.title, about, marks)


def part_label(part: ExplainedPart) -> str:
    """Return the name of a part and the value there, shortened so that there is room for some of both.

    Examples
    --------
    >>> from opauc.report.terms import ExplainedPart
    >>> from opauc.report.waterfall_chart import part_label
    >>> part_label(ExplainedPart("native-country", "Dominican-Republic", 0.1))
    'native-coun… = Domini…'
    >>> part_label(ExplainedPart("native-country", "Dominican-Republic", 0.1, " (trees)"))
    'native-country (trees)'
    >>> part_label(ExplainedPart("shop", "1207", 0.1, " (categorical)"))
    'shop = 1207 (cat.)'
    """
    if part.way:
        way = SHORT_WAYS.get(part.way, part.way)
        room, whole = NAME_LETTERS - len(way), f"{part.name}{EQUALS}{part.had}"
        return (whole if len(whole) <= room else short(part.name, room)) + way
    if not part.had:
        return part.name
    had = short(part.had, max(VALUE_LETTERS, NAME_LETTERS - len(EQUALS) - len(part.name)))
    return short(part.name, NAME_LETTERS - len(EQUALS) - len(had)) + EQUALS + had


def shown_parts(row: ExplainedRow) -> list[ExplainedPart]:
    """Return the largest parts, the largest first, and the sum of the others under one name.

    Examples
    --------
    >>> from opauc.report.terms import ExplainedPart, ExplainedRow
    >>> from opauc.report.waterfall_chart import shown_parts
    >>> parts = [ExplainedPart(f"x{j}", "", 1.0) for j in range(12)]
    >>> shown_parts(ExplainedRow("row 1", "", 0.0, parts))[-1]
    ExplainedPart(name='3 other effects', had='', value=3.0, way='')
    """
    order = sorted(row.parts, key=lambda part: -abs(part.value))
    if len(order) <= MOST_PARTS + 1:
        return order
    rest = float(np.sum([part.value for part in order[MOST_PARTS:]]))
    return [*order[:MOST_PARTS], ExplainedPart(f"{plain(len(order) - MOST_PARTS)} other effects", "", rest)]
