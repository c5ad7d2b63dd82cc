"""What a map of rows to features can do."""

from __future__ import annotations

from typing import Protocol, Self

from opauc.random_key import RandomState
from opauc.rows import Arrays, Floats, NamedArrays, Rows


class FeatureMap(Protocol):
    """A map of rows to features that does not change from chunk to chunk."""

    @property
    def n_inputs(self) -> int:
        """Length of a row."""

    @property
    def n_features(self) -> int:
        """Length of a mapped row."""

    def rows(self, rows: Rows) -> Rows:
        """Return the mapped rows."""

    def to_arrays(self) -> Arrays:
        """Return all there is to the map under flat names, for a file or the network."""

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the map that gave these arrays, refused unless it can be one."""


class LinearMap(FeatureMap, Protocol):
    """A linear map, drawn at random: what is learnt behind it is linear in the rows themselves."""

    @classmethod
    def drawn(cls, n_components: int, random_state: RandomState, n_features: int) -> Self:
        """Return a random map from `n_features` to `n_components` dimensions."""

    def weights_of(self, weights: Floats) -> Floats:
        """Return weights that score rows as `weights` score the mapped rows."""
