"""The AUC of a model while it learns, each row scored before it is learned, in fixed memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from opauc.errors import IncompatibleMomentsError
from opauc.metrics.exact_auc import Counts, checked_scores
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.types import Arrays

# No window is shorter than SHORTEST, and PER_DOUBLING of them double the rows, until there are more than MOST_WINDOWS.
SHORTEST, PER_DOUBLING, MOST_WINDOWS = 128, 4, 64
WINDOW_SIZE = 256


class ProgressPoint(NamedTuple):
    """The AUC of one window of rows: `rows` is where it ends, `low` and `high` are certain bounds."""

    rows: int
    auc: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class ProgressiveAuc:
    """The AUC of all rows so far, and of disjoint windows of them whose ends grow geometrically.

    Feed it scores that the model gave before it learned those rows: then every
    row is a test row, and the windows in a row are the learning curve. When there
    are more than 64 windows, each is merged with its neighbor, so that memory
    stays fixed; where they end depends on the number of rows alone, not on how the stream was cut.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.metrics import ProgressiveAuc
    >>> rng, progress = np.random.default_rng(0), ProgressiveAuc.empty()
    >>> for skill in np.linspace(0, 3, 20):  # a model that learns
    ...     labels = rng.random(100) < 0.3
    ...     progress = progress.update(labels, rng.normal(size=100) + skill * labels)
    >>> first, *_, last = progress.curve()
    >>> last.rows, bool(first.auc < 0.6), bool(last.auc > 0.9)
    (2000, True, True)
    """

    overall: StreamingAuc
    windows: tuple[StreamingAuc, ...]

    @classmethod
    def empty(cls, size: int = 2048, window_size: int = WINDOW_SIZE) -> ProgressiveAuc:
        """No rows yet; `size` and `window_size` are those of the streaming AUCs of all rows and of a window."""
        # The first window stands from the start, so that its size is known before a row comes.
        return cls(StreamingAuc.empty(size), (StreamingAuc.empty(window_size),))

    @property
    def n_rows(self) -> int:
        """Rows seen."""
        return int(self.overall.counts.sum())

    @property
    def auc(self) -> float:
        """AUC of all rows seen: the middle of `interval()`."""
        return self.overall.estimate()

    def interval(self) -> tuple[float, float]:
        """Bounds that contain the exact AUC of all rows seen; (0, 1) while a class is unseen."""
        return self.overall.interval()

    def update(self, labels: ArrayLike, scores: ArrayLike) -> ProgressiveAuc:
        """The state after these rows too, in their order."""
        positive, score = checked_scores(labels, scores)
        windows, at, n_rows = self.windows, 0, self.n_rows
        while at < score.size:
            ends = window_ends(n_rows + 1)
            if len(ends) < len(windows):
                windows = _halved(windows)
            fresh = [StreamingAuc.empty(windows[0].size)] * (len(ends) - len(windows))
            *full, last = (*windows, *fresh)
            part = slice(at, at + ends[-1] - n_rows)
            windows = (*full, last.update(positive[part], score[part]))
            taken = score[part].size
            at, n_rows = at + taken, n_rows + taken
        return ProgressiveAuc(self.overall.update(positive, score), windows)

    def curve(self) -> list[ProgressPoint]:
        """The AUC of one window after another; the windows make up all rows seen.

        Windows without both classes are joined to the next, the last one to that before it,
        also while it is less than half full. Empty until both classes are seen.
        """
        joined = [StreamingAuc.empty(self.windows[0].size)]
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
        """Copies of all intervals and their counts, those of the windows one after another."""
        arrays = {f"overall_{key}": part for key, part in self.overall.to_arrays().items()}
        return arrays | {
            "window_size": np.array(self.windows[0].size),
            "window_lengths": np.array([window.n_intervals for window in self.windows]),
            "window_lows": np.concatenate([window.lows for window in self.windows]),
            "window_highs": np.concatenate([window.highs for window in self.windows]),
            "window_class_counts": np.concatenate([window.class_counts for window in self.windows]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> ProgressiveAuc:
        """The state from what `to_arrays` gave, refused unless rows could have led to it."""
        keys = ("size", "lows", "highs", "class_counts")
        try:
            overall = StreamingAuc.from_arrays({key: arrays[f"overall_{key}"] for key in keys})
            size, *parts = (np.array(arrays[f"window_{key}"]) for key in keys)
            lengths = np.array(arrays["window_lengths"])
        except KeyError as error:
            raise IncompatibleMomentsError(
                f"expected overall_ and window_ arrays and window_lengths: {error}"
            ) from error
        if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or not 1 <= lengths.size <= MOST_WINDOWS:
            raise IncompatibleMomentsError(f"window_lengths must be 1 to {MOST_WINDOWS} whole numbers")
        if (lengths < 0).any() or any(part.ndim == 0 or len(part) != lengths.sum() for part in parts):
            raise IncompatibleMomentsError("window_lengths must add up to the intervals of the windows")
        cuts = np.cumsum(lengths)[:-1]
        windows = tuple(
            StreamingAuc.from_arrays(dict(zip(keys, (size, *window), strict=True)))
            for window in zip(*(np.split(part, cuts) for part in parts), strict=True)
        )
        _require_whole(overall, windows)
        return cls(overall, windows)

    def _last_is_short(self) -> bool:
        ends = (0, *window_ends(self.n_rows))
        return self.n_rows - ends[-2] < (ends[-1] - ends[-2]) / 2


def window_ends(n_rows: int) -> tuple[int, ...]:
    """Rows after which each window ends, as far as needed for `n_rows`; the last may end beyond them."""
    n_fine = 1
    while _fine_end(n_fine - 1) < n_rows:
        n_fine += 1
    stride = 1
    while -(-n_fine // stride) > MOST_WINDOWS:
        stride *= 2
    return tuple(_fine_end(last) for last in range(stride - 1, n_fine + stride - 1, stride))


def _fine_end(index: int) -> int:
    """Where a window ends before any are merged: equal steps within each doubling, as floating-point numbers lie."""
    doublings, step = divmod(index, PER_DOUBLING)
    if doublings == 0:
        return SHORTEST * (step + 1)
    return (SHORTEST * (PER_DOUBLING + step + 1)) << (doublings - 1)


def _halved(windows: tuple[StreamingAuc, ...]) -> tuple[StreamingAuc, ...]:
    """Return the windows with each two neighbors made one."""
    return tuple(reduce(StreamingAuc.merge, windows[at : at + 2]) for at in range(0, len(windows), 2))


def _require_whole(overall: StreamingAuc, windows: tuple[StreamingAuc, ...]) -> None:
    totals: Counts = np.sum([window.counts for window in windows], axis=0)
    if (totals != overall.counts).any():
        raise IncompatibleMomentsError(f"the windows hold {totals.tolist()} rows of each class, not {overall.counts}")
    n_rows = int(totals.sum())
    ends = (0, *window_ends(n_rows)[:-1], n_rows)
    expected = [last - first for first, last in pairwise(ends)]
    found = [int(window.counts.sum()) for window in windows]
    if found != expected:
        raise IncompatibleMomentsError(f"windows of {n_rows} rows must hold {expected} rows, got {found}")
