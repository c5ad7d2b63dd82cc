"""Formats of export: each module of `exports/` that writes one declares its name, its file endings and its writer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from opauc.exports.portable import PortableModel
from opauc.exports.portable_classes import PortableClasses


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
    points_to_double : float
        The points of a scorecard by which the odds of the positive class double; 0 for log-odds.
    base_points, base_odds : float
        The points of a row with these odds.
    """

    reasons: int = 0
    dialect: str = "duckdb"
    table: str = "data"
    typed: bool = False
    points_to_double: float = 20.0
    base_points: float = 600.0
    base_odds: float = 50.0


Writer: TypeAlias = Callable[[PortableModel, ExportOptions], bytes]
ClassesWriter: TypeAlias = Callable[[PortableClasses, ExportOptions], bytes]


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
    writers : dict of str to callable
        The writers of files of other endings than the first.
    write_classes : callable or None
        Returns the content of the file of a model of several classes; None where the format has none.
    """

    name: str
    endings: tuple[str, ...]
    write: Writer
    options: tuple[str, ...] = ()
    writers: Mapping[str, Writer] = field(default_factory=dict)
    write_classes: ClassesWriter | None = None
