"""Progressive validation: score each row before training on it, and measure the AUC of those scores.

The term is river's (`river.evaluate.progressive_val_score`): every row is first a test row, then a training row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.array_schema import ArrayRule, add_prefix, copy_arrays, with_prefix
from opauc.core.fit import Fit
from opauc.core.scorer import Scorer
from opauc.errors import IncompatibleMomentsError
from opauc.metrics.exact_auc import Counts, check_scores
from opauc.metrics.intervals import AucInterval
from opauc.metrics.ranking import stream_interval
from opauc.metrics.score_intervals import interval_schema
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.types import Arrays, Floats, Json, Labels, NamedArrays, Rows, Settings

WINDOW_SIZE = 256
PROGRESS_SCHEMA = add_prefix("overall_", interval_schema()) | {
    "window_size": ArrayRule("int64", low=1),
    "window_lengths": ArrayRule("int64", "windows", low=0, below="window_intervals+1"),
    "window_lows": ArrayRule("float64", "window_intervals", infinite=True),
    "window_highs": ArrayRule("float64", "window_intervals", infinite=True),
    "window_class_counts": ArrayRule("int64", "window_intervals 2", low=0),
}
SCORED_SCHEMA = {
    "labels": ArrayRule("int8", "rows", low=0, high=1),
    "scores": ArrayRule("float64", "rows"),
}
# Of the rows between two refreshes of the scorer, the first MIN_SCORED or one in SCORED_SHARE, whichever is more, are
# scored before training on them; scores are buffered until there are ROWS_PER_UPDATE to sort.
MIN_SCORED, SCORED_SHARE, ROWS_PER_UPDATE = 1024, 8, 16_384
# Training rows before the first scorer.
FIRST_SCORER = 128
# Larger row counts are not exact in float64.
MAX_ROWS = 2**53


@dataclass(frozen=True)
class WindowPolicy:
    """How long the windows of a learning curve are.

    Attributes
    ----------
    min_rows : int
        Rows of the shortest window: fewer have an AUC that varies too much to be drawn.
    per_doubling : int
        Windows while the rows double: the points of a curve over the logarithm of the rows.
    max_windows : int
        Windows in all; neighbors are merged beyond, so that memory is fixed.

    Examples
    --------
    >>> from opauc.metrics.progressive import WindowPolicy
    >>> WindowPolicy().ends(1500)
    (128, 256, 384, 512, 640, 768, 896, 1024, 1280, 1536)
    >>> WindowPolicy(max_windows=5).ends(1500)
    (256, 512, 768, 1024, 1536)
    """

    min_rows: int = 128
    per_doubling: int = 4
    max_windows: int = 64

    def ends(self, n_rows: int) -> tuple[int, ...]:
        """Return the row at which each window ends, for `n_rows` rows; the last may end after them."""
        n_fine = 1
        while self._fine_end(n_fine - 1) < n_rows:
            n_fine += 1
        stride = 1
        while -(-n_fine // stride) > self.max_windows:
            stride *= 2
        return tuple(self._fine_end(last) for last in range(stride - 1, n_fine + stride - 1, stride))

    def _fine_end(self, index: int) -> int:
        """Return where a window ends before any merging: in equal steps within each doubling."""
        doublings, step = divmod(index, self.per_doubling)
        if doublings == 0:
            return self.min_rows * (step + 1)
        return (self.min_rows * (self.per_doubling + step + 1)) << (doublings - 1)


WINDOW_POLICY = WindowPolicy()


class ProgressPoint(NamedTuple):
    """The AUC of one window of rows: `rows` is where it ends, `low` and `high` are exact bounds.

    Attributes
    ----------
    rows : int
        The row at which the window ends.
    auc : float
        The estimated AUC of the window.
    low, high : float
        Bounds that contain its exact AUC.

    Examples
    --------
    >>> from opauc.metrics import ProgressiveAuc
    >>> ProgressiveAuc.empty().update([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.8]).curve()
    [ProgressPoint(rows=4, auc=1.0, low=1.0, high=1.0)]
    """

    rows: int
    auc: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class ProgressiveAuc:
    """The AUC of all rows so far, and of successive windows whose ends grow geometrically.

    Update it with scores computed before training on those rows: the windows
    are then the learning curve. Above 64 windows, neighbors are merged in pairs,
    so memory is fixed. The window ends depend on the row count only, not on the batches.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.metrics import ProgressiveAuc
    >>> rng, progress = np.random.default_rng(0), ProgressiveAuc.empty()
    >>> for skill in np.linspace(0, 3, 20):  # a model that improves
    ...     labels = rng.random(100) < 0.3
    ...     progress = progress.update(labels, rng.normal(size=100) + skill * labels)
    >>> first, *_, last = progress.curve()
    >>> last.rows, bool(first.auc < 0.6), bool(last.auc > 0.9)
    (2000, True, True)
    """

    overall: StreamingAuc
    windows: tuple[StreamingAuc, ...]
    policy: WindowPolicy = WINDOW_POLICY

    @classmethod
    def empty(
        cls, size: int = 2048, window_size: int = WINDOW_SIZE, policy: WindowPolicy = WINDOW_POLICY
    ) -> ProgressiveAuc:
        """Return the state of no rows; `size` is that of the overall streaming AUC, `window_size` that of a window.

        Parameters
        ----------
        size : int
            Intervals of the AUC of all rows.
        window_size : int
            Intervals of the AUC of a window.
        policy : WindowPolicy
            How long windows are.

        Returns
        -------
        auc : ProgressiveAuc
            The state of no rows.
        """
        # The first window exists from the start because it stores the window size.
        return cls(StreamingAuc.empty(size), (StreamingAuc.empty(window_size),), policy)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.overall.counts.sum())

    @property
    def auc(self) -> float:
        """Estimated AUC of all rows: the middle of `interval()`."""
        return self.overall.estimate()

    def interval(self) -> tuple[float, float]:
        """Return bounds that contain the exact AUC of all rows; (0, 1) while a class has no rows.

        Returns
        -------
        bounds : tuple of float
            The lower and the upper bound.
        """
        return self.overall.interval()

    def update(self, labels: ArrayLike, scores: ArrayLike) -> ProgressiveAuc:
        """Return the state after these rows, in their order.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Labels of 0 and 1, or booleans.
        scores : array-like of shape (n_rows,)
            Scores, the higher the more positive; none is NaN.

        Returns
        -------
        auc : ProgressiveAuc
            A new state; this one stays as it is.
        """
        positive, score = check_scores(labels, scores)
        windows, at, n_rows = self.windows, 0, self.n_rows
        while at < score.size:
            ends = self.policy.ends(n_rows + 1)
            if len(ends) < len(windows):
                windows = _merge_pairs(windows)
            new = [windows[0].empty_copy()] * (len(ends) - len(windows))
            *full, last = (*windows, *new)
            batch = slice(at, at + ends[-1] - n_rows)
            windows = (*full, last.update(positive[batch], score[batch]))
            n_added = score[batch].size
            at, n_rows = at + n_added, n_rows + n_added
        return replace(self, overall=self.overall.update(positive, score), windows=windows)

    def curve(self) -> list[ProgressPoint]:
        """Return the AUC of successive windows that together contain all rows.

        A window without both classes is joined to the next one. The last window is joined to the
        one before it if it lacks a class or is less than half full. Empty until there are both classes.

        Returns
        -------
        points : list of ProgressPoint
            The windows in the order of the rows.
        """
        joined = [self.windows[0].empty_copy()]
        for window in self.windows:
            if joined[-1].counts.all():
                joined.append(window)
            else:
                joined[-1] = joined[-1].merge(window)
        if len(joined) > 1 and (self._last_is_short() or not joined[-1].counts.all()):
            last = joined.pop()
            joined[-1] = joined[-1].merge(last)
        ends = np.cumsum([window.counts.sum() for window in joined])
        return [
            ProgressPoint(int(end), window.estimate(), *window.interval())
            for end, window in zip(ends, joined, strict=True)
            if window.counts.all()
        ]

    def to_arrays(self) -> Arrays:
        """Return copies of all intervals and their counts, with those of the windows concatenated.

        Returns
        -------
        arrays : dict of str to ndarray
            The state by names.
        """
        arrays = {f"overall_{key}": part for key, part in self.overall.to_arrays().items()}
        return arrays | {
            "window_size": np.array(self.windows[0].size),
            "window_lengths": np.array([window.n_intervals for window in self.windows]),
            "window_lows": np.concatenate([window.lows for window in self.windows]),
            "window_highs": np.concatenate([window.highs for window in self.windows]),
            "window_class_counts": np.concatenate([window.class_counts for window in self.windows]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike], policy: WindowPolicy = WINDOW_POLICY) -> ProgressiveAuc:
        """Return the state that `to_arrays` wrote; raise IncompatibleMomentsError if no rows can give these arrays.

        Parameters
        ----------
        arrays : mapping of str to array-like
            What `to_arrays` returned.
        policy : WindowPolicy
            How long windows are.

        Returns
        -------
        auc : ProgressiveAuc
            The state that was written.
        """
        given = copy_arrays(PROGRESS_SCHEMA, arrays)
        overall, parts = StreamingAuc.from_arrays(with_prefix("overall_", given)), with_prefix("window_", given)
        size, lengths = parts.pop("size"), parts.pop("lengths")
        if not 1 <= lengths.size <= policy.max_windows or lengths.sum() != len(parts["lows"]):
            raise IncompatibleMomentsError(
                f"window_lengths must be 1 to {policy.max_windows} numbers that add up to the intervals of the windows"
            )
        cuts = np.cumsum(lengths)[:-1]
        windows = tuple(
            StreamingAuc.from_arrays({"size": size, **dict(zip(parts, window, strict=True))})
            for window in zip(*(np.split(part, cuts) for part in parts.values()), strict=True)
        )
        _check_windows(overall, windows, policy)
        return cls(overall, windows, policy)

    def _last_is_short(self) -> bool:
        ends = (0, *self.policy.ends(self.n_rows))
        return self.n_rows - ends[-2] < (ends[-1] - ends[-2]) / 2


def _merge_pairs(windows: tuple[StreamingAuc, ...]) -> tuple[StreamingAuc, ...]:
    """Return the windows with neighbors merged in pairs."""
    return tuple(reduce(StreamingAuc.merge, windows[at : at + 2]) for at in range(0, len(windows), 2))


def _check_windows(overall: StreamingAuc, windows: tuple[StreamingAuc, ...], policy: WindowPolicy) -> None:
    totals: Counts = np.sum([window.counts for window in windows], axis=0)
    if (totals != overall.counts).any():
        raise IncompatibleMomentsError(f"the windows hold {totals.tolist()} rows of each class, not {overall.counts}")
    n_rows = int(totals.sum())
    ends = (0, *policy.ends(n_rows)[:-1], n_rows)
    expected = [last - first for first, last in pairwise(ends)]
    sizes = [int(window.counts.sum()) for window in windows]
    if sizes != expected:
        raise IncompatibleMomentsError(f"windows of {n_rows} rows must hold {expected} rows, got {sizes}")


@dataclass(frozen=True, eq=False)
class ProgressiveValidation:
    """Progressive validation of a training stream, with a scorer that is refreshed as the rows grow.

    A value that depends only on the rows and their batches, so resumed training
    gives identical bits. The solver decides by `look_growth` when `look` makes the next scorer.
    """

    auc: ProgressiveAuc = field(default_factory=ProgressiveAuc.empty)
    labels: Labels = field(default_factory=lambda: np.empty(0, np.int8))  # of scored rows that are not in `auc` yet
    scores: Floats = field(default_factory=lambda: np.empty(0))
    scorer: Scorer | None = None
    next_look: int = FIRST_SCORER  # training rows at the next refresh of the scorer
    pace: tuple[tuple[int, int], ...] = ((0, 0),)  # rows scored and training rows at each refresh
    running: float | None = None

    def before(self, rows: Rows, labels: Labels, fit: Fit) -> ProgressiveValidation:
        """Return the state with the scores of rows before training on them, except rows of the initial sample."""
        if self.scorer is None:
            return self
        width = self.scorer.n_inputs
        first = slice(max(MIN_SCORED, labels.size // SCORED_SHARE))
        test_rows, test_labels = rows[first] if width == rows.shape[1] else rows[first, :width], labels[first]
        if (unseen := fit.new_rows(test_rows)) is not None:
            test_rows, test_labels = test_rows[unseen], test_labels[unseen]
        pending = np.concatenate([self.labels, test_labels])
        scores = np.concatenate([self.scores, self.scorer.scores(test_rows)])
        if pending.size < ROWS_PER_UPDATE:
            return replace(self, labels=pending, scores=scores)
        auc = self.auc.update(pending, scores)
        return replace(self, auc=auc, labels=pending[:0], scores=scores[:0], running=_estimate(auc))

    def after(self, fit: Fit, n_rows: int) -> ProgressiveValidation:
        """Return the state after training on `n_rows` rows in all, with a new scorer if one is due."""
        if n_rows < self.next_look:
            return self
        if fit.n_classes > 2:  # there is no one AUC of them
            return replace(self, next_look=MAX_ROWS - 1)
        return replace(
            self,
            scorer=fit.look(n_rows) or self.scorer,
            next_look=int(fit.look_growth * n_rows) + 1,
            pace=(*self.pace, (self.auc.n_rows + self.labels.size, n_rows)),
        )

    def running_auc(self) -> float | None:
        """Return the current progressive AUC, without the rows still pending; None while a class is missing."""
        return self.running if self.auc.n_rows else _estimate(self.auc.update(self.labels, self.scores))

    def interval(self) -> AucInterval | None:
        """Return the progressive AUC with its confidence limits; None while a class is missing."""
        stream = self.auc.update(self.labels, self.scores).overall
        return stream_interval(stream) if stream.counts.all() else None

    def curve(self, rows: int) -> list[ProgressPoint]:
        """Return the learning curve over `rows` training rows, of which only a part may have been scored."""
        auc = self.auc.update(self.labels, self.scores)
        scored, trained = zip(*self.pace, (auc.n_rows, rows), strict=True)
        return [point._replace(rows=round(float(np.interp(point.rows, scored, trained)))) for point in auc.curve()]

    def to_parts(self) -> tuple[Json, Arrays]:
        """Return the state as header fields and arrays."""
        arrays: Arrays = {f"progress.{name}": array for name, array in self.auc.to_arrays().items()}
        arrays |= {"scored.labels": self.labels, "scored.scores": self.scores}
        if self.scorer is not None:
            arrays |= {f"look.{name}": array for name, array in self.scorer.to_arrays().items()}
        return {"next_look": self.next_look, "pace": self.pace}, arrays

    @classmethod
    def of_parts(cls, header: Settings, arrays: NamedArrays, fit: Fit) -> ProgressiveValidation:
        """Return the state that `to_parts` wrote; raise ValueError if it cannot be one."""
        labels, scores = copy_arrays(SCORED_SCHEMA, with_prefix("scored.", arrays)).values()
        pace = header["pace"]
        if not pace or any(len(pair) != 2 for pair in pace) or (np.diff([[0, 0], *pace], axis=0) < 0).any():
            raise ValueError("pace: expected increasing counts of rows scored and training rows")
        if not 0 < header["next_look"] < MAX_ROWS or pace[-1][1] >= MAX_ROWS:
            raise ValueError(f"next_look: expected a number of rows, got {header['next_look']}")
        auc, look = ProgressiveAuc.from_arrays(with_prefix("progress.", arrays)), with_prefix("look.", arrays)
        scorer = fit.scorer_of(look) if look else None
        return cls(
            auc=auc,
            labels=labels,
            scores=scores,
            scorer=scorer,
            next_look=header["next_look"],
            pace=tuple((scored, trained) for scored, trained in pace),
            running=_estimate(auc),
        )


def _estimate(auc: ProgressiveAuc) -> float | None:
    return auc.auc if auc.overall.counts.all() else None
