"""The additive model that `opauc train` takes for tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from opauc.additive.factory import ALL_WAIT
from opauc.additive.file_sample import enough_rows
from opauc.additive.settings import AdditiveSettings, with_init_size
from opauc.additive.state import AdditiveFit
from opauc.errors import OpaucError, UnsupportedOperationError
from opauc.metrics.exact_auc import Flags
from opauc.metrics.runner import Collected
from opauc.types import Floats, Labels, Rows

# So many bytes of rows wait for a sample of all of them; of more, the sample is one of these.
MOST_WAITING = 2**30
WARM_ROWS, SEED = 512, 0


@dataclass(eq=False)
class GamMethod:
    """`OnePassGAM` as `opauc train` learns it: a basis from a sample of the rows that are learned, then sums.

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
        """Return the method with nothing learned."""
        return type(self)(self.categorical)

    def warm_up(self, rows: Rows) -> None:
        """Fit a few of the rows with labels by turns."""
        few = self._numbers(rows)[:WARM_ROWS]
        _ = self._learned(few, np.arange(len(few), dtype=np.int8) % 2).scorer

    def learn(self, rows: Rows, labels: Labels) -> None:
        """Keep the rows, or learn them once there is a basis."""
        numbers = self._numbers(rows)
        if self.fit is not None:
            self.fit = self.fit.update(numbers, labels)
            return
        self.collected.add(numbers, labels)
        if self.collected.bytes() > MOST_WAITING:
            self._settle()

    def finish(self) -> None:
        """Work out the weights."""
        if self.fit is None:
            self._settle()
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

    def _settle(self) -> None:
        rows, labels = self.collected.whole()
        self.collected = Collected()
        self.fit = self._learned(np.asarray(rows), labels)

    def _learned(self, rows: Floats, labels: Labels) -> AdditiveFit:
        """Return what rows teach that are all there."""
        width = rows.shape[1]
        categorical = np.zeros(width, np.bool_) if self.categorical is None else self.categorical
        settings = with_init_size(AdditiveSettings(), labels.size)
        start = AdditiveFit.start(settings, categorical, SEED)
        drawn = sample_rows(labels, int(settings.init_size), width)
        return (start if drawn is None else start.of_sample(rows[drawn], labels[drawn])).update(rows, labels)


def sample_rows(labels: Labels, wanted: int, n_inputs: int) -> NDArray[np.int64] | None:
    """Return the numbers of the rows that a basis is made of, as `opauc train` draws them; None where all can wait."""
    rarer = int(np.bincount(labels, minlength=2).min())
    if labels.size <= ALL_WAIT or not rarer:
        return None
    size = enough_rows(wanted, int(rarer * wanted / labels.size), labels.size, n_inputs)
    return np.sort(np.random.default_rng(SEED).choice(labels.size, size, replace=False))


METHOD = GamMethod
