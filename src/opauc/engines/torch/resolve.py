"""What `OPAUC` and `OPAUCCV` learn with on a device."""

from __future__ import annotations

from dataclasses import dataclass

from opauc.engines.torch.exact import DeviceExact
from opauc.engines.torch.grid import DeviceGrid
from opauc.engines.torch.rows import checked_device
from opauc.linear.choice import Choice
from opauc.linear.exact import Exact
from opauc.linear.grid import GridSGD
from opauc.linear.resolve import OpaucCVRecipe, OpaucRecipe


@dataclass(frozen=True)
class DeviceRecipe(OpaucRecipe):
    """The recipe of `OPAUC` for a device of torch, which does exact statistics with full covariance and nothing else.

    Examples
    --------
    >>> from opauc.engines.torch.resolve import DeviceRecipe
    >>> DeviceRecipe({"alpha": 0.5}, device="cpu").choose(3, "float32").learner.device
    'cpu'
    >>> DeviceRecipe({"solver": "sgd"}, device="cpu").choose(3, "float32")
    Traceback (most recent call last):
        ...
    ValueError: device='cpu' needs solver='exact' with full covariance, rank=None; here it is 'sgd' with rank None
    """

    device: str = "cuda"

    def choose(self, n_features: int, dtype: str) -> Choice:
        """Return the learner for rows of so many features."""
        choice, device = super().choose(n_features, dtype), checked_device(self.device)
        chosen = choice.published or {}
        if not isinstance(choice.learner, Exact):
            raise ValueError(
                f"device={self.device!r} needs solver='exact' with full covariance, rank=None; here it is "
                f"{chosen.get('solver_')!r} with rank {chosen.get('rank_')}"
            )
        if choice.learner.forgetting_factor != 1.0:
            raise ValueError(
                f"device={self.device!r} forgets nothing: forgetting_factor must be 1.0, got {choice.learner.forgetting_factor}"
            )
        return choice._replace(learner=DeviceExact(choice.learner, device))


@dataclass(frozen=True)
class DeviceCVRecipe(OpaucCVRecipe):
    """The recipe of `OPAUCCV` for a device of torch, which steps all pairs with full covariance and nothing else.

    Examples
    --------
    >>> from opauc.engines.torch.resolve import DeviceCVRecipe
    >>> DeviceCVRecipe({"solver": "exact", "rank": None}, device="cpu").choose(3, "float32")
    Traceback (most recent call last):
        ...
    ValueError: device='cpu' needs solver='sgd' with full covariance, rank=None; here it is 'exact' with rank None
    """

    device: str = "cuda"

    def choose(self, n_features: int, dtype: str) -> Choice:
        """Return the learner for rows of so many features."""
        choice, device = super().choose(n_features, dtype), checked_device(self.device)
        chosen, found = choice.published or {}, choice.learner
        if not isinstance(found, GridSGD):
            raise ValueError(
                f"device={self.device!r} needs solver='sgd' with full covariance, rank=None; here it is "
                f"{chosen.get('solver_')!r} with rank {chosen.get('rank_')}"
            )
        return choice._replace(learner=DeviceGrid(found.etas, found.alphas, found.average, device))
