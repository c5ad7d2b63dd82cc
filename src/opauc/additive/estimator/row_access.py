"""How an additive model reads and scores single rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from opauc.additive.basis.packed_tables import PackedTables
from opauc.additive.input import next_rows
from opauc.core.scorer import Scorer
from opauc.data.schema.record import RecordReader
from opauc.errors import InputError
from opauc.estimators.row_scorer import RowAccess
from opauc.types import Floats, Rows

# Terms are computed when they are first asked for, by one thread.
_finding_terms = Lock()


@dataclass(frozen=True, eq=False)
class AdditiveRows(RowAccess):
    """The rows of an additive model: records and tables of its columns, or arrays of numbers."""

    estimator: Any  # a copy that nobody trains
    scorer: Scorer
    tables: PackedTables | None  # of the only score; None with more than two classes
    reader: RecordReader | None  # None for a model fitted to arrays
    array_size: int | None  # of rows that are numbers already; None where arrays have to be read as tables

    @classmethod
    def of(cls, estimator: Any, scorer: Scorer, tables: PackedTables | None) -> AdditiveRows:
        """Return the rows of a fitted estimator, which is not changed afterwards."""
        columns, size = estimator._columns, estimator.n_features_in_
        are_numbers = columns is None or (
            not columns.categorical.any() and len(columns.inputs) == len(columns.columns) == size
        )
        reader = None if columns is None else columns.record_reader
        return cls(estimator, scorer, tables, reader, size if are_numbers else None)

    def records(self, records: Sequence[Mapping[str, object]]) -> Rows:
        """Return rows given as dicts as numbers."""
        if self.reader is None:
            raise InputError("the model was fitted to an array, whose columns have no names; give a row as an array")
        if len(records) == 1:
            return self.reader.read(records[0]).numbers
        return np.concatenate([self.reader.read(record).numbers for record in records])

    def array(self, row: Floats) -> Rows | None:
        """Return one row of numbers if it is certainly valid."""
        if row.size != self.array_size or np.isinf(row).any():
            return None
        return np.array(row[None], np.float64)

    def rows(self, X: ArrayLike) -> Rows:
        """Return any rows as numbers."""
        return next_rows(self.estimator, X, self.estimator._columns, learn=False).rows

    def score(self, rows: Rows) -> float:
        """Return the score of one row, of two classes."""
        assert self.tables is not None, "of more classes there is no single score"
        return self.tables.score(np.asarray(rows, np.float64))

    def scores(self, rows: Rows) -> Floats:
        """Return the score of each row."""
        with self.estimator._threads():
            return self.scorer.scores(rows)

    def contributions(self, rows: Rows) -> tuple[Sequence[str], Floats, float]:
        """Return the names of the terms, their contributions to each row, and the baseline."""
        with _finding_terms:
            terms = self.estimator._terms()
            _ = terms.numbers.column_weights, terms.numbers.baseline
        explanation = terms.explain(np.asarray(rows, np.float64))
        return explanation.names, explanation.contributions, explanation.baseline
