"""What a step writes over, kept until it is sure that it is not wanted back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opauc.rows import Array, Rows


class Undo:
    """Puts arrays back as they were; states that are values need none of it.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.learners.undo import Undo
    >>> weights = np.zeros(2)
    >>> undo = Undo().keep(weights)
    >>> weights += 1.0
    >>> undo.put_back()
    >>> weights.tolist()
    [0.0, 0.0]
    """

    def __init__(self) -> None:
        self._actions: list[Callable[[], None]] = []

    def keep(self, *arrays: Array) -> Undo:
        """Keep whole arrays."""
        for array in arrays:
            self._keep(array, ...)
        return self

    def keep_features(self, arrays: Iterable[Array], features: Array | None) -> Undo:
        """Keep what belongs to some features, all where None: arrays have one row a feature."""
        for array in arrays:
            self._keep(array, ... if features is None else features)
        return self

    def then(self, action: Callable[[], None]) -> Undo:
        """Do this as well when things are put back."""
        self._actions.append(action)
        return self

    def put_back(self) -> None:
        """Undo everything; a second time changes nothing more."""
        for action in self._actions:
            action()

    def _keep(self, array: Array, where: Any) -> None:
        before = array.copy() if where is ... else array.take(where, axis=0)

        def restore() -> None:
            array[where] = before

        self._actions.append(restore)


def touched_features(rows: Rows, wide: bool = False) -> NDArray[np.int64] | None:
    """Return the features that have an entry in sparse rows, or None where it is as well to say all of them.

    `wide` says that so much belongs to a feature that no trouble is too great to find out which are touched.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from opauc.learners.undo import touched_features
    >>> touched_features(sparse.csr_array((np.ones(2), ([0, 1], [7, 7])), shape=(2, 100))).tolist()
    [7]
    >>> touched_features(np.ones((2, 3))) is None
    True
    """
    n_features = rows.shape[1]
    # Measured with 32 bytes a feature: copying two features takes as long as marking one entry.
    if isinstance(rows, np.ndarray) or (2 * rows.nnz >= n_features and not wide):
        return None
    if 32 * rows.nnz < n_features:
        return np.unique(rows.indices).astype(np.int64)
    met = np.zeros(n_features, bool)
    met[rows.indices] = True
    return None if 2 * np.count_nonzero(met) >= n_features else np.flatnonzero(met)
