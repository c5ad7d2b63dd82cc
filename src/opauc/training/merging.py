"""One model of the rows of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from opauc.errors import IncompatibleMoments
from opauc.features.table_features import TableFeatures
from opauc.training.model_file import Model


def merged_models(first: Model, other: Model) -> Model:
    """Return the model of the rows of both, with the features of both; it has the provenance of the first.

    Models of the command match their features by the names of the columns and
    their categories, or by their numbers where rows have no names. Others must
    have the same features.
    """
    if first.classes.tolist() != other.classes.tolist():
        raise IncompatibleMoments(
            f"cannot merge models of classes {first.classes.tolist()} and {other.classes.tolist()}"
        )
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
    """Raise unless the features have the same names."""
    if mine != theirs:
        raise IncompatibleMoments("cannot merge models of features with different names")
