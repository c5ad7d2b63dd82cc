"""The search for interactions: which pairs of inputs join the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, expit

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.main_effects import MainEffect
from opauc.additive.basis.pair_columns import Candidates, PairRoom, add_pairs
from opauc.additive.basis.pairs import coarse_codes
from opauc.additive.crossed.search import may_interact
from opauc.additive.fit import PenalizedFit, choose_subset, finish_fit, fit_intercept, start_fit
from opauc.additive.initial_sample import SampleRows
from opauc.additive.kernels.cell_residuals import N_TERMS, add_code_sums, write_pair_tests
from opauc.additive.kernels.rows import CATEGORICAL, LEFT_OUT
from opauc.additive.penalties import Penalties
from opauc.additive.policy import (
    SEARCH_POLICY,
    SMOOTHING_POLICY,
    SearchPolicy,
    SmoothingPolicy,
)
from opauc.additive.row_groups.effects import GroupedFit
from opauc.additive.settings import AUTO, AdditiveSettings
from opauc.types import Floats, Labels


class PairTests(NamedTuple):
    """Pairs of inputs that pass the test, which are certain, their gains beyond chance, and degrees of freedom."""

    pairs: NDArray[np.int64]  # (p, 2)
    certain: NDArray[np.bool_]
    gains: Floats  # chi-square less its degrees of freedom
    freedom: Floats


def run_pair_tests(
    codes: NDArray[np.int8], scores: Floats, labels: Labels, weight: Floats, policy: SearchPolicy = SEARCH_POLICY
) -> PairTests:
    """Return the pairs whose cells have larger residuals than chance explains.

    Parameters
    ----------
    codes : ndarray of shape (n_inputs, n_rows)
        A few codes per input, -1 where missing. Inputs of one code are not tested.
    scores, labels, weight : ndarray of shape (n_rows,)
        Scores of the additive fit, labels and sample weights.
    policy : SearchPolicy
        The false discovery rates.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.search import run_pair_tests
    >>> codes = np.random.default_rng(0).integers(0, 2, (3, 4000)).astype(np.int8)
    >>> labels = (codes[0] ^ codes[2]).astype(np.int8)
    >>> tests = run_pair_tests(codes, np.zeros(4000), labels, np.ones(4000))
    >>> tests.pairs[tests.gains.argmax()].tolist()
    [0, 2]
    """
    n_codes = codes.max(axis=1, initial=-1).astype(np.int64) + 2  # code 0 is for missing values
    varying = np.flatnonzero(n_codes > 2)
    first, second = np.triu_indices(varying.size, 1)
    pairs = np.stack([varying[first], varying[second]], axis=1)
    if not len(pairs):
        return PairTests(pairs, np.empty(0, np.bool_), np.empty(0), np.empty(0))
    sign = 2.0 * labels - 1.0
    error_probability = expit(-sign * scores)
    residuals, curvatures = sign * error_probability, error_probability * (1.0 - error_probability)
    floor = float(weight @ residuals**2) / max(float(weight @ curvatures), 1e-300)
    terms = np.zeros((labels.size, N_TERMS))
    terms[:, :3] = np.stack([weight * residuals, weight * curvatures, weight * residuals**2], axis=1)
    shifted, starts = np.ascontiguousarray((codes + 1).T), np.cumsum(n_codes) - n_codes
    most_frequent = np.array([np.bincount(column, minlength=1).argmax() for column in shifted.T])
    total = n_codes.sum()
    margins, cells = np.zeros((total, N_TERMS)), np.zeros((total, total, N_TERMS))
    add_code_sums(shifted, most_frequent, starts, terms, margins, cells)
    tests = np.empty((len(pairs), 2))
    write_pair_tests(pairs, n_codes, most_frequent, starts, margins, cells, floor, tests)
    chi_square, freedom = tests.T
    p_values: Floats = chdtrc(freedom, chi_square)
    certain = control_false_discoveries(p_values, policy.certain_fdr)
    n_rare = np.bincount(labels, weight, minlength=2).min()
    is_large = n_rare >= policy.min_rare_rows
    passing = control_false_discoveries(p_values, policy.candidate_fdr) if is_large else certain
    return PairTests(pairs[passing], certain[passing], (chi_square - freedom)[passing], freedom[passing])


def control_false_discoveries(p_values: Floats, rate: float) -> NDArray[np.bool_]:
    """Return which tests pass at this false discovery rate, by Benjamini and Hochberg."""
    order = np.argsort(p_values, kind="stable")
    below = np.flatnonzero(p_values[order] <= rate * np.arange(1, p_values.size + 1) / p_values.size)
    passing = np.zeros(p_values.size, np.bool_)
    passing[order[: below[-1] + 1 if below.size else 0]] = True
    return passing


def find_pair_candidates(
    effects: Sequence[MainEffect],
    sample: SampleRows,
    scores: Floats,
    max_pairs: int | None = None,
    policy: SearchPolicy = SEARCH_POLICY,
    groups: Sequence[Sequence[int]] | None = None,
) -> Candidates:
    """Return the pairs that pass the test on the residuals of these scores, at most the best `max_pairs`.

    With groups, only inputs of one group make pairs.

    A categorical input has its most frequent categories in pairs, and one place for
    all others. It has `policy.basis.pair_levels` places, or
    `policy.basis.max_pair_levels` if its pairs gain more per degree of freedom with them.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.main_effects import main_effects
    >>> from opauc.additive.initial_sample import SampleRows
    >>> from opauc.additive.search import find_pair_candidates
    >>> rows, ones = np.random.default_rng(0).integers(0, 10, (9000, 3)).astype(float), np.ones(9000)
    >>> sample = SampleRows(rows, ((rows[:, 0] + rows[:, 1]) % 2).astype(np.int8), ones, ones / 9000)
    >>> effects = main_effects(rows, sample.mass, ones, np.ones(3, bool), n_knots=8)
    >>> candidates = find_pair_candidates(effects, sample, np.zeros(9000), max_pairs=1)
    >>> candidates.pairs.tolist(), candidates.levels.tolist()
    ([[0, 1]], [20, 20, 6])
    """
    few, many = policy.basis.pair_levels, policy.basis.max_pair_levels

    @cache  # inputs whose number of categories stays the same keep their codes
    def codes_of(j: int, n_categories: int) -> NDArray[np.int8]:
        return coarse_codes(effects[j], sample.numbers[:, j], sample.mass, n_categories, policy.basis)

    def run_tests(n_categories: NDArray[np.int64]) -> PairTests:
        codes = np.stack([codes_of(j, number) for j, number in enumerate(n_categories.tolist())])
        tests = run_pair_tests(codes, scores, sample.labels, sample.weight, policy)
        allowed = np.array([may_interact(groups, pair) for pair in tests.pairs.tolist()], np.bool_)
        pairs, certain, gains, freedom = tests
        return PairTests(pairs[allowed], certain[allowed], gains[allowed], freedom[allowed])

    n_categories = np.full(len(effects), few)
    tests = run_tests(n_categories)
    extendable = _extendable_inputs(effects, _gains_by_input(tests, len(effects)), policy)
    if extendable.any():
        extended = np.where(extendable, many, few)
        extended_tests = run_tests(extended)
        better = _gains_by_input(extended_tests, len(effects)) > _gains_by_input(tests, len(effects))
        n_categories = np.where(extendable & better, many, few)
        if (n_categories == extended).all():
            tests = extended_tests
        elif (n_categories == many).any():
            tests = run_tests(n_categories)
    best = np.argsort(-tests.gains, kind="stable")[:max_pairs]
    return Candidates(tests.pairs[best], tests.certain[best], tests.gains[best], n_categories)


def _extendable_inputs(effects: Sequence[MainEffect], gains: Floats, policy: SearchPolicy) -> NDArray[np.bool_]:
    """Return which inputs may have more categories in pairs: by gain, as far as the budget of codes allows."""
    n_categories = np.array([effect.kept.size + 1 if effect.kind == CATEGORICAL else 0 for effect in effects])
    order = np.argsort(-gains, kind="stable")
    few, many = policy.basis.pair_levels, policy.basis.max_pair_levels
    order = order[n_categories[order] > few]
    budget = policy.max_codes - (few + 1) * len(effects)
    n_codes = np.minimum(n_categories[order], many)
    extendable = np.zeros(len(effects), np.bool_)
    extendable[order[np.cumsum(n_codes) <= budget]] = True
    return extendable


def _gains_by_input(tests: PairTests, n_inputs: int) -> Floats:
    """Return the total gain of the certain pairs of each input, per square root of their degrees of freedom."""
    gains = np.where(tests.certain, tests.gains, 0.0) / np.sqrt(np.maximum(tests.freedom, 1.0))
    return np.asarray(np.bincount(tests.pairs.ravel(), np.repeat(gains, 2), minlength=n_inputs), np.float64)


@dataclass(frozen=True, eq=False)
class InteractionSearch:
    """The choice of a basis on a sample: main effects, and the pairs that pass a test.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.basis.main_effects import main_effects
    >>> from opauc.additive.initial_sample import SampleRows
    >>> from opauc.additive.search import InteractionSearch
    >>> from opauc.additive.settings import AdditiveSettings
    >>> rows, ones = np.random.default_rng(0).normal(size=(900, 3)), np.ones(900)
    >>> sample = SampleRows(rows, (rows[:, 0] * rows[:, 2] > 0).astype(np.int8), ones, ones / 900)
    >>> effects = main_effects(rows, sample.mass, ones, np.zeros(3, bool), n_knots=8)
    >>> basis, fit = InteractionSearch(Basis.of_effects(effects), effects, sample, AdditiveSettings()).fit()
    >>> basis.tables.pairs.tolist(), fit.weights.size == basis.n_columns
    ([[0, 2]], True)
    """

    main_basis: Basis
    effects: Sequence[MainEffect]
    sample: SampleRows
    settings: AdditiveSettings
    policy: SearchPolicy = SEARCH_POLICY
    smoothing_policy: SmoothingPolicy = SMOOTHING_POLICY
    beside_trees: bool = False  # whether trees may join the model
    groups: GroupedFit | None = None  # of the rows of the sample, where they are ranked within groups

    def fit(self) -> tuple[Basis, PenalizedFit]:
        """Return the basis of main effects and pairs, and its fit to all rows of the sample.

        Main effects are fitted first, and all pairs are tested on their residuals.
        """
        intercept = fit_intercept(self.sample.labels, self.sample.weight)
        additive = self._fit(self.main_basis, intercept, self.policy.additive_steps)
        basis = self.add_pairs(self.find_candidates(additive))
        return basis, self._fit(basis, additive, self.policy.final_steps)

    def _fit(self, basis: Basis, initial: PenalizedFit, n_steps: int) -> PenalizedFit:
        """Return the fit of a basis to all rows, from that of some of its columns."""
        rows, penalties, sample = basis.rows(self.sample.numbers), Penalties(basis.groups, basis.roughness), self.sample
        subset, policy = choose_subset(sample.labels.size, self.smoothing_policy), self.smoothing_policy
        started = start_fit(rows, sample.labels, sample.weight, penalties, initial, n_steps, subset, policy)
        fit = finish_fit(rows, sample.labels, sample.weight, penalties, started, policy)
        if self.groups is None:
            return fit
        return self.groups.refine(rows, sample.labels, sample.weight, penalties, fit, policy)

    def add_pairs(self, candidates: Candidates) -> Basis:
        """Return the basis of main effects with the candidates that fit into the columns of the settings."""
        n_rare, own = self.sample.rarer, self.policy.basis
        is_large = n_rare >= self.policy.min_rare_rows
        n_columns = min(self.settings.max_columns - self.main_basis.n_columns, n_rare)
        room = PairRoom(
            int(min(n_columns, self.policy.max_pair_columns_beside_trees) if self.beside_trees else n_columns),
            own.max_pair_knots if is_large else own.min_pair_knots,
        )
        return add_pairs(self.main_basis, self.effects, self.sample.numbers, self.sample.mass, candidates, room, own)

    def find_candidates(self, additive: PenalizedFit) -> Candidates:
        """Return the pairs that pass the test, or the pairs of the settings."""
        requested = self.settings.interactions
        if isinstance(requested, tuple) or requested == 0 or self.main_basis.n_columns >= self.settings.max_columns:
            pairs = np.array(requested if isinstance(requested, tuple) else [], np.int64).reshape(-1, 2)
            n_categories = np.full(len(self.effects), self.policy.basis.pair_levels)
            return Candidates(pairs, np.ones(len(pairs), np.bool_), -np.arange(len(pairs), dtype=float), n_categories)
        tested = self._tested_inputs(additive.weights)
        effects = [effect if j in tested else MainEffect(LEFT_OUT) for j, effect in enumerate(self.effects)]
        max_pairs, groups = None if requested == AUTO else int(requested), self.settings.interaction_constraints
        return find_pair_candidates(effects, self.sample, additive.scores, max_pairs, self.policy, groups)

    def _tested_inputs(self, weights: Floats) -> set[int]:
        """Return the inputs whose pairs are tested: those with the largest weights."""
        largest = {
            inputs[0]: float(np.abs(weights[columns]).max()) for inputs, columns in self.main_basis.effects.items()
        }
        return set(sorted(largest, key=lambda j: -largest[j])[: self.policy.max_tested_inputs])
