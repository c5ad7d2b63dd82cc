"""`OnePassGAM` as a method of `opauc compare`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Self

import numpy as np

from opauc.additive.initial_sample import draw_initial_sample
from opauc.additive.settings import AdditiveSettings, fitted_whole, with_init_size
from opauc.additive.state import AdditiveFit
from opauc.errors import OpaucError, UnsupportedOperationError
from opauc.metrics.exact_auc import Flags
from opauc.metrics.runner import Collected
from opauc.types import Floats, Labels, Rows, random_key

# Up to so many bytes of rows are held before the initial sample is drawn from them.
MOST_HELD_BYTES = 2**30
WARM_ROWS, SEED = 512, 0


class InitialRows(NamedTuple):
    """The rows of an initial sample and their labels."""

    rows: Floats
    labels: Labels


@dataclass(eq=False)
class GamMethod:
    """`OnePassGAM` as `opauc train` fits it: a basis from an initial sample of the training rows, then sums.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.api.competitors_gam import GamMethod
    >>> rows, labels = np.array([[0.0, 1.0], [np.nan, 0.0], [2.0, 1.0], [4.0, 0.0]] * 30), np.array([0, 0, 1, 1] * 30)
    >>> method = GamMethod(categorical=np.array([False, True]))
    >>> method.learn(rows, labels.astype(np.int8))
    >>> method.finish()
    >>> bool(method.scores(rows[:1]) < method.scores(rows[3:4]))
    True
    """

    name: ClassVar[str] = "gam"
    categorical: Flags | None = None
    collected: Collected = field(default_factory=Collected, repr=False)
    fit: AdditiveFit | None = field(default=None, repr=False)

    def fresh(self) -> Self:
        """Return the method, not fitted."""
        return type(self)(self.categorical)

    def warm_up(self, rows: Rows) -> None:
        """Fit the first rows with alternating labels, so that all kernels are compiled."""
        first = self._numbers(rows)[:WARM_ROWS]
        _ = self._fit(first, np.arange(len(first), dtype=np.int8) % 2).scorer

    def learn(self, rows: Rows, labels: Labels) -> None:
        """Hold the rows, or process them once there is a basis."""
        numbers = self._numbers(rows)
        if self.fit is not None:
            self.fit = self.fit.update(numbers, labels)
            return
        self.collected.add(numbers, labels)
        if self.collected.bytes() > MOST_HELD_BYTES:
            self._fit_held_rows()

    def finish(self) -> None:
        """Compute the weights."""
        if self.fit is None:
            self._fit_held_rows()
        assert self.fit is not None
        if not self.fit.counts.both:
            raise OpaucError("there are no rows of two classes to learn from")
        _ = self.fit.scorer

    def scores(self, rows: Rows) -> Floats:
        """Return the log-odds of rows."""
        if self.fit is None:
            raise OpaucError("there are no weights yet to score rows with")
        return self.fit.scorer.scores(self._numbers(rows))

    def _numbers(self, rows: Rows) -> Floats:
        if not isinstance(rows, np.ndarray):
            raise UnsupportedOperationError("takes tables, these rows are sparse")
        return np.asarray(rows, np.float64)

    def _fit_held_rows(self) -> None:
        rows, labels = self.collected.whole()
        self.collected = Collected()
        self.fit = self._fit(np.asarray(rows), labels)

    def _fit(self, rows: Floats, labels: Labels) -> AdditiveFit:
        """Return the state after rows that are all in memory, as `OnePassGAM.fit` gives it."""
        n_rows, width = rows.shape
        categorical = np.zeros(width, np.bool_) if self.categorical is None else self.categorical
        settings = with_init_size(AdditiveSettings(), n_rows)
        start = AdditiveFit.start(settings, categorical, random_key(SEED))
        init_size = int(settings.init_size)
        if n_rows <= fitted_whole(init_size):
            return start.of_first_rows(rows, labels)
        sample = draw_initial_sample(
            n_rows, init_size, start.seed, lambda numbers: InitialRows(rows[numbers], labels[numbers])
        )
        if sample is None or np.bincount(sample.labels, minlength=2).min() == 0:
            return start.of_first_rows(rows, labels)
        return start.of_sample(*sample).update(rows, labels)


METHOD = GamMethod
