"""Numbers that decide which model is fitted.

A policy is passed down to the functions that decide by it: a test or an experiment injects another one.
`python -m experiments.tables` measures what a change does to the AUC on real tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from opauc.additive.kernels.trees import TreeLimits


@dataclass(frozen=True)
class SearchPolicy:
    """How many columns main effects and pairs get, and which pairs are candidates.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from opauc.additive.policy import SEARCH_POLICY
    >>> replace(SEARCH_POLICY, max_knots=50).max_knots
    50
    """

    # Knots of a curve.
    rows_per_knot: float = 20.0  # weight of the rarer class; with fewer rows a knot follows noise
    min_knots: int = 8  # knots of a curve however few rows there are
    max_knots: int = 250  # knots of a curve however many rows there are
    # Column budgets, as shares of `AdditiveSettings.smooth_columns`.
    curve_share: float = 0.5  # all curves together; the rest is for categories and pairs
    category_share: float = 0.3  # all categories together
    # Outer steps of the penalized fit; each costs a Gram matrix and a Cholesky factor.
    additive_steps: int = 3  # of the main effects: their residuals only have to be good enough to test pairs
    final_steps: int = 5  # of the model with pairs
    # The test of pairs on the residuals of the main effects.
    max_tested_inputs: int = 300  # inputs; the sums of the test grow with the square of their number
    max_codes: int = 2000  # codes of all inputs together; the sums of the test grow with their square
    certain_fdr: float = 0.1  # false discovery rate (Benjamini and Hochberg) of the pairs that count as certain
    candidate_fdr: float = 0.8  # false discovery rate of all candidates: the penalties shrink the false ones
    min_rare_rows: float = 1000.0  # weight of the rarer class below which only certain pairs are candidates
    # Columns of an input in its pairs.
    pair_categories: int = 6  # categories with a column, counting the pooled ones as one
    max_pair_categories: int = 20  # the same where the pairs of the input gain more with them
    min_pair_knots: int = 4  # knots of a numeric input where the rarer class has fewer than `min_rare_rows`
    max_pair_knots: int = 7  # knots of a numeric input where the budget allows


class Growth(NamedTuple):
    """How far each tree grows, and the learning rate of its leaf values."""

    limits: TreeLimits  # leaves, weight of the rows of a leaf, ridge added to the curvature of a leaf
    learning_rate: float


LARGE_TREES = Growth(TreeLimits(40, 20.0, 10.0), 0.4)
SMALL_TREES = Growth(TreeLimits(24, 10.0, 1.0), 0.3)


@dataclass(frozen=True)
class TreePolicy:
    """When a tree ensemble joins the model, and how its trees grow.

    Gains are measured on validation rows that no fit has used: `share` is the part of the log loss that is gained, `z`
    is the gain in its standard errors. "Stream" means that more rows follow the sample, "final" that none do.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from opauc.additive.policy import TREE_POLICY
    >>> replace(TREE_POLICY, max_leaf_columns=80).max_leaf_columns
    80
    """

    # When trees are evaluated at all.
    min_rare_rows: float = 200.0  # weight of the rarer class
    min_rows: int = 400  # rows of the sample
    min_leaf_columns: int = 64  # columns left for leaves; fewer are not worth a tree
    max_leaf_columns: int = 2560  # leaves of all trees; each is a column of the Gram matrix
    validation_step: int = 4  # every fourth row validates, unless a fit has used it
    # When a gain is accepted.
    min_share: float = 0.05  # share of the log loss
    min_share_over_all_pairs: float = 0.03  # a smaller share suffices if it is gained over the model with all pairs
    stream_z: float = 4.0  # standard errors
    final_z: float = 2.0  # lower: no later rows will decide better
    final_z_small_validation: float = 3.0  # with few validation rows the standard error is uncertain too
    small_validation: int = 500  # validation rows below which that holds
    final_z_small_gain: float = 6.0  # a gain below `min_share` must be certain, since trees gain most from later rows
    # Which pairs trees compete with, and which stay with them.
    reduced_pair_share: float = 0.35  # of `smooth_columns`: main effects and the best pairs, to leave room for leaves
    reduced_pair_saving: float = 0.7  # pairs are reduced if that leaves less than this share of the columns
    reduced_pair_min_rows: int = 10_000  # and the sample has this many rows
    stream_pair_z: float = 2.5  # pairs stay with trees if that gains this many standard errors: later rows favor trees
    final_pair_z: float = -2.0  # pairs stay with trees unless that loses this many standard errors
    # How trees grow.
    growth: Growth = LARGE_TREES
    small_sample_growth: Growth = SMALL_TREES  # for few rows without noise
    small_sample_rows: int = 6144  # both growths are evaluated below this many rows
    min_trees: int = 16  # before early stopping
    patience: int = 8  # trees without progress before growing stops
    stream_progress: float = 0.008  # share of the log loss; less is no progress: later rows would pay for these trees
    # Leaf weights that are solved for all at once.
    leaf_penalty: float = 5.0  # smoothing parameter of the leaves to begin with
    leaf_penalty_steps: int = 2  # steps of its estimate


@dataclass(frozen=True)
class CodePolicy:
    """When whole numbers act as codes, so that each value has an effect of its own.

    Examples
    --------
    >>> from opauc.additive.policy import CODE_POLICY
    >>> CODE_POLICY.min_z
    5.0
    """

    min_z: float = 5.0  # standard errors by which residuals of rows with equal values agree
    n_first_values: int = 64  # values that reveal nearly every column of fractions, before all are looked at


SEARCH_POLICY, TREE_POLICY, CODE_POLICY = SearchPolicy(), TreePolicy(), CodePolicy()
