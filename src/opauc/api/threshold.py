"""A threshold chosen on the rows of files, in memory that does not grow with them."""

from __future__ import annotations

from opauc.api.evaluate import check_both_classes
from opauc.api.observer import Observer
from opauc.api.scored_stream import ScoredStream, check_two_classes
from opauc.core.threshold import Threshold
from opauc.metrics import ScoreBuffer, ThresholdRule, choose_threshold
from opauc.metrics.thresholds import choose_stream_threshold


def threshold_of_files(scored: ScoredStream, rule: ThresholdRule, observer: Observer) -> Threshold:
    """Return the threshold that a rule chooses on scored rows: exactly for up to a million, else between intervals."""
    check_two_classes(scored.model, "a threshold", "opauc predict writes the class of the greatest score")
    buffer, labels = ScoreBuffer(), scored.labels
    with observer.progress("scoring", scored.stream.total_bytes) as show:
        for part in scored.score():
            buffer.add(labels.encode(part.batch), part.scores)
            show(buffer.n_rows, part.batch.bytes_read, buffer.stream.estimate())
    scored.report_unknown(observer)
    check_both_classes(scored, *buffer.stream.counts.tolist())
    rows = buffer.all_rows
    return choose_stream_threshold(buffer.stream, rule) if rows is None else choose_threshold(*rows, rule)
