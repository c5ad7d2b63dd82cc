"""Where the rows are along an effect of one input."""

from __future__ import annotations

import numpy as np

from opauc.features.card.card import Card
from opauc.kernels.rows.card_rows import BINARY, CATEGORICAL, HIGH, LOW, NUMERIC
from opauc.learners.additive.occupancy import Occupancy
from opauc.rows import Floats


def code_shares(seen: Occupancy, own: Floats) -> Floats:
    """Return the share of the rows that have each of some values told apart, from the rows of each."""
    shares: Floats = own / max(float(seen.first[0] + seen.later[0]), 1e-300)
    return shares


def row_shares(card: Card, seen: Occupancy, finer: Floats, j: int) -> Floats | None:
    """Return the share of the rows at each value at which the effect of an input is given; None where unknown.

    A value between two knots counts as partly at each, as its hats do; `finer`
    has the rows of each finer level.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.features.card import Card
    >>> from opauc.learners.additive.occupancy import Occupancy
    >>> from opauc.training.additive.row_shares import row_shares
    >>> rows = np.array([[0.0], [1.0], [2.0], [np.nan]])
    >>> card = Card.of(rows, np.ones(4), np.zeros(1, bool), n_knots=8)
    >>> row_shares(card, Occupancy.of(card.rows(rows)), np.empty(0), 0)
    array([0.25, 0.25, 0.25, 0.25])
    """
    tables, kind = card.tables, card.tables.kinds[j]
    straight, first, missing = tables.columns[j].tolist()
    sums = seen.first + seen.later
    total = max(float(sums[0]), 1e-300)
    absent = sums[missing : missing + 1] if missing >= 0 else np.empty(0)
    if kind == CATEGORICAL:
        own = finer[card.finer.of_input(j)]
        found = np.concatenate([sums[first : first + tables.n_levels[j]], own])
        found[int(tables.n_levels[j]) - 1] -= own.sum()  # these share the last column
    elif kind == BINARY:
        found = np.array([total - float(absent.sum()) - sums[straight], sums[straight]])
    elif kind == NUMERIC and first >= 0:
        knots = tables.knots[tables.knot_ends[j] : tables.knot_ends[j + 1]]
        places = np.unique([*knots, tables.scales[j, LOW], tables.scales[j, HIGH]])
        found = np.zeros(places.size)
        found[np.searchsorted(places, knots)] = sums[first : first + knots.size]
    elif kind == NUMERIC:
        return None
    else:
        found = np.empty(0)
    shares: Floats = np.maximum(np.concatenate([found, absent]), 0.0) / total
    return shares
