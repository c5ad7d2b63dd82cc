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
from opauc.data.columns import listed
from opauc.data.find_sources import is_paths, paths_of
from opauc.data.frames import PandasTable, to_table
from opauc.data.schema.table import table_of
from opauc.data.table_source import ResolvedSource, TableSource
from opauc.errors import InputError, Parameter, ParameterError, nearest_first, unknown_name
from opauc.types import Array, Floats, Labels


def data_or_query(
    data: Any, sql: str | None, database: str | os.PathLike[str] | None, model: os.PathLike[str] | None = None
) -> Any:
    """Return the data, or the query of a database in its place; raise unless there is one of the two.

    The message names the file before the data, which was taken for the `model`.
    """
    if sql is None:
        if database is not None:
            raise ParameterError(Parameter("database"), " is for a query; add ", Parameter("sql", ...))
        if data is None or (isinstance(data, list | tuple) and not data):
            after = "" if model is None else f" after the model {os.fspath(model)}"
            raise InputError(
                f"name the data{after}: files, patterns or folders; or a query (", Parameter("sql", ...), ")"
            )
        return data
    if data is not None and not (isinstance(data, list | tuple) and not data):
        raise ParameterError(Parameter("sql"), " is in place of other data; leave one of the two out")
    from opauc.data.databases import query_source

    return query_source(sql, database)


def paths_only(sources: Sequence[ResolvedSource]) -> list[str]:
    """Return sources that are paths; raise where one is a query."""
    paths = [source for source in sources if isinstance(source, str)]
    if len(paths) < len(sources):
        raise ParameterError(Parameter("sql"), " gives one model; a cube is trained on files and data frames")
    return paths


def sources_of(data: Any, label: str | int | None = None) -> list[ResolvedSource]:
    """Return paths as strings, or a table of any kind as a source that is read batch by batch.

    Raises where the label of a data frame is a mixture of numbers and strings.

    Examples
    --------
    >>> import pandas as pd
    >>> from opauc.api.tables import sources_of
    >>> [frame] = sources_of(pd.DataFrame({"age": [30, 40]}))
    >>> sources_of("rows.csv"), frame.schema.names
    (['rows.csv'], ['age'])
    """
    if is_paths(data):
        return [*paths_of(data)]
    if isinstance(data, TableSource):
        return [data]
    from opauc.data.formats.memory import is_records, table_of_records
    from opauc.data.labeled import check_label_column
    from opauc.data.tables import is_table_source, table_source

    data = table_of_records(data) if is_records(data) else data if is_table_source(data) else to_table(data)
    if not is_table_source(data):
        raise InputError(f"expected paths or a table with a label column, got {type(data).__name__}")
    check_label_column(data, label)
    return [table_source(data)]


def fitted_estimator(model: Any, data: Any) -> Any:
    """Return a fitted estimator, loaded where a path is given; raise where it is exchanged with the data."""
    check_model(model, data)
    return load(model) if isinstance(model, str | os.PathLike) else model


def scores_of_table(model: Any, table: Any, label: str | int | None) -> tuple[Labels, Floats, Floats]:
    """Return labels (0 and 1), scores and probabilities of the rows of a table."""
    estimator = fitted_estimator(model, table)
    X, y = labeled_features(estimator, table, label)
    classes: ClassLabels = estimator._to_model().labels
    positive = y == (classes.classes[1] if classes.positive is None else classes.positive)
    scores: Floats = estimator.decision_function(X)
    return np.asarray(positive, np.int8), scores, estimator.predict_proba(X)[:, 1]


def labeled_features(estimator: Any, table: Any, label: str | int | None) -> tuple[Any, Array]:
    """Return the features of the rows of a table, and their labels; the label is by default that of training."""
    if label is None and estimator._reading is not None:
        label = estimator._reading.options.label
    from opauc.data.labeled import split_label

    X, y = split_label(table, label)
    return select_features(estimator, X), np.asarray(y)


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
    >>> column_values(pd.DataFrame({"sex": ["f", "m"]}), "sex")
    ['f', 'm']
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
