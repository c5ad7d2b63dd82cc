"""Changes that are rolled back when they fail, and locks on models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock, RLock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from opauc.types import Array, Json, Rows

if TYPE_CHECKING:
    from _thread import RLock as ModelLock


class Rollback:
    """Restores arrays; states that are values need none of it.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.core.transaction import Rollback
    >>> weights = np.zeros(2)
    >>> undo = Rollback().keep(weights)
    >>> weights += 1.0
    >>> undo.roll_back()
    >>> weights.tolist()
    [0.0, 0.0]
    """

    def __init__(self) -> None:
        self._actions: list[Callable[[], None]] = []

    def keep(self, *arrays: Array) -> Rollback:
        """Keep whole arrays."""
        for array in arrays:
            self._keep(array, ...)
        return self

    def keep_features(self, arrays: Iterable[Array], features: Array | None) -> Rollback:
        """Keep the rows of these features, all where None, of arrays with one row per feature."""
        for array in arrays:
            self._keep(array, ... if features is None else features)
        return self

    def then(self, action: Callable[[], None]) -> Rollback:
        """Call this function when rolling back."""
        self._actions.append(action)
        return self

    def roll_back(self) -> None:
        """Restore everything; a second call changes nothing more."""
        for action in self._actions:
            action()

    def _keep(self, array: Array, where: Any) -> None:
        before = array.copy() if where is ... else array.take(where, axis=0)

        def restore() -> None:
            array[where] = before

        self._actions.append(restore)


def touched_features(rows: Rows, wide: bool = False) -> NDArray[np.int64] | None:
    """Return the features that have an entry in sparse rows, or None where copying all of them is as cheap.

    With `wide`, the arrays of a feature are so large that the entries are always searched.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from opauc.core.transaction import touched_features
    >>> touched_features(sparse.csr_array((np.ones(2), ([0, 1], [7, 7])), shape=(2, 100))).tolist()
    [7]
    >>> touched_features(np.ones((2, 3))) is None
    True
    """
    n_features = rows.shape[1]
    # Measured with 32 bytes per feature: copying two features takes as long as marking one entry.
    if isinstance(rows, np.ndarray) or (2 * rows.nnz >= n_features and not wide):
        return None
    if 32 * rows.nnz < n_features:
        return np.unique(rows.indices).astype(np.int64)
    touched = np.zeros(n_features, bool)
    touched[rows.indices] = True
    return None if 2 * np.count_nonzero(touched) >= n_features else np.flatnonzero(touched)


class Transaction:
    """Restores the attributes of an object if the body raises, Ctrl-C included.

    Attributes must be values; arrays that the body writes into are registered
    before by `restore_on_error`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from opauc.core.transaction import Transaction
    >>> model = SimpleNamespace(rows=1)
    >>> try:
    ...     with Transaction(model):
    ...         model.rows = 2
    ...         raise KeyboardInterrupt
    ... except KeyboardInterrupt:
    ...     model.rows
    1
    """

    def __init__(self, target: Any) -> None:
        self._attributes: Json = target.__dict__
        self._before = dict(self._attributes)
        self._undo = Rollback()

    def restore_on_error(self, undo: Rollback) -> None:
        """Restore these arrays too."""
        self._undo = undo

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            self._undo.roll_back()
            self._attributes.clear()
            self._attributes.update(self._before)


# Not stored in the models: a clone, a copy or an unpickled model has its own lock.
_locks: WeakKeyDictionary[object, ModelLock] = WeakKeyDictionary()
_finding = Lock()


@contextmanager
def reading(model: object) -> Iterator[None]:
    """Keep other threads from changing the model while the body runs; it waits for one that is changing it.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> from opauc.core.transaction import reading
    >>> model = OPAUC().fit([[0.0], [2.0]], [0, 1])
    >>> with reading(model):
    ...     counts, weights = model.moments_.counts, model.coef_  # of the same rows
    """
    with _lock_of(model):
        yield


@contextmanager
def changing(model: object, *read: object) -> Iterator[Transaction]:
    """Lock the model, and those it reads, while the body changes it.

    If the body raises, the model is restored.
    """
    with ExitStack() as entered:
        # Always in the same order: two threads that lock the same models must not wait for each other.
        for each in sorted({model, *read}, key=id):
            entered.enter_context(_lock_of(each))
        yield entered.enter_context(Transaction(model))


def _lock_of(model: object) -> ModelLock:
    with _finding:
        return _locks.setdefault(model, RLock())
