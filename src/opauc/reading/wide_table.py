"""Tables of so many columns that an array of pyarrow for each would be most of the memory."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from opauc.rows import Floats


@dataclass(frozen=True, eq=False)
class WideTable:
    """Rows whose columns of numbers are one matrix, missing values as nan; other columns are as in any table."""

    names: list[str]  # of all columns, in their order in the source
    numeric: list[str]  # of the columns of the matrix
    numbers: Floats
    others: pa.RecordBatch | None  # the label and the categories; None where there are none

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.numbers)
