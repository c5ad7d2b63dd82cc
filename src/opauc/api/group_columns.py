"""Columns of groups in an evaluation, and their values in batches of files and in tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.core.batch import Batch
from opauc.core.group_keys import is_missing
from opauc.errors import MalformedRowError
from opauc.types import Array


class GroupColumns(NamedTuple):
    """The columns of groups: `within` which the AUC is averaged, and `by` whose values rows are evaluated apart.

    Examples
    --------
    >>> from opauc.api.group_columns import GroupColumns
    >>> GroupColumns("user", "country").names, GroupColumns().names
    (('user', 'country'), ())
    """

    within: str | None = None
    by: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to pass through, each once."""
        return tuple(dict.fromkeys(name for name in self if name is not None))


def groups_of_batch(batch: Batch, column: str) -> Array:
    """Return the groups of the rows of a batch; raise where one is missing."""
    groups = values_of_batch(batch, column)
    for row, group in enumerate(groups):
        if group == "" or is_missing(group):
            raise MalformedRowError(batch.source, batch.line_of(row), "the group is missing", column=column)
    return np.fromiter(groups, object, len(groups))


def values_of_batch(batch: Batch, column: str) -> list[object]:
    """Return the values of a column that is passed through."""
    assert batch.passthrough is not None, "the stream was asked to pass it through"
    values: list[object] = batch.passthrough.column(column).to_pylist()
    return values
