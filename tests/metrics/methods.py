"""Small methods to compare, some of which fail."""

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from opauc.errors import DivergedError
from opauc.metrics import FittedMethod, HeldOut, NumberedRows


@dataclass
class MeanDifference:
    """A method that logs its calls."""

    name: str = "mean difference"
    sums: np.ndarray = field(default_factory=lambda: np.zeros((2, 0)))
    counts: np.ndarray = field(default_factory=lambda: np.zeros(2))
    log: list = field(default_factory=list)

    def fresh(self):
        return type(self)(self.name, log=self.log)

    def warm_up(self, _):
        self.log.append("warm up")

    def train(self, rows, labels):
        self.log.append("learn")
        dense = rows.toarray() if sparse.issparse(rows) else rows
        self.sums = np.pad(self.sums, ((0, 0), (0, dense.shape[1] - self.sums.shape[1])))
        for k in (0, 1):
            self.sums[k] += dense[labels == k].sum(axis=0)
            self.counts[k] += (labels == k).sum()

    def finish(self):
        self.log.append("finish")
        self.weights = self.sums[1] / self.counts[1] - self.sums[0] / self.counts[0]

    def scores(self, rows):
        return np.asarray(rows @ self.weights)


class Diverging(MeanDifference):
    """Fails on the third batch."""

    def train(self, rows, labels):
        super().train(rows, labels)
        if self.log.count("learn") == 3:
            raise DivergedError("the weights left the range of float64")


class NotNumbers(MeanDifference):
    def scores(self, rows):
        return np.full(rows.shape[0], np.nan)


def feature(j):
    return FittedMethod(f"feature {j}", lambda *_: lambda rows: rows[:, j])


def numbered(rows, labels, size=100):
    return lambda: (
        NumberedRows(at, rows[at : at + size], labels[at : at + size]) for at in range(0, labels.size, size)
    )


CHOICE = HeldOut(0.4, 3)
