"""The search for crossed codes: combinations of inputs whose residuals agree, confirmed on rows held out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.crossed_codes import NO_CROSSED_CODES, CrossedCode, CrossedCodes, Member
from opauc.additive.fit import PenalizedFit
from opauc.additive.initial_sample import SampleRows
from opauc.additive.kernels.crossed import residual_products
from opauc.additive.kernels.rows import CATEGORICAL, NUMERIC
from opauc.additive.penalties import Penalties
from opauc.additive.policy import CROSSED_POLICY, CrossedPolicy
from opauc.additive.smoothing import solve
from opauc.additive.sums import LinearizedSums
from opauc.core.logistic import linearize
from opauc.types import Floats

# The positions of two or three inputs among those that are crossed.
Combination: TypeAlias = tuple[int, ...]
# The z-score of a combination none of whose levels has two rows: the variance of the products is a rounding error.
SMALLEST_VARIANCE = 1e-9
NEWTON_STEPS = 6
# Newton steps of the factors of effects end when none moves by more.
SMALL_STEP = 1e-3


class CodedInput(NamedTuple):
    """An input as crossed codes use it, and the code of each row of the sample."""

    member: Member
    codes: NDArray[np.int32]
    n_codes: int
    is_code: bool  # or a number in bins


class CrossingRule(NamedTuple):
    """Inputs that may not be crossed, and the groups within which others may be; None if all may.

    Inputs in no group are one more group.
    """

    excluded: frozenset[int] = frozenset()
    groups: tuple[tuple[int, ...], ...] | None = None

    def allows(self, inputs: Collection[int]) -> bool:
        """Tell whether these inputs may be crossed."""
        if not self.excluded.isdisjoint(inputs):
            return False
        return may_interact(self.groups, inputs)


def may_interact(groups: Sequence[Sequence[int]] | None, inputs: Collection[int]) -> bool:
    """Tell whether inputs share a group, or are in none; any may without groups.

    Examples
    --------
    >>> from opauc.additive.crossed.search import may_interact
    >>> [may_interact([(0, 1), (1, 2)], pair) for pair in ((0, 1), (0, 2), (3, 4), (2, 3))]
    [True, False, True, False]
    """
    if groups is None or any(set(inputs) <= set(group) for group in groups):
        return True
    listed = {j for group in groups for j in group}
    return listed.isdisjoint(inputs)


ANY_CROSSING = CrossingRule()


def find_crossed_codes(
    basis: Basis,
    sample: SampleRows,
    fit: PenalizedFit,
    more_rows: bool = False,
    numeric: Collection[int | str] = (),
    policy: CrossedPolicy = CROSSED_POLICY,
    rule: CrossingRule = ANY_CROSSING,
) -> CrossedCodes:
    """Return the combinations of two or three inputs whose levels explain what the fit to a sample leaves.

    If levels had no effects, the product of the residuals of two rows of one level
    would be zero on average. Candidates are the combinations whose sum of these
    products exceeds its standard deviation most, on out-of-fold scores. One is
    accepted if its effects, from the rows of other folds, lower the log loss.
    The next one is tested given those accepted, whose effects on a row never come
    from the row itself.

    Parameters
    ----------
    basis : Basis
        The basis without crossed codes and trees.
    sample : SampleRows
        The initial sample.
    fit : PenalizedFit
        The fit of the basis to the sample.
    more_rows : bool
        Whether more rows follow the sample.
    numeric : collection of int
        Inputs that the user declares numeric: their values are no codes.
    policy : CrossedPolicy
        Thresholds.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.basis.main_effects import main_effects
    >>> from opauc.additive.crossed.search import find_crossed_codes
    >>> from opauc.additive.fit import PenalizedFit
    >>> from opauc.additive.initial_sample import SampleRows
    >>> rng, ones = np.random.default_rng(0), np.ones(6000)
    >>> rows = rng.integers(0, 20, (6000, 3)).astype(float)
    >>> effects = rng.normal(size=(20, 20))[rows[:, 0].astype(int), rows[:, 2].astype(int)]
    >>> labels = (effects > rng.normal(size=6000)).astype(np.int8)
    >>> basis = Basis.of_effects(main_effects(rows, ones, ones, np.ones(3, bool), n_knots=8))
    >>> fit = PenalizedFit(np.zeros(basis.n_columns), np.ones(4), np.zeros(6000))
    >>> [code.inputs for code in find_crossed_codes(basis, SampleRows(rows, labels, ones, ones), fit).codes]
    [(0, 2)]
    """
    if sample.rarer < policy.min_rare_rows or policy.max_codes == 0:
        return NO_CROSSED_CODES
    inputs = code_inputs(basis, sample, numeric, policy)
    test = CombinationTest(inputs, sample.labels.size, policy, rule)
    residuals = sample.weight * (sample.labels - expit(fit.scores))
    if max(test.z_scores(residuals).values(), default=0.0) <= policy.screening_z:
        return NO_CROSSED_CODES
    held_out = out_of_fold_scores(basis, sample, fit, policy)
    explained = _explained_inputs(basis, sample, policy)
    singles = [k for k, one in enumerate(inputs) if one.is_code and one.member.input in explained]
    chosen = ForwardSelection(inputs, singles, test, sample, fit.scores, held_out, policy).run()
    return CrossedCodes(tuple(_code(inputs, sample, one, more_rows, policy) for one in chosen))


def _explained_inputs(basis: Basis, sample: SampleRows, policy: CrossedPolicy) -> set[int]:
    """Return the inputs with random effects for the values of nearly all rows that have no column of their own.

    Of an input of many more values, random effects know those that recur in the sample; what the others do by
    themselves is left to its combinations, whose levels later rows have too.
    """
    explained = set()
    for j in np.unique(basis.random_effects.inputs).tolist():
        values, is_categorical = sample.numbers[:, j], basis.tables.kinds[j] == CATEGORICAL
        has_column = np.isin(values, basis.column_numbers(j)) if is_categorical else np.zeros(values.size, np.bool_)
        has_effect = np.isin(values, basis.random_effects.numbers_of(j))
        if has_effect.sum() >= policy.min_explained_share * (~np.isnan(values) & ~has_column).sum():
            explained.add(j)
    return explained


def code_inputs(
    basis: Basis, sample: SampleRows, numeric: Collection[int | str] = (), policy: CrossedPolicy = CROSSED_POLICY
) -> list[CodedInput]:
    """Return the inputs that may be crossed, with a code for each row of the sample.

    They are categories; the whole parts of numbers, where the numbers recur, or their whole parts do and are many, as
    calendar days are; and numbers in bins of equally many rows. An input of two values is not crossed.
    """
    inputs: list[CodedInput] = []
    for j in np.flatnonzero(basis.tables.kinds >= NUMERIC).tolist():
        inputs += _code_input(j, sample.numbers[:, j], bool(basis.tables.kinds[j] == CATEGORICAL), j in numeric, policy)
    inputs.sort(key=lambda one: (-one.n_codes, one.member.input))
    return sorted(inputs[: policy.max_inputs], key=lambda one: (one.member.input, -one.n_codes))


def _code_input(
    j: int, numbers: Floats, is_categorical: bool, is_declared: bool, policy: CrossedPolicy
) -> Iterator[CodedInput]:
    """Yield an input by its values and in bins, as far as either makes sense."""
    no_edges, no_categories = np.empty(0), np.empty(0, np.int64)
    whole, codes, counts = np.unique(np.floor(numbers), return_inverse=True, return_counts=True)
    if whole.size < policy.min_values:
        return
    is_many = whole.size > 2 * policy.n_bins
    if not is_many and not is_categorical:
        counts = np.unique(numbers, return_counts=True)[1]
    recurring = int(counts[counts > 1].sum())
    categories = whole[whole >= 0].astype(np.int64) if is_categorical else no_categories
    if is_categorical or (recurring >= policy.min_recurring_share * numbers.size and not (is_declared and is_many)):
        yield CodedInput(Member(j, no_edges, categories), codes.astype(np.int32), whole.size, True)
    if not is_categorical and is_many:
        edges = np.unique(np.nanquantile(numbers, np.arange(1, policy.n_bins) / policy.n_bins))
        if np.isfinite(edges).all() and edges.size >= policy.min_values:
            member = Member(j, edges, no_categories)
            bins, codes = np.unique(member.values(numbers), return_inverse=True)
            yield CodedInput(member, codes.astype(np.int32), bins.size, False)


@dataclass(frozen=True, eq=False)
class CombinationTest:
    """The z-scores of combinations of coded inputs."""

    inputs: Sequence[CodedInput]
    n_rows: int
    policy: CrossedPolicy = CROSSED_POLICY
    rule: CrossingRule = ANY_CROSSING

    def z_scores(self, residuals: Floats) -> dict[Combination, float]:
        """Return those of all pairs, and of the triples that extend the pairs of the largest."""
        everything = range(len(self.inputs))
        pairs: list[Combination] = [pair for pair in combinations(everything, 2) if self._may_cross(pair)]
        scores = {pair: self.z_score(pair, residuals) for pair in pairs}
        best = sorted(scores, key=lambda pair: -scores[pair])[: self.policy.max_extended_pairs]
        triples = {tuple(sorted((*pair, other))) for pair in best for other in everything if other not in pair}
        scores |= {triple: self.z_score(triple, residuals) for triple in sorted(triples) if self._may_cross(triple)}
        return scores

    def z_score(self, combination: Combination, residuals: Floats) -> float:
        """Return the sum of the products of the residuals of two rows of one level, in its standard deviations."""
        first, second, *rest = (self.inputs[k] for k in combination)
        third = rest[0] if rest else None
        sizes = np.array([first.n_codes, second.n_codes, 1 if third is None else third.n_codes])
        third_codes = self._zeros if third is None else third.codes
        shift = np.uint64(65 - self._sums.shape[0].bit_length())
        products, variance = residual_products(
            first.codes, second.codes, third_codes, sizes, residuals, shift, self._sums
        )
        if variance <= SMALLEST_VARIANCE * float(residuals @ residuals):
            return 0.0
        return float(products / np.sqrt(variance))

    def _may_cross(self, combination: Combination) -> bool:
        """Tell whether the inputs differ and one of them is a code: pairs and trees have products of numbers."""
        inputs = [self.inputs[k] for k in combination]
        crossed = {one.member.input for one in inputs}
        return len(crossed) == len(inputs) and any(one.is_code for one in inputs) and self.rule.allows(crossed)

    @cached_property
    def _zeros(self) -> NDArray[np.int32]:
        return np.zeros(self.n_rows, np.int32)

    @cached_property
    def _sums(self) -> Floats:
        """Twice as many levels as rows: so few combinations share one that z-scores hardly fall."""
        return np.empty((2 ** (2 * max(self.n_rows, 1)).bit_length(), 2))


def out_of_fold_scores(
    basis: Basis, sample: SampleRows, fit: PenalizedFit, policy: CrossedPolicy = CROSSED_POLICY
) -> Floats:
    """Return the score of each row of a sample by the fit to the rows of other folds: one step from the fit to all."""
    rows, penalties = basis.rows(sample.numbers), Penalties(basis.groups, basis.roughness)
    folds = fold_of_rows(sample.labels.size, policy)
    empty = LinearizedSums.at(fit.weights)
    parts, offset = [folds == fold for fold in range(policy.n_folds)], sample.offset
    sums = [
        empty.update(
            rows[part], sample.labels[part], sample.weight[part], narrow=True,
            offset=None if offset is None else offset[part],
        )
        for part in parts
    ]  # fmt: skip
    gram, rhs = sum(one.gram for one in sums), sum(one.rhs for one in sums)
    scores = np.empty(sample.labels.size)
    for fold, own in enumerate(sums):
        weights = solve(gram - own.gram, rhs - own.rhs, penalties, fit.lambdas)
        scores[parts[fold]] = rows[parts[fold]] @ weights
    return scores if offset is None else scores + offset


def fold_of_rows(n_rows: int, policy: CrossedPolicy = CROSSED_POLICY) -> NDArray[np.int64]:
    """Return the fold of each row of a sample, whose order is random."""
    return np.arange(n_rows) % policy.n_folds


class AcceptedCode(NamedTuple):
    """An accepted combination, the smoothing parameter of its effects, and what they are multiplied by."""

    combination: Combination
    lambda_: float
    factor: float


class Evaluation(NamedTuple):
    """A candidate with its effects on rows held out, the factors of all codes, and the loss of each row."""

    combination: Combination
    lambda_: float
    effects: Floats
    factors: Floats
    losses: Floats


@dataclass(frozen=True, eq=False)
class ForwardSelection:
    """The choice of combinations one by one, each given those accepted before.

    The effects of single inputs that have random effects come first: what they explain is no effect of combinations.
    """

    inputs: Sequence[CodedInput]
    singles: Sequence[int]
    test: CombinationTest
    sample: SampleRows
    fitted: Floats  # scores of the fit to all rows, from whose residuals effects come
    held_out: Floats  # scores of each row by the fit to others
    policy: CrossedPolicy = CROSSED_POLICY

    def run(self) -> list[AcceptedCode]:
        """Return the accepted combinations."""
        accepted: list[Evaluation] = []
        for k in self.singles:
            accepted.append(self._evaluate((k,), accepted, self.policy.lambdas))
        losses = accepted[-1].losses if accepted else self._losses(self.held_out)
        for _ in range(self.policy.max_codes):
            best = self._best(accepted)
            if best is None:
                break
            gains = losses - best.losses
            if gains.sum() <= self.policy.min_gain_z * gains.std() * np.sqrt(gains.size) or best.factors[-1] <= 0.0:
                break
            accepted.append(best)
            losses = best.losses
        factors = accepted[-1].factors.tolist() if accepted else []
        chosen = list(zip(accepted, factors, strict=True))[len(self.singles) :]
        return [AcceptedCode(one.combination, one.lambda_, factor) for one, factor in chosen if factor > 0.0]

    def _best(self, accepted: Sequence[Evaluation]) -> Evaluation | None:
        """Return the candidate of the lowest loss, given the accepted ones; None where no z-score is large."""
        known = {self._inputs_of(one.combination) for one in accepted}
        residuals = self.sample.weight * (self.sample.labels - expit(self.held_out + _sum_effects(accepted)))
        scores = self.test.z_scores(residuals)
        order = sorted(scores, key=lambda combination: -scores[combination])
        order = [one for one in order if scores[one] > self.policy.min_z and self._inputs_of(one) not in known]
        first = (self.policy.first_lambda,)
        candidates = [self._evaluate(one, accepted, first) for one in order[: self.policy.max_evaluated]]
        if not candidates:
            return None
        best = min(candidates, key=_total_loss)
        others = tuple(lambda_ for lambda_ in self.policy.lambdas if lambda_ not in first)
        return min(best, self._evaluate(best.combination, accepted, others), key=_total_loss) if others else best

    def _inputs_of(self, combination: Combination) -> tuple[int, ...]:
        return tuple(self.inputs[k].member.input for k in combination)

    def _evaluate(
        self, combination: Combination, accepted: Sequence[Evaluation], lambdas: Sequence[float]
    ) -> Evaluation:
        """Return a candidate with the smoothing parameter and the factors of the lowest loss."""
        levels = combine_codes([self.inputs[k] for k in combination])
        evaluations = []
        for lambda_ in lambdas:
            effects = self._effects(levels, lambda_)
            columns = np.column_stack([*(one.effects for one in accepted), effects])
            factors = self._fit_factors(columns)
            losses = self._losses(self.held_out + columns @ factors)
            evaluations.append(Evaluation(combination, lambda_, effects, factors, losses))
        return min(evaluations, key=_total_loss)

    def _effects(self, levels: NDArray[np.int64], lambda_: float) -> Floats:
        """Return the effect of the level of each row, from the rows of other folds."""
        residuals, curvatures = self._terms
        n_folds, n_levels = self.policy.n_folds, int(levels.max()) + 1
        own = levels * n_folds + fold_of_rows(levels.size, self.policy)
        sums = []
        for terms in (residuals - curvatures * (residuals.sum() / curvatures.sum()), curvatures):
            of_folds = np.bincount(own, terms, n_levels * n_folds)
            sums.append(of_folds.reshape(-1, n_folds).sum(axis=1)[levels] - of_folds[own])
        effects: Floats = sums[0] / (np.maximum(sums[1], 0.0) + lambda_)
        return effects

    @cached_property
    def _terms(self) -> tuple[Floats, Floats]:
        """The residual and the curvature of each row at the fit to all rows."""
        curvature, residuals = linearize(self.fitted, self.sample.labels)
        return self.sample.weight * residuals, self.sample.weight * curvature

    def _fit_factors(self, columns: Floats) -> Floats:
        """Return the factors from zero to one of effects that maximize the likelihood, by Newton steps."""
        factors = np.ones(columns.shape[1])
        for _ in range(NEWTON_STEPS):
            probabilities = expit(self.held_out + columns @ factors)
            gradient = columns.T @ (self.sample.weight * (self.sample.labels - probabilities))
            curvature = self.sample.weight * probabilities * (1.0 - probabilities)
            hessian = (columns * curvature[:, None]).T @ columns
            np.fill_diagonal(hessian, np.diagonal(hessian) * (1.0 + 1e-6) + 1e-9)
            before, factors = factors, np.clip(factors + np.linalg.solve(hessian, gradient), 0.0, 1.0)
            if np.abs(factors - before).max() < SMALL_STEP:
                break
        return factors

    def _losses(self, scores: Floats) -> Floats:
        signs = 1.0 - 2.0 * self.sample.labels
        return np.asarray(self.sample.weight * np.logaddexp(0.0, signs * scores))


def _total_loss(one: Evaluation) -> float:
    return float(one.losses.sum())


def _sum_effects(accepted: Sequence[Evaluation]) -> Floats | float:
    if not accepted:
        return 0.0
    return np.column_stack([one.effects for one in accepted]) @ accepted[-1].factors


def combine_codes(inputs: Sequence[CodedInput]) -> NDArray[np.int64]:
    """Return the combination that each row has, numbered from zero without gaps."""
    combined = np.zeros(inputs[0].codes.size, np.int64)
    for one in inputs:
        combined = combined * one.n_codes + one.codes
    return np.unique(combined, return_inverse=True)[1]


def _code(
    inputs: Sequence[CodedInput], sample: SampleRows, accepted: AcceptedCode, more_rows: bool, policy: CrossedPolicy
) -> CrossedCode:
    """Return an accepted combination with as many levels as it needs, and examples of them."""
    own = [inputs[k] for k in accepted.combination]
    levels = combine_codes(own)
    counts, (_, first) = np.bincount(levels), np.unique(levels, return_index=True)
    frequent = first[np.lexsort((first, -counts))[: policy.max_examples]]
    values = [one.member.values(sample.numbers[frequent, one.member.input]) for one in own]
    examples = [one.member.representatives(value) for one, value in zip(own, values, strict=True)]
    needed = 2 ** int(policy.levels_per_combination * counts.size - 1).bit_length()
    n_levels = policy.max_levels if more_rows else min(needed, policy.max_levels)
    members = tuple(one.member for one in own)
    return CrossedCode(members, n_levels, accepted.lambda_, accepted.factor, np.column_stack(examples))
