"""The exact solver on a torch device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opauc.core.extras import needed
from opauc.core.mergeable import LabeledSums
from opauc.core.solver import MergeableSolver
from opauc.engines.torch.minimizer import minimizer
from opauc.engines.torch.moments import DeviceMoments
from opauc.engines.torch.rows import checked_device
from opauc.errors import Parameter, ParameterError
from opauc.linear.exact import Exact
from opauc.linear.moments.classes import ClassMoments
from opauc.types import Floats, Json, Labels, Rows

with needed("torch", "gpu"):
    import torch


@dataclass(frozen=True)
class DeviceExact(MergeableSolver[DeviceMoments]):
    """`Exact` with sums and solutions on a torch device.

    In files it is an `Exact`: it does not record where it was trained.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.engines.torch.exact import DeviceExact
    >>> from opauc.linear.exact import Exact
    >>> solver = DeviceExact(Exact(alpha=0.5), "cpu")
    >>> state = solver.step(solver.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> solver.weights(state).round(4).tolist()
    [0.4444]
    """

    keeps_covariances: ClassVar[bool] = True

    name: ClassVar[str] = "exact"

    exact: Exact = Exact()  # noqa: RUF009  a frozen value
    device: str = "cuda"

    @classmethod
    def of_solver(cls, solver: Exact, device: str) -> DeviceExact:
        """Return the solver that does the work of another on a device; raise where there is no such device."""
        if solver.forgetting_factor != 1.0:
            raise ParameterError(
                Parameter("device", device),
                f" does not forget: forgetting_factor must be 1.0, got {solver.forgetting_factor}",
            )
        return cls(solver, checked_device(device))

    def settings(self) -> Json:
        """Return the hyper-parameters as files have them."""
        return self.exact.settings()

    def start(self, n_features: int) -> DeviceMoments:
        """Return statistics of no rows."""
        return DeviceMoments.empty(n_features, self.device)

    def step(self, state: DeviceMoments, rows: Rows, labels: Labels, weight: Floats | None = None) -> DeviceMoments:
        """Return the statistics after the batch."""
        return state.update(rows, labels, weight)

    def convert(self, state: LabeledSums) -> DeviceMoments:
        """Return statistics of this machine as those of the device."""
        if isinstance(state, DeviceMoments) and state.device == self.device:
            return state
        moments = state if isinstance(state, ClassMoments) else ClassMoments.from_arrays(state.to_arrays())
        return DeviceMoments.of(moments, self.device)

    def statistics(self, state: DeviceMoments) -> ClassMoments:  # type: ignore[override]
        """Return the statistics as this machine keeps them."""
        return state.on_host()

    def weights(self, state: DeviceMoments) -> Floats:
        """Return the minimizer; zero until both classes were seen.

        Where rounding on the device would spoil it, or its memory has no room beside
        the sums, it is worked out on this machine.
        """
        if not state.counts.both:
            return np.zeros(state.n_features)
        try:
            found = minimizer(state.sums, self.exact.alpha * self._scale(state) ** 2)
        except torch.OutOfMemoryError:
            found = None
        return self.exact.weights(state.on_host()) if found is None else found.cpu().numpy()

    def _scale(self, state: DeviceMoments) -> Floats:
        """Return what the features are divided by under the ridge penalty."""
        counts, means, scatters = state.sums
        variances = scatters.diagonal(dim1=1, dim2=2) / counts[:, None]
        return self.exact.scale_of(means.cpu().numpy(), variances.cpu().numpy())

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return how many rows take ten times as long to train on as computing the weights."""
        return self.exact.rows_worth_a_solve(n_features)

    def path(self, state: DeviceMoments, alphas: Sequence[float]) -> Floats:
        """Return the minimizers for many alphas, one per row, computed on this machine."""
        return self.exact.path(state.on_host(), alphas)
