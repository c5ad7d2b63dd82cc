"""The points of a curve that are needed to draw it."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from opauc.rows import Floats

# In the unit square; on a chart 400 pixels wide a fifth of a pixel.
UNSEEN = 0.0005
MOST_POINTS = 500


def needed_points(x: Floats, y: Floats, most: int = MOST_POINTS, unseen: float = UNSEEN) -> NDArray[np.intp]:
    """Return which points, rising, to keep of a curve: every other is within `unseen` of the line through those.

    The point farthest from its chord is added again and again (Douglas and
    Peucker's rule), so that where `most` points are too few the worst gap is the smallest such a choice leaves.
    """
    kept = {0, x.size - 1}
    chords = [_farthest(x, y, 0, x.size - 1)]
    heapify(chords)
    while chords and len(kept) < most and -chords[0][0] > unseen:
        _, first, middle, last = heappop(chords)
        kept.add(middle)
        for start, end in ((first, middle), (middle, last)):
            if end - start > 1:
                heappush(chords, _farthest(x, y, start, end))
    return np.array(sorted(kept))


def _farthest(x: Floats, y: Floats, first: int, last: int) -> tuple[float, int, int, int]:
    """Return minus the largest distance from the chord, and the first point of the chord, the farthest and the last."""
    across, up = x[last] - x[first], y[last] - y[first]
    right, above = x[first : last + 1] - x[first], y[first : last + 1] - y[first]
    length = float(np.hypot(across, up))
    distances = np.abs(across * above - up * right) / length if length > 0 else np.hypot(right, above)
    middle = int(distances.argmax())
    return -float(distances[middle]), first, first + middle, last
