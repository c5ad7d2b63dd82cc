"""The rows of a batch cut into shards whose sums are merged in one order: the same bits on any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from opauc.core.threads import work_in_order

Sums = TypeVar("Sums")

# A shard has so many rows for each column, within these bounds: adding its matrix to that of the others costs as much
# as a few hundred rows.
ROWS_PER_COLUMN, MIN_SHARD_ROWS, MAX_SHARD_ROWS = 16, 8192, 32_768


def cut_rows(n_rows: int, n_columns: int) -> list[slice]:
    """Return the shards of so many rows; they do not depend on the number of threads.

    Examples
    --------
    >>> from opauc.additive.row_shards import cut_rows
    >>> cut_rows(20_000, 100), cut_rows(0, 100)
    ([slice(0, 8192, None), slice(8192, 16384, None), slice(16384, 20000, None)], [slice(0, 0, None)])
    """
    step = min(max(ROWS_PER_COLUMN * n_columns, MIN_SHARD_ROWS), MAX_SHARD_ROWS)
    return [slice(start, min(start + step, n_rows)) for start in range(0, max(n_rows, 1), step)]


def sum_shards(
    n_rows: int, n_columns: int, add: Callable[[slice, bool], Sums], merge: Callable[[Sums, Sums], Sums]
) -> Sums:
    """Return the sums over all rows, shard by shard in the threads of `use_threads`.

    Parameters
    ----------
    n_rows, n_columns : int
        Rows of the batch, and the columns of their sums.
    add : callable
        Returns the sums of a shard; those of the first one, for which it is called with True, include earlier rows.
    merge : callable
        Returns the sums of two.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.row_shards import sum_shards
    >>> rows = np.arange(20_000)
    >>> sum_shards(rows.size, 1, lambda shard, first: 100 * first + int(rows[shard].sum()), lambda a, b: a + b)
    199990100
    """
    sums: list[Sums] = []

    def work(shard: slice) -> Sums:
        return add(shard, shard.start == 0)

    def take(part: Sums) -> None:
        sums[:] = [merge(sums[0], part)] if sums else [part]

    work_in_order(work, cut_rows(n_rows, n_columns), take)
    return sums[0]
