"""Scores, probabilities or labels of the rows of files and frames; those of several classes as columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from opauc.api.observer import CallbackObserver, Progress
from opauc.api.scored_stream import Purpose, ScoredStream, model_source
from opauc.api.tables import data_or_query, fitted_estimator, select_features, sources_of
from opauc.core.labels import shown_label
from opauc.core.model import predicted_classes
from opauc.data.bad_rows import BadRows
from opauc.data.find_sources import is_paths
from opauc.data.table_source import TableSource
from opauc.errors import Parameter, ParameterError, unknown_name
from opauc.types import Array, Floats

LABEL = "label"
RESPONSES = ("score", "probability", LABEL)


def predict(
    model: Any,
    data: Any = None,
    *,
    response: str = "score",
    sql: str | None = None,
    database: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
    bad_rows: BadRows | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    keep: Sequence[str] | None = None,
) -> Any:
    """Return the scores, probabilities or labels of rows; labels in the data are ignored.

    Parameters
    ----------
    model : estimator or path
        A fitted estimator of this library, or the file of one.
    data : path, sequence of paths, or table
        Files, glob patterns, folders or "-"; or rows as `decision_function` takes them; or anything that streams as
        Arrow, which is scored batch by batch.
    response : {"score", "probability", "label"}, default="score"
        What to return: the score, the probability of the positive class, or the predicted label. With more than two
        classes scores and probabilities have a column for each class, in the order of `classes_`.
    sql : str, optional
        A query in place of `data`: of the database, or of DuckDB, which reads files: "from 'days/*.parquet'".
    database : str or path, optional
        The database of the query: a file of DuckDB or SQLite, or "postgresql://user@host/name".
    format : str, optional
        Format of the files; by default inferred.
    bad_rows : BadRows, optional
        What to do with rows that cannot be read; by default the first one is an error.
    on_progress : callable, optional
        Called with a `Progress` after every batch.
    keep : sequence of str, optional
        Of a table: columns to return with the predictions, as a table of the kind that was given. With more than two
        classes the predictions are the label, and a score or probability for each class.

    Returns
    -------
    predictions : ndarray of shape (n_rows,) or (n_rows, n_classes), or table
        One entry per row; with `keep` a table of these columns and one called as the response.

    Examples
    --------
    >>> import opauc
    >>> model = opauc.OPAUC().fit([[0.0], [1.0], [2.0], [4.0]], ["no", "no", "yes", "yes"])
    >>> opauc.predict(model, [[0.5], [3.5]], response="label")
    array(['no', 'yes'], dtype='<U3')
    """
    check_response(response)
    data = data_or_query(data, sql, database)
    if not is_paths(data) and not isinstance(data, TableSource):
        return _predict_table(fitted_estimator(model, data), data, response, keep)
    if keep is not None:
        raise ParameterError(Parameter("keep"), " is for tables; of files opauc predict keeps columns")
    scored = ScoredStream(model_source(model, data), sources_of(data), format, bad_rows or BadRows(), Purpose.PREDICT)
    scorer, classes, parts, rows = scored.model.scorer, scored.model.classes, list[Array](), 0
    with CallbackObserver(on_progress).progress("scoring", scored.stream.total_bytes) as show:
        for part in scored.score():
            rows += len(part.scores)
            parts.append(part.scores if response == "score" else scorer.probabilities(part.scores))
            if response == LABEL:
                parts[-1] = classes[scored.model.predicted(part.scores)]
            show(rows, part.batch.bytes_read)
    return np.concatenate(parts) if parts else np.empty(0)


def _predict_table(estimator: Any, data: Any, response: str, keep: Sequence[str] | None) -> Any:
    """Predict the rows of a table, those of a stream part by part."""

    def predict_rows(rows: Any) -> Array:
        rows = select_features(estimator, rows)
        if response == LABEL:
            return np.asarray(estimator.predict(rows))
        if response == "score":
            return np.asarray(estimator.decision_function(rows))
        probabilities = estimator.predict_proba(rows)
        return np.asarray(probabilities if probabilities.shape[1] > 2 else probabilities[:, 1])

    if isinstance(data, np.ndarray | list) or issparse(data):
        if keep is not None:
            raise ParameterError(Parameter("keep"), f" is for tables, got {type(data).__name__}")
        return predict_rows(data)
    from opauc.api.output_table import with_predictions
    from opauc.data.formats.table import table_parts  # pyarrow, which arrays do not wait for

    def predict_columns(rows: Any) -> list[Array]:
        values = predict_rows(rows)
        if values.ndim == 1:
            return [values]
        scores = estimator.decision_function(select_features(estimator, rows))
        return prediction_columns(response, estimator.classes_, scores, values)

    if keep is not None:
        names = prediction_names(response, estimator.classes_)
        return with_predictions(data, keep, names, predict_columns)
    parts = [predict_rows(part) for part in table_parts(data)]
    return np.concatenate(parts) if parts else np.empty(0)


def check_response(response: str) -> None:
    """Raise unless a response is one of `RESPONSES`."""
    if response not in RESPONSES:
        raise ParameterError(Parameter("response"), f": {unknown_name('response', response, RESPONSES)}")


def prediction_names(response: str, classes: Array) -> list[str]:
    """Return the names of the columns of predictions: the response alone, or with several classes one for each.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.api.predict import prediction_names
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
