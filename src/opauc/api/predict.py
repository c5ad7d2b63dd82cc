"""Scores, probabilities or labels of the rows of files and frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opauc.api.observer import CallbackObserver, Progress
from opauc.api.scored_stream import Purpose, ScoredStream, model_source
from opauc.api.tables import fitted_estimator, select_features
from opauc.data.bad_rows import BadRows
from opauc.data.find_sources import is_paths, paths_of
from opauc.errors import Parameter, ParameterError, unknown_name
from opauc.types import Array

RESPONSES = ("score", "probability", "label")


def predict(
    model: Any,
    data: Any,
    *,
    response: str = "score",
    format: str | None = None,  # noqa: A002
    bad_rows: BadRows | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Array:
    """Return the scores, probabilities or labels of rows; labels in the data are ignored.

    Parameters
    ----------
    model : estimator or path
        A fitted estimator of this library, or the file of one.
    data : path, sequence of paths, or table
        Files, glob patterns, folders or "-"; or rows as `decision_function` takes them.
    response : {"score", "probability", "label"}, default="score"
        What to return: the score, the probability of the positive class, or the predicted label.
    format : str, optional
        Format of the files; by default inferred.
    bad_rows : BadRows, optional
        What to do with rows that cannot be read; by default the first one is an error.
    on_progress : callable, optional
        Called with a `Progress` after every batch.

    Returns
    -------
    predictions : ndarray of shape (n_rows,)
        One entry per row.

    Examples
    --------
    >>> import opauc
    >>> model = opauc.OPAUC().fit([[0.0], [1.0], [2.0], [4.0]], ["no", "no", "yes", "yes"])
    >>> opauc.predict(model, [[0.5], [3.5]], response="label")
    array(['no', 'yes'], dtype='<U3')
    """
    check_response(response)
    if not is_paths(data):
        estimator = fitted_estimator(model, data)
        data = select_features(estimator, data)
        if response == "label":
            return np.asarray(estimator.predict(data))
        scores = estimator.decision_function(data) if response == "score" else estimator.predict_proba(data)[:, 1]
        return np.asarray(scores)
    scored = ScoredStream(model_source(model, data), paths_of(data), format, bad_rows or BadRows(), Purpose.PREDICT)
    scorer, classes, parts, rows = scored.model.scorer, scored.model.classes, list[Array](), 0
    with CallbackObserver(on_progress).progress("scoring", scored.stream.total_bytes) as show:
        for part in scored.score():
            rows += part.scores.size
            parts.append(part.scores if response == "score" else scorer.probabilities(part.scores))
            if response == "label":
                parts[-1] = classes[scored.model.predicted_positive(part.scores).astype(int)]
            show(rows, part.batch.bytes_read)
    return np.concatenate(parts) if parts else np.empty(0)


def check_response(response: str) -> None:
    """Raise unless a response is one of `RESPONSES`."""
    if response not in RESPONSES:
        raise ParameterError(Parameter("response"), f": {unknown_name('response', response, RESPONSES)}")
