"""One thread at a time in a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock, RLock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from sklearn.base import BaseEstimator

from opauc.training.transaction import Transaction

if TYPE_CHECKING:
    from _thread import RLock as ModelLock

# Beside the models and not in them: a clone, a copy or a pickled model has a lock of its own.
_locks: WeakKeyDictionary[BaseEstimator, ModelLock] = WeakKeyDictionary()
_finding = Lock()


@contextmanager
def reading(model: BaseEstimator) -> Iterator[None]:
    """Keep other threads from changing the model while the body runs; it waits for one that is changing it.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> from opauc.estimators.model_lock import reading
    >>> model = OPAUC().fit([[0.0], [2.0]], [0, 1])
    >>> with reading(model):
    ...     counts, weights = model.solution_.counts, model.coef_  # of the same rows
    """
    with _lock_of(model):
        yield


@contextmanager
def changing(model: BaseEstimator, *read: BaseEstimator) -> Iterator[Transaction]:
    """Keep other threads out of the model, and those it takes from, while the body changes it.

    If the body raises, the model is as it was before.
    """
    with ExitStack() as entered:
        # In one order everywhere: two models that take from each other at once must not wait for each other.
        for each in sorted({model, *read}, key=id):
            entered.enter_context(_lock_of(each))
        yield entered.enter_context(Transaction(model))


def _lock_of(model: BaseEstimator) -> ModelLock:
    with _finding:
        return _locks.setdefault(model, RLock())
