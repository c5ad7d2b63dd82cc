"""Solvers as the runner of comparisons takes them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self, cast

import numpy as np

from opauc.core.loop import Trainer
from opauc.core.row_blocks import widen_rows
from opauc.core.solver import AnySolver
from opauc.errors import OpaucError, UnsupportedOperationError
from opauc.linear.resolve import bytes_of_state, fixed_factory
from opauc.linear.scorer import LinearScorer
from opauc.types import Floats, Labels, Rows

# A solver whose state would be larger is left out.
LARGEST_STATE = 2 * 2**30


@dataclass(eq=False)
class SolverMethod:
    """A solver with its settings, trained batch by batch.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.exact import Exact
    >>> from opauc.api.solver_method import SolverMethod
    >>> method = SolverMethod("exact", Exact(alpha=0.5))
    >>> method.learn(np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> method.finish()
    >>> method.scores(np.array([[9.0]])).round(2).tolist()
    [4.0]
    """

    name: str
    solver: AnySolver
    _scorer: LinearScorer | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._factory = fixed_factory(self.solver)
        self._trainer = Trainer(self._factory)

    def fresh(self) -> Self:
        """Return the method before any row."""
        return type(self)(self.name, self.solver)

    def warm_up(self, rows: Rows) -> None:
        """Train on two rows of the same kind, so that kernels are compiled, and discard the result."""
        trainer = Trainer(self._factory)
        trainer.train_rows(rows[[0, 0], :1], np.array([0, 1], np.int8))
        _ = trainer.fit.scorer

    def learn(self, rows: Rows, labels: Labels) -> None:
        """Train on rows in order."""
        width = rows.shape[1]
        if not self._trainer.begun or width > self._trainer.fit.n_features:
            size = bytes_of_state(self.solver, width)
            if size > LARGEST_STATE:
                raise UnsupportedOperationError(f"would take {size / 2**30:.1f} GiB for {width:,} features")
        self._trainer.train_rows(rows, labels)

    def finish(self) -> None:
        """Compute the weights."""
        if not self._trainer.begun:
            raise OpaucError("there are no rows to train on")
        self._scorer = replace(cast(LinearScorer, self._trainer.fit.scorer), intercept=0.0)

    def scores(self, rows: Rows) -> Floats:
        """Return the scores of rows, by the weights alone."""
        if self._scorer is None:
            raise OpaucError("there are no weights yet to score rows with")
        return self._scorer.scores(widen_rows(rows, self._scorer.weights.size))
