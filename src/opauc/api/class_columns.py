"""Predictions of several classes as columns: the label, and a score or probability for each class."""

from __future__ import annotations

import numpy as np

from opauc.core.labels import shown_label
from opauc.core.model import predicted_classes
from opauc.types import Array, Floats

LABEL = "label"


def prediction_names(response: str, classes: Array) -> list[str]:
    """Return the names of the columns of predictions: the response alone, or with several classes one for each.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.api.class_columns import prediction_names
    >>> prediction_names("probability", np.array([0, 1])), prediction_names("probability", np.array(["a", "b", "c"]))
    (['probability'], ['label', 'probability_a', 'probability_b', 'probability_c'])
    """
    if classes.size == 2 or response == LABEL:
        return [response]
    return [LABEL, *(f"{response}_{shown_label(label)}" for label in classes.tolist())]


def prediction_columns(response: str, classes: Array, scores: Floats, values: Array) -> list[Array]:
    """Return the columns of predictions, given scores and what the response is of them."""
    if scores.ndim == 1 or response == LABEL:
        return [values]
    return [classes[predicted_classes(scores)], *np.ascontiguousarray(values.T)]
