"""The numbers that decide what an additive model does, with their units and reasons.

Functions take a policy as an argument, the default instance being the default value. Where a comment names no
reason, the value was chosen by hand on some of the splits 0 to 4 of `experiments/tables.py`; the single experiments are
not recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from opauc.core.partial_auc import PartialAucPolicy


@dataclass(frozen=True)
class SamplePolicy:
    """How many rows the initial sample has, and how many of each class.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from opauc.additive.policy import SAMPLE_POLICY
    >>> replace(SAMPLE_POLICY, stream_init_size=2000).stream_init_size
    2000
    """

    stream_init_size: int = 16_384  # rows, where it is not known how many come: their fit takes a few seconds
    max_init_size: int = 139_264  # rows, however many come: memory and time of the fit grow with them
    whole_factor: float = 1.25  # up to so many times the initial sample all rows are fitted at once: none is gained
    max_buffered_rows: int = 20_480  # rows that a fit keeps, so that forgetting some of them fits the others again
    # Rows of the initial sample that curves and pairs are fitted to: a third of them, between two limits.
    rows_per_search_row: int = 3
    min_search_rows: int = 16_384
    max_search_rows: int = 65_536
    rare_rows: int = 1000  # rows of the rarer class that a sample should have
    rare_share: float = 1 / 16  # share of `init_size` that suffices for that where it is less
    rare_margin: float = 1.1  # a second sample, drawn where there are fewer, aims at so many times that number
    max_growth: float = 64.0  # times `init_size`: the rows of the second sample at most
    max_bytes: int = 256 * 2**20  # memory of an initial sample at most
    max_rare_share: float = 0.5  # share of the rarer class in the rows that the basis is fitted to, at most
    rows_per_shard: int = 16_384  # of a shard, or `init_size` if that is less: merging two costs some hundred rows
    shards_per_row_group: int = 4  # at most: a row costs far more to process than to skip


@dataclass(frozen=True)
class BasisPolicy:
    """How the initial sample decides the columns of a basis.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from opauc.additive.policy import BASIS_POLICY
    >>> replace(BASIS_POLICY, min_category_rows=20).min_category_rows
    20
    """

    # Curves of numeric inputs.
    curve_ends: tuple[float, float] = (0.003, 0.997)  # quantiles of the first and the last knot
    max_quantile_knots: int = 16  # knots at quantiles of one curve: more bring nothing where values do not repeat
    min_knots: int = 3  # knots of a curve: with fewer it cannot bend, and the linear term suffices
    linear_clip: tuple[float, float] = (0.002, 0.998)  # quantiles at which the linear term is clipped
    curve_ridge: float = 0.02  # added to the roughness penalty of a curve: shrinks it slightly to zero

    # Categorical inputs.
    min_category_rows: float = 5.0  # rows of a category that gets its own column; rarer ones are pooled

    # Pairs of inputs.
    pair_ends: tuple[float, float] = (0.02, 0.98)  # quantiles of the first and the last knot of an input in its pairs
    max_pair_knots: int = 7  # knots of a numeric input in its pairs, where rows and columns are enough
    min_pair_knots: int = (
        4  # the same where columns are too few, or the rarer class has fewer than `min_rare_rows` rows
    )
    pair_knots_share: float = 0.9  # share of the columns of pairs that knots may fill; categories vary more
    pair_levels: int = 6  # levels of a categorical input in its pairs, the pooled one included
    max_pair_levels: int = 20  # the same where the pairs of the input gain more with them
    pair_test_codes: int = 4  # quantile codes of a numeric input in the test of a pair
    max_uncertain_columns: int = 250  # columns of all pairs that are not certain: each may bring a little
    min_cell_rows: float = 10.0  # rows of a cell of levels that gets a column
    surface_ridge: float = 0.1  # added to the roughness penalty of a surface: shrinks it slightly to zero

    # Random effects of categories without a column.
    min_effect_rows: int = 2  # sample rows of a category with a random effect: one row may be noise
    min_effect_share: float = 0.05  # share of the rows that those of an input have: fewer hardly change any score
    max_effects_of_one: int = 8192  # random effects if one input has them: memory grows with effects times columns
    max_effects_of_several: int = 4096  # random effects if several have: rows may share any two of them
    max_effect_products: int = 2**23  # random effects times columns: 64 MiB of sums


@dataclass(frozen=True)
class SmoothingPolicy:
    """How smoothing parameters (lambdas) and weights are estimated."""

    # Smoothing parameters.
    min_lambda: float = 0.02  # lower bound: keeps the penalized matrix positive definite
    max_lambda: float = 1e5  # upper bound: a term is then practically zero
    borrowed_columns: float = 3.0  # columns; a group counts as if it had so many more, typical of its kind
    lambda_tolerance: float = 0.15  # mean change of log lambda over the columns at which the iteration ends
    random_effect_rounds: int = 3  # rounds of lambdas of columns and random effects in turn
    final_steps: int = 4  # Fellner-Schall steps of the final solution; each costs a Cholesky factor and its inverse

    # The fit to the initial sample.
    many_rows: int = 6144  # rows from which the first steps see a subset only: fewer rows are fast anyway
    min_subset: int = 4096  # rows of that subset
    subset_divisor: int = 4  # rows per row of the subset, where that is more than `min_subset`
    subset_steps: int = 2  # steps on the subset of many rows; the last steps see all rows
    all_rows_steps: int = 5  # steps on all of fewer rows
    min_gain: float = 1e-4  # share of the penalized loss; a step that gains less is the last
    min_step: float = 0.1  # shortest fraction of a step that the line search tries
    float32_rows: int = 4096  # rows from which BLAS may multiply in float32: rounding averages out
    float32_columns: int = 400  # columns from which Cholesky factors are float32: half the time
    newton_steps: int = 3  # Newton steps on all of many rows: they start near the minimum
    newton_min_gain: float = 1e-3  # share of the penalized loss; a Newton step that gains less is the last

    # The final solution from the sums of all rows.
    # Change of the log-odds of the classes since the initial sample beyond which one Newton step misleads.
    max_prior_shift: float = 1.5

    def in_float64(self) -> SmoothingPolicy:
        """Return the policy without float32 factors: their rounding differs between sums that are equal to 1e-15."""
        return replace(self, float32_columns=2**31)


@dataclass(frozen=True)
class SelectionPolicy:
    """When a simpler candidate model replaces the full one."""

    min_z: float = 0.5  # standard errors of the AUC by which the candidate must be better
    max_linear_lambda: float = 1.0  # of linear terms in the linear candidate: curves need larger ones, lines do not


@dataclass(frozen=True)
class DriftPolicy:
    """When the rows of a feature count as drifted."""

    min_psi: float = 0.25  # population stability index; .25 is the customary limit of a major change
    max_p_value: float = 1e-6  # chi-square p-value of the change: random fluctuations are not drift
    min_rows: float = 500.0  # rows before and after that the index needs
    min_beyond: float = 0.5  # share of the later rows at an end of the values before: a date or counter moves on


@dataclass(frozen=True)
class LeakPolicy:
    """When a column alone ranks rows so well that it may have been recorded after the outcome."""

    min_auc: float = 0.999  # AUC of the column by itself: what is known before the outcome hardly ever reaches it
    min_rare_rows: int = 100  # rows of the rarer class: fewer may be separated by chance
    max_rows: int = 8192  # rows of the initial sample that are ranked: they show an AUC to about .001
    screened_rows: int = 1024  # of these, rows by which numeric columns are ranked first: bad ones are no leaks
    screened_auc: float = 0.95  # AUC on them below which a column is not ranked on more rows
    screened_rare_rows: int = 20  # rows of the rarer class among them: with fewer, all columns are ranked on all rows
    n_bins: int = 64  # of a numeric column: a threshold within a bin costs less than .0003 of the AUC


SAMPLE_POLICY = SamplePolicy()
LEAK_POLICY = LeakPolicy()
BASIS_POLICY = BasisPolicy()
SMOOTHING_POLICY = SmoothingPolicy()
SELECTION_POLICY = SelectionPolicy()
DRIFT_POLICY = DriftPolicy()


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
    # Column budgets, as shares of `max_columns`.
    curve_share: float = 0.5  # all curves together; the rest is for categories and pairs
    category_share: float = 0.3  # all categories together
    # Columns of all pairs where trees may join, which find what more pairs would: AUC of split 0 with 1,500, 1,000 and
    # 500 columns in all: magic04 .9329, .9325, .9310; adult .9266, .9266, .9240; letter .9981, .9980, .9981;
    # ijcnn1 .9985, .9985, .9985; covtype .9954 (1,500), .9954 (500).
    max_pair_columns_beside_trees: int = 600
    # Outer steps of the penalized fit; each costs a Gram matrix and a Cholesky factor.
    additive_steps: int = 3  # of the main effects: their residuals only have to be good enough to test pairs
    final_steps: int = 5  # of the model with pairs
    # The test of pairs on the residuals of the main effects.
    max_tested_inputs: int = 300  # inputs; the sums of the test grow with the square of their number
    max_codes: int = 2000  # codes of all inputs together; the sums of the test grow with their square
    certain_fdr: float = 0.1  # false discovery rate (Benjamini and Hochberg) of the pairs that count as certain
    # False discovery rate of all candidates; the penalties shrink the false ones. Chosen on splits 10 to 14 of 17
    # tables, and checked on 20 to 23 of 15 of them: the mean AUC is that of .8 (+.0006, -.0001). With .8, 0 to 62 of
    # 190 pairs of pure noise pass; with .3, 0 to 5.
    candidate_fdr: float = 0.3
    min_rare_rows: float = 1000.0  # weight of the rarer class below which only certain pairs are candidates
    basis: BasisPolicy = BASIS_POLICY  # how many columns inputs and pairs have, and where


@dataclass(frozen=True)
class Growth:
    """How the trees of an ensemble grow.

    Few, large trees cost less per scored row than many small ones, and rank as well.
    """

    learning_rate: float = 0.1
    rate_of_many_rows: float = 0.15  # the same from `many_rows` on: a third fewer trees rank as well there
    many_rows: int = 32_768
    rows_per_leaf: int = 200
    rare_rows_per_leaf: int = 16  # of the rarer class
    min_leaves: int = 31
    max_leaves: int = 1023
    min_leaf_rows: int = 20
    ridge: float = 3.0  # added to the curvature of a leaf: w8a .9725 (none) to .9756, connect-4 .9703 to .9709
    input_share: float = 0.7  # of the inputs of a tree, at random: w8a .9756 (all) to .9785, covtype .9961 to .9956
    min_inputs: int = 5  # of a tree, however small their share: interactions need several
    row_share: float = 1.0  # of the rows of a tree, at random
    random_splits: bool = False  # whether one random cut per input is considered, not all
    # Trees without a better AUC of the validation rows before growing stops. With 10 (15 from 32,768 rows on) growing
    # takes three quarters of the CPU, but splits 10 to 14 of letter and magic04 lose .0004 in the mean, which they were
    # not chosen on, a9a, amazon_access, marvel and oulad at most .0001.
    patience: int = 20
    min_progress: float = 5e-5  # by which that AUC must be better
    trees_per_look: int = 5  # trees between two looks at that AUC, which takes as long as a small tree

    def leaves_for(self, n_rows: int, n_rare: int) -> int:
        """Return the number of leaves of a tree grown on so many rows, and so many of the rarer class."""
        wanted = min(n_rows // self.rows_per_leaf, n_rare // self.rare_rows_per_leaf)
        return min(max(wanted, self.min_leaves), self.max_leaves)

    def rate_for(self, n_rows: int) -> float:
        """Return the learning rate of trees grown on so many rows."""
        return self.learning_rate if n_rows < self.many_rows else self.rate_of_many_rows

    def input_share_of(self, n_inputs: int) -> float:
        """Return the share of so many inputs that a tree may split on."""
        return max(self.input_share, min(1.0, self.min_inputs / max(1, n_inputs)))


SLOW_GROWTH = Growth(
    learning_rate=0.03, rate_of_many_rows=0.03, input_share=0.6, row_share=0.8, patience=60, min_progress=0.0
)
RANDOM_GROWTH = replace(SLOW_GROWTH, min_leaves=16, random_splits=True)
NORMAL, HIGH = EFFORTS = ("normal", "high")


@dataclass(frozen=True)
class TreePolicy:
    """How tree ensembles grow, when they join the model, and how later rows change their leaves.

    The figures named here and in `Growth` are AUCs of split 0 of the shared sets in trials
    on uncoded columns, before the trees were built in: no script prints them.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from opauc.additive.policy import TREE_POLICY
    >>> TREE_POLICY.n_validation(100_000), [growth.learning_rate for growth in TREE_POLICY.growths("high", True)]
    (8192, [0.03, 0.03])
    """

    # When an ensemble is grown at all.
    min_rows: int = 400  # rows of the initial sample
    min_rare_rows: float = 50.0  # weight of the rarer class
    # Few rows that no others follow: an ensemble per fold, and all rows validate. With more rows that
    # takes five times as long for nothing (AUC of magic04 .9390 in place of .9393, letter .9979 of .9978).
    n_folds: int = 5
    max_cross_fit_rows: int = 10_000
    # Validation rows: no tree is grown on them, and the additive part that is blended with the trees has not seen them.
    max_validation_rows: int = 8192  # more hardly sharpen two weights of a blend
    validation_share: float = 0.1  # of the rows of the initial sample
    small_sample_rows: int = 5000  # rows below which the share is larger
    small_validation_share: float = 0.2  # of the rows of a small sample
    max_rows: int = 131_072  # rows that trees are grown on; twice as many cost twice the time
    max_rare_share: float = 0.5  # share of the rarer class in them, at most
    max_leaves_of_all: int = 200_000  # of all trees together: 3 MB of sums
    # One ensemble per growth; `high_growths` are those of effort="high", of few rows and of many.
    growth: Growth = Growth()
    high_growths: tuple[Growth, ...] = (SLOW_GROWTH, RANDOM_GROWTH)
    high_growths_of_many: tuple[Growth, ...] = (replace(SLOW_GROWTH, learning_rate=0.05, rate_of_many_rows=0.05),)
    # Codes of categories.
    min_category_rows: float = 10.0  # rows of a category that has its own code
    category_prior: float = 20.0  # rows with the share of all rows that are added to those of a category
    # When the ensemble joins: the log loss of the validation rows falls by so many standard errors. The weights of
    # the blend come from these rows, so that a useless ensemble has hardly any weight.
    min_z: float = 1.0
    # Leaf weights of all rows.
    max_kept_bytes: int = 2**24  # coded rows that are kept to know which leaves occur together
    max_kept_rows: int = 65_536
    leaf_ridges: tuple[float, ...] = (3.0, 0.3)  # share of the curvature of a leaf that is added to it: candidates
    leaf_steps: tuple[float, ...] = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0)  # shares of the step: candidates
    min_later_rows: float = 0.1  # later rows per row that trees were grown on, below which leaves stay as grown
    chebyshev_steps: int = 15
    condition: float = 100.0  # eigenvalues below the largest over this are not resolved

    def n_validation(self, n_rows: int) -> int:
        """Return how many of the rows of the initial sample validate trees."""
        is_small = n_rows < self.small_sample_rows
        share = self.small_validation_share if is_small else self.validation_share
        return min(self.max_validation_rows, int(share * n_rows))

    def cross_fits(self, n_rows: int, effort: str) -> bool:
        """Tell whether so many rows, which no others follow, are few enough for an ensemble per fold."""
        return effort == HIGH or n_rows < self.max_cross_fit_rows

    def growths(self, effort: str, few_rows: bool) -> tuple[Growth, ...]:
        """Return how the ensembles of an effort grow."""
        if effort == NORMAL:
            return (self.growth,)
        return self.high_growths if few_rows else self.high_growths_of_many


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


@dataclass(frozen=True)
class CrossedPolicy:
    """Which combinations of inputs are tested as crossed codes, and when one joins the model.

    Chosen on splits 0 to 2 of seven tables (`experiments/tables.py`: amazon_access, flight_delays, marvel, noshow,
    shelter_animals, oulad, kobe).

    Examples
    --------
    >>> from dataclasses import replace
    >>> from opauc.additive.policy import CROSSED_POLICY
    >>> replace(CROSSED_POLICY, max_codes=0).max_codes
    0
    """

    # Which inputs are crossed.
    min_rare_rows: float = 200.0  # weight of the rarer class below which nothing is crossed
    min_values: int = 3  # distinct values of an input: products of two values are those of pairs already
    min_recurring_share: float = 0.1  # share of rows whose number others have, from which a number is a code
    min_explained_share: float = 0.9  # of the rows with a random effect of an input, whose effects then come first
    n_bins: int = 16  # quantile bins of a number that has more than twice as many whole parts
    max_inputs: int = 24  # codes and binned numbers, those of the most values first; tests grow with their square
    max_extended_pairs: int = 8  # pairs of the largest z-scores, which every third input extends to a triple
    # When a code joins.
    # z-score on residuals of the fit itself, before folds are fitted: tables on which codes pay had 5.8 and more
    screening_z: float = 5.5
    min_z: float = 5.0  # z-score of the products of out-of-fold residuals
    min_gain_z: float = 2.0  # standard errors of the log loss gained on rows held out
    n_folds: int = 5  # of the initial sample, each held out in turn
    first_lambda: float = 1.0  # that of all candidates, before one is chosen for the best of them
    max_evaluated: int = 8  # candidates of the largest z-scores that are evaluated on rows held out
    max_codes: int = 4  # two numbers per level each
    lambdas: tuple[float, ...] = (0.3, 1.0, 3.0, 10.0)  # curvature added to that of a level, one is chosen
    # Levels.
    levels_per_combination: int = 16  # of the initial sample, where no rows follow: few combinations share a level
    max_levels: int = 2**19  # where more rows follow; on oulad and noshow 2**18 has .003 and .001 less, 2**20 .001 more
    max_examples: int = 100  # combinations that terms show, the most frequent ones


@dataclass(frozen=True)
class ConstraintPolicy:
    """How exactly constraints on the weights hold, and when they count as impossible.

    Examples
    --------
    >>> from opauc.additive.policy import CONSTRAINT_POLICY
    >>> CONSTRAINT_POLICY.tolerance
    1e-11
    """

    tolerance: float = 1e-11  # log-odds, for weights of at most one: some ten times the rounding of their sums
    rank_tolerance: float = 1e-10  # share of a normal that is independent of the equalities, below which none is
    # Distance of the dual problem from its target, one over the length of the shortest step: with less, none exists.
    infeasible_distance: float = 1e-7
    max_rounds: int = 200  # of adding violated inequalities; 3 to 15 are usual
    max_iterations_per_row: int = 30  # of non-negative least squares; about one is usual


@dataclass(frozen=True)
class GroupPolicy:
    """Which groups have a level of their own where rows are ranked within groups, and how levels are fitted.

    Examples
    --------
    >>> from opauc.additive.policy import GROUP_POLICY
    >>> GROUP_POLICY.max_levels
    32768
    """

    min_rows: int = 2  # initial rows of a group with a level: one row has no pair
    max_levels: int = 2**15  # at most, those of the most initial rows; rows of other groups are not used
    max_products: int = 2**23  # levels times columns: 64 MiB of sums
    # Curvature added to that of a level. Levels that are shrunken leave a part of the base rates to the features
    # (experiments/additive_groups.py); with nothing at all the intercept would be undetermined.
    level_penalty: float = 1e-3
    refine_steps: int = 3  # Newton steps of columns and levels on the initial sample, from the fit without levels
    level_steps: int = 8  # Newton steps of the levels at most, given the columns
    level_tolerance: float = 1e-3  # log-odds; when no level moves by more, these steps end


GROUP_POLICY = GroupPolicy()
SEARCH_POLICY, TREE_POLICY, CODE_POLICY = SearchPolicy(), TreePolicy(), CodePolicy()
CROSSED_POLICY, CONSTRAINT_POLICY = CrossedPolicy(), ConstraintPolicy()


# A light share on the top: with .6, as linear models may have, letter, ijcnn1 and connect-4 have less at the top
# (experiments/additive_partial_auc.py).
TOP_POLICY = PartialAucPolicy(mixtures=((0.3, 1.0), (0.3, 5.0)))


@dataclass(frozen=True)
class AdditivePolicy:
    """The policies by which a basis is fitted.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from opauc.additive.policy import ADDITIVE_POLICY, SAMPLE_POLICY
    >>> policy = replace(ADDITIVE_POLICY, sample=replace(SAMPLE_POLICY, rare_rows=200))
    >>> policy.sample.rare_rows, policy.tree == ADDITIVE_POLICY.tree
    (200, True)
    """

    sample: SamplePolicy = SAMPLE_POLICY
    search: SearchPolicy = SEARCH_POLICY
    tree: TreePolicy = TREE_POLICY
    smoothing: SmoothingPolicy = SMOOTHING_POLICY
    code: CodePolicy = CODE_POLICY
    crossed: CrossedPolicy = CROSSED_POLICY
    leak: LeakPolicy = LEAK_POLICY
    top: PartialAucPolicy = TOP_POLICY
    group: GroupPolicy = GROUP_POLICY


ADDITIVE_POLICY = AdditivePolicy()
