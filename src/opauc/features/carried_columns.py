"""Columns that go along with the rows of a table: those to be kept as they are, and that of the groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from opauc.features.group_keys import group_keys, is_missing
from opauc.features.row_faults import RowFaults
from opauc.reading.labelled_chunk import Part
from opauc.reading.table_columns import TableColumns
from opauc.rows import GroupKeys

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from opauc.reading.wide_table import WideTable


def carried_columns(part: Part, columns: TableColumns, faults: RowFaults) -> RecordBatch | None:
    """Return the columns of a table that are carried along, None without any; a missing group is a fault."""
    if not columns.carried:
        return None
    carried = part.kept
    if carried is None:
        from opauc.reading.column_values import kept_columns

        carried = kept_columns(cast("RecordBatch | WideTable", part.rows), columns.carried)
    if columns.groups is not None:
        groups = carried.column(columns.groups).to_pylist()
        missing = np.array([group == "" or is_missing(group) for group in groups], bool)
        faults.add(missing, "the group is missing", columns.groups)
    return carried


def carried_groups(carried: RecordBatch | None, columns: TableColumns) -> GroupKeys | None:
    """Return the keys of the groups of rows that all have one, None where no column says them."""
    if carried is None or columns.groups is None:
        return None
    groups = carried.column(columns.groups).to_pylist()
    return group_keys(np.fromiter(groups, object, len(groups)), len(groups))
