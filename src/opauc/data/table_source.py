"""Sources that are tables: what `opauc.data.tables` and `opauc.data.databases` make, and streams of batches read."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from opauc.data.sources import IN_MEMORY

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema


class TableSource(ABC):
    """A table that is read batch by batch, in place of a file."""

    # Bytes of the source, and those that were read: unknown.
    size: ClassVar[int] = 0
    passed: ClassVar[int] = 0
    # What reading it may raise besides the errors of Arrow.
    failures: tuple[type[Exception], ...] = ()

    @property
    def name(self) -> str:
        """The name of the source in messages."""
        return IN_MEMORY

    @property
    def record(self) -> str:
        """What a model records of where its rows came from."""
        return self.name

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """Names and types of the columns."""

    @abstractmethod
    def read(self, names: Sequence[str]) -> Iterable[RecordBatch]:
        """Return the rows, the columns of these names only; raise InputError where the table was read and is gone."""

    @property
    def repeatable(self) -> bool:
        """Whether the table can be read again."""
        return True

    @abstractmethod
    def count(self) -> int:
        """Return the number of rows of a table that can be read again."""

    def hold(self, n_rows: int) -> None:  # noqa: ARG002
        """Read up to so many rows ahead of a table that can be read once."""
        assert self.repeatable, "there is nothing to hold of a table that can be read again"


# A file, a pattern, a folder, "-" for standard input, or a table.
Source: TypeAlias = str | os.PathLike[str] | TableSource
# The same once patterns and folders are resolved.
ResolvedSource: TypeAlias = str | TableSource
