"""What an additive model has learned, as a person can read it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from opauc.additive.basis.column_names import CATEGORICAL_SUFFIX, TREES_SUFFIX
from opauc.additive.drift import find_drift
from opauc.additive.explain import TermColumns, Terms, code_row_shares, row_shares
from opauc.additive.selection import ADDITIVE, CERTAIN_PAIRS, FULL, LINEAR, SAMPLE, ModelSelection
from opauc.additive.state import AdditiveFit
from opauc.core.model import Model
from opauc.data.encode.number_reading import OrdinalReading
from opauc.report import CandidateRow, Contribution, ExplainedRow, ShownTerm, TermsSection
from opauc.report.text import share
from opauc.types import Floats, Json

MOST_EFFECTS = 20
# Whole numbers below this are shown in full: they may be codes.
LARGEST_IN_FULL = 1e12
# The rungs of the guard in words; one without words goes by its name.
RUNGS = {
    LINEAR: "straight lines and levels",
    ADDITIVE: "curves and levels, no pairs",
    CERTAIN_PAIRS: "only pairs that are certain",
    "pairs": "curves, levels and pairs",
    FULL: "everything",
}


def input_names(model: Model) -> tuple[str, ...]:
    """Return the names of the numbers that a row becomes."""
    reading = model.reading
    if isinstance(reading, OrdinalReading) and reading.columns is not None:
        return reading.columns.inputs
    return model.feature_names or tuple(f"x{j}" for j in range(model.n_features))


def terms_of(model: Model) -> Terms:
    """Return the terms of an additive model by the names that its table had, or numbers."""
    assert isinstance(model.fit, AdditiveFit), "asked for by its family"
    names, reading = input_names(model), model.reading
    columns = reading.columns if isinstance(reading, OrdinalReading) else None
    return Terms(model.fit, names, [{}] * len(names) if columns is None else columns.category_names())


def terms_section(effects: Terms, explained: Sequence[ExplainedRow] = ()) -> TermsSection:
    """Return all that a page shows of an additive model."""
    shown, selection = shown_terms(effects), effects.solution.final.selection
    return TermsSection(
        terms=shown,
        n_terms=len(shown),
        explained_rows=explained,
        selection=guard_in_words(selection),
        candidates=[
            CandidateRow(RUNGS.get(name, name), auc, name == selection.model) for name, auc in selection.aucs.items()
        ],
        drift=[(shift.name, shift.index) for shift in find_drift(effects.solution, effects.inputs)],
        drift_checked=bool(selection.aucs),
    )


def shown_terms(effects: Terms) -> list[ShownTerm]:
    """Return every effect with the share of the rows along it, the most important first."""
    rows = {term.name: _rows_along(effects, term) for term in effects.term_columns}
    return [
        ShownTerm(term.name, term.inputs, term.at, term.value, term.error, term.importance, rows[term.name])
        for term in effects.list_terms()
    ]


def _rows_along(effects: Terms, term: TermColumns) -> Floats | None:
    """Return the share of the rows at each value along an effect of one input."""
    model = effects.solution.current.model
    if term.is_code:
        return code_row_shares(model.bin_counts, model.random_effects.counts[term.levels])
    one = len(term.grid_inputs) == 1
    return (
        row_shares(effects.basis, model.bin_counts, model.random_effects.counts, term.grid_inputs[0]) if one else None
    )


def guard_in_words(selection: ModelSelection) -> str:
    """Return which model the guard took, and why."""
    later = sum(selection.rows)
    if selection.model == SAMPLE:
        return "The fit to the first rows: the classes came in far other shares after them"
    if not selection.aucs:
        return "Everything: no rows came after the first ones on which simpler models could be compared"
    compared = f"on the {later:,.0f} rows after the first ones, each scored before it was learned"
    if selection.model == FULL:
        return f"Everything: nothing simpler ranked better, beyond chance, {compared}"
    return f"{RUNGS.get(selection.model, selection.model).capitalize()}: ranked better than everything does {compared}"


def effects_in_words(shown: Sequence[ShownTerm]) -> dict[str, str]:
    """Return a line an effect of those worth showing: what it is, its importance, the range of its values."""
    return {effect.name: _in_words(effect) for effect in shown[:MOST_EFFECTS]}


def effects_as_json(effects: Terms) -> Json:
    """Return the effects, the guard and the shifts as a JSON line has them."""
    rung, aucs, _ = effects.solution.final.selection
    return {
        "effects": [
            {"name": effect.name, "kind": effect.kind, "importance": effect.importance, "range": effect.range()}
            for effect in shown_terms(effects)
        ],
        "guard": {"taken": rung, "aucs": aucs},
        "shifted": {shift.name: shift.index for shift in find_drift(effects.solution, effects.inputs)},
    }


def explained_row(effects: Terms, row: Floats, title: str, note: str) -> ExplainedRow:
    """Return the score of one row of numbers as a sum, with what the row had beside the name of each part."""
    found = effects.explain(row[None])
    values = [shown_value(number, words) for number, words in zip(row.tolist(), effects.categories, strict=True)]
    parts = [
        Contribution(effects.inputs[term.inputs[0]], values[term.inputs[0]], value, _way(term))
        if len(term.inputs) == 1
        else Contribution(term.name, "", value)
        for term, value in zip(effects.term_columns, found.contributions[0].tolist(), strict=True)
    ]
    chance = 1.0 / (1.0 + np.exp(-found.scores()[0]))
    return ExplainedRow(title, f"{note}; probability {share(float(chance))}", found.baseline, parts)


def _way(term: TermColumns) -> str:
    """Return in which of its ways an input acts, where it is not by its curve or levels."""
    return CATEGORICAL_SUFFIX if term.is_code else "" if term.grid_inputs else TREES_SUFFIX


def shown_value(number: float, words: Mapping[int, str]) -> str:
    """Return what a number of a row stands for.

    Examples
    --------
    >>> from opauc.api.describe_terms import shown_value
    >>> shown_value(1.0, {1: "red"}), shown_value(7.0, {1: "red"}), shown_value(float("nan"), {})
    ('red', '(others)', 'missing')
    >>> shown_value(2.54321, {}), shown_value(123456.0, {})
    ('2.543', '123456')
    """
    if math.isnan(number):
        return "missing"
    if words:
        return words.get(int(number), "(others)")
    return f"{number:.0f}" if number.is_integer() and abs(number) < LARGEST_IN_FULL else f"{number:.4g}"


def _in_words(effect: ShownTerm) -> str:
    reach = effect.range()
    ends = "" if reach is None else f"   {reach[0]:+.3f} to {reach[1]:+.3f}"
    return f"{effect.kind:<12} {effect.importance:.3f}{ends}"
