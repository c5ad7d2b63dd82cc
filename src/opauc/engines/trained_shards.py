"""The model of some shards of the rows, and where its rows come from."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from opauc.core.batch import SourceRecord
from opauc.core.model import Model
from opauc.data.bad_rows import LISTED, BadRows
from opauc.errors import TooManyBadRowsError
from opauc.types import Json
from opauc.version import __version__


@dataclass(frozen=True, eq=False)
class TrainedShards:
    """The model of some shards, next to each other; None of such without rows. A value that merges."""

    model: Model | None
    rows: int = 0
    records: tuple[SourceRecord, ...] = ()
    bad_rows: int = 0
    first_bad: tuple[str, ...] = ()
    unreadable: Mapping[str, int] = field(default_factory=dict)  # values of a column that were not what it is
    shards: int = 1

    def merge(self, other: TrainedShards) -> TrainedShards:
        """Return the model of the rows of both; the shards of `other` come after these."""
        model = self.model or other.model
        if self.model is not None and other.model is not None:
            model = self.model.merge(other.model)
        return TrainedShards(
            model,
            self.rows + other.rows,
            self.records + other.records,
            self.bad_rows + other.bad_rows,
            (self.first_bad + other.first_bad)[:LISTED],
            joined_counts(self.unreadable, other.unreadable),
            self.shards + other.shards,
        )

    def provenance(self) -> Json:
        """Return what is told in a model file of the rows it was learned from."""
        return {
            "library": __version__,
            "rows": self.rows,
            "skipped_rows": self.bad_rows,
            "inputs": [joined(list(records)) for _, records in groupby(self.records, lambda record: record["path"])],
            "learning_curve": [],
        }


def joined_counts(one: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    """Return the counts of two sets of rows, by their columns.

    >>> from opauc.engines.trained_shards import joined_counts
    >>> dict(joined_counts({"age": 1}, {"age": 2, "size": 1}))
    {'age': 3, 'size': 1}
    """
    return Counter(one) + Counter(other)


def refuse_too_many(bad_rows: int, first: Sequence[str], policy: BadRows) -> None:
    """Raise where more rows were skipped than may be."""
    if policy.most is not None and bad_rows > policy.most:
        listed = "; ".join(first[:1])
        raise TooManyBadRowsError(f"{bad_rows} bad rows, at most {policy.most} may be skipped; the first: {listed}")


def joined(records: list[SourceRecord]) -> SourceRecord:
    """Return the record of a file from those of its shards; the hash of several is that of their hashes."""
    if len({record["sha256"] for record in records}) == 1:  # that of a footer, or there is one shard only
        sha256 = records[0]["sha256"]
    else:
        sha256 = hashlib.sha256("\n".join(record["sha256"] for record in records).encode()).hexdigest()
    return SourceRecord(
        path=records[0]["path"],
        bytes=max(record["bytes"] for record in records),
        rows=sum(record["rows"] for record in records),
        sha256=sha256,
    )
