"""How a linear model reads single rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Never

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.row_blocks import widen_rows
from opauc.core.scorer import Scorer
from opauc.data.encode.onehot_record import OneHotRecordReader
from opauc.data.encode.table_features import OneHotReading
from opauc.errors import InputError, UnsupportedOperationError
from opauc.estimators.row_scorer import RowAccess
from opauc.linear.input import check_rows
from opauc.types import Floats, Rows


@dataclass(frozen=True, eq=False)
class LinearRows(RowAccess):
    """The rows of a linear model: features, or tables as those it was trained on."""

    estimator: Any  # a copy that nobody trains
    scorer: Scorer
    names: tuple[str, ...] | None
    reader: OneHotRecordReader | None  # of tables whose categories are not hashed

    @classmethod
    def of(cls, estimator: Any, scorer: Scorer) -> LinearRows:
        """Return the rows of a fitted estimator, which is not changed afterwards."""
        reading: OneHotReading | None = estimator._reading
        reader = None
        if reading is not None and reading.encoding is not None and reading.options.hash_bits is None:
            reader = OneHotRecordReader.of(reading.encoding, reading.options.missing)
        return cls(estimator, scorer, estimator._feature_names(), reader)

    def records(self, records: Sequence[Mapping[str, object]]) -> Rows:
        """Return the features of rows given as dicts; of a model fitted to arrays they have to have every feature."""
        reading: OneHotReading | None = self.estimator._reading
        if reading is not None and reading.encoding is not None:
            if self.reader is not None and len(records) == 1:
                row = self.reader.read(records[0])
                if row is not None:
                    return widen_rows(row, self.estimator.n_features_in_)
            columns = [*(reading.encoding["numeric"] or ()), *reading.encoding["categorical"]]
            filled = [{name: record.get(name) for name in columns} for record in records]
            return widen_rows(reading.read(filled).rows, self.estimator.n_features_in_)
        if self.names is None:
            raise InputError("the model was fitted to an array, whose columns have no names; give a row as an array")
        try:
            rows = np.array([[record[name] for name in self.names] for record in records], np.float64)
        except KeyError as error:
            raise InputError(f"the row has no feature {error.args[0]!r}; the model takes no missing values") from error
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"expected finite numbers: {error}") from error
        finite = np.isfinite(rows).all(axis=0)
        if not finite.all():
            raise InputError(f"feature {self.names[int(np.argmin(finite))]}: expected a finite number")
        return rows

    def array(self, row: Floats) -> Rows | None:
        """Return one row of numbers if it is certainly valid."""
        is_plain = row.dtype == np.float64 or row.dtype == np.float32
        return row[None] if is_plain and row.size == self.scorer.n_inputs and np.isfinite(row).all() else None

    def rows(self, X: ArrayLike) -> Rows:
        """Return any rows, checked."""
        return check_rows(self.estimator, X)

    def score(self, rows: Rows) -> float:
        """Return the score of one row."""
        return self.scorer.scores(rows).item()

    def scores(self, rows: Rows) -> Floats:
        """Return the score of each row."""
        return self.scorer.scores(rows)

    def contributions(self, *_: object) -> Never:
        """Raise: there are no terms."""
        raise UnsupportedOperationError(f"{type(self.estimator).__name__} has no terms, and so no contributions")
