"""Maps of rows to features: subsets of features and Gaussian random projections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.core.kernels.random_signs import write_sign_rows
from opauc.errors import IncompatibleMomentsError
from opauc.types import Arrays, Floats, NamedArrays, RandomState, Rows, random_key

MAX_FEATURES = 2**31
SUBSET_SCHEMA = {"features": ArrayRule("int64", "features", low=0, rising=True), "n_inputs": ArrayRule("int64", low=1)}
PROJECTION_SCHEMA = {
    "key": ArrayRule("uint64"),
    "n_inputs": ArrayRule("int64", low=1, high=MAX_FEATURES - 1),
    "n_features": ArrayRule("int64", low=1, high=MAX_FEATURES - 1),
}


class FeatureMap(Protocol):
    """A fixed map of rows to features."""

    @property
    def n_inputs(self) -> int:
        """Length of a row."""

    @property
    def n_features(self) -> int:
        """Length of a mapped row."""

    def rows(self, rows: Rows) -> Rows:
        """Return the mapped rows."""

    def to_arrays(self) -> Arrays:
        """Return the arrays of the map by name, for a file or the network."""

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the map from its arrays; raise where they are invalid."""


class LinearMap(FeatureMap, Protocol):
    """A random linear map: a linear model of mapped rows is a linear model of the rows."""

    @classmethod
    def sample(cls, n_components: int, random_state: RandomState, n_features: int) -> Self:
        """Return a random map from `n_features` to `n_components` dimensions."""

    def weights_of(self, weights: Floats) -> Floats:
        """Return the weights on rows that give the same scores as `weights` on mapped rows."""


@dataclass(frozen=True, eq=False)
class FeatureSubset:
    """The map from a row to a subset of its features, given by increasing indices.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.maps import FeatureSubset
    >>> subset = FeatureSubset(np.array([2, 3]), n_inputs=4)
    >>> subset.rows(np.array([[5.0, 6.0, 7.0, 8.0]])), subset.weights_of(np.ones(2))
    (array([[7., 8.]]), array([0., 0., 1., 1.]))
    """

    features: NDArray[np.int64]
    n_inputs: int

    @classmethod
    def sample(cls, n_components: int, random_state: RandomState, n_features: int) -> FeatureSubset:
        """Return a uniformly random subset of features."""
        random = (
            random_state if isinstance(random_state, np.random.RandomState) else np.random.RandomState(random_state)
        )
        return cls(np.sort(random.choice(n_features, n_components, replace=False)).astype(np.int64), n_features)

    @property
    def n_features(self) -> int:
        """Number of features in the subset."""
        return self.features.size

    def rows(self, rows: Rows) -> Rows:
        """Return the columns of the subset; sparse rows stay sparse."""
        return rows[:, self.features]

    def weights_of(self, weights: Floats) -> Floats:
        """Return the weights at the features of the subset, zero elsewhere."""
        out = np.zeros(self.n_inputs)
        out[self.features] = weights
        return out

    def to_arrays(self) -> Arrays:
        """Return the indices of the features, and the number of features of a row."""
        return {"features": self.features.copy(), "n_inputs": np.array(self.n_inputs, np.int64)}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> FeatureSubset:
        """Return the map from its arrays."""
        check_arrays(SUBSET_SCHEMA, arrays)
        features, n_inputs = arrays["features"], arrays["n_inputs"]
        if not features.size or features[-1] >= n_inputs:
            raise IncompatibleMomentsError(f"features: expected one or more numbers below {n_inputs}")
        return cls(features.copy(), int(n_inputs))


# Rows of the matrix generated at a time.
FEATURES_PER_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class GaussianProjection:
    """The map from a row x to x.R with a Gaussian matrix R, whose row j depends only on the key and on j.

    R is not stored: its rows are generated when needed, for 2,048 features at a
    time. These blocks are the same for every batch, so the result for a sparse
    row does not depend on the other rows of its batch.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.maps import GaussianProjection
    >>> projection = GaussianProjection.sample(2, random_state=0, n_features=3)
    >>> np.allclose(projection.rows(np.eye(3)), projection.matrix(np.arange(3)))
    True
    """

    key: int
    n_inputs: int
    n_features: int

    @classmethod
    def sample(
        cls, n_components: int, random_state: int | np.random.RandomState | None, n_features: int
    ) -> GaussianProjection:
        """Return a map with a key from the random state."""
        return cls(random_key(random_state), n_features, n_components)

    def rows(self, rows: Rows) -> Rows:
        """Return the rows times R."""
        out = np.zeros((rows.shape[0], self.n_features))
        columns = rows if isinstance(rows, np.ndarray) else sparse.csc_array(rows)
        for part in self._ranges():
            block = columns[:, part]
            if isinstance(block, np.ndarray):
                out += block @ self.matrix(np.arange(part.start, part.stop))
            else:
                columns_in_use = np.flatnonzero(np.diff(block.indptr))
                if columns_in_use.size:
                    out += block[:, columns_in_use] @ self.matrix(part.start + columns_in_use)
        return out

    def weights_of(self, weights: Floats) -> Floats:
        """Return R times the weights."""
        parts = [self.matrix(np.arange(part.start, part.stop)) @ weights for part in self._ranges()]
        return np.concatenate(parts)

    def matrix(self, features: NDArray[np.int64]) -> Floats:
        """Return the given rows of R: independent normal numbers of variance 1 / n_features."""
        # The kernel writes a final one after the numbers; the length must be a multiple of eight.
        out = np.zeros((features.size, -(-(self.n_features + 1) // 8) * 8))
        write_sign_rows(np.uint64(self.key), features, self.n_features, True, out)
        return out[:, : self.n_features]

    def to_arrays(self) -> Arrays:
        """Return the key and both lengths."""
        return {
            "key": np.array(self.key, np.uint64),
            "n_inputs": np.array(self.n_inputs, np.int64),
            "n_features": np.array(self.n_features, np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> GaussianProjection:
        """Return the map from its arrays."""
        check_arrays(PROJECTION_SCHEMA, arrays)
        key, n_inputs, n_features = (arrays[name] for name in PROJECTION_SCHEMA)
        return cls(int(key), int(n_inputs), int(n_features))

    def _ranges(self) -> Iterator[slice]:
        for start in range(0, self.n_inputs, FEATURES_PER_BLOCK):
            yield slice(start, min(start + FEATURES_PER_BLOCK, self.n_inputs))
