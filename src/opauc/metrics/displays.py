"""Plots of scored rows with matplotlib, which the extra `plots` brings.

They are made and used as scikit-learn's displays are: from scores or from an
estimator, with `ax_`, `figure_` and `line_` after plotting. Names differ from scikit-learn's, so both can be imported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from opauc.metrics.calibration import CalibrationBins, Reliability
from opauc.metrics.curves import PrecisionRecallCurve, RocCurve, precision_recall_curve, roc_curve
from opauc.metrics.exact_auc import Flags, checked_scores
from opauc.metrics.intervals import AucInterval, auc_interval
from opauc.metrics.progressive_auc import ProgressiveAuc, ProgressPoint
from opauc.metrics.score_histogram import ScoreHistogram
from opauc.types import Array, Floats, Json

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D


class Estimator(Protocol):
    """A fitted binary classifier, of this library or of another."""

    classes_: Array

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the score of each row."""

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probabilities of both classes for each row."""


GUIDE: Json = {"color": "0.5", "linestyle": "--", "linewidth": 1.0}


class _Display:
    """Axes to draw on, with names, and the line drawn last."""

    x_name: ClassVar[str]
    y_name: ClassVar[str]
    name: str | None
    ax_: Axes
    figure_: Figure | SubFigure
    line_: Line2D

    def _start(self, ax: Axes | None) -> Axes:
        """Return the axes given, or new ones, named."""
        chosen = _new_axes() if ax is None else ax
        chosen.set(xlabel=self.x_name, ylabel=self.y_name)
        self.ax_, self.figure_ = chosen, chosen.figure
        return chosen

    def _label(self, figures: str) -> str:
        return figures if self.name is None else f"{self.name} ({figures})"


class _ScoreDisplay(_Display, ABC):
    """A display that scored rows are enough for."""

    @classmethod
    def from_scores(
        cls, labels: ArrayLike, scores: ArrayLike, *, name: str | None = None, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Plot rows by their labels, 0 and 1 or booleans, and scores; further arguments go to `plot`."""
        display = cls._of(*checked_scores(labels, scores), name)
        display.plot(ax, **kwargs)
        return display

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Plot rows as `estimator.decision_function` scores them; the second of its classes is the positive one."""
        scores = estimator.decision_function(X)
        return cls.from_scores(_positive(estimator, y), scores, name=name or _name(estimator), ax=ax, **kwargs)

    @classmethod
    @abstractmethod
    def _of(cls, positive: Flags, score: Floats, name: str | None) -> Self:
        """Return the display of checked scores."""

    @abstractmethod
    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw on `ax`, or on new axes."""


class RocDisplay(_ScoreDisplay):
    """The ROC curve, with the AUC and its 95 % interval in the legend.

    Examples
    --------
    >>> from opauc.metrics.displays import RocDisplay
    >>> display = RocDisplay.from_scores([0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.8, 0.9], name="six rows")
    >>> display.line_.get_label()
    'six rows (AUC 0.889, 95 % 0.359–0.983)'
    """

    x_name, y_name = "False positive rate", "True positive rate"

    def __init__(self, curve: RocCurve, interval: AucInterval, name: str | None = None) -> None:
        self.curve, self.interval, self.name = curve, interval, name

    @classmethod
    def _of(cls, positive: Flags, score: Floats, name: str | None) -> Self:
        return cls(roc_curve(positive, score), auc_interval(positive, score), name)

    def plot(self, ax: Axes | None = None, *, plot_chance: bool = True, **kwargs: Any) -> Self:
        """Draw the curve, on the diagonal of chance if asked; further arguments go to matplotlib's `plot`."""
        axes, found = self._start(ax), self.interval
        if plot_chance:
            axes.plot([0, 1], [0, 1], **GUIDE)
        label = self._label(f"AUC {found.auc:.3f}, 95 % {found.low:.3f}–{found.high:.3f}")
        (self.line_,) = axes.plot(
            self.curve.false_positive_rate, self.curve.true_positive_rate, **{"label": label, **kwargs}
        )
        axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        axes.legend(loc="lower right")
        return self


class PrecisionDisplay(_ScoreDisplay):
    """Precision against recall, with the average precision in the legend."""

    x_name, y_name = "Recall", "Precision"

    def __init__(self, curve: PrecisionRecallCurve, name: str | None = None) -> None:
        self.curve, self.name = curve, name

    @classmethod
    def _of(cls, positive: Flags, score: Floats, name: str | None) -> Self:
        return cls(precision_recall_curve(positive, score), name)

    @property
    def average_precision(self) -> float:
        """Mean of the precision over the recall gained at each threshold."""
        return float(-np.dot(np.diff(self.curve.recall), self.curve.precision[:-1]))

    def plot(self, ax: Axes | None = None, *, plot_chance: bool = True, **kwargs: Any) -> Self:
        """Draw the curve, and the precision of calling every row positive if asked."""
        axes, label = self._start(ax), self._label(f"AP {self.average_precision:.3f}")
        if plot_chance:
            axes.axhline(float(self.curve.precision[0]), **GUIDE)
        look = {"label": label, "drawstyle": "steps-post", **kwargs}
        (self.line_,) = axes.plot(self.curve.recall, self.curve.precision, **look)
        axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        axes.legend(loc="lower left")
        return self


