"""All of a change, or nothing of it."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from opauc.learners.undo import Undo
from opauc.rows import Json


class Transaction:
    """Puts an object back as it was if the body raises, Ctrl-C included.

    Its attributes must be values; arrays that the body writes into are named
    beforehand by `guard`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from opauc.training.transaction import Transaction
    >>> model = SimpleNamespace(rows=1)
    >>> try:
    ...     with Transaction(model):
    ...         model.rows = 2
    ...         raise KeyboardInterrupt
    ... except KeyboardInterrupt:
    ...     model.rows
    1
    """

    def __init__(self, owner: Any) -> None:
        self._attributes: Json = owner.__dict__
        self._before = dict(self._attributes)
        self._undo = Undo()

    def guard(self, undo: Undo) -> None:
        """Put these arrays back as well."""
        self._undo = undo

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            self._undo.put_back()
            self._attributes.clear()
            self._attributes.update(self._before)
