"""The displays: what is drawn is what was found, and matplotlib is asked for only when something is drawn."""

import subprocess
import sys

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot
from numpy.testing import assert_array_equal

from opauc.metrics.calibration import CalibrationBins
from opauc.metrics.curves import precision_recall_curve, roc_curve
from opauc.metrics.displays import (
    PrecisionDisplay,
    ProgressDisplay,
    ReliabilityDisplay,
    RocDisplay,
    ScoreHistogramDisplay,
)
from opauc.metrics.intervals import auc_interval
from opauc.metrics.progressive_auc import ProgressiveAuc
from opauc.metrics.score_histogram import ScoreHistogram

RNG = np.random.default_rng(0)
LABELS = RNG.random(500) < 0.3
SCORES = RNG.normal(size=500) + LABELS
CHANCES = 1 / (1 + np.exp(1 - SCORES))
FROM_SCORES = [RocDisplay, PrecisionDisplay, ScoreHistogramDisplay]


class Scorer:
    """As much of a classifier as a display asks for; "no" is the positive class."""

    classes_ = np.array(["maybe", "no"])

    def decision_function(self, X):
        return X[:, 0]

    def predict_proba(self, X):
        probabilities = 1 / (1 + np.exp(1 - X[:, 0]))
        return np.column_stack([1 - probabilities, probabilities])


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    pyplot.close("all")


def words_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_the_roc_line_is_the_curve_and_its_legend_the_auc_with_its_interval():
    display, curve = RocDisplay.from_scores(LABELS, SCORES, name="rows"), roc_curve(LABELS, SCORES)
    assert_array_equal(display.line_.get_xdata(), curve.false_positive_rate)
    assert_array_equal(display.line_.get_ydata(), curve.true_positive_rate)
    found = auc_interval(LABELS, SCORES)
    assert words_of(display) == [f"rows (AUC {found.auc:.3f}, 95 % {found.low:.3f}–{found.high:.3f})"]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("False positive rate", "True positive rate")
    assert len(display.ax_.lines) == 2
    assert len(display.plot(plot_chance=False).ax_.lines) == 1


def test_the_precision_line_is_the_curve_and_its_legend_the_average_precision():
    display, curve = PrecisionDisplay.from_scores(LABELS, SCORES), precision_recall_curve(LABELS, SCORES)
    assert_array_equal(display.line_.get_xdata(), curve.recall)
    assert_array_equal(display.line_.get_ydata(), curve.precision)
    assert display.line_.get_drawstyle() == "steps-post"
    order = np.argsort(-SCORES)
    hits = LABELS[order]
    literal = np.mean((np.cumsum(hits) / np.arange(1, 501))[hits])
    assert display.average_precision == pytest.approx(literal, rel=1e-12)
    assert words_of(display) == [f"AP {literal:.3f}"]
    assert display.ax_.lines[0].get_ydata()[0] == LABELS.mean()


def test_the_outlines_are_the_shares_of_each_class():
    display, histogram = ScoreHistogramDisplay.from_scores(LABELS, SCORES), ScoreHistogram.of(LABELS, SCORES)
    for line, shares in zip(display.ax_.lines, histogram.shares().T, strict=True):
        assert_array_equal(line.get_xdata()[::2], histogram.edges)
        assert_array_equal(line.get_ydata()[1:-1:2], shares)
    assert words_of(display) == ["negatives", "positives"]
    assert display.line_ is display.ax_.lines[1]


def test_the_reliability_line_is_that_of_the_bins():
    display = ReliabilityDisplay.from_probabilities(LABELS, CHANCES, n_bins=5, name="rows")
    bins = CalibrationBins.of(LABELS, CHANCES)
    found = bins.reliability(5)
    assert_array_equal(display.line_.get_xdata(), found.predicted)
    assert_array_equal(display.line_.get_ydata(), found.observed)
    assert words_of(display) == [f"rows (ECE {bins.expected_error(5):.3f})"]


def test_the_learning_line_is_the_curve():
    progress = ProgressiveAuc.empty().update(LABELS, SCORES)
    display = ProgressDisplay.from_progress(progress, name="rows")
    assert_array_equal(display.line_.get_xdata(), [point.rows for point in progress.curve()])
    assert_array_equal(display.line_.get_ydata(), [point.auc for point in progress.curve()])
    assert display.ax_.get_xscale() == "log"
    assert words_of(display) == ["rows"]
    assert ProgressDisplay.from_progress(progress).ax_.get_legend() is None


@pytest.mark.parametrize("kind", FROM_SCORES)
def test_an_estimator_is_drawn_as_its_scores_are(kind):
    y = np.where(LABELS, "no", "maybe")
    drawn = kind.from_estimator(Scorer(), SCORES[:, None], y)
    given = kind.from_scores(LABELS, SCORES, name="Scorer")
    assert_array_equal(drawn.line_.get_xydata(), given.line_.get_xydata())
    assert words_of(drawn) == words_of(given)
    assert drawn.figure_ is drawn.ax_.figure


def test_an_estimator_is_drawn_as_its_probabilities_are():
    y = np.where(LABELS, "no", "maybe")
    drawn = ReliabilityDisplay.from_estimator(Scorer(), SCORES[:, None], y, name="mine")
    given = ReliabilityDisplay.from_probabilities(LABELS, CHANCES, name="mine")
    assert_array_equal(drawn.line_.get_xydata(), given.line_.get_xydata())


@pytest.mark.parametrize("kind", FROM_SCORES)
def test_the_axes_and_the_look_asked_for_are_taken(kind):
    _, ax = pyplot.subplots()
    display = kind.from_scores(LABELS, SCORES, ax=ax, color="red", label="mine")
    assert display.ax_ is ax
    assert display.line_.get_color() == "red"
    assert set(words_of(display)) == {"mine"}


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (
        lambda: RocDisplay.from_scores(LABELS, SCORES),
        lambda: ReliabilityDisplay.from_probabilities(LABELS, CHANCES),
        lambda: ProgressDisplay.from_progress(ProgressiveAuc.empty()),
    ):
        with pytest.raises(ImportError, match=r"pip install opauc\[plots\]"):
            draw()


def test_importing_the_displays_does_not_import_matplotlib():
    code = "import sys, opauc.metrics.displays; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
