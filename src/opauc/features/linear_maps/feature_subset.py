"""Some of the features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opauc.errors import IncompatibleMoments
from opauc.random_key import RandomState
from opauc.rows import Arrays, Floats, NamedArrays, Rows


@dataclass(frozen=True, eq=False)
class FeatureSubset:
    """The map from a row to some of its features, whose numbers rise.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.features.linear_maps.feature_subset import FeatureSubset
    >>> some = FeatureSubset(np.array([2, 3]), n_inputs=4)
    >>> some.rows(np.array([[5.0, 6.0, 7.0, 8.0]])), some.weights_of(np.ones(2))
    (array([[7., 8.]]), array([0., 0., 1., 1.]))
    """

    features: NDArray[np.int64]
    n_inputs: int

    @classmethod
    def drawn(cls, n_components: int, random_state: RandomState, n_features: int) -> FeatureSubset:
        """Return a map to features of which every choice is as likely as any other."""
        random = (
            random_state if isinstance(random_state, np.random.RandomState) else np.random.RandomState(random_state)
        )
        return cls(np.sort(random.choice(n_features, n_components, replace=False)).astype(np.int64), n_features)

    @property
    def n_features(self) -> int:
        """Number of features kept."""
        return self.features.size

    def rows(self, rows: Rows) -> Rows:
        """Return the kept columns; those of sparse rows stay sparse."""
        return rows[:, self.features]

    def weights_of(self, weights: Floats) -> Floats:
        """Return the weights at their features, zero elsewhere."""
        out = np.zeros(self.n_inputs)
        out[self.features] = weights
        return out

    def to_arrays(self) -> Arrays:
        """Return the numbers of the features, and how many there are to choose from."""
        return {"features": self.features.copy(), "n_inputs": np.array(self.n_inputs, np.int64)}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> FeatureSubset:
        """Return the map that gave these arrays."""
        features, n_inputs = arrays["features"], arrays["n_inputs"]
        if features.ndim != 1 or n_inputs.shape != () or features.dtype.kind != "i" or n_inputs.dtype.kind != "i":
            raise IncompatibleMoments("a subset of features takes a flat array of whole numbers and how many there are")
        if not features.size or features[0] < 0 or features[-1] >= n_inputs or (np.diff(features) <= 0).any():
            raise IncompatibleMoments(f"a subset of {n_inputs} features must have numbers that rise from 0 on below it")
        return cls(features.astype(np.int64), int(n_inputs))
