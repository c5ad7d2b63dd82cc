"""Formats of export: each module of `exports/` that writes one declares its name, its file endings and its writer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from opauc.exports.portable import PortableModel


@dataclass(frozen=True)
class ExportOptions:
    """What a format may be asked for; each takes what it knows (`ExportFormat.options`).

    Attributes
    ----------
    reasons : int
        How many reasons for its score are written for each row.
    dialect : str
        The dialect of SQL.
    table : str
        The name of the table that the query reads.
    typed : bool
        Whether the numbers and dates of the table have types of their own, and are no text.
    """

    reasons: int = 0
    dialect: str = "duckdb"
    table: str = "data"
    typed: bool = False


Writer: TypeAlias = Callable[[PortableModel, ExportOptions], bytes]


@dataclass(frozen=True)
class ExportFormat:
    """A format that models are written in.

    Attributes
    ----------
    name : str
        The name by which users choose it.
    endings : tuple of str
        The endings of the names of its files.
    write : callable
        Returns the content of the file of a model in its portable form.
    options : tuple of str
        The fields of `ExportOptions` that it takes.
    """

    name: str
    endings: tuple[str, ...]
    write: Writer
    options: tuple[str, ...] = ()
