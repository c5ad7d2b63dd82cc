"""The exact minimizer from sums on a device; needs nothing but torch and numpy."""

from __future__ import annotations

import numpy as np

from opauc.core.extras import needed
from opauc.engines.torch.sums import TorchSums

with needed("torch", "gpu"):
    import torch
    from torch import Tensor

# Steps of inverse iteration: the least eigenvalue is wanted to a factor of a few.
ITERATIONS = 8


def minimizer(sums: TorchSums, alpha: float | np.ndarray) -> Tensor | None:
    """Return the minimizer from the sums of the negative and the positive class; None where rounding would spoil it.

    The penalty may be one of each feature.

    Examples
    --------
    >>> import torch
    >>> from opauc.engines.torch.minimizer import minimizer
    >>> from opauc.engines.torch.sums import sums_of
    >>> minimizer(sums_of(torch.tensor([[0.0], [2.0]]), torch.tensor([0, 1]), None, 2, "cpu"), 0.5).round(decimals=4)
    tensor([0.4444], dtype=torch.float64)
    """
    difference = sums.means[1] - sums.means[0]
    matrix = sums.scatters[0] / sums.counts[0] + sums.scatters[1] / sums.counts[1]
    diagonal = matrix.diagonal()
    diagonal += torch.as_tensor(alpha, dtype=torch.float64, device=matrix.device)
    scale = torch.where(diagonal > 0.0, diagonal, 1.0).rsqrt()
    matrix *= scale
    matrix *= scale[:, None]
    factor, failed = torch.linalg.cholesky_ex(matrix)
    probe = torch.cos(torch.arange(matrix.shape[0], dtype=torch.float64, device=matrix.device) ** 2)
    vectors = torch.stack([probe / probe.norm(), scale * difference], dim=1)
    solved = torch.cholesky_solve(vectors, factor)
    direction, growth = solved[:, :1], solved[:, 0].norm()
    for _ in range(ITERATIONS):
        direction = torch.cholesky_solve(direction / direction.norm(), factor)
        growth = direction.norm()
    # One look at the device: all that was asked of it before is done by then.
    trouble, inverse, size = torch.stack([failed.to(torch.float64), growth, matrix.abs().sum(0).max()]).tolist()
    if trouble or not inverse * size * matrix.shape[0] * torch.finfo(torch.float64).eps < 1.0:
        return None
    found = scale * solved[:, 1]
    return found / (1.0 + difference @ found)
