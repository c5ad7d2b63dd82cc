"""A threshold chosen on the rows of files, in memory that does not grow with them."""

from __future__ import annotations

from collections.abc import Sequence

from opauc.api.evaluate import check_both_classes
from opauc.api.observer import Observer
from opauc.api.scored_stream import ScoredStream, check_two_classes
from opauc.api.training_files import trained_before, training_rows_warning
from opauc.core.batch import SourceRecord
from opauc.core.threshold import Threshold
from opauc.metrics import ScoreBuffer, ThresholdRule, choose_threshold
from opauc.metrics.thresholds import choose_stream_threshold


def threshold_of_files(scored: ScoredStream, rule: ThresholdRule, observer: Observer) -> Threshold:
    """Return the threshold that a rule chooses on scored rows: exactly for up to a million, else between intervals."""
    check_two_classes(scored.model, "a threshold", "opauc predict writes the class of the greatest score")
    buffer, labels = ScoreBuffer(), scored.labels
    records: Sequence[SourceRecord] = ()
    with observer.progress("scoring", scored.stream.total_bytes) as show:
        for part in scored.score():
            buffer.add(labels.encode(part.batch), part.scores)
            records = part.batch.resume_position.records
            show(buffer.n_rows, part.batch.bytes_read, buffer.stream.estimate())
    scored.report_unknown(observer)
    check_both_classes(scored, *buffer.stream.counts.tolist())
    trained_on = trained_before(scored.model.provenance, records)
    if trained_on:
        consequence = "the rates of new rows are probably worse than these; choose it on other rows"
        observer.warn(training_rows_warning(trained_on, len(records), consequence))
    rows = buffer.all_rows
    return choose_stream_threshold(buffer.stream, rule) if rows is None else choose_threshold(*rows, rule)
