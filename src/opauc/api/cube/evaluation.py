"""Models of a cube evaluated on rows of segments that they do not have: given rows, or those that the files keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from opauc.api.cube.keys import Values
from opauc.api.cube.segment_file import SegmentSample
from opauc.api.cube.training import rows_by_key
from opauc.core.fit import Fit
from opauc.core.model import Model
from opauc.core.row_blocks import widen_rows
from opauc.data import BadRows, DataStream
from opauc.data.find_sources import is_paths, paths_of
from opauc.data.frames import to_table
from opauc.errors import InputError
from opauc.metrics import AucDifference, auc_interval, compare_aucs
from opauc.types import Floats, Labels, Rows

if TYPE_CHECKING:
    from opauc.api.cube.cube import Cube

# Where an AUC comes from: rows that were given, rows that the files of segments keep, or class moments alone, as if
# the scores of each class were normal.
GIVEN, KEPT, MOMENTS = "given rows", "kept rows", "class moments"


class EvaluationRows(NamedTuple):
    """Rows of segments with their labels, and where they come from."""

    rows: Rows
    labels: Labels
    source: str

    @property
    def both(self) -> bool:
        """Whether there are rows of both classes."""
        return 0 < int(self.labels.sum()) < self.labels.size

    def scores(self, fit: Fit) -> Floats:
        """Return the scores that a fit gives to the rows."""
        return fit.scorer.scores(widen_rows(self.rows, fit.n_features))


class SegmentAuc(NamedTuple):
    """An AUC on some segments with its 95 % interval, nan where it is not known, and what it was computed from.

    Attributes
    ----------
    auc, low, high : float
        The AUC and its 95 % limits; nan where it is not known.
    rows : int
        How many rows it was computed from.
    source : str
        What it was computed from: the rows given, the rows that the files keep, or the class moments.
    """

    auc: float
    low: float
    high: float
    rows: int
    source: str


Given: TypeAlias = Mapping[Values, EvaluationRows] | None
UNKNOWN = SegmentAuc(np.nan, np.nan, np.nan, 0, KEPT)


def given_rows(cube: Cube, model: Model, rows: Any, label: str | None) -> Given:
    """Return the rows of a table or of files by segment, None where none are given."""
    if rows is None:
        return None
    reading: Any = model.reading
    if label is not None:
        reading = reading.with_label(label)
    if is_paths(rows):
        stream = reading.stream(paths_of(rows), labeled=True, passthrough=cube.keys)
    else:
        stream = DataStream.of_memory(to_table(rows), None, reading.options, reading.frozen_encoder(cube.keys))
    parts: dict[Values, list[tuple[Rows, Labels]]] = {}
    for batch in stream.batches():
        labels = model.labels.encode(batch)
        for values, at in rows_by_key(batch, cube.keys, BadRows())[0].items():
            parts.setdefault(values, []).append((batch.rows[at], labels[at]))
    return {values: join_rows(some, GIVEN) for values, some in parts.items()}


def join_rows(parts: Sequence[tuple[Rows, Labels]], source: str) -> EvaluationRows:
    """Return the rows of several batches together, as an array."""
    width = max(rows.shape[1] for rows, _ in parts)
    dense = [rows if isinstance(rows, np.ndarray) else widen_rows(rows, width).toarray() for rows, _ in parts]  # type: ignore[union-attr]
    return EvaluationRows(np.concatenate(dense), np.concatenate([labels for _, labels in parts]), source)


def rows_for(cube: Cube, chosen: Sequence[Values], given: Given, n_features: int) -> EvaluationRows | None:
    """Return the rows of segments that models can be evaluated on, None where there are none."""
    if given is not None:
        some = [given[values] for values in chosen if values in given]
        return join_rows([(part.rows, part.labels) for part in some], GIVEN) if some else None
    samples = [part.sample for part in cube.parts(chosen)]
    sample = SegmentSample.merge_all(samples, 2 * sum(sample.labels.size for sample in samples))
    return EvaluationRows(sample.dense(n_features), sample.labels, KEPT) if sample.labels.size else None


def auc_on(fit: Fit, rows: EvaluationRows | None, part: Fit) -> SegmentAuc:
    """Return the AUC of a fit on rows; without rows by the moments of the part they are in."""
    if not fit.counts.all_seen:
        return UNKNOWN
    if rows is not None and rows.both:
        interval = auc_interval(rows.labels, rows.scores(fit))
        return SegmentAuc(interval.auc, interval.low, interval.high, rows.labels.size, rows.source)
    auc = fit.auc_by_moments(part) if rows is None else None
    return UNKNOWN if auc is None else SegmentAuc(auc, np.nan, np.nan, int(sum(part.counts)), MOMENTS)


def difference_on(one: Fit, other: Fit, rows: EvaluationRows | None) -> AucDifference | None:
    """Return the AUC of one fit less that of another on the same rows, with a paired test; None where it is unknown."""
    if rows is None or not rows.both or not (one.counts.all_seen and other.counts.all_seen):
        return None
    return compare_aucs(rows.labels, rows.scores(one), rows.scores(other))


def check_rows_known(cube: Cube, found: Sequence[SegmentAuc]) -> None:
    """Raise where nothing could be evaluated: the files keep no rows, and none were given."""
    if all(np.isnan(auc.auc) for auc in found):
        raise InputError(
            f"{cube.path}: keeps no rows of both classes to evaluate models on (sample_rows); give rows=, a table or "
            "files"
        )
