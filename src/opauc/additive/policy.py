"""The numbers that decide what an additive model does, with their units and reasons.

Functions take a policy as an argument, the default instance being the default value. Where a comment names no other
reason, `experiments/tables.py` chose the value: the mean AUC of its data sets on the splits of seeds 0 to 4.
"""

from __future__ import annotations

from dataclasses import dataclass


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
    max_pair_knots: int = 7  # knots of a numeric input in its pairs, where there are enough columns
    min_pair_knots: int = 4  # knots of a numeric input in its pairs, where there are not
    pair_knots_share: float = 0.9  # share of the columns of pairs that knots may fill; categories vary more
    pair_levels: int = 6  # levels of a categorical input in its pairs, the pooled one included
    max_pair_levels: int = 20  # the same where the test of pairs says that more levels explain more
    pair_test_codes: int = 4  # quantile codes of a numeric input in the test of a pair
    max_uncertain_columns: int = 250  # columns of all pairs that are not certain: each may bring a little
    min_cell_rows: float = 10.0  # rows of a cell of levels that gets a column
    surface_ridge: float = 0.1  # added to the roughness penalty of a surface: shrinks it slightly to zero

    # Random effects of categories without a column.
    min_effect_rows: int = 2  # sample rows of a category with a random effect: one row cannot be told from noise
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
    left_out_divisor: int = 4  # of fewer rows, one in so many is left out to validate trees
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
    # Multiple of the initial rows at which frozen leaves get new weights, less a rounding error of sample weights.
    leaf_refit_factor: float = 2.0 - 1e-9


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


BASIS_POLICY = BasisPolicy()
SMOOTHING_POLICY = SmoothingPolicy()
SELECTION_POLICY = SelectionPolicy()
DRIFT_POLICY = DriftPolicy()
