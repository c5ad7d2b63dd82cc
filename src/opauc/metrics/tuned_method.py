"""A method whose setting is chosen by cross-validation within the rows it learns from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self, TypeAlias

import numpy as np

from opauc.errors import OpaucError
from opauc.metrics.comparison import SplitAucs
from opauc.metrics.runner import Collected, Method, compare_on_splits
from opauc.metrics.splits import Split, stratified_folds
from opauc.types import Floats, Labels, Rows

# The AUC of a setting that fails on a fold: that of scores without any use.
FAILED = 0.5
# What finds the AUC of each candidate on each split, as `compare_on_splits` does one candidate after the other.
Judge: TypeAlias = Callable[[Sequence[Method], Rows, Labels, Iterable[Split]], SplitAucs]


@dataclass(eq=False)
class TunedMethod:
    """The candidate of the highest mean AUC over folds of the rows, then learned from all of them.

    Of equals the first is taken. `chosen` is that candidate, `folds` says how
    rows are split. Where candidates can be learned together for less, `judge` does that.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.metrics import FittedMethod, TunedMethod
    >>> rng = np.random.default_rng(0)
    >>> labels = (rng.random(500) < 0.5).astype(np.int8)
    >>> rows = np.stack([rng.normal(size=500), rng.normal(size=500) + labels], axis=1)
    >>> settings = [FittedMethod(f"feature {j}", lambda rows, labels, j=j: lambda rows: rows[:, j]) for j in (0, 1)]
    >>> tuned = TunedMethod("one feature", settings)
    >>> tuned.learn(rows, labels)
    >>> tuned.finish()
    >>> tuned.chosen.name
    'feature 1'
    """

    name: str
    candidates: Sequence[Method]
    folds: Callable[[Labels], Iterable[Split]] = stratified_folds
    judge: Judge = compare_on_splits
    collected: Collected = field(default_factory=Collected, repr=False)
    chosen: Method | None = None

    def fresh(self) -> Self:
        """Return the method with nothing learned or chosen."""
        return type(self)(self.name, self.candidates, self.folds, self.judge)

    def warm_up(self, rows: Rows) -> None:
        """Compile what the candidates need."""
        for candidate in self.candidates:
            candidate.fresh().warm_up(rows)

    def learn(self, rows: Rows, labels: Labels) -> None:
        """Keep the rows."""
        self.collected.add(rows, labels)

    def finish(self) -> None:
        """Choose, and learn from all rows."""
        rows, labels = self.collected.whole()
        self.collected = Collected()
        self.chosen = self.candidates[self.choice(rows, labels)].fresh()
        self.chosen.learn(rows, labels)
        self.chosen.finish()

    def scores(self, rows: Rows) -> Floats:
        """Return the scores the chosen candidate gives."""
        if self.chosen is None:
            raise ValueError(f"{self.name}: finish must be called before scores")
        return self.chosen.scores(rows)

    def choice(self, rows: Rows, labels: Labels) -> int:
        """Return the number of the best candidate for these rows; none is learned from all of them."""
        found = self.judge(self.candidates, rows, labels, self.folds(labels))
        if np.isnan(found.aucs).all():
            raise OpaucError(f"no setting works: {found.troubles[0][0]}")
        return int(np.argmax(np.nan_to_num(found.aucs, nan=FAILED).mean(axis=1)))
