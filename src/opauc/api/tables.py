"""Tables in memory: features and labels apart, and the scores of their rows."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from opauc.api.saving import load
from opauc.core.labels import ClassLabels
from opauc.data.columns import TableColumns
from opauc.errors import InputError
from opauc.types import Array, Floats, Labels


def split_label(table: Any, label: str | int | None) -> tuple[Any, Array]:
    """Return the columns of a table but the label, and the labels.

    Examples
    --------
    >>> import pandas as pd
    >>> from opauc.api.tables import split_label
    >>> X, y = split_label(pd.DataFrame({"age": [30, 40], "bought": ["no", "yes"]}), "bought")
    >>> list(X.columns), y
    (['age'], array(['no', 'yes'], dtype=object))
    """
    from opauc.data.formats.memory import label_array, table_names

    names = table_names(table)
    if names is None:
        raise InputError(f"expected paths or a table with a label column, got {type(table).__name__}")
    name = str(TableColumns(label=label).resolve(names, "the table").by_name.label)
    if hasattr(table, "drop") and hasattr(table, "columns") and not hasattr(table, "schema"):  # pandas
        return table.drop(columns=[name]), np.asarray(table[name])
    import pyarrow as pa

    arrow = pa.table(table)
    return arrow.drop_columns([name]), label_array(arrow[name].to_pandas().to_numpy())


def fitted_estimator(model: Any) -> Any:
    """Return a fitted estimator, loaded where a path is given."""
    return load(model) if isinstance(model, str | os.PathLike) else model


def scores_of_table(model: Any, table: Any, label: str | int | None) -> tuple[Labels, Floats, Floats]:
    """Return labels (0 and 1), scores and probabilities of the rows of a table."""
    estimator = fitted_estimator(model)
    X, y = split_label(table, label)
    classes: ClassLabels = estimator._to_model().labels
    positive = y == (classes.classes[1] if classes.positive is None else classes.positive)
    scores: Floats = estimator.decision_function(X)
    return np.asarray(positive, np.int8), scores, estimator.predict_proba(X)[:, 1]
