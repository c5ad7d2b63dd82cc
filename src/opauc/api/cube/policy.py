"""The numbers that decide how a cube is kept."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CubePolicy:
    """How large the parts of a cube may become.

    Examples
    --------
    >>> from opauc.api.cube.policy import CUBE_POLICY
    >>> CUBE_POLICY.max_columns
    300
    """

    # Columns of a basis where the user gives no number: without trees and codes, a segment takes at most
    # 4 * columns * (columns + 1) bytes, 361 kB, and 9 MB with the 1,500 of a single model.
    max_columns: int = 300
    # Rows of all segments that wait in memory until they are added to the files, as numbers of 8 bytes.
    buffer_bytes: int = 256 * 2**20
    max_segments: int = 100_000  # more are a mistake: a key that is a number or a time of day
    max_name_bytes: int = 200  # of a key and its value as a name of a file; file systems end at 255
    # Rows that are kept to evaluate models of other segments, half of each class: of a segment, and of the totals.
    sample_rows: int = 200
    sample_rows_of_totals: int = 2000


CUBE_POLICY = CubePolicy()
