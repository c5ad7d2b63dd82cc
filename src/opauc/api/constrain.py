"""An additive model under constraints, and what they cost."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from opauc.additive.constraints.named import ConstraintOptions
from opauc.additive.constraints.price import LabeledRows, Price, price
from opauc.api.observer import Observer
from opauc.api.saving import estimator_of
from opauc.api.scored_stream import Purpose, ScoredStream
from opauc.core.model import Model, load_model
from opauc.data.bad_rows import BadRows
from opauc.errors import InputError


class ConstrainedModel(NamedTuple):
    """A model, and what the constraints cost the one it was made from."""

    model: Model
    price: Price


def constrain_file(
    path: str | os.PathLike[str],
    constraints: ConstraintOptions,
    data: Sequence[str],
    format_: str | None,
    observer: Observer,
) -> ConstrainedModel:
    """Return the model of a file under constraints, and their price: with AUCs if there are labeled rows."""
    model, rows = load_model(path, can_train=True), None
    if not model.fit.has_basis:
        raise InputError(f"{path}: is a model of {model.estimator}; constraints are for additive models (OnePassGAM)")
    estimator: Any = estimator_of(model)
    if data:
        rows = read_labeled(ScoredStream(path, data, format_, BadRows(), Purpose.EVALUATE), observer)
    fit, resolved = estimator._fitted, estimator._resolve(constraints)
    if not resolved:
        raise InputError("no constraint is given: `opauc constrain --help` lists them")
    constrained = estimator.constrain(**constraints)._to_model()
    result = replace(model, fit=constrained.fit, reading=constrained.reading, threshold=None)
    return ConstrainedModel(result, price(fit, resolved, estimator._input_names(), rows))


def read_labeled(scored: ScoredStream, observer: Observer) -> LabeledRows:
    """Return all rows of a stream, with their labels."""
    labels, parts = scored.labels, []
    for batch, rows in scored.batches():
        parts.append((np.asarray(rows, np.float64), labels.encode(batch)))
    scored.report_unknown(observer)
    if not parts:
        raise InputError("there are no rows in the data")
    all_rows, all_labels = (np.concatenate(part) for part in zip(*parts, strict=True))
    if np.unique(all_labels).size < 2:
        raise InputError("the data has rows of one class; the AUC needs both")
    return LabeledRows(all_rows, all_labels, None)
