"""The trees of the first fit: grown on rows of the initial sample, and judged on rows that they have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.bins import ValueCodes
from opauc.additive.basis.ensemble import TreeEnsemble
from opauc.additive.basis.group_levels import GroupLevels
from opauc.additive.initial_additive import UnseenScores
from opauc.additive.initial_sample import by_columns, draw_tree_rows
from opauc.additive.labeled_sample import LabeledSample
from opauc.additive.policy import Growth, TreePolicy
from opauc.additive.settings import AUTO, AdditiveSettings
from opauc.additive.trees.blend import TREES, Blend, ValidationRows, average_ensembles
from opauc.additive.trees.grow import CodedRows, GrowthLimits, code_folds, cross_fit, grow_ensemble
from opauc.types import Floats, Labels


def trees_may_join(labels: Labels, weights: Floats, settings: AdditiveSettings, policy: TreePolicy) -> bool:
    """Tell whether trees are grown: they are asked for, and there are enough rows."""
    rarer = np.bincount(labels, weights, minlength=2).min()
    enough_rows = labels.size >= policy.min_rows and bool(rarer >= policy.min_rare_rows)
    return settings.trees and settings.interactions == AUTO and enough_rows


def accept_trees(basis: Basis, blend: Blend | None, policy: TreePolicy) -> tuple[Basis, Blend | None]:
    """Return the basis with the trees of a blend, and the blend, if that gains on the validation rows."""
    if blend is None:
        return basis, None
    gain = blend.gain
    joins = gain.errors >= policy.min_z and bool(blend.point[TREES] > 0.0)
    return basis.with_trees(blend.ensemble if joins else None, gain), blend if joins else None


class GrownTrees(NamedTuple):
    """Ensembles with their scores of validation rows, which they have not seen, and the rows they are grown on."""

    ensembles: list[TreeEnsemble]
    scores: list[Floats]
    rows: CodedRows
    validation: CodedRows


def grow_trees(
    sample: LabeledSample,
    validation: NDArray[np.int64],
    others: NDArray[np.int64],
    growths: Sequence[Growth],
    seed: int,
    policy: TreePolicy,
    limits: GrowthLimits,
    n_threads: int,
    levels: GroupLevels | None = None,
) -> GrownTrees:
    """Return ensembles that are grown on many of the other rows, an ensemble per growth."""
    _, labels, weights, categorical = sample
    grown = draw_tree_rows(others, labels, policy)
    at = grown.rows
    codes = ValueCodes.of(sample.inputs(at), labels[at], weights[at], categorical, policy)
    # Rows of a class of which few are drawn stand for the others.
    coded = sample.coded(codes, at, weights[at] / grown.shares[labels[at]], levels)
    held_out = sample.coded(codes, validation, weights[validation], levels)
    max_leaves = policy.max_leaves_of_all // len(growths)
    tried = [grow_ensemble(codes, coded, held_out, growth, max_leaves, seed, n_threads, limits) for growth in growths]
    ensembles = [one for one in tried if one is not None]
    return GrownTrees(ensembles, [one.products(held_out.codes, one.values) for one in ensembles], coded, held_out)


def cross_fit_trees(
    sample: LabeledSample,
    order: NDArray[np.int64],
    folds: NDArray[np.int64],
    growths: Sequence[Growth],
    seed: int,
    policy: TreePolicy,
    limits: GrowthLimits,
    n_threads: int,
    levels: GroupLevels | None = None,
    offsets: Sequence[Floats] = (),
) -> GrownTrees:
    """Return ensembles of which each is the mean of several, grown without one fold of the rows and scoring it.

    Rows in groups have for each fold the offsets of `cross_fit_additive`.
    """
    _, labels, weights, categorical = sample
    inputs = by_columns(sample.rows[:, : categorical.size], order)
    codes = code_folds(inputs, labels[order], weights[order], categorical, folds, policy)
    coded = sample.coded(codes, order, weights[order], levels)
    if offsets:
        coded = coded._replace(offset=np.stack(offsets)[folds, np.arange(order.size)])
    max_leaves = policy.max_leaves_of_all // ((int(folds.max()) + 1) * len(growths))
    tried = [
        cross_fit(codes, coded, folds, growth, max_leaves, seed, n_threads, limits, offsets or None)
        for growth in growths
    ]
    parts = [part for part in tried if part is not None]
    return GrownTrees([part.ensemble for part in parts], [part.scores for part in parts], coded, coded)


def start_blend(unseen: UnseenScores, trees: GrownTrees, policy: TreePolicy, frozen: bool = False) -> Blend | None:
    """Return the blend of an additive model with trees, judged on rows that neither has seen; None without trees."""
    if not trees.ensembles:
        return None
    ensemble, scores = average_ensembles(trees.ensembles, trees.scores, trees.validation)
    validated = ValidationRows(trees.validation, unseen.scores, scores)
    return Blend.start(ensemble, unseen.weights, validated, trees.rows.codes, frozen, policy)
