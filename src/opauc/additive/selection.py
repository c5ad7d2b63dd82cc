"""The guard: simpler models that score every later row beside the full one, and take over where they rank better."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.basis.groups import ColumnGroups, GroupKind
from opauc.additive.penalties import Penalties
from opauc.additive.smoothing import solved
from opauc.additive.sums import LinearizedSums
from opauc.errors import IncompatibleMomentsError
from opauc.types import Arrays, Floats, Labels, NamedArrays

# The rungs from the simplest model to the full one; the one without leaves is there where these are.
LINEAR, ADDITIVE, CERTAIN_PAIRS, PAIRS, FULL = RUNGS = ("linear", "additive", "certain pairs", "pairs", "full")
WITHOUT_LEAVES = (LINEAR, ADDITIVE, CERTAIN_PAIRS, FULL)
# The fit to the basis's sample, taken where the classes come in far other shares after the basis than before.
SAMPLE = "sample"
# What all features together become.
TOGETHER = (GroupKind.LANDMARKS, GroupKind.LEAVES)
# Scores are counted in so many bins between these log-odds.
N_BINS, FARTHEST = 4096, 16.0
# A rung must rank better by this many standard errors.
ERRORS = 0.5
# In the linear rung a straight line is not to be held back by what curves need.
STRONGEST_LINE = 1.0


def rung_columns(groups: ColumnGroups, main_columns: int, certain_columns: int) -> dict[str, NDArray[np.int64]]:
    """Return the columns of each rung: straight and binary ones, main effects, certain pairs too, all pairs, all."""
    of_columns = groups.kinds[groups.of_columns()]
    straight = (GroupKind.INTERCEPT, GroupKind.BINARY, GroupKind.LINEAR, GroupKind.LEVELS)
    n_paired = groups.n_columns - int(np.isin(of_columns, TOGETHER).sum())
    rungs = {
        LINEAR: np.flatnonzero(np.isin(of_columns, straight)),
        ADDITIVE: np.arange(main_columns),
        CERTAIN_PAIRS: np.arange(certain_columns),
        PAIRS: np.arange(n_paired),
        FULL: np.arange(groups.n_columns),
    }
    if n_paired == groups.n_columns:
        del rungs[PAIRS]
    return rungs


def rung_weights(sums: LinearizedSums, penalties: Penalties, strengths: Floats, columns: NDArray[np.int64]) -> Floats:
    """Return the weights of the model that has the columns of some groups only, zero for the others."""
    kept = np.unique(penalties.groups.of_columns()[columns])
    part, held = penalties.restricted(kept), strengths[kept]
    if not np.isin(part.groups.kinds, (GroupKind.HATS, GroupKind.PAIR, *TOGETHER)).any():
        held = np.minimum(held, STRONGEST_LINE)
    some = sums if columns.size == sums.n_features else sums.restrict(columns)
    weights = np.zeros(sums.n_features)
    weights[columns] = solved(some.gram, some.moment, part, held)
    return weights


class ModelSelection(NamedTuple):
    """The rung taken, the AUC of each on the rows that came after the basis, and how many positive rows those were."""

    rung: str
    aucs: dict[str, float]
    rows: tuple[float, float]


@dataclass(frozen=True, eq=False)
class CandidateModels:
    """How the rungs, fixed when the basis was, score the rows that came after it: sums that merge.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.additive.selection import CandidateModels
    >>> rungs = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, -1.0]])
    >>> rows, labels = csr_array([[1.0, 2.0], [1.0, -2.0]]), np.array([1, 0], np.int8)
    >>> CandidateModels.of(rungs).update(rows, labels).selection().rung
    'additive'
    """

    rungs: Floats  # (n_rungs, n_columns)
    counts: Floats  # (n_rungs, 2, N_BINS): rows of each class by their score

    @classmethod
    def of(cls, rungs: Floats) -> Self:
        """Return the ladder before any row."""
        return cls(rungs, np.zeros((len(rungs), 2, N_BINS)))

    @property
    def names(self) -> tuple[str, ...]:
        """Return what the rungs are."""
        return RUNGS if len(self.rungs) == len(RUNGS) else WITHOUT_LEAVES

    def empty_copy(self) -> Self:
        """Return the ladder before any row."""
        return self.of(self.rungs)

    def update(self, rows: csr_array, labels: Labels, weight: Floats | None = None) -> Self:
        """Return the ladder with rows scored that have not been learned."""
        scores = rows @ self.rungs.T
        bins = np.clip((scores / FARTHEST + 1.0) * (N_BINS / 2), 0, N_BINS - 1).astype(np.int64)
        counts = self.counts.copy()
        for rung, places in enumerate(bins.T):
            found = np.bincount(labels.astype(np.int64) * N_BINS + places, weight, minlength=2 * N_BINS)
            counts[rung] += found.reshape(2, N_BINS)
        return replace(self, counts=counts)

    def merge(self, other: CandidateModels) -> Self:
        """Return the ladder that has scored the rows of both."""
        self._refuse_other(other)
        return replace(self, counts=self.counts + other.counts)

    def subtract(self, other: CandidateModels) -> Self:
        """Return the ladder that has not scored the rows of `other`; no count falls below zero."""
        self._refuse_other(other)
        return replace(self, counts=np.maximum(self.counts - other.counts, 0.0))

    def selection(self) -> ModelSelection:
        """Return which rung to take: the full one, unless another is better by more than chance allows."""
        negative, positive = self.counts[-1].sum(axis=1).tolist()
        if not (negative > 0 and positive > 0):
            return ModelSelection(FULL, {}, (negative, positive))
        aucs = [_auc(*counts) for counts in self.counts]
        best = int(np.argmax(aucs))
        margin = ERRORS * np.sqrt((1.0 - aucs[-1]) / (2.0 * min(positive, negative)))
        taken = self.names[best] if aucs[best] > aucs[-1] + margin else FULL
        return ModelSelection(taken, dict(zip(self.names, aucs, strict=True)), (negative, positive))

    def to_arrays(self) -> Arrays:
        """Return copies of all there is, for a file or the network."""
        return {"rungs": self.rungs.copy(), "counts": self.counts.copy()}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the ladder that gave these arrays, refused unless one can have."""
        rungs, counts = (np.asarray(arrays[name]) for name in ("rungs", "counts"))
        known = rungs.ndim == 2 and len(rungs) in (len(RUNGS), len(WITHOUT_LEAVES))
        fits = known and counts.shape == (len(rungs), 2, N_BINS)
        sound = all(part.dtype == np.float64 and np.isfinite(part).all() for part in (rungs, counts))
        if not (fits and sound) or counts.min(initial=0.0) < 0:
            raise IncompatibleMomentsError("ladder: expected four or five rungs and counts of their scores")
        return cls(rungs, counts)

    def _refuse_other(self, other: CandidateModels) -> None:
        if not np.array_equal(self.rungs, other.rungs):
            raise IncompatibleMomentsError("ladders of different rungs do not belong together")


def _auc(negative: Floats, positive: Floats) -> float:
    """Return the AUC of counts in bins, ties counting half."""
    below = np.cumsum(negative) - 0.5 * negative
    return float(positive @ below / (positive.sum() * negative.sum()))
