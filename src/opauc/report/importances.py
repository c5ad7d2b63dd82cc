"""How much each feature of an additive model matters: by its own term, its pairs and its trees."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opauc.report.inputs import TREES, ShownTerm


class FeatureImportance(NamedTuple):
    """The importance of a feature in parts: its curve or levels, its halves of pairs, and its share of the trees."""

    name: str
    own: float = 0.0
    pairs: float = 0.0
    trees: float = 0.0

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return self.own + self.pairs + self.trees


def importances_by_feature(terms: Iterable[ShownTerm]) -> list[FeatureImportance]:
    """Return the importance of each feature, the most important first; a pair counts half for either feature.

    Parameters
    ----------
    terms : iterable of ShownTerm
        The terms of an additive model.

    Returns
    -------
    importances : list of FeatureImportance
        A row per feature, and one per term without features.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.report import ShownTerm
    >>> from opauc.report.importances import importances_by_feature
    >>> none = np.empty(0)
    >>> sex = ShownTerm("sex", ("sex",), (("f", "m"),), np.zeros(2), np.zeros(2), 0.5)
    >>> pair = ShownTerm("sex × age", ("sex", "age"), ((), ()), none, none, 0.25)
    >>> [tuple(row) for row in importances_by_feature([sex, pair])]
    [('sex', 0.5, 0.125, 0.0), ('age', 0.0, 0.125, 0.0)]
    """
    rows: dict[str, FeatureImportance] = {}
    for term in terms:
        part = "trees" if term.kind == TREES or not term.features else "own" if len(term.features) == 1 else "pairs"
        for name in term.features or (term.name,):
            row = rows.get(name, FeatureImportance(name))
            share = term.importance / max(len(term.features), 1)
            rows[name] = row._replace(**{part: getattr(row, part) + share})
    return sorted(rows.values(), key=lambda row: -row.total)
