"""One model of the rows of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

import numpy as np

from opauc.errors import IncompatibleMoments
from opauc.features.table_features import TableFeatures
from opauc.features.table_numbers import TableNumbers
from opauc.training.additive.additive_file import AdditiveModel
from opauc.training.model_file import Model
from opauc.training.saved_model import AnyModel


def merged_any(first: AnyModel, other: AnyModel) -> AnyModel:
    """Return the model of the rows of both, which must be of one kind."""
    if isinstance(first, AdditiveModel) and isinstance(other, AdditiveModel):
        return merged_additive(first, other)
    if isinstance(first, AdditiveModel) or isinstance(other, AdditiveModel):
        raise IncompatibleMoments("cannot merge an additive model and a linear scorer")
    return merged_models(first, other)


def merged_additive(first: AdditiveModel, other: AdditiveModel) -> AdditiveModel:
    """Return the additive model of the rows of both, which must have begun with the same card."""
    _refuse_other_classes(first.classes.tolist(), other.classes.tolist())
    if first.reading.get("positive") != other.reading.get("positive"):
        raise IncompatibleMoments("the models were trained with different positive labels")
    if first.inputs != other.inputs or not same_columns(first.columns, other.columns):
        raise IncompatibleMoments("models of different cards do not merge; begin each shard with the same card")
    return replace(first, solution=first.solution.merged(other.solution))


def same_columns(one: TableNumbers | None, other: TableNumbers | None) -> bool:
    """Tell whether two models number their categories alike."""
    mine, theirs = (None if columns is None else columns.to_json()["columns"] for columns in (one, other))
    return bool(mine == theirs)


def _refuse_other_classes(mine: list[object], theirs: list[object]) -> None:
    if mine != theirs:
        raise IncompatibleMoments(f"cannot merge models of classes {mine} and {theirs}")


def merged_models(first: Model, other: Model) -> Model:
    """Return the model of the rows of both, with the features of both; it has the provenance of the first.

    Models of the command match their features by the names of the columns and
    their categories, or by their numbers where rows have no names. Others must
    have the same features.
    """
    _refuse_other_classes(first.classes.tolist(), other.classes.tolist())
    training = first.training()
    if not (first.reading and other.reading):
        refuse_other_names(first.feature_names, other.feature_names)
        training.merge(other.learnt())
        return replace(first, solution=training.solution)
    joint, places = TableFeatures.of_json(first.reading).merged(TableFeatures.of_json(other.reading), other.n_features)
    same = first.n_features == other.n_features and np.array_equal(places, np.arange(places.size))
    training.merge(other.learnt(), None if same else places)
    names = joint.feature_names()
    return replace(
        first,
        solution=training.solution,
        n_features=training.solution.n_features,
        feature_names=None if first.feature_names is None or names is None else tuple(names),
        reading=joint.to_json(),
    )


def refuse_other_names(mine: Sequence[str] | None, theirs: Sequence[str] | None) -> None:
    """Raise unless the features have the same names, with the first that differ.

    >>> from opauc.training.merging import refuse_other_names
    >>> refuse_other_names(["a", "b"], ["a", "c"])
    Traceback (most recent call last):
        ...
    opauc.errors.IncompatibleMoments: cannot merge models of features with different names: b and c
    """
    if mine != theirs:
        pairs = zip_longest(mine or (), theirs or (), fillvalue="none")
        one, other = next((one, other) for one, other in pairs if one != other)
        raise IncompatibleMoments(f"cannot merge models of features with different names: {one} and {other}")
