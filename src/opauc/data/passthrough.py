"""Passthrough columns of a table, and the groups of rows among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from opauc.core.batch import RawBatch
from opauc.core.group_keys import group_keys, is_missing
from opauc.data.bad_rows import RowErrors
from opauc.data.columns import TableColumns
from opauc.types import GroupKeys

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from opauc.data.formats.csv.wide import WideTable


def passthrough_columns(raw: RawBatch, columns: TableColumns, errors: RowErrors) -> RecordBatch | None:
    """Return the passthrough columns of a table, None without any; a missing group is an error."""
    if not columns.passthrough_names:
        return None
    passthrough = raw.passthrough
    if passthrough is None:
        from opauc.data.arrow_columns import select_columns

        passthrough = select_columns(cast("RecordBatch | WideTable", raw.rows), columns.passthrough_names)
    if columns.groups is not None:
        groups = passthrough.column(columns.groups).to_pylist()
        missing = np.array([group == "" or is_missing(group) for group in groups], bool)
        errors.add(missing, "the group is missing", columns.groups)
    return passthrough


def passthrough_groups(passthrough: RecordBatch | None, columns: TableColumns) -> GroupKeys | None:
    """Return the key of each row's group, None where no column has the groups."""
    if passthrough is None or columns.groups is None:
        return None
    groups = passthrough.column(columns.groups).to_pylist()
    return group_keys(np.fromiter(groups, object, len(groups)), len(groups))
