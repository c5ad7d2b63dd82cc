"""Where a model comes from: nothing here depends on when or how fast it was made."""

from __future__ import annotations

from opauc.rows import Json
from opauc.training.stream_training import StreamTraining
from opauc.version import __version__


def provenance_of(training: StreamTraining) -> Json:
    """Return what is told in a model file of the rows it was learnt from."""
    return {
        "library": __version__,
        "rows": training.rows,
        "skipped_rows": training.bookmark.bad_rows,
        "inputs": list(training.bookmark.records),
        "learning_curve": [list(point) for point in training.progress.curve(training.rows)],
    }
