"""Fitted models to their portable form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opauc.core.fit import only_two_classes
from opauc.core.model import Model
from opauc.exports.additive import additive_classes, additive_model
from opauc.exports.linear import linear_classes, linear_model
from opauc.exports.portable import PortableModel
from opauc.exports.portable_classes import PortableClasses

# By family: they take a model and its fit, which is of that family.
PORTABLE_FORMS: dict[str, Callable[[Model, Any], PortableModel]] = {
    "linear": linear_model, "batch": linear_model, "additive": additive_model, "additive_scoring": additive_model,
}  # fmt: skip
CLASS_FORMS: dict[str, Callable[[Model, Any], PortableClasses]] = {
    "linear": linear_classes, "additive_multiclass": additive_classes,
}  # fmt: skip


def make_portable(model: Model) -> PortableModel:
    """Return the portable form of a fitted model; raise UnsupportedOperationError for a model that has none."""
    if model.several_classes:
        raise only_two_classes(
            "this conversion", model.classes.size, "opauc.export writes several as json, js, c, sql and onnx"
        )
    return PORTABLE_FORMS[model.fit.family](model, model.fit)


def make_portable_classes(model: Model) -> PortableClasses:
    """Return the portable form of a fitted model of several classes."""
    return CLASS_FORMS[model.fit.family](model, model.fit)
