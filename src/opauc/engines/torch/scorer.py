"""Linear scorers on a torch device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opauc.core.extras import needed
from opauc.core.scorer import Scorer
from opauc.engines.torch.rows import as_tensor, checked_device, host_tensor
from opauc.errors import Parameter, UnsupportedOperationError
from opauc.linear.scorer import LinearScorer
from opauc.types import Arrays, Floats, Rows

with needed("torch", "gpu"):
    import torch

# Rows brought to the device at a time.
PIECE_ROWS = 2**16


@dataclass(frozen=True, eq=False)
class DeviceScorer(Scorer):
    """The scores of a linear scorer, computed on a torch device in float64.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.engines.torch.scorer import DeviceScorer
    >>> from opauc.linear.scorer import LinearScorer
    >>> scorer = LinearScorer(np.array([1.0, 0.0]), intercept=-2.0, slope=1.0, offset=0.0)
    >>> DeviceScorer(scorer, "cpu").scores(np.array([[2.0, 5.0], [4.0, 5.0]])).tolist()
    [0.0, 2.0]
    """

    scorer: LinearScorer
    device: str = "cuda"

    @classmethod
    def of(cls, scorer: Scorer, device: str) -> DeviceScorer:
        """Return the linear scorer on a device; raise where there is no such device or `scorer` is not linear."""
        if not isinstance(scorer, LinearScorer) or scorer.unit_rows:
            raise UnsupportedOperationError(Parameter("device", device), " takes linear scorers only")
        return cls(scorer, checked_device(device))

    @property
    def n_inputs(self) -> int:
        """Length of a row."""
        return self.scorer.n_inputs

    def scores(self, rows: Rows) -> Floats:
        """Return the score of each row, dense, an array or a tensor."""
        given, weights = as_tensor(rows, self.device), host_tensor(self.scorer.weights).to(self.device)
        pieces = [part.to(self.device).to(torch.float64) @ weights for part in given.split(PIECE_ROWS)]
        found: Floats = np.concatenate([piece.cpu().numpy() for piece in pieces])
        return found + self.scorer.intercept

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of the positive class for rows of these scores."""
        return self.scorer.probabilities(scores)

    def to_arrays(self) -> Arrays:
        """Return what tells it from others of its kind: nothing of the device."""
        return self.scorer.to_arrays()
