"""Which data sets and which methods there are: those that two folders declare, one file each."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from experiments.paper.column import Column
from experiments.paper.data_set import DataSet
from experiments.paper.discovery import things_in


class Catalogue(NamedTuple):
    """The names of two packages, so that another process finds the same sets and methods."""

    datasets: str = "experiments.paper.datasets"
    methods: str = "experiments.paper.methods"

    def sets(self) -> dict[str, DataSet]:
        """Every data set, by name.

        >>> Catalogue().sets()["a9a"].printed_as
        'a9a'
        """
        things = things_in(import_module(self.datasets))
        return {thing.name: thing for _, thing in things if isinstance(thing, DataSet)}

    def columns(self) -> dict[str, Column]:
        """Every column, by name.

        >>> sorted(name for name, column in Catalogue().columns().items() if column.kind == "online")
        ['OAM_gra', 'OAM_seq', 'OPAUC', 'OPAUCr', 'online Uni-Exp', 'online Uni-Squ']
        """
        things = things_in(import_module(self.methods))
        return {thing.name: thing for _, thing in things if isinstance(thing, Column)}
