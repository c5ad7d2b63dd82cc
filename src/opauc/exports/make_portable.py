"""Fitted models to their portable form."""

from __future__ import annotations

from opauc.additive.state import AdditiveFit
from opauc.core.fit import only_two_classes
from opauc.core.model import Model
from opauc.errors import UnsupportedOperationError
from opauc.exports.additive import additive_model
from opauc.exports.linear import linear_model
from opauc.exports.portable import PortableModel
from opauc.linear.scorer import LinearScorer


def make_portable(model: Model) -> PortableModel:
    """Return the portable form of a fitted model; raise UnsupportedOperationError for a model that has none."""
    if model.several_classes:
        raise only_two_classes("exports", model.classes.size, "save the model and load it to score rows")
    if isinstance(model.fit, AdditiveFit):
        return additive_model(model, model.fit)
    scorer = model.scorer
    if isinstance(scorer, LinearScorer):
        return linear_model(model, scorer)
    raise UnsupportedOperationError(f"cannot be exported: {model.estimator} has neither terms nor weights of columns")
