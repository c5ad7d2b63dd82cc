"""The first fit: from the rows of the warm-up buffer to a basis and its model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.knots import balance_classes
from opauc.additive.basis.main_effects import MainEffect, main_effects
from opauc.additive.basis.pairs import coarse_codes
from opauc.additive.basis.random_effects import RandomEffects
from opauc.additive.codes import find_coded_inputs
from opauc.additive.crossed_search import find_crossed_codes
from opauc.additive.fit import PenalizedFit
from opauc.additive.initial_sample import Sample, SampleRows, WarmUpBuffer, by_columns
from opauc.additive.kernels.rows import LEFT_OUT
from opauc.additive.leaks import measure_inputs
from opauc.additive.model import AdditiveLogistic, BasisColumns, BasisRows, check_model_arrays
from opauc.additive.penalties import Penalties
from opauc.additive.policy import ADDITIVE_POLICY, AdditivePolicy, SearchPolicy
from opauc.additive.search import InteractionSearch
from opauc.additive.settings import AUTO, AdditiveSettings, smooth_columns, with_init_size
from opauc.types import Floats, Labels


class BasisModel(NamedTuple):
    """A basis and the model of its columns."""

    basis: Basis
    model: AdditiveLogistic

    @classmethod
    def of_parts(cls, basis: Basis, arrays: dict[str, NDArray[np.float64]]) -> BasisModel:
        """Return a basis and the model that gave these arrays."""
        check_model_arrays(
            arrays, basis.groups, basis.random_effects.size, basis.crossed.size
        )  # before memory is taken for penalties
        return cls(basis, AdditiveLogistic.from_arrays(basis_columns(basis), arrays))


def basis_columns(basis: Basis) -> BasisColumns:
    """Return the penalties and the column groups that a model needs from a basis."""
    penalties, owners = Penalties(basis.groups, basis.roughness), basis.random_effects.group_index()
    frozen = basis.trees is not None and basis.trees.frozen
    return BasisColumns(penalties, basis.main_columns(), basis.certain_columns(), owners, frozen, basis.crossed)


def fit_basis(
    buffer: WarmUpBuffer,
    settings: AdditiveSettings,
    categorical: NDArray[np.bool_],
    seed: int,
    policy: AdditivePolicy = ADDITIVE_POLICY,
) -> BasisModel:
    """Return the basis that suits a sample of the buffered rows, and the sums of all of them.

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
    rows, labels, weights = buffer.all_rows(), buffer.all_labels(), buffer.all_weights()
    init_size = int(with_init_size(settings, 0, policy.sample).init_size)
    drawn = buffer.sample(init_size, seed, categorical, policy.sample)
    at = drawn.rows
    mass = balance_classes(labels[at], weights[at])
    sample = SampleRows(by_columns(rows, at), labels[at], weights[at], mass)
    effects = _choose_main_effects(sample, settings, categorical, policy.search)
    effects = _drop_weak_effects(effects, sample, smooth_columns(settings, policy.search))
    more_rows = labels.size >= init_size
    search = InteractionSearch(
        Basis.of_effects(effects), effects, sample, settings, more_rows, policy.search, policy.tree, policy.smoothing
    )
    basis, fit = search.fit()
    coded = _find_codes(effects, basis, sample, fit, settings, policy)
    random_effects = RandomEffects.of(effects, sample.numbers, basis.n_columns, coded)
    aucs = measure_inputs(sample, categorical, policy.leak)
    basis = replace(basis, random_effects=random_effects, input_aucs=aucs)
    if settings.interactions == AUTO:
        crossed = find_crossed_codes(basis, sample, fit, more_rows, settings.numeric, policy.crossed)
        basis = replace(basis, crossed=crossed)
    initial = fit._replace(weights=_correct_intercept(fit.weights, drawn))
    model = AdditiveLogistic.start(basis_columns(basis), initial)
    return BasisModel(basis, model.update_initial(encode_rows(basis, rows, labels, weights)).with_candidates())


