"""How well a model ranks rows just before it learns them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from opauc.core.fit import Fit
from opauc.core.scorer import Scorer
from opauc.metrics.intervals import AucInterval
from opauc.metrics.progressive_auc import ProgressiveAuc, ProgressPoint
from opauc.metrics.ranking import stream_interval
from opauc.types import Arrays, Floats, Json, Labels, NamedArrays, Rows, Settings

# Of a chunk, or of the rows learned between two looks at the weights, the first so many, or one in so many, are scored
# before they are learned; scores are put together until there are enough to be worth sorting in.
SCORED, ONE_IN, SORTED_IN = 1024, 8, 16_384
# Rows before the first look at the weights.
FIRST_LOOK = 128
# Whole numbers beyond this are no longer counted one by one.
MOST_ROWS = 2**53


@dataclass(frozen=True, eq=False)
class Progress:
    """The progressive AUC of a stream: rows are scored by weights looked at each time the rows have grown by half.

    A value that depends on the rows and their chunks alone, so that training
    taken up again ends in the same bits.
    """

    auc: ProgressiveAuc = field(default_factory=ProgressiveAuc.empty)
    labels: Labels = field(default_factory=lambda: np.empty(0, np.int8))  # of rows whose scores are not sorted in yet
    scores: Floats = field(default_factory=lambda: np.empty(0))
    scorer: Scorer | None = None
    next_look: int = FIRST_LOOK
    pace: tuple[tuple[int, int], ...] = ((0, 0),)  # rows scored and rows learned, at each look
    running: float | None = None

    def before(self, rows: Rows, labels: Labels, fit: Fit) -> Progress:
        """Return the progress with rows scored that are about to be learned, but those known from a sample."""
        if self.scorer is None:
            return self
        known = self.scorer.n_inputs
        first = slice(max(SCORED, labels.size // ONE_IN))
        scored, actual = rows[first] if known == rows.shape[1] else rows[first, :known], labels[first]
        if (new := fit.new_rows(scored)) is not None:
            scored, actual = scored[new], actual[new]
        fresh = np.concatenate([self.labels, actual])
        scores = np.concatenate([self.scores, self.scorer.scores(scored)])
        if fresh.size < SORTED_IN:
            return replace(self, labels=fresh, scores=scores)
        auc = self.auc.update(fresh, scores)
        return replace(self, auc=auc, labels=fresh[:0], scores=scores[:0], running=_estimate(auc))

    def after(self, fit: Fit, seen: int) -> Progress:
        """Return the progress after a look at the weights, if enough rows have been learned for one."""
        if seen < self.next_look:
            return self
        return replace(
            self,
            scorer=fit.look(seen) or self.scorer,
            next_look=int(fit.look_growth * seen) + 1,
            pace=(*self.pace, (self.auc.n_rows + self.labels.size, seen)),
        )

    def running_auc(self) -> float | None:
        """Return the AUC of the rows scored before they were learned, by and large; None before there is one."""
        return self.running if self.auc.n_rows else _estimate(self.auc.update(self.labels, self.scores))

    def ranked(self) -> AucInterval | None:
        """Return the AUC of all rows scored before they were learned, with its limits; None while a class is missing."""
        stream = self.auc.update(self.labels, self.scores).overall
        return stream_interval(stream) if stream.counts.all() else None

    def curve(self, rows: int) -> list[ProgressPoint]:
        """Return the AUC over the rows learned; of long pieces between two looks only a part was scored."""
        auc = self.auc.update(self.labels, self.scores)
        scored, learned = zip(*self.pace, (auc.n_rows, rows), strict=True)
        return [point._replace(rows=round(float(np.interp(point.rows, scored, learned)))) for point in auc.curve()]

    def to_parts(self) -> tuple[Json, Arrays]:
        """Return all there is, as parts of a header and arrays."""
        arrays: Arrays = {f"progress.{name}": array for name, array in self.auc.to_arrays().items()}
        arrays |= {"scored.labels": self.labels, "scored.scores": self.scores}
        if self.scorer is not None:
            arrays |= {f"look.{name}": array for name, array in self.scorer.to_arrays().items()}
        return {"next_look": self.next_look, "pace": self.pace}, arrays

    @classmethod
    def of_parts(cls, header: Settings, arrays: NamedArrays, fit: Fit) -> Progress:
        """Return the progress of a model that gave these parts, refused unless one can have."""
        labels, scores, pace = arrays["scored.labels"], arrays["scored.scores"], header["pace"]
        if labels.dtype != np.int8 or scores.dtype != np.float64 or not labels.ndim == scores.ndim == 1:
            raise ValueError("expected labels and scores of rows that were scored")
        if labels.shape != scores.shape or not np.isin(labels, (0, 1)).all() or not np.isfinite(scores).all():
            raise ValueError("expected a label of 0 or 1 for each score, and finite scores")
        if not pace or any(len(pair) != 2 for pair in pace) or (np.diff([[0, 0], *pace], axis=0) < 0).any():
            raise ValueError("pace: expected rows scored and rows learned, which never fall")
        if not 0 < header["next_look"] < MOST_ROWS or pace[-1][1] >= MOST_ROWS:
            raise ValueError(f"next_look: expected a number of rows, got {header['next_look']}")
        auc, look = ProgressiveAuc.from_arrays(_under("progress.", arrays)), _under("look.", arrays)
        scorer = fit.scorer_of(look) if look else None
        return cls(
            auc=auc,
            labels=labels,
            scores=scores,
            scorer=scorer,
            next_look=header["next_look"],
            pace=tuple((scored, learned) for scored, learned in pace),
            running=_estimate(auc),
        )


def _under(begin: str, arrays: NamedArrays) -> Arrays:
    return {name.removeprefix(begin): array for name, array in arrays.items() if name.startswith(begin)}


def _estimate(auc: ProgressiveAuc) -> float | None:
    return auc.auc if auc.overall.counts.all() else None
