"""From the rows that waited to a basis, the fit to it, and the sums of all of them."""

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
from opauc.additive.codes import coded_numbers
from opauc.additive.initial_sample import Sample, SampleRows, WarmUpBuffer, by_columns
from opauc.additive.kernels.rows import LEFT_OUT
from opauc.additive.model import AdditiveLogistic, BasisColumns, BasisRows
from opauc.additive.penalties import Penalties
from opauc.additive.search import InteractionSearch
from opauc.additive.settings import AUTO, AdditiveSettings, with_init_size
from opauc.types import Floats, Labels

# A knot for every so many rows of the rarer class, within bounds; and all curves have at most half the columns.
ROWS_PER_KNOT, FEWEST_OF_CURVE, MOST_OF_CURVE = 20.0, 8, 250
CURVES_SHARE = 0.5
# All levels of categories have at most this share.
LEVELS_SHARE = 0.3


class BasisModel(NamedTuple):
    """A basis and the model of its columns."""

    basis: Basis
    model: AdditiveLogistic

    @classmethod
    def of_parts(cls, basis: Basis, arrays: dict[str, NDArray[np.float64]]) -> BasisModel:
        """Return a basis and the model of its columns that gave these arrays."""
        return cls(basis, AdditiveLogistic.from_arrays(basis_columns(basis), arrays))


def basis_columns(basis: Basis) -> BasisColumns:
    """Return what a model asks of the columns of a basis."""
    penalties, group_index = Penalties(basis.groups, basis.roughness), basis.random_effects.group_index()
    frozen = basis.trees is not None and basis.trees.frozen
    return BasisColumns(penalties, basis.main_columns(), basis.certain_columns(), group_index, frozen)


def fit_basis(
    waiting: WarmUpBuffer, settings: AdditiveSettings, categorical: NDArray[np.bool_], seed: int
) -> BasisModel:
    """Return the basis that suits a sample of the rows, and the sums of all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.settings import AdditiveSettings
    >>> from opauc.additive.initial_fit import fit_basis
    >>> from opauc.additive.initial_sample import WarmUpBuffer
    >>> rows = np.random.default_rng(0).normal(size=(400, 2))
    >>> waiting = WarmUpBuffer.empty(2).with_rows(rows, (rows[:, 0] ** 2 > 1).astype(np.int8), None)
    >>> basis, model = fit_basis(waiting, AdditiveSettings(), np.zeros(2, bool), seed=0)
    >>> basis.n_columns == model.sums.n_features, model.counts == waiting.counts
    (True, True)
    """
    rows, labels, weights = waiting.all_rows(), waiting.all_labels(), waiting.all_weights()
    init_size = int(with_init_size(settings, 0).init_size)
    sample = waiting.sample(init_size, seed)
    at = sample.rows
    mass = balance_classes(labels[at], weights[at])
    some = SampleRows(by_columns(rows, at), labels[at], weights[at], mass)
    effects = _within(_effects(some, settings, categorical), some, settings.smooth_columns)
    basis = Basis.of_effects(effects)
    basis, fit = InteractionSearch(basis, effects, some, settings, labels.size >= init_size).fitted()
    coded = coded_numbers(effects, some, fit.scores)
    basis = replace(basis, random_effects=RandomEffects.of(effects, some.numbers, basis.n_columns, coded))
    model = AdditiveLogistic.start(basis_columns(basis), fit._replace(weights=_at_all_rows(fit.weights, sample)))
    return BasisModel(basis, model.update_initial(encoded(basis, rows, labels, weights)).with_candidates())


def encoded(
    basis: Basis, rows: Floats, labels: Labels, weight: Floats | None, fresh: NDArray[np.bool_] | None = None
) -> Iterator[BasisRows]:
    """Yield the columns of labeled rows, some thousand at a time."""
    for part, block in basis.blocks(rows):
        weights = None if weight is None else weight[part]
        levels = basis.random_effects.rows(rows[part]) if basis.random_effects.size else None
        yield BasisRows(block, labels[part], weights, None if fresh is None else fresh[part], levels)


def _effects(some: SampleRows, settings: AdditiveSettings, categorical: NDArray[np.bool_]) -> tuple[MainEffect, ...]:
    """Return the main effects, their knots as many as the rows and the columns allow."""
    levels = int(LEVELS_SHARE * settings.smooth_columns)
    if settings.n_knots != AUTO:
        return main_effects(some.numbers, some.mass, some.weight, categorical, int(settings.n_knots), levels)
    most = int(np.clip(some.rarer / ROWS_PER_KNOT, FEWEST_OF_CURVE, MOST_OF_CURVE))
    distinct = np.array([_distinct(values, most) for values in some.numbers.T])
    curved = distinct[(distinct > 2) & ~categorical]
    left = CURVES_SHARE * settings.smooth_columns - (distinct.size - curved.size)
    while most > 0 and (np.minimum(curved, most) + 1).sum() > left:
        most -= 1
    return main_effects(some.numbers, some.mass, some.weight, categorical, most, levels)


def _distinct(values: Floats, most: int) -> int:
    """Return how many different values there are, or `most`."""
    few = np.unique(values[:: max(1, values.size // (8 * most))]).size  # tells of nearly all inputs that have so many
    return most if few >= most else min(most, np.unique(values).size)


def _within(effects: tuple[MainEffect, ...], some: SampleRows, most_columns: int) -> tuple[MainEffect, ...]:
    """Return the main effects that there are columns for, those that tell the classes apart best by themselves."""
    sizes = np.array([effect.n_columns for effect in effects])
    if sizes.sum() < most_columns:
        return effects
    codes = (coarse_codes(effect, some.numbers[:, j], some.mass) for j, effect in enumerate(effects))
    gains = np.array([_separation(code, some) for code in codes]) / np.sqrt(np.maximum(sizes, 1))
    order = np.argsort(-gains, kind="stable")
    kept = set(order[np.cumsum(sizes[order]) < most_columns].tolist())
    return tuple(effect if j in kept else MainEffect(LEFT_OUT) for j, effect in enumerate(effects))


def _separation(codes: NDArray[np.int8], some: SampleRows) -> float:
    """Return the chi-square of the classes over the codes of an input, less what chance brings."""
    totals = np.bincount(codes + 1, some.weight)
    positive = np.bincount(codes + 1, some.weight * some.labels, minlength=totals.size)
    share = positive.sum() / totals.sum()
    expected = np.maximum(totals * share * (1.0 - share), 1e-300)
    return float(((positive - totals * share) ** 2 / expected)[totals > 0].sum()) - np.count_nonzero(totals)


def _at_all_rows(weights: Floats, sample: Sample) -> Floats:
    """Return the weights with the intercept that all rows have: sampling by class moves it and nothing else."""
    point = weights.copy()
    point[0] -= np.log(sample.shares[1] / sample.shares[0])
    return point
