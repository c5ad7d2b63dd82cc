"""Trees as one ensemble of ai.onnx.ml: its leaves have what trees add to each term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opauc.exports.onnx.graph import DOUBLE, ML, TREE_ENSEMBLE, Graph, tensor
from opauc.exports.onnx.tables import TableGraph
from opauc.exports.portable import Axis, Levels, Steps, Trees

# A split goes to its true side where the value is at most the threshold; a missing value always.
BRANCH_LEQ, SUM = 0, 1


def tree_contributions(graph: Graph, trees: Trees | None, places: TableGraph, n_terms: int) -> list[str]:
    """Add the matrix of a column for each term with what trees add to it; none without trees."""
    if trees is None or not trees.roots.size:
        return []
    levels = [number for number in trees.axes if isinstance(places.axes[number], Levels)]
    features = graph.joined([places.matrix, *(graph.cast(places.place(number), DOUBLE) for number in levels)])
    positions = {number: places.n_inputs + at for at, number in enumerate(levels)}
    ensemble = _Ensemble(trees, places.axes, positions)
    for root in trees.roots.tolist():
        for term in ensemble.terms_of(root):
            ensemble.add_tree(root, term)
    used = sorted({*trees.terms})
    of_terms = np.zeros((len(used), n_terms))
    of_terms[np.arange(len(used)), used] = 1.0
    targets = {term: at for at, term in enumerate(used)}
    if graph.ml_version < TREE_ENSEMBLE:
        attributes = ensemble.regressor_attributes(targets)
        sums = graph.cast(graph.add("TreeEnsembleRegressor", features, domain=ML, **attributes), DOUBLE)
    else:
        sums = graph.add("TreeEnsemble", features, domain=ML, **ensemble.attributes(targets))
    return [graph.add("MatMul", sums, graph.constant(of_terms))]


@dataclass
class _Ensemble:
    """Trees in the layout of the operator: each tree once for every term that its splits belong to.

    A leaf of the copy for a term has the sum, over the splits of that term on its path, of the value of the child
    less that of the split.
    """

    trees: Trees
    axes: Sequence[Axis]
    positions: dict[int, int]  # of axes of levels, among the features
    roots: list[int] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    thresholds: list[float] = field(default_factory=list)
    sides: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    are_leaves: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    leaf_terms: list[int] = field(default_factory=list)
    leaf_values: list[float] = field(default_factory=list)

    def terms_of(self, root: int) -> list[int]:
        """Return the terms that the splits of a tree belong to."""
        found, left = set[int](), [root]
        while left:
            at = left.pop()
            found.add(self._term(at))
            left += [child for child in self.trees.children[at].tolist() if child >= 0]
        return sorted(found)

    def add_tree(self, root: int, term: int) -> None:
        """Add a tree with what it adds to one term: splits in the order of a walk that goes to the first side first."""
        self.roots.append(len(self.features))
        left = [(root, 0.0, -1, 0)]  # the child of a split, the sum of changes before it, the split's node, the side
        values, n_splits = self.trees.values, self.trees.n_splits
        while left:
            child, value, parent, side = left.pop()
            is_leaf = child < 0
            if parent >= 0:
                self.sides[side][parent] = len(self.leaf_values if is_leaf else self.features)
                self.are_leaves[side][parent] = int(is_leaf)
            if is_leaf:
                self.leaf_values.append(value)
                self.leaf_terms.append(term)
                continue
            node = len(self.features)
            self._add_split(child)
            own = self._term(child) == term
            for next_side in (1, 0):
                below = int(self.trees.children[child, next_side])
                place = below if below >= 0 else n_splits - 1 - below
                change = float(values[place] - values[child]) if own else 0.0
                left.append((below, value + change, node, next_side))

    def attributes(self, targets: dict[int, int]) -> dict[str, Any]:
        """Return the attributes of TreeEnsemble; `targets` has the position of each term among its outputs."""
        unused = self._first_leaf()
        sides = [
            [number + unused * is_leaf for number, is_leaf in zip(numbers, are_leaves, strict=True)]
            for numbers, are_leaves in zip(self.sides, self.are_leaves, strict=True)
        ]
        return {
            "n_targets": len(targets),
            "aggregate_function": SUM,
            "post_transform": 0,
            "tree_roots": self.roots,
            "nodes_modes": tensor(np.full(len(self.features), BRANCH_LEQ), np.uint8),
            "nodes_featureids": self.features,
            "nodes_splits": tensor(self.thresholds),
            "nodes_truenodeids": sides[0],
            "nodes_falsenodeids": sides[1],
            "nodes_trueleafs": self.are_leaves[0],
            "nodes_falseleafs": self.are_leaves[1],
            "nodes_missing_value_tracks_true": [1] * len(self.features),
            "leaf_targetids": [0] * unused + [targets[term] for term in self.leaf_terms],
            "leaf_weights": tensor([0.0] * unused + self.leaf_values),
        }

    def _first_leaf(self) -> int:
        """Return from which number on leaves are numbered, so that no split has a leaf and a split of one number.

        onnxruntime before 1.24 takes a root of two equal numbers for a leaf.
        """
        (first, second), (is_first, is_second) = (np.array(self.sides), np.array(self.are_leaves))
        mixed = is_first != is_second
        gaps = np.where(is_first, second - first, first - second)[mixed]
        return next(number for number in range(gaps.size + 1) if number not in gaps)

    def regressor_attributes(self, targets: dict[int, int]) -> dict[str, Any]:
        """Return the attributes of TreeEnsembleRegressor, which numbers the leaves of a tree after all splits."""
        n_splits, n_leaves = len(self.features), len(self.leaf_values)
        tree_of_split = np.searchsorted(self.roots, np.arange(n_splits), side="right") - 1
        children = [
            [child + n_splits * is_leaf for child, is_leaf in zip(ids, are_leaves, strict=True)]
            for ids, are_leaves in zip(self.sides, self.are_leaves, strict=True)
        ]
        tree_of_leaf = np.zeros(n_leaves, np.int64)
        for ids, are_leaves in zip(self.sides, self.are_leaves, strict=True):
            at = np.flatnonzero(are_leaves)
            tree_of_leaf[np.array(ids)[at]] = tree_of_split[at]
        leaves = np.arange(n_splits, n_splits + n_leaves)
        none = np.zeros(n_leaves, np.int64)
        trees = np.concatenate([tree_of_split, tree_of_leaf])
        order = np.argsort(trees, kind="stable")  # nodes of a tree follow one another, its root first
        nodes = {
            "nodes_treeids": trees,
            "nodes_nodeids": np.arange(n_splits + n_leaves),
            "nodes_featureids": np.concatenate([self.features, none]),
            "nodes_truenodeids": np.concatenate([children[0], none]),
            "nodes_falsenodeids": np.concatenate([children[1], none]),
            "nodes_missing_value_tracks_true": np.concatenate([np.ones(n_splits, np.int64), none]),
        }
        return {
            "n_targets": len(targets),
            "aggregate_function": "SUM",
            **{name: values[order].tolist() for name, values in nodes.items()},
            "nodes_modes": np.where(order < n_splits, "BRANCH_LEQ", "LEAF").tolist(),
            "nodes_values_as_tensor": tensor(np.concatenate([self.thresholds, none])[order]),
            "target_treeids": tree_of_leaf.tolist(),
            "target_nodeids": leaves.tolist(),
            "target_ids": [targets[term] for term in self.leaf_terms],
            "target_weights_as_tensor": tensor(self.leaf_values),
        }

    def _term(self, split: int) -> int:
        return self.trees.terms[int(self.trees.split_axes[split])]

    def _add_node(self, feature: int, threshold: float) -> None:
        """Add a split whose sides are not known yet."""
        self.features.append(feature)
        self.thresholds.append(threshold)
        for ids in (*self.sides, *self.are_leaves):
            ids.append(0)

    def _add_split(self, split: int) -> None:
        """Add a split of the model: on steps by the cut below the next place, on levels by the place."""
        number, place = self.trees.axes[int(self.trees.split_axes[split])], int(self.trees.split_places[split])
        axis = self.axes[number]
        if isinstance(axis, Steps):
            cuts = np.concatenate([[-np.inf], axis.cuts, [np.inf]])
            self._add_node(axis.input, float(cuts[min(place, axis.cuts.size + 1)]))
        else:
            self._add_node(self.positions[number], float(place))
