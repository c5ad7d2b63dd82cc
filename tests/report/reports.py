"""Reports for the tests of the page."""

import numpy as np

from opauc.metrics.calibration import CalibrationBins
from opauc.metrics.progressive import ProgressiveAuc
from opauc.metrics.ranking import Ranking
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.report import Report, WeightRow
from tests.report.penalties import penalty_choice
from tests.report.terms import terms_section

HOSTILE = "<script>alert(1)</script> & \"quoted\" 'too' \x00\ud800 \u202e https://example.org/x.png"


def full_report(**changes):
    rng = np.random.default_rng(0)
    labels = rng.random(4000) < 0.2
    scores = rng.normal(size=4000) + 1.5 * labels
    fields = {
        "title": HOSTILE,
        "ranking": Ranking.of(labels, scores),
        "model": HOSTILE,
        "n_features": 40,
        "calibration": CalibrationBins.of(labels, 1 / (1 + np.exp(2 - scores))),
        "learning_curve": ProgressiveAuc.empty().update(labels, scores).curve(),
        "penalty": penalty_choice(),
        "weights": [
            WeightRow(HOSTILE, -3.0e-7, -3.0),
            WeightRow("x" * 200, 123456.0, 0.5),
            *(WeightRow(f"feature {i}", 7.0, 0.1 / (i + 1)) for i in range(38)),
        ],
        "weight_order": "by standardized weight",
        "data": {"File": "a/very/long/path/" * 6, HOSTILE: HOSTILE},
        "settings": {"alpha": 1e-4, "average": True, "rank": None},
        "timings": {"Reading": 1.5, "Training": 0.002},
        "provenance": {"SHA-256": "0123456789abcdef" * 4},
        "about": {"Written": "2026-11-18 12:00 UTC", "Command": "opauc report " + HOSTILE},
    }
    return Report(**(fields | changes))


def rare_report():
    rng = np.random.default_rng(1)
    labels = rng.random(200_000) < 0.002
    scores = 1e6 * (rng.normal(size=200_000) + 2 * labels)
    probabilities = 1 / (1 + np.exp(9 - 2e-6 * scores))
    stream = StreamingAuc.of(labels, scores)
    return full_report(ranking=Ranking.of_stream(stream), calibration=CalibrationBins.of(labels, probabilities))


def offset_report():
    """Close scores far from zero, few training rows, and small probabilities."""
    rng = np.random.default_rng(2)
    labels = rng.random(300) < 0.1
    scores = -98_765.0 + 1e-3 * (rng.normal(size=300) + labels)
    return full_report(
        ranking=Ranking.of(labels, scores),
        calibration=CalibrationBins.of(labels & (scores > -98_764.999), 1e-4 * (1 + rng.random(300))),
        learning_curve=ProgressiveAuc.empty().update(labels, scores).curve(),
    )


def bare_report():
    return Report(title="Two rows", ranking=Ranking.of([0, 1], [0.0, 1.0]))


def additive_report():
    return full_report(additive=terms_section(), penalty=None, weights=())


PAGES = {
    "full": full_report,
    "additive": additive_report,
    "rare and streamed": rare_report,
    "offset": offset_report,
    "bare": bare_report,
}
