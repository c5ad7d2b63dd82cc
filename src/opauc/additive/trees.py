"""Gradient-boosted trees on binned rows, and the rule by which a tree ensemble joins the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.bins import ValueCodes
from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
from opauc.additive.basis.leaf_indicators import LeafIndicators, ValidationGain
from opauc.additive.fit import PenalizedFit
from opauc.additive.initial_sample import SampleRows
from opauc.additive.kernels.trees import (
    CURVATURE,
    N_TERMS,
    RESIDUAL,
    CodedRows,
    TreeSplits,
    grow_tree,
    write_entries,
    write_grown_leaves,
    write_leaves,
    write_terms,
)
from opauc.additive.penalties import Penalties
from opauc.additive.policy import TREE_POLICY, Growth, TreePolicy
from opauc.additive.smoothing import smooth
from opauc.additive.sums import LinearizedSums
from opauc.types import Floats, Labels


class Tree(NamedTuple):
    """A tree with its leaf values, and the leaf and the boosted score of every row."""

    splits: TreeSplits
    values: Floats
    leaves: NDArray[np.int32]
    scores: Floats


class BinnedRows(NamedTuple):
    """Rows of bin codes with labels and sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.trees import BinnedRows, join_trees
    >>> codes = np.tile(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.uint8), (50, 1))
    >>> labels = (codes[:, 0] ^ codes[:, 1]).astype(np.int8)
    >>> rows = BinnedRows.of(codes, np.array([2, 2]), labels, np.ones(200))
    >>> splits, values = join_trees(list(rows.grow_trees(np.linspace(-0.1, 0.1, 200), np.arange(200), 3)))
    >>> splits.roots.tolist(), values.round(1).tolist()
    ([0, 3, 6], [-0.4, 0.4, -0.4, 0.4, -0.4, 0.4, -0.4, 0.4, -0.3, 0.3, -0.3, 0.3])
    """

    coded: CodedRows
    labels: Labels
    weight: Floats

    @classmethod
    def of(cls, codes: NDArray[np.uint8], n_codes: NDArray[np.int64], labels: Labels, weight: Floats) -> BinnedRows:
        """Return the rows of these codes; `n_codes` has the number of codes of each input."""
        most_frequent = np.array([np.bincount(column).argmax() for column in codes.T], np.uint8)
        starts = np.cumsum([0, *n_codes.tolist()]).astype(np.int32)
        ends, entries = np.zeros(len(codes) + 1, np.int64), np.empty(codes.size, np.int32)
        write_entries(codes, most_frequent, starts, ends, entries)
        coded = CodedRows(np.asfortranarray(codes), most_frequent, starts, entries[: ends[-1]].copy(), ends)
        return cls(coded, labels, weight)

    def grow_trees(
        self, scores: Floats, training: NDArray[np.int64], max_trees: int, growth: Growth = TREE_POLICY.growth
    ) -> Iterator[Tree]:
        """Yield trees boosted on the training rows, from initial scores of all rows; stop where no split gains."""
        limits = growth.limits
        others = np.setdiff1d(np.arange(scores.size), training)
        codes_of_others = np.ascontiguousarray(self.coded.codes[others])
        leaves_of_others = np.empty((others.size, 1), np.int32)
        terms, tables = np.zeros((scores.size, N_TERMS)), np.empty((limits.n_leaves, self.coded.starts[-1], N_TERMS))
        inputs, codes = np.empty(limits.n_leaves, np.int32), np.empty(limits.n_leaves, np.uint8)
        children, totals = np.empty((limits.n_leaves, 2), np.int32), np.empty((limits.n_leaves, N_TERMS))
        bounds = np.empty((limits.n_leaves, 2), np.int64)
        for number in range(max_trees):
            order = training.astype(np.int32)
            write_terms(order, scores, self.labels, self.weight, number, terms)
            n_leaves = grow_tree(self.coded, order, terms, limits, tables, inputs, codes, children, totals, bounds)
            if n_leaves < 2:
                return
            used = slice(n_leaves - 1)
            splits = TreeSplits(inputs[used].copy(), codes[used].copy(), children[used].copy(), np.zeros(1, np.int32))
            values = growth.learning_rate * totals[:n_leaves, RESIDUAL] / (totals[:n_leaves, CURVATURE] + limits.ridge)
            leaves = np.empty(scores.size, np.int32)
            write_grown_leaves(order, bounds[:n_leaves], leaves)
            write_leaves(codes_of_others, splits, leaves_of_others)
            leaves[others] = leaves_of_others[:, 0]
            scores = scores + values[leaves]
            yield Tree(splits, values, leaves, scores)

    def losses(self, scores: Floats, rows: NDArray[np.int64]) -> Floats:
        """Return the weighted logistic losses of these rows."""
        sign = 1.0 - 2.0 * self.labels[rows]
        return np.asarray(self.weight[rows] * np.logaddexp(0.0, sign * scores[rows]))


def join_trees(trees: Sequence[Tree]) -> tuple[TreeSplits, Floats]:
    """Return the splits of all trees, leaves numbered consecutively, and the leaf values."""
    n_splits = np.array([tree.splits.inputs.size for tree in trees])
    roots = np.cumsum(n_splits) - n_splits
    first_leaves = roots + np.arange(len(trees))
    children = [
        np.where(tree.splits.children >= 0, tree.splits.children + root, tree.splits.children - first_leaf)
        for tree, root, first_leaf in zip(trees, roots.tolist(), first_leaves.tolist(), strict=True)
    ]
    splits = TreeSplits(
        np.concatenate([tree.splits.inputs for tree in trees]),
        np.concatenate([tree.splits.codes for tree in trees]),
        np.concatenate(children).astype(np.int32),
        roots.astype(np.int32),
    )
    return splits, np.concatenate([tree.values for tree in trees])


def solve_leaf_weights(
    leaves: NDArray[np.int32],
    values: Floats,
    scores: Floats,
    labels: Labels,
    weight: Floats,
    policy: TreePolicy = TREE_POLICY,
) -> Floats:
    """Return ridge-penalized leaf weights: one Newton step of the logistic loss from the leaf values.

    Parameters
    ----------
    leaves : ndarray of shape (n_rows, n_trees)
        The leaf of each row in each tree, numbered consecutively over all trees.
    values : ndarray of shape (n_leaves,)
        Leaf values at which the loss is linearized.
    scores : ndarray of shape (n_rows,)
        Offsets: the scores to which leaf weights are added.
    labels, weight : ndarray of shape (n_rows,)
        Labels and sample weights.
    policy : TreePolicy
        The smoothing parameter to begin with, and the steps of its estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.trees import solve_leaf_weights
    >>> leaves, labels = np.array([[0], [1]] * 500, np.int32), np.array([0, 1] * 450 + [1, 0] * 50, np.int8)
    >>> solve_leaf_weights(leaves, np.array([-1.0, 1.0]), np.zeros(1000), labels, np.ones(1000)).round(1).tolist()
    [-1.8, 1.8]
    """
    n_rows, n_trees = leaves.shape
    # The offsets are one more column, whose weight is one.
    columns = np.column_stack([np.zeros(n_rows, np.int32), leaves + np.int32(1)])
    entries = np.column_stack([scores, np.ones((n_rows, n_trees))])
    ends = np.arange(0, columns.size + 1, n_trees + 1, dtype=np.int32)
    rows = csr_array((entries.ravel(), columns.ravel(), ends), shape=(n_rows, values.size + 1))
    penalties = Penalties(ColumnGroups.of([Group(GroupKind.LEAVES, 0, values.size)]), (None,))
    sums = LinearizedSums.at(np.append(1.0, values)).update(rows, labels, weight)
    gram, moment = np.ascontiguousarray(sums.gram[1:, 1:]), sums.rhs[1:] - sums.gram[1:, 0]
    return smooth(gram, moment, penalties, np.array([policy.leaf_penalty]), policy.leaf_penalty_steps).weights


class TreeCandidate(NamedTuple):
    """A tree ensemble, the losses of the validation rows with it, and whether its leaf values stay frozen."""

    trees: Sequence[Tree]
    validation_losses: Floats
    growth: Growth
    frozen: bool = True

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.trees)


def evaluate_candidate(
    rows: BinnedRows,
    scores: Floats,
    validation: NDArray[np.int64],
    max_trees: int,
    more_rows: bool = False,
    growth: Growth = TREE_POLICY.growth,
    policy: TreePolicy = TREE_POLICY,
) -> TreeCandidate:
    """Return the ensemble of the size that has the lowest log loss on the validation rows.

    Trees grow on the other rows, until early stopping. Leaf values stay frozen as
    grown, or become weights that are solved for all at once, whichever has the
    lower loss. If more rows follow the sample, they decide the weights, and growing
    stops earlier: every later row pays for each tree.
    """
    training = np.setdiff1d(np.arange(scores.size), validation)
    best, trees = TreeCandidate((), rows.losses(scores, validation), growth), []
    lowest_losses = [float(best.validation_losses.sum())]
    for tree in rows.grow_trees(scores, training, max_trees, growth):
        trees.append(tree)
        losses = rows.losses(tree.scores, validation)
        if losses.sum() < best.validation_losses.sum():
            best = best._replace(trees=tuple(trees), validation_losses=losses)
        lowest_losses.append(float(best.validation_losses.sum()))
        progress = 1.0 - policy.stream_progress if more_rows else 1.0
        if len(trees) >= policy.min_trees and lowest_losses[-1] >= progress * lowest_losses[-1 - policy.patience]:
            break
    if more_rows or not best.n_trees:
        return best
    values = np.concatenate([tree.values for tree in best.trees])
    first_leaves = np.cumsum([0, *(tree.values.size for tree in best.trees[:-1])])
    leaves = (np.column_stack([tree.leaves for tree in best.trees]) + first_leaves).astype(np.int32)
    weights = solve_leaf_weights(
        leaves[training], values, scores[training], rows.labels[training], rows.weight[training], policy
    )
    losses = rows.losses(scores + weights[leaves].sum(axis=1), validation)
    solved_is_better = losses.sum() < best.validation_losses.sum()
    return best._replace(validation_losses=losses, frozen=False) if solved_is_better else best


def measure_gain(before: Floats, after: Floats) -> ValidationGain:
    """Return the validation gain of rows whose losses were `before` and are `after`.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.trees import measure_gain
    >>> measure_gain(np.array([1.0, 2.0]), np.array([0.5, 1.7])).share.__round__(3)
    0.267
    """
    gains = before - after
    error = float(gains.std() * np.sqrt(gains.size))
    return ValidationGain(
        float(gains.sum()) / max(error, 1e-300), float(gains.sum()) / max(float(before.sum()), 1e-300)
    )


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """A sample as trees need it, its validation rows, and the rules by which an ensemble is chosen and accepted.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.initial_sample import SampleRows
    >>> from opauc.additive.trees import TreeSearch
    >>> numbers, ones = np.random.default_rng(0).normal(size=(8000, 3)), np.ones(8000)
    >>> sample = SampleRows(numbers, (numbers.prod(axis=1) > 0).astype(np.int8), ones, ones / 8000)
    >>> basis = Basis.of(numbers, sample.mass, np.zeros(3, bool), n_knots=8)
    >>> search = TreeSearch.of(basis, np.zeros(basis.n_columns), sample, np.arange(2000))
    >>> candidate = search.choose_candidate(np.zeros(8000), max_columns=320)
    >>> candidate.n_trees, bool(candidate.validation_losses.mean() < 0.5 * np.log(2))
    (8, True)
    """

    codes: ValueCodes
    rows: BinnedRows
    validation: NDArray[np.int64]
    more_rows: bool  # whether more rows follow the sample
    policy: TreePolicy = TREE_POLICY

    @classmethod
    def of(
        cls,
        basis: Basis,
        weights: Floats,
        sample: SampleRows,
        fitted_rows: NDArray[np.int64],
        more_rows: bool = False,
        policy: TreePolicy = TREE_POLICY,
    ) -> TreeSearch:
        """Return the search on a sample; categories are ordered by their weights on the basis.

        `fitted_rows`, which fits have used, do not validate.
        """
        codes = ValueCodes.of(basis.tables, weights, sample.numbers, sample.mass)
        row_codes = codes.of_rows(basis.tables, sample.numbers)
        rows = BinnedRows.of(row_codes, codes.sizes(basis.tables), sample.labels, sample.weight)
        every_nth = np.arange(policy.validation_step - 1, sample.labels.size, policy.validation_step)
        return cls(codes, rows, np.setdiff1d(every_nth, fitted_rows), more_rows, policy)

    def choose_candidate(self, scores: Floats, max_columns: int) -> TreeCandidate:
        """Return the ensemble with the lowest validation loss that is added to these scores.

        A small sample that no rows follow is grown in both ways of the policy.
        """
        policy = self.policy
        is_small = scores.size < policy.small_sample_rows and not self.more_rows
        candidates = []
        for growth in (policy.growth, policy.small_sample_growth) if is_small else (policy.growth,):
            max_trees = min(policy.max_leaf_columns, max_columns) // growth.limits.n_leaves
            candidates.append(
                evaluate_candidate(self.rows, scores, self.validation, max_trees, self.more_rows, growth, policy)
            )
        return min(candidates, key=lambda candidate: float(candidate.validation_losses.sum()))

    def validation_losses(self, scores: Floats) -> Floats:
        """Return the losses of the validation rows."""
        return self.rows.losses(scores, self.validation)

    def accepts(self, gain: ValidationGain, min_share: float) -> bool:
        """Tell whether a gain exceeds this share of the log loss, and the standard errors it needs."""
        return gain.share > min_share and gain.errors > self._min_z(min_share)

    def _min_z(self, min_share: float) -> float:
        """Return the standard errors that a gain of at least this share needs."""
        policy = self.policy
        if self.more_rows:
            return policy.stream_z
        if min_share < policy.min_share:
            return policy.final_z_small_gain
        is_small = self.validation.size < policy.small_validation
        return policy.final_z_small_validation if is_small else policy.final_z

    def add_trees(
        self, basis: Basis, fit: PenalizedFit, candidate: TreeCandidate, gain: ValidationGain
    ) -> tuple[Basis, PenalizedFit]:
        """Return the basis with leaf indicators, and its fit.

        As many trees as the candidate has are grown on all rows from the fit. If
        the candidate's own trees fit all rows better, they are used: greedy growth on
        all rows may miss a split that growth on fewer rows has by chance.
        """
        all_rows = np.arange(fit.scores.size)
        regrown = tuple(self.rows.grow_trees(fit.scores, all_rows, candidate.n_trees, candidate.growth))
        ensembles = [
            (trees, sum((tree.values[tree.leaves] for tree in trees), fit.scores))
            for trees in (regrown, candidate.trees)
            if trees
        ]
        trees, scores = min(ensembles, key=lambda ensemble: float(self.rows.losses(ensemble[1], all_rows).sum()))
        splits, values = join_trees(trees)
        weights = np.concatenate([fit.weights, values])
        strengths = np.append(fit.lambdas, self.policy.leaf_penalty)
        leaves = LeafIndicators(self.codes, splits, candidate.frozen)
        return basis.with_trees(leaves, gain), PenalizedFit(weights, strengths, scores)
