"""The portable form of linear models: a straight line for each number, a level for each category."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.core.fit import Fit
from opauc.core.model import Model
from opauc.errors import UnsupportedOperationError
from opauc.exports.portable import CATEGORY, Axis, Column, Levels, Line, PortableModel, PortableTerm, Table
from opauc.exports.portable_classes import ClassLink, PortableClasses, join_models
from opauc.exports.table_columns import inputs_of, number_columns, one_hot_columns
from opauc.linear.multiclass.scorer import MulticlassScorer
from opauc.linear.scorer import LinearScorer
from opauc.types import Floats

# More features than this are not exported: they would be those of sparse rows.
MAX_FEATURES = 10_000
# Finite and beyond any score: the probability is 0 or 1.
CERTAIN = 1e308


def linear_model(model: Model, fit: Fit) -> PortableModel:
    """Return the portable form of a model with a linear scorer; raise for features that have no columns."""
    scorer = fit.scorer
    if not isinstance(scorer, LinearScorer):
        raise UnsupportedOperationError(
            f"cannot be exported: {model.estimator} has neither terms nor weights of columns"
        )
    if scorer.unit_rows:
        raise UnsupportedOperationError("cannot be exported: the score scales each row to length one")
    labels = model.classes.tolist()
    return replace(
        _weighted(model, scorer.weights, scorer.intercept, fit),
        slope=scorer.slope, offset=float(np.clip(scorer.offset, -CERTAIN, CERTAIN)), labels=(labels[0], labels[1]),
        threshold=0.0 if model.threshold is None else model.threshold.score,
    )  # fmt: skip


def linear_classes(model: Model, fit: Fit) -> PortableClasses:
    """Return the portable form of a linear model of several classes; those without training rows are left out."""
    scorer = fit.scorer
    assert isinstance(scorer, MulticlassScorer), "the scorer of its family"
    seen = np.flatnonzero(scorer.shares > 0.0)
    models = [_weighted(model, scorer.weights[k], float(scorer.intercepts[k]), None) for k in seen]
    link = ClassLink(1.0, 0.0, tuple(np.log(scorer.shares[seen]).tolist()))
    return join_models(models, link, model.classes[seen].tolist())


def _weighted(model: Model, weights: Floats, intercept: float, fit: Fit | None) -> PortableModel:
    """Return the weighted sum of the columns of a model, against the means of the rows of a fit if there is one."""
    columns, features, fills = _columns(model)
    width = 1 + max((int(part.max(initial=-1)) for part in features), default=-1)
    weights = np.pad(weights, (0, max(0, width - weights.size)))
    means = None if fit is None else _means(fit, width)
    axes, terms = list[Axis](), list[PortableTerm]()
    for at, (column, own) in enumerate(zip(columns, features, strict=True)):
        if column.kind == CATEGORY:
            axes.append(Levels(at, np.arange(float(own.size)), 1 + np.arange(own.size), 1 + own.size))
            values = np.concatenate([[0.0], weights[own], [0.0]])
        else:
            axes.append(Line(at))
            values = np.array([weights[own[0]] * fills[at], weights[own[0]]])
        constant = 0.0 if means is None else -float(weights[own] @ means[own])
        terms.append(PortableTerm(column.name, (at,), constant, (Table((at,), values),)))
    return PortableModel(
        model.estimator, columns, inputs_of(columns), tuple(axes), tuple(terms), None,
        intercept - sum(term.constant for term in terms), 1.0, 0.0, (0, 1), 0.0, is_centered=means is not None,
    )  # fmt: skip


class _LinearColumns(NamedTuple):
    """The columns of a model, the features of each, and what a missing number of each is taken for."""

    columns: tuple[Column, ...]
    features: list[NDArray[np.int64]]
    fills: Floats


def _columns(model: Model) -> _LinearColumns:
    """Return the columns of a model; raise for features that have none."""
    reading = model.reading
    if reading is not None and reading.options.hash_bits is not None:
        raise UnsupportedOperationError(
            f"cannot be exported: its 2**{reading.options.hash_bits} features are hashes of names and have no columns"
        )
    if reading is not None and (reading.encoding is None or reading.encoding["numeric"] is None):
        raise UnsupportedOperationError(
            f"cannot be exported: its {model.n_features:,} features are those of LIBSVM rows and have no columns"
        )
    if model.fit.n_features > MAX_FEATURES:
        raise UnsupportedOperationError(
            f"cannot be exported: it has {model.fit.n_features:,} features, more than {MAX_FEATURES:,}"
        )
    if reading is None or reading.encoding is None or not reading.encoding["named"]:
        names = model.feature_names or tuple(f"x{j}" for j in range(model.n_features))
        columns = tuple(replace(column, is_required=True, is_strict=True) for column in number_columns(names))
        return _LinearColumns(columns, [np.array([j]) for j in range(len(names))], np.zeros(len(names)))
    state = reading.encoding
    columns, n_numbers = one_hot_columns(state, reading.options), len(state["numeric"] or ())
    fills, numbers = np.zeros(len(columns)), np.arange(n_numbers + len(state["categories"]))
    if reading.options.missing == "mean":
        fills[:n_numbers] = np.array(state["sums"]) / np.maximum(np.array(state["counts"]), 1.0)
    of_column = np.array([None] * n_numbers + [name for name, _ in state["categories"]], dtype=object)
    features = [numbers[[at]] for at in range(n_numbers)]
    features += [np.flatnonzero(of_column == name) for name in state["categorical"]]
    return _LinearColumns(columns, features, fills)


def _means(fit: Fit, width: int) -> Floats | None:
    """Return the means of the features over the training rows; None where the fit does not keep them."""
    means = fit.feature_means
    return None if means is None else np.pad(means, (0, max(0, width - means.size)))
