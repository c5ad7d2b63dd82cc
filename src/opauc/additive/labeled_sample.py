"""The rows of the initial sample, and their columns in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.bins import ValueCodes
from opauc.additive.basis.group_levels import GroupLevels
from opauc.additive.basis_rows import BasisRows
from opauc.additive.model import AdditiveLogistic
from opauc.additive.partial_auc import JudgedSample
from opauc.additive.policy import AdditivePolicy
from opauc.additive.row_shards import sum_shards
from opauc.additive.trees.blend import Blend
from opauc.additive.trees.grow import CodedRows
from opauc.types import Floats, Labels


class LabeledSample(NamedTuple):
    """Labeled and weighted rows of the initial sample, and which inputs are numbers of categories.

    Rows of more numbers than inputs end with the number of their group.
    """

    rows: Floats
    labels: Labels
    weights: Floats
    categorical: NDArray[np.bool_]

    def coded(
        self, codes: ValueCodes, at: NDArray[np.int64], weights: Floats, levels: GroupLevels | None = None
    ) -> CodedRows:
        """Return some of the rows as codes, with other weights and the offsets that levels give their groups."""
        places = None if levels is None else levels.places(self.rows[at, -1])
        offset = None if levels is None or places is None else levels.offsets_at(places)
        return CodedRows(codes.of_rows(self.inputs(at)), self.labels[at], weights, offset, places)

    def inputs(self, at: NDArray[np.int64]) -> Floats:
        """Return the inputs of some of the rows."""
        return self.rows[at, : self.categorical.size]

    def judged(self, basis: Basis, order: NDArray[np.int64], policy: AdditivePolicy) -> JudgedSample:
        """Return the rows in an order that does not depend on how they came, in folds."""
        rows, labels, weights = self.rows[order], self.labels[order], self.weights[order]
        ordered = LabeledSample(rows, labels, weights, self.categorical)

        def encode(at: NDArray[np.int64]) -> Iterator[BasisRows]:
            return encode_rows(basis, rows[at], labels[at], weights[at])

        def add(start: AdditiveLogistic, at: NDArray[np.int64]) -> AdditiveLogistic:
            return ordered.add_to(start, basis, at)

        return JudgedSample(rows, labels, weights, assign_folds(labels, policy.tree.n_folds), encode, add)

    def add_to(self, start: AdditiveLogistic, basis: Basis, at: NDArray[np.int64]) -> AdditiveLogistic:
        """Return a model of no rows with some of the rows added."""

        def add(shard: slice, _first: bool) -> AdditiveLogistic:  # all shards start without rows
            rows = at[shard]
            return start.update_initial(encode_rows(basis, self.rows[rows], self.labels[rows], self.weights[rows]))

        return sum_shards(at.size, basis.n_columns, add, AdditiveLogistic.merge_initial)


def assign_folds(labels: Labels, n_folds: int) -> NDArray[np.int64]:
    """Return the fold of each row, so that each class is divided evenly."""
    folds = np.empty(labels.size, np.int64)
    for k in np.unique(labels):
        of_class = np.flatnonzero(labels == k)
        folds[of_class] = np.arange(of_class.size) % n_folds
    return folds


def encode_rows(
    basis: Basis,
    rows: Floats,
    labels: Labels,
    weight: Floats | None,
    fresh: NDArray[np.bool_] | None = None,
    blend: Blend | None = None,
) -> Iterator[BasisRows]:
    """Yield the columns of labeled rows in blocks of a few thousand rows.

    Later rows of a model with trees, which is a `blend`, come with their leaves and additive scores.
    """
    groups, rows, grouped = basis.group_levels, rows[:, : basis.n_inputs], rows[:, basis.n_inputs :]
    for part, block in basis.blocks(rows):
        weights = None if weight is None else weight[part]
        levels = basis.random_effects.rows(rows[part]) if basis.random_effects.size else None
        crossed = basis.crossed.levels(rows[part]) if basis.crossed.size else None
        new = None if fresh is None else fresh[part]
        batch = BasisRows(block, labels[part], weights, new, levels, crossed)
        if blend is not None:
            additive = basis.additive_products(block, rows[part], blend.additive)
            batch = batch._replace(leaves=basis.leaves(rows[part]), additive=additive)
        if groups is not None:
            places = groups.places(grouped[part, 0])
            own = groups.indicators(places)
            indicators = own if levels is None else csr_array(hstack([levels, own], format="csr"))
            batch = batch._replace(places=places, offset=groups.offsets_at(places), indicators=indicators)
        yield batch
