"""The weights of a model as a person can read them: by the effects of their features, whatever the units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.core.mergeable import FeatureSpread
from opauc.core.model import Model
from opauc.linear.fit import LinearFit
from opauc.linear.scorer import LinearScorer
from opauc.report import WeightRow
from opauc.report.page import MAX_WEIGHTS
from opauc.types import Floats


class ShownWeights(NamedTuple):
    """The largest weights, and what their order is, in words."""

    rows: list[WeightRow]
    order: str


def largest_weights(model: Model) -> ShownWeights:
    """Return the largest weights with the names of their features, or their numbers as LIBSVM counts."""
    scorer = model.scorer
    assert isinstance(scorer, LinearScorer), "asked for by its family"
    weights, spread = scorer.weights, spread_of(model)
    effects = None if spread is None else weights * spread.deviations
    rows = [
        WeightRow(feature_name(model, j), float(weights[j]), None if effects is None else float(effects[j]))
        for j in largest_places(weights if effects is None else effects)
        if weights[j]
    ]
    return ShownWeights(rows, order_in_words(spread))


def spread_of(model: Model) -> FeatureSpread | None:
    """Return how much the features varied among the rows learned, None where the model does not know."""
    return model.fit.feature_spread if isinstance(model.fit, LinearFit) else None


def largest_places(values: Floats, most: int = MAX_WEIGHTS) -> list[int]:
    """Return where the values of largest size stand, the largest first."""
    places: list[int] = np.argsort(-np.abs(values), kind="stable")[:most].tolist()
    return places


def order_in_words(spread: FeatureSpread | None) -> str:
    """Return what the order of the weights is."""
    if spread is None:
        return "by weight in the feature's own units: this model keeps no spread of its features"
    note = f", {spread.note}" if spread.note else ""
    return f"by effect: weight × standard deviation of the feature{note}"


def feature_name(model: Model, number: int) -> str:
    """Return the name of a feature, or its number as the rows it came from count."""
    if model.feature_names is not None:
        return model.feature_names[number]
    first = 0 if model.reading is not None and model.reading.options.zero_based else 1
    return f"feature {number + first}"
