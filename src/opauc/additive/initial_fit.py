"""The first fit: from the rows of the warm-up buffer to a basis and its model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.group_levels import GroupLevels
from opauc.additive.basis_columns import basis_columns
from opauc.additive.basis_model import BasisModel
from opauc.additive.constraints.constraints import NO_CONSTRAINTS, Constraints
from opauc.additive.initial_additive import (
    AdditivePlan,
    cross_fit_additive,
    first_levels,
    fit_additive,
    score_held_out,
)
from opauc.additive.initial_sample import WarmUpBuffer
from opauc.additive.initial_trees import (
    GrownTrees,
    accept_trees,
    cross_fit_trees,
    grow_trees,
    start_blend,
    trees_may_join,
)
from opauc.additive.labeled_sample import LabeledSample, assign_folds
from opauc.additive.objective import PAUC
from opauc.additive.partial_auc import choose_objective
from opauc.additive.policy import ADDITIVE_POLICY, AdditivePolicy
from opauc.additive.settings import AdditiveSettings, with_init_size
from opauc.additive.trees.grow import GrowthLimits
from opauc.core.threads import count_threads, work_beside
from opauc.types import Floats


def fit_basis(
    buffer: WarmUpBuffer,
    settings: AdditiveSettings,
    categorical: NDArray[np.bool_],
    seed: int,
    policy: AdditivePolicy = ADDITIVE_POLICY,
    constraints: Constraints = NO_CONSTRAINTS,
) -> BasisModel:
    """Return the basis that suits a sample of the buffered rows, and the sums of all of them.

    Weights are solved for under constraints, and trees grow under the monotone ones and those of the settings. Rows of
    more numbers than inputs end with the number of their group: they are ranked within groups.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.settings import AdditiveSettings
    >>> from opauc.additive.initial_fit import fit_basis
    >>> from opauc.additive.initial_sample import WarmUpBuffer
    >>> rows = np.random.default_rng(0).normal(size=(400, 2))
    >>> buffer = WarmUpBuffer.empty(2).with_rows(rows, (rows[:, 0] ** 2 > 1).astype(np.int8), None)
    >>> basis, model = fit_basis(buffer, AdditiveSettings(), np.zeros(2, bool), seed=0)
    >>> basis.n_columns == model.sums.n_features, model.counts == buffer.counts
    (True, True)
    """
    all_rows, labels, weights = buffer.all_rows(), buffer.all_labels(), buffer.all_weights()
    has_groups = buffer.n_features > categorical.size
    order = buffer.order_by_content(categorical)
    levels = first_levels(all_rows[:, -1], labels, settings.max_columns, policy.group) if has_groups else None

    def ranked(at: NDArray[np.int64]) -> NDArray[np.int64]:
        return at if levels is None else levels.ranked(at, all_rows[:, -1])

    used = ranked(order)
    may_join = trees_may_join(labels[used], weights[used], settings, policy.tree)
    no_more_rows = labels.size < int(with_init_size(settings, 0, policy.sample).init_size)
    few_rows = no_more_rows and policy.tree.cross_fits(labels.size, settings.effort)
    n_validation = policy.tree.n_validation(labels.size) if may_join and not few_rows else 0
    held_out, others = order[:n_validation], order[n_validation:]
    used_held_out, used_others = ranked(held_out), ranked(others)
    parts = LabeledSample(all_rows, labels, weights, categorical)
    growths = policy.tree.growths(settings.effort, few_rows)
    folds = assign_folds(labels[used], policy.tree.n_folds)
    limits = GrowthLimits(tuple(constraints.directions), settings.interaction_constraints)
    n_threads = max(1, count_threads() - 1)  # one more searches for the basis meanwhile

    def grow(levels: GroupLevels | None = None, offsets: Sequence[Floats] = ()) -> GrownTrees:
        if few_rows:
            return cross_fit_trees(parts, used, folds, growths, seed, policy.tree, limits, n_threads, levels, offsets)
        return grow_trees(parts, used_held_out, used_others, growths, seed, policy.tree, limits, n_threads, levels)

    plan = AdditivePlan(settings, policy, constraints, more_rows=not no_more_rows, beside_trees=may_join)
    # Trees of rows in groups grow beside the levels of these, which the search has to find first.
    grows_meanwhile = may_join and not has_groups
    with work_beside(lambda: grow() if grows_meanwhile else None) as wait_for_trees:
        additive, unseen = fit_additive(parts, others, levels, plan), None
        if may_join and few_rows:
            unseen = cross_fit_additive(additive, parts, used, folds, levels, plan)
        elif may_join:
            unseen = score_held_out(additive, parts, used_held_out, policy)
        trees = wait_for_trees()
    basis, start, model = additive
    if unseen is not None:
        trees = trees or grow(basis.group_levels, unseen.offsets)
        basis, blend = accept_trees(basis, start_blend(unseen, trees, policy.tree, frozen=few_rows), policy.tree)
        model = model.merge_initial(parts.add_to(start, basis, held_out)) if n_validation else model
        model = replace(model, columns=basis_columns(basis, constraints), blend=blend, lambdas=unseen.lambdas)
    if settings.objective == PAUC:
        judged = parts.judged(additive.basis, used, policy)
        model = choose_objective(additive.basis, model, judged, settings.max_fpr, policy)
    return BasisModel(basis, model.with_candidates())
