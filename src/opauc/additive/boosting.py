"""Trees one after the other, each grown on what the scores so far leave to be explained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
from opauc.additive.kernels.trees import (
    CURVATURE,
    N_TERMS,
    RESIDUAL,
    CodedRows,
    TreeLimits,
    TreeSplits,
    grow_tree,
    write_entries,
    write_grown_leaves,
    write_leaves,
    write_terms,
)
from opauc.additive.penalties import Penalties
from opauc.additive.smoothing import smooth
from opauc.additive.sums import LinearizedSums
from opauc.types import Floats, Labels

# How strongly leaves are held to zero before rows say it, and steps to learn that from these.
FIRST_STRENGTH, STEPS = 5.0, 2


def leaf_weights(leaves: NDArray[np.int32], values: Floats, scores: Floats, labels: Labels, weight: Floats) -> Floats:
    """Return the weights that one step from the values of leaves leads to, beside given scores.

    Parameters
    ----------
    leaves : ndarray of shape (n_rows, n_trees)
        The leaf of each row in each tree, numbered through all trees.
    values : ndarray of shape (n_leaves,)
        The step begins there.
    scores : ndarray of shape (n_rows,)
        What the leaves' weights are added to.
    labels, weight : ndarray of shape (n_rows,)
        Of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.boosting import leaf_weights
    >>> leaves, labels = np.array([[0], [1]] * 500, np.int32), np.array([0, 1] * 450 + [1, 0] * 50, np.int8)
    >>> leaf_weights(leaves, np.array([-1.0, 1.0]), np.zeros(1000), labels, np.ones(1000)).round(1).tolist()
    [-1.8, 1.8]
    """
    n_rows, n_trees = leaves.shape
    # The scores are one more column, whose weight is one.
    columns = np.column_stack([np.zeros(n_rows, np.int32), leaves + np.int32(1)])
    entries = np.column_stack([scores, np.ones((n_rows, n_trees))])
    ends = np.arange(0, columns.size + 1, n_trees + 1, dtype=np.int32)
    rows = csr_array((entries.ravel(), columns.ravel(), ends), shape=(n_rows, values.size + 1))
    penalties = Penalties(ColumnGroups.of([Group(GroupKind.LEAVES, 0, values.size)]), (None,))
    sums = LinearizedSums.at(np.append(1.0, values)).update(rows, labels, weight)
    gram, moment = np.ascontiguousarray(sums.gram[1:, 1:]), sums.rhs[1:] - sums.gram[1:, 0]
    return smooth(gram, moment, penalties, np.array([FIRST_STRENGTH]), STEPS).weights


class Growth(NamedTuple):
    """How far a tree grows, and what share of what its leaves ask for is given: the next trees see the rest."""

    limits: TreeLimits
    rate: float


# What serves most rows, and what serves few that can be explained nearly whole.
USUAL, FREER = Growth(TreeLimits(40, 20.0, 10.0), 0.4), Growth(TreeLimits(24, 10.0, 1.0), 0.3)
# After the first few no more trees are grown once so many have brought nothing to rows held out: where more rows are to
# come, less than such a share of the loss.
FEWEST_TREES, PATIENCE, LEAST_SHARE = 16, 8, 0.008


class Tree(NamedTuple):
    """A tree, the value of each of its leaves, and of all rows the leaf and the score with it."""

    splits: TreeSplits
    values: Floats
    leaves: NDArray[np.int32]
    scores: Floats


class BoostedRows(NamedTuple):
    """Coded rows with labels and weights.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.boosting import BoostedRows, joined
    >>> codes = np.tile(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.uint8), (50, 1))
    >>> labels = (codes[:, 0] ^ codes[:, 1]).astype(np.int8)
    >>> rows = BoostedRows.of(codes, np.array([2, 2]), labels, np.ones(200))
    >>> splits, values = joined(list(rows.trees(np.linspace(-0.1, 0.1, 200), np.arange(200), 3)))
    >>> splits.roots.tolist(), values.round(1).tolist()
    ([0, 3, 6], [-0.4, 0.4, -0.4, 0.4, -0.4, 0.4, -0.4, 0.4, -0.3, 0.3, -0.3, 0.3])
    """

    coded: CodedRows
    labels: Labels
    weight: Floats

    @classmethod
    def of(cls, codes: NDArray[np.uint8], sizes: NDArray[np.int64], labels: Labels, weight: Floats) -> BoostedRows:
        """Return the rows of codes of inputs that have so many codes each."""
        usual = np.array([np.bincount(column).argmax() for column in codes.T], np.uint8)
        starts = np.cumsum([0, *sizes.tolist()]).astype(np.int32)
        ends, entries = np.zeros(len(codes) + 1, np.int64), np.empty(codes.size, np.int32)
        write_entries(codes, usual, starts, ends, entries)
        return cls(CodedRows(np.asfortranarray(codes), usual, starts, entries[: ends[-1]].copy(), ends), labels, weight)

    def trees(self, scores: Floats, some: NDArray[np.int64], most: int, growth: Growth = USUAL) -> Iterator[Tree]:
        """Yield trees grown on some of the rows, from the scores of all to begin with; fewer where none can be made."""
        limits = growth.limits
        others = np.setdiff1d(np.arange(scores.size), some)
        codes_of_others, leaves_of_others = (
            np.ascontiguousarray(self.coded.codes[others]),
            np.empty((others.size, 1), np.int32),
        )
        terms, tables = np.zeros((scores.size, N_TERMS)), np.empty((limits.n_leaves, self.coded.starts[-1], N_TERMS))
        inputs, codes = np.empty(limits.n_leaves, np.int32), np.empty(limits.n_leaves, np.uint8)
        children, totals = np.empty((limits.n_leaves, 2), np.int32), np.empty((limits.n_leaves, N_TERMS))
        bounds = np.empty((limits.n_leaves, 2), np.int64)
        for turn in range(most):
            order = some.astype(np.int32)
            write_terms(order, scores, self.labels, self.weight, turn, terms)
            size = grow_tree(self.coded, order, terms, limits, tables, inputs, codes, children, totals, bounds)
            if size < 2:
                return
            kept = slice(size - 1)
            splits = TreeSplits(inputs[kept].copy(), codes[kept].copy(), children[kept].copy(), np.zeros(1, np.int32))
            values = growth.rate * totals[:size, RESIDUAL] / (totals[:size, CURVATURE] + limits.ridge)
            leaves = np.empty(scores.size, np.int32)
            write_grown_leaves(order, bounds[:size], leaves)
            write_leaves(codes_of_others, splits, leaves_of_others)
            leaves[others] = leaves_of_others[:, 0]
            scores = scores + values[leaves]
            yield Tree(splits, values, leaves, scores)

    def losses(self, scores: Floats, some: NDArray[np.int64]) -> Floats:
        """Return the logistic loss of some of the rows."""
        sign = 1.0 - 2.0 * self.labels[some]
        return np.asarray(self.weight[some] * np.logaddexp(0.0, sign * scores[some]))


class Trial(NamedTuple):
    """The trees that serve rows held out best, the losses of these rows with them, and if their values are to stay."""

    trees: Sequence[Tree]
    losses: Floats
    growth: Growth
    stay: bool = True

    @property
    def n_trees(self) -> int:
        """How many they are."""
        return len(self.trees)


def tried(
    rows: BoostedRows,
    scores: Floats,
    held: NDArray[np.int64],
    most: int,
    more_rows: bool = False,
    growth: Growth = USUAL,
) -> Trial:
    """Return the trees, grown on the rows that are not held out, that serve those that are, and how well.

    Their leaves have the values that they were grown with, or weights that are
    learned all at once from the same rows, whichever is better. Where more rows
    are to come, such weights are left to these, and trees that bring little are not
    grown: all rows would take time for them.
    """
    some = np.setdiff1d(np.arange(scores.size), held)
    best, trees = Trial((), rows.losses(scores, held), growth), []
    reached = [float(best.losses.sum())]
    for tree in rows.trees(scores, some, most, growth):
        trees.append(tree)
        losses = rows.losses(tree.scores, held)
        if losses.sum() < best.losses.sum():
            best = best._replace(trees=tuple(trees), losses=losses)
        reached.append(float(best.losses.sum()))
        enough = 1.0 - LEAST_SHARE if more_rows else 1.0
        if len(trees) >= FEWEST_TREES and reached[-1] >= enough * reached[-1 - PATIENCE]:
            break
    if more_rows or not best.n_trees:
        return best
    values = np.concatenate([tree.values for tree in best.trees])
    starts = np.cumsum([0, *(tree.values.size for tree in best.trees[:-1])])
    leaves = (np.column_stack([tree.leaves for tree in best.trees]) + starts).astype(np.int32)
    weights = leaf_weights(leaves[some], values, scores[some], rows.labels[some], rows.weight[some])
    losses = rows.losses(scores + weights[leaves].sum(axis=1), held)
    return best._replace(losses=losses, stay=False) if losses.sum() < best.losses.sum() else best


def joined(trees: Sequence[Tree]) -> tuple[TreeSplits, Floats]:
    """Return the splits of all trees with the leaves numbered through, and the values of these."""
    n_splits = np.array([tree.splits.inputs.size for tree in trees])
    roots = np.cumsum(n_splits) - n_splits
    leaves = roots + np.arange(len(trees))
    children = [
        np.where(tree.splits.children >= 0, tree.splits.children + root, tree.splits.children - leaf)
        for tree, root, leaf in zip(trees, roots.tolist(), leaves.tolist(), strict=True)
    ]
    splits = TreeSplits(
        np.concatenate([tree.splits.inputs for tree in trees]),
        np.concatenate([tree.splits.codes for tree in trees]),
        np.concatenate(children).astype(np.int32),
        roots.astype(np.int32),
    )
    return splits, np.concatenate([tree.values for tree in trees])