def _find_codes(
    effects: tuple[MainEffect, ...],
    basis: Basis,
    sample: SampleRows,
    fit: PenalizedFit,
    settings: AdditiveSettings,
    policy: AdditivePolicy,
) -> list[int]:
    """Return the numeric inputs whose values act as codes, given the scores of the fit or those without its trees.

    Trees may explain what hides the effects of codes, or know the rows of the sample so well that codes seem to
    have none: with one of the scores only, which codes are found depends on the sample.
    """
    coded = find_coded_inputs(effects, sample, fit.scores, policy.code, settings.numeric)
    if basis.trees is None:
        return coded
    without_trees = basis.without_trees().products(sample.numbers, fit.weights[: basis.first_leaf()])
    return sorted({*coded, *find_coded_inputs(effects, sample, without_trees, policy.code, settings.numeric)})


def encode_rows(
    basis: Basis, rows: Floats, labels: Labels, weight: Floats | None, fresh: NDArray[np.bool_] | None = None
) -> Iterator[BasisRows]:
    """Yield the columns of labeled rows in blocks of a few thousand rows."""
    for part, block in basis.blocks(rows):
        weights = None if weight is None else weight[part]
        levels = basis.random_effects.rows(rows[part]) if basis.random_effects.size else None
        crossed = basis.crossed.levels(rows[part]) if basis.crossed.size else None
        yield BasisRows(block, labels[part], weights, None if fresh is None else fresh[part], levels, crossed)


def _choose_main_effects(
    sample: SampleRows, settings: AdditiveSettings, categorical: NDArray[np.bool_], policy: SearchPolicy
) -> tuple[MainEffect, ...]:
    """Return the main effects with as many knots as the rows and the column budget allow."""
    max_columns = smooth_columns(settings, policy)
    max_levels = int(policy.category_share * max_columns)
    if settings.n_knots != AUTO:
        return main_effects(sample.numbers, sample.mass, sample.weight, categorical, int(settings.n_knots), max_levels)
    n_knots = int(np.clip(sample.rarer / policy.rows_per_knot, policy.min_knots, policy.max_knots))
    n_distinct = np.array([_count_distinct(values, n_knots) for values in sample.numbers.T])
    of_curves = n_distinct[(n_distinct > 2) & ~categorical]
    budget = policy.curve_share * max_columns - (n_distinct.size - of_curves.size)
    while n_knots > 0 and (np.minimum(of_curves, n_knots) + 1).sum() > budget:
        n_knots -= 1
    return main_effects(sample.numbers, sample.mass, sample.weight, categorical, n_knots, max_levels)


def _count_distinct(values: Floats, limit: int) -> int:
    """Return the number of distinct values, at most `limit`."""
    in_every_nth = np.unique(values[:: max(1, values.size // (8 * limit))]).size  # often reaches the limit already
    return limit if in_every_nth >= limit else min(limit, np.unique(values).size)


def _drop_weak_effects(effects: tuple[MainEffect, ...], sample: SampleRows, max_columns: int) -> tuple[MainEffect, ...]:
    """Return the main effects that fit into so many columns: those that separate the classes best one by one."""
    sizes = np.array([effect.n_columns for effect in effects])
    if sizes.sum() < max_columns:
        return effects
    codes = (coarse_codes(effect, sample.numbers[:, j], sample.mass) for j, effect in enumerate(effects))
    gains = np.array([_measure_separation(code, sample) for code in codes]) / np.sqrt(np.maximum(sizes, 1))
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


def _correct_intercept(weights: Floats, drawn: Sample) -> Floats:
    """Return the weights with the intercept of all rows: sampling by class shifts the intercept only."""
    corrected = weights.copy()
    corrected[0] -= np.log(drawn.shares[1] / drawn.shares[0])
    return corrected
