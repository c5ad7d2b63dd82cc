"""What a stream asks of whatever it teaches."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from opauc.core.batch import Batch
from opauc.core.scorer import Scorer
from opauc.core.transaction import Transaction
from opauc.types import ClassCounts, Floats, GroupKeys, Labels, NamedArrays, Rows, Settings


class Learned(Protocol):
    """What rows have taught so far."""

    @property
    def n_features(self) -> int:
        """Length of a row."""

    @property
    def counts(self) -> ClassCounts:
        """Rows learned of each class."""

    @property
    def published(self) -> Settings:
        """What was chosen, by the names of attributes of the estimator."""

    @property
    def scorer(self) -> Scorer:
        """What scores rows."""

    @property
    def look_growth(self) -> float:
        """By which factor the rows should have grown before the weights are looked at again."""

    def look(self, seen: int) -> Scorer | None:
        """Return what scores the rows to come, after so many; None where it is not worth working out."""

    def fresh(self, rows: Rows) -> NDArray[np.bool_] | None:
        """Tell which rows played no part in what is known; None where all are new."""

    def scorer_of(self, arrays: NamedArrays) -> Scorer:
        """Return the scorer that gave these arrays, refused unless one of what is known can have."""


class RowTraining(Protocol):
    """A model in the making: chunks of labeled rows in, a solution out."""

    @property
    def begun(self) -> bool:
        """Whether there is a solution yet."""

    @property
    def solution(self) -> Learned:
        """What has been learned so far."""

    def prepare_chunk(self, chunk: Batch, transaction: Transaction) -> None:
        """Start with a first chunk, make room for what is new in a later one; nothing is learned yet."""

    def fitted(self, rows: Rows) -> Rows:
        """Return the rows as wide as the model."""

    def step(self, rows: Rows, labels: Labels, weight: Floats | None = None, groups: GroupKeys | None = None) -> None:
        """Learn rows that have been prepared for."""
