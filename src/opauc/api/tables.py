"""Tables in memory: features and labels apart, and the scores of their rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from opauc.api.saving import load
from opauc.api.scored_stream import check_model
from opauc.core.group_keys import is_missing
from opauc.core.labels import ClassLabels
from opauc.data.bad_rows import DROP_UNLABELED, missing_labels
from opauc.data.columns import TableColumns, listed
from opauc.data.frames import PandasTable, to_table
from opauc.data.schema.table import table_of
from opauc.errors import InputError, Parameter, ParameterError, nearest_first, unknown_name
from opauc.types import Array, Floats, Labels


def split_label(
    table: Any,
    label: str | int | None,
    features: Sequence[str | int] | None = None,
    drop: Sequence[str | int] = (),
    drop_unlabeled: bool = False,
) -> tuple[Any, Array]:
    """Return the feature columns of a table, by default all but the label, and the labels.

    Rows without a label are an error, or left out.

    Examples
    --------
    >>> import pandas as pd
    >>> from opauc.api.tables import split_label
    >>> X, y = split_label(pd.DataFrame({"age": [30, 40], "bought": ["no", "yes"]}), "bought")
    >>> list(X.columns), y.tolist()
    (['age'], ['no', 'yes'])
    """
    from opauc.data.formats.memory import label_array, table_names

    table = to_table(table)
    names = table_names(table)
    if names is None:
        raise InputError(f"expected paths or a table with a label column, got {type(table).__name__}")
    columns = TableColumns(label=label, features=features, drop=drop).resolve(names, "the table").by_name
    name, chosen = str(columns.label), [str(feature) for feature in columns.features or ()]
    rows: Any
    if isinstance(table, PandasTable):
        frame: Any = table
        rows, labels = frame[chosen], label_array(frame[name])
    else:
        arrow = table_of(table)
        rows, labels = arrow.select(chosen), label_array(arrow[name].to_pandas())
    missing = missing_labels(labels)
    if not missing.any():
        return rows, labels
    if not drop_unlabeled:
        raise InputError(
            f"column {name}: the label is missing in {missing.sum():,} of {missing.size:,} rows; leave such rows out (",
            DROP_UNLABELED, ")",
        )  # fmt: skip
    labeled = np.flatnonzero(~missing)
    return (rows.iloc[labeled] if isinstance(table, PandasTable) else rows.take(labeled)), labels[labeled]


def fitted_estimator(model: Any, data: Any) -> Any:
    """Return a fitted estimator, loaded where a path is given; raise where it is exchanged with the data."""
    check_model(model, data)
    return load(model) if isinstance(model, str | os.PathLike) else model


def scores_of_table(model: Any, table: Any, label: str | int | None) -> tuple[Labels, Floats, Floats]:
    """Return labels (0 and 1), scores and probabilities of the rows of a table."""
    estimator = fitted_estimator(model, table)
    X, y = split_label(table, label)
    classes: ClassLabels = estimator._to_model().labels
    positive = y == (classes.classes[1] if classes.positive is None else classes.positive)
    X = select_features(estimator, X)
    scores: Floats = estimator.decision_function(X)
    return np.asarray(positive, np.int8), scores, estimator.predict_proba(X)[:, 1]


def groups_of_table(table: Any, column: str) -> Array:
    """Return the groups of the rows of a table; raise where there is no such column, or a group is missing."""
    from opauc.data.formats.memory import label_array, table_names

    table = to_table(table)
    names = table_names(table) or []
    if column not in names:
        raise ParameterError(Parameter("within"), f": {unknown_name('column', column, names)}")
    values: Any = table[column] if isinstance(table, PandasTable) else table_of(table)[column].to_pandas()
    groups = label_array(values)
    missing = [group == "" or is_missing(group) for group in groups.tolist()]
    if any(missing):
        raise InputError(f"column {column}: the group is missing in {sum(missing):,} of {groups.size:,} rows")
    return groups


def column_values(table: Any, name: str) -> list[object]:
    """Return the values of a column of a table.

    >>> import pandas as pd
    >>> from opauc.api.tables import column_values
    >>> column_values(pd.DataFrame({"sex": ["f", None]}), "sex")
    ['f', None]
    """
    from opauc.data.formats.memory import table_names

    table = to_table(table)
    names = table_names(table) or ()
    if name not in names:
        raise InputError(f"the table: no column {name}; there are {listed(nearest_first(name, names))}")
    if isinstance(table, PandasTable):
        values: list[object] = np.asarray(cast(Any, table)[name], object).tolist()
        return values
    column: list[object] = table_of(table).column(name).to_pylist()
    return column


def select_features(estimator: Any, table: Any) -> Any:
    """Return a table without the columns that the estimator was not fitted to, such as the label."""
    from opauc.data.formats.memory import table_names

    table = to_table(table)
    features, names = estimator._feature_names(), None if isinstance(table, np.ndarray) else table_names(table)
    if features is None or names is None or not set(features) < set(names):
        return table
    if isinstance(table, PandasTable):
        frame: Any = table
        return frame[list(features)]
    if isinstance(table, list | tuple):
        return [{name: row.get(name) for name in features} for row in table]
    import pyarrow as pa

    return pa.table(table).select(list(features))
