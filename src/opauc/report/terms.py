"""What the page shows of a model that is a sum of effects of one feature or two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from opauc.types import Floats

CURVE, LEVELS, SURFACE, TREES, WHOLE = "curve", "levels", "pair", "trees", "all features"
MISSING = "missing"
# With fewer numbers a feature is shown as levels.
FEWEST_OF_CURVE = 3


class ShownTerm(NamedTuple):
    """One part of the score, in log-odds.

    `at` has one list of numbers or names for a feature, two for a pair, none
    for what a feature does with others in trees, or all features together.
    `value` and `error` have a place for each of them, and so has `rows`, the
    share of the rows that are there; None where nobody knows.
    """

    name: str
    inputs: tuple[str, ...]
    at: tuple[tuple[float | str, ...], ...]
    value: Floats
    error: Floats
    importance: float
    rows: Floats | None = None

    @property
    def kind(self) -> str:
        """What it is drawn as.

        >>> import numpy as np
        >>> from opauc.report.terms import ShownTerm
        >>> ShownTerm("sex", ("sex",), (("f", "m"),), np.zeros(2), np.zeros(2), 0.1).kind
        'levels'
        """
        if not self.at:
            return TREES if len(self.inputs) == 1 else WHOLE
        if len(self.at) > 1:
            return SURFACE
        return CURVE if self.n_numbers >= FEWEST_OF_CURVE else LEVELS

    @property
    def n_numbers(self) -> int:
        """How many of the places of one feature are numbers; they come first."""
        return sum(not isinstance(place, str) for place in self.at[0])

    def range(self) -> tuple[float, float] | None:
        """Return the least and the greatest value, None where there is none."""
        return (float(self.value.min()), float(self.value.max())) if self.value.size else None


class ExplainedPart(NamedTuple):
    """What an effect adds to a score; `had` is the value of the feature, empty where there is no single one.

    `way` is what the name of the effect ends with, where a feature has several.

    >>> from opauc.report.terms import ExplainedPart
    >>> str(ExplainedPart("age", "39", 0.5)), str(ExplainedPart("age", "39", 0.5, " (trees)"))
    ('age = 39', 'age = 39 (trees)')
    """

    name: str
    had: str
    value: float
    way: str = ""

    def __str__(self) -> str:
        return (f"{self.name} = {self.had}" if self.had else self.name) + self.way


class ExplainedRow(NamedTuple):
    """The score of a row as a sum: the baseline and the named parts."""

    title: str
    note: str
    baseline: float
    parts: Sequence[ExplainedPart]

    def score(self) -> float:
        """Return the sum."""
        return self.baseline + float(np.sum([part.value for part in self.parts]))


class CandidateRow(NamedTuple):
    """One of the models that ranked the rows after the first ones, and its AUC there."""

    name: str
    auc: float
    taken: bool


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TermsSection:
    """All that the page shows of an additive model.

    `effects` are those worth showing, the most important first, of `n_effects`;
    `guard` says in words which model was taken and why, `rungs` how each did;
    `shifted` has the features whose later values do not look like the first
    ones, with their stability index, and `watched` whether any were compared.
    """

    effects: Sequence[ShownTerm]
    n_effects: int
    explained: Sequence[ExplainedRow] = ()
    guard: str = ""
    rungs: Sequence[CandidateRow] = ()
    shifted: Sequence[tuple[str, float]] = ()
    watched: bool = False
