"""Which main effects are tried, and with how many knots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.main_effects import MainEffect, main_effects
from opauc.additive.basis.pairs import coarse_codes
from opauc.additive.initial_sample import SampleRows
from opauc.additive.kernels.rows import LEFT_OUT
from opauc.additive.policy import SearchPolicy
from opauc.additive.settings import AUTO, AdditiveSettings
from opauc.types import Floats


def choose_main_effects(
    sample: SampleRows, settings: AdditiveSettings, categorical: NDArray[np.bool_], policy: SearchPolicy
) -> tuple[MainEffect, ...]:
    """Return the main effects with as many knots as the rows and the column budget allow."""
    max_columns = settings.max_columns
    max_levels = int(policy.category_share * max_columns)
    of_sample = sample.numbers, sample.mass, sample.weight, categorical
    if settings.n_knots != AUTO:
        return main_effects(*of_sample, int(settings.n_knots), max_levels, policy.basis)
    n_knots = int(np.clip(sample.rarer / policy.rows_per_knot, policy.min_knots, policy.max_knots))
    n_distinct = np.array([_count_distinct(values, n_knots) for values in sample.numbers.T])
    of_curves = n_distinct[(n_distinct > 2) & ~categorical]
    budget = policy.curve_share * max_columns - (n_distinct.size - of_curves.size)
    while n_knots > 0 and (np.minimum(of_curves, n_knots) + 1).sum() > budget:
        n_knots -= 1
    return main_effects(*of_sample, n_knots, max_levels, policy.basis)


def _count_distinct(values: Floats, limit: int) -> int:
    """Return the number of distinct values, at most `limit`."""
    in_every_nth = np.unique(values[:: max(1, values.size // (8 * limit))]).size  # often reaches the limit already
    return limit if in_every_nth >= limit else min(limit, np.unique(values).size)


def drop_weak_effects(
    effects: tuple[MainEffect, ...], samples: Sequence[SampleRows], max_columns: int
) -> tuple[MainEffect, ...]:
    """Return the main effects that fit into so many columns: those that separate the classes best one by one.

    Of several classes there is a sample for each, labeled by it against the rest.
    """
    sizes = np.array([effect.n_columns for effect in effects])
    if sizes.sum() < max_columns:
        return effects
    numbers, mass = samples[0].numbers, samples[0].mass
    codes = (coarse_codes(effect, numbers[:, j], mass) for j, effect in enumerate(effects))
    separations = [sum(_measure_separation(code, sample) for sample in samples) for code in codes]
    gains = np.array(separations) / np.sqrt(np.maximum(sizes, 1))
    order = np.argsort(-gains, kind="stable")
    kept = set(order[np.cumsum(sizes[order]) < max_columns].tolist())
    return tuple(effect if j in kept else MainEffect(LEFT_OUT) for j, effect in enumerate(effects))


def _measure_separation(codes: NDArray[np.int8], sample: SampleRows) -> float:
    """Return the chi-square of the classes over the codes of an input, less its degrees of freedom."""
    totals = np.bincount(codes + 1, sample.weight)
    positive = np.bincount(codes + 1, sample.weight * sample.labels, minlength=totals.size)
    share = positive.sum() / totals.sum()
    expected = np.maximum(totals * share * (1.0 - share), 1e-300)
    return float(((positive - totals * share) ** 2 / expected)[totals > 0].sum()) - np.count_nonzero(totals)