class ScoreHistogramDisplay(_ScoreDisplay):
    """Share of each class's rows by score; `line_` is the outline of the positives."""

    x_name, y_name = "Score", "Share of the class"

    def __init__(self, histogram: ScoreHistogram, name: str | None = None) -> None:
        self.histogram, self.name = histogram, name

    @classmethod
    def _of(cls, positive: Flags, score: Floats, name: str | None) -> Self:
        return cls(ScoreHistogram.of(positive, score), name)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the outline of both histograms, negatives dashed; further arguments go to matplotlib's `plot`."""
        axes, edges = self._start(ax), np.repeat(self.histogram.edges, 2)
        sides = zip(self.histogram.shares().T, ("negatives", "positives"), ("--", "-"), strict=True)
        for shares, side, dashes in sides:
            heights = np.concatenate([[0.0], np.repeat(shares, 2), [0.0]])
            look = {"label": self._label(side), "linestyle": dashes, **kwargs}
            (self.line_,) = axes.plot(edges, heights, **look)
            axes.fill_between(edges, heights, alpha=0.15, color=self.line_.get_color())
        axes.set_ylim(bottom=0.0)
        axes.legend()
        return self


class ReliabilityDisplay(_Display):
    """Observed share of positives against predicted probability, in bins of about equally many rows."""

    x_name, y_name = "Predicted probability", "Observed share of positives"

    def __init__(self, reliability: Reliability, expected_error: float, name: str | None = None) -> None:
        self.reliability, self.expected_error, self.name = reliability, expected_error, name

    @classmethod
    def from_probabilities(
        cls,
        labels: ArrayLike,
        probabilities: ArrayLike,
        *,
        n_bins: int = 10,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Plot rows by their labels and their probabilities of being positive; further arguments go to `plot`."""
        bins = CalibrationBins.of(labels, probabilities)
        return cls(bins.reliability(n_bins), bins.expected_error(n_bins), name).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls, estimator: Estimator, X: ArrayLike, y: ArrayLike, *, name: str | None = None, **kwargs: Any
    ) -> Self:
        """Plot rows as `estimator.predict_proba` sees them; further arguments go to `from_probabilities`."""
        probabilities = np.asarray(estimator.predict_proba(X))[:, 1]
        return cls.from_probabilities(_positive(estimator, y), probabilities, name=name or _name(estimator), **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the bins with 95 % limits, and the diagonal where both agree."""
        axes, found = self._start(ax), self.reliability
        axes.axline((0, 0), slope=1, **GUIDE)
        reach = [found.observed - found.low, found.high - found.observed]
        look = {"label": self._label(f"ECE {self.expected_error:.3f}"), "marker": "o", "capsize": 2, **kwargs}
        self.line_, *_ = axes.errorbar(found.predicted, found.observed, yerr=reach, **look)
        axes.legend(loc="upper left")
        return self


class ProgressDisplay(_Display):
    """The learning curve: the AUC of one window of rows after another, each row scored before it was learned."""

    x_name, y_name = "Rows learned", "AUC of the next rows"

    def __init__(self, points: Sequence[ProgressPoint], name: str | None = None) -> None:
        self.points, self.name = points, name

    @classmethod
    def from_progress(
        cls, progress: ProgressiveAuc, *, name: str | None = None, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Plot what a progressive AUC has seen; further arguments go to `plot`."""
        return cls(progress.curve(), name).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the AUC of each window at the row where it ends, on a logarithmic axis."""
        axes = self._start(ax)
        rows, aucs = [point.rows for point in self.points], [point.auc for point in self.points]
        (self.line_,) = axes.plot(rows, aucs, **{"label": self.name, "marker": ".", **kwargs})
        axes.set_xscale("log")
        if self.name is not None:
            axes.legend(loc="lower right")
        return self


def _new_axes() -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install opauc[plots]") from error
    return pyplot.subplots()[1]


def _positive(estimator: Estimator, y: ArrayLike) -> Flags:
    positive: Flags = np.asarray(y) == estimator.classes_[1]
    return positive


def _name(estimator: Estimator) -> str:
    return type(estimator).__name__
