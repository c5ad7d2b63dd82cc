"""Exact statistics of the two classes as tensors on a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.extras import needed
from opauc.core.mergeable import FeatureSpread, ScoreSummary, Statistic
from opauc.engines.torch.rows import as_tensor, free_gib, host_tensor
from opauc.engines.torch.sums import PIECE_BYTES, TorchSums, merged_sums, sums_of
from opauc.errors import EngineError, IncompatibleMomentsError, Parameter, StatisticsOverflowError
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.moments.exact import ExactMoments
from opauc.types import Arrays, ClassCounts, Floats, Labels, NamedArrays, Rows

with needed("torch", "gpu"):
    import torch
    from torch import Tensor

# Where device memory is short, pieces are made smaller down to this many bytes.
LEAST_PIECE = 2**20
# Matrices of sums, two each, while a batch is merged: those so far, those of the batch, and those of both.
HELD_AT_ONCE = 3


@dataclass(frozen=True, slots=True, eq=False)
class DeviceMoments(Statistic):
    """Count, mean and scatter of the negative and the positive class, on a device of torch, in float64.

    What `ClassMoments` is on this machine; files of the one are files of the other.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.engines.torch.moments import DeviceMoments
    >>> rows, labels = np.array([[0.0], [1.0], [3.0], [5.0]]), np.array([0, 0, 1, 1], np.int8)
    >>> seen = DeviceMoments.empty(1, "cpu").update(rows[:3], labels[:3]).update(rows[3:], labels[3:])
    >>> seen.mean_difference().tolist(), seen.on_host().positive.scatter.tolist()
    ([3.5], [[2.0]])
    """

    sums: TorchSums
    device: str

    @classmethod
    def empty(cls, n_features: int, device: str = "cpu") -> DeviceMoments:
        """Statistics of no rows: the identity of `merge`."""
        with saying_the_need(n_features, device):
            return cls(sums_of(torch.empty((0, n_features)), np.empty(0, np.int8), None, 2, device), device)

    @classmethod
    def of(cls, moments: ClassMoments, device: str) -> DeviceMoments:
        """Statistics from those of this machine."""
        groups = moments.without_rounding()
        parts = ([one.count for one in groups], [one.mean for one in groups], [one.scatter for one in groups])
        with saying_the_need(moments.n_features, device):
            return cls(TorchSums(*(host_tensor(np.array(part, float)).to(device) for part in parts)), device)

    def on_host(self) -> ClassMoments:
        """Statistics as this machine keeps them."""
        counts, means, scatters = (part.cpu().numpy() for part in self.sums)
        return ClassMoments(*(ExactMoments(float(n), m, s) for n, m, s in zip(counts, means, scatters, strict=True)))

    def empty_copy(self) -> DeviceMoments:
        """Statistics of no rows with as many features."""
        return DeviceMoments.empty(self.n_features, self.device)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.sums.means.shape[1])

    @property
    def counts(self) -> ClassCounts:
        """Rows of each class, each counted with its weight."""
        return ClassCounts(*self.sums.counts.tolist())

    def update(self, rows: Rows, labels: Labels, weight: Floats | None = None) -> DeviceMoments:
        """Statistics of the rows so far and these: dense, an array or a tensor."""
        given = as_tensor(rows, self.device)
        weights = None if weight is None else host_tensor(np.asarray(weight, np.float64))
        piece = PIECE_BYTES
        while piece > LEAST_PIECE:
            try:
                return self._after(given, labels, weights, piece)
            except torch.OutOfMemoryError:
                piece //= 4
            torch.cuda.empty_cache()
        with saying_the_need(self.n_features, self.device):
            return self._after(given, labels, weights, piece)

    def _after(self, rows: Tensor, labels: Labels, weights: Tensor | None, piece: int) -> DeviceMoments:
        """Statistics of the rows so far and these, of which so many bytes are worked on at a time."""
        fresh = sums_of(rows, labels, weights, 2, self.device, piece)
        return self.merge(DeviceMoments(fresh, self.device)).checked()

    def checked(self) -> DeviceMoments:
        """The same statistics; raise where sums left the range of float64."""
        diagonals = self.sums.scatters.diagonal(dim1=1, dim2=2)
        if not bool(torch.isfinite(diagonals.sum() + self.sums.means.abs().sum())):
            raise StatisticsOverflowError("the sums of the rows overflow float64; scale the features down")
        return self

    def merge(self, other: DeviceMoments) -> DeviceMoments:
        """Statistics of both sets of rows together."""
        if other.n_features != self.n_features:
            raise IncompatibleMomentsError(
                f"statistics of {self.n_features} features and of {other.n_features} do not belong together"
            )
        theirs = TorchSums(*(part.to(self.device) for part in other.sums))
        return DeviceMoments(merged_sums(self.sums, theirs), self.device)

    def subtract(self, other: DeviceMoments) -> DeviceMoments:
        """Statistics of the rows that are not in `other`; worked out on this machine, where they are checked."""
        return DeviceMoments.of(self.on_host().subtract(other.on_host()), self.device)

    def widen(self, n_features: int) -> DeviceMoments:
        """Statistics of the same rows with more features, which are zero in all of them."""
        more = n_features - self.n_features
        counts, means, scatters = self.sums
        pad = torch.nn.functional.pad
        with saying_the_need(n_features, self.device):
            sums = TorchSums(counts, pad(means, (0, more)), pad(scatters, (0, more, 0, more)))
        return DeviceMoments(sums, self.device)

    def restrict(self, features: ArrayLike) -> DeviceMoments:
        """Statistics of the given features only, in the given order."""
        at = torch.as_tensor(np.asarray(features), device=self.device)
        counts, means, scatters = self.sums
        return DeviceMoments(TorchSums(counts, means[:, at], scatters[:, at][:, :, at]), self.device)

    def mean_difference(self) -> Floats:
        """Mean of the positive rows less mean of the negative rows."""
        difference: Floats = (self.sums.means[1] - self.sums.means[0]).cpu().numpy()
        return difference

    def summary(self, weights: Floats) -> ScoreSummary:
        """Counts, means and variances of the scores that `weights` give to the rows seen."""
        vector = host_tensor(weights).to(self.device)
        squares = (self.sums.scatters @ vector) @ vector
        variances = (squares / self.sums.counts.clamp(min=1.0)).clamp(min=0.0)
        return ScoreSummary(self.counts, *map(_pair, (self.sums.means @ vector, variances)))

    def feature_spread(self) -> FeatureSpread:
        """How much each feature varies within the classes."""
        return self.on_host().feature_spread()

    def to_arrays(self) -> Arrays:
        """Copies of all sums under the names that `ClassMoments` gives them."""
        return self.on_host().to_arrays()

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> DeviceMoments:
        """Statistics from what `to_arrays` gave, checked, as tensors of this machine."""
        return cls.of(ClassMoments.from_arrays(arrays), "cpu")


@contextmanager
def saying_the_need(n_features: int, device: str) -> Iterator[None]:
    """Say how much memory sums of so many features need, where the device has too little for what the body does.

    >>> import torch
    >>> from opauc.engines.torch.moments import saying_the_need
    >>> with saying_the_need(100_000, "cpu"):
    ...     raise torch.OutOfMemoryError
    Traceback (most recent call last):
        ...
    opauc.errors.EngineError: device='cpu': the sums of 100,000 features need 447.0 GiB of its memory, 0.0 GiB are ...
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        need = HELD_AT_ONCE * 2 * 8 * n_features**2 + LEAST_PIECE
        raise EngineError(
            Parameter("device", device),
            f": the sums of {n_features:,} features need {need / 2**30:.1f} GiB of its memory, "
            f"{free_gib(device):.1f} GiB are free; leave features out, or work without the device",
        ) from error


def _pair(values: Tensor) -> tuple[float, float]:
    negative, positive = values.tolist()
    return float(negative), float(positive)
