"""Random effects of very many categories: their sums over rows, and their joint solution with the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack
from scipy.sparse import csr_array

from opauc.additive.effect_products import Products, products_gram, sparse_if_few
from opauc.additive.kernels.gram import add_category_products
from opauc.additive.penalties import Penalties
from opauc.additive.policy import SMOOTHING_POLICY, SmoothingPolicy
from opauc.additive.smoothing import factorize, smooth
from opauc.additive.sums import LabeledRows, LinearizedSums, linearize_rows
from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.core.kernels.sparse_rows import CsrRows
from opauc.core.mergeable import ROUNDING, Mergeable
from opauc.core.row_blocks import csr_rows
from opauc.errors import IncompatibleMomentsError
from opauc.types import Arrays, Floats, NamedArrays

EFFECTS_SCHEMA = {
    "products": ArrayRule("float64", "effects columns"),
    "curvature": ArrayRule("float64", "effects", low=0),
    "rhs": ArrayRule("float64", "effects"),
    "squares": ArrayRule("float64", "effects"),
    "counts": ArrayRule("float64", "effects", low=0),
    "shared.data": ArrayRule("float64", "entries"),
    "shared.indices": ArrayRule("int32", "entries", low=0, below="effects"),
    "shared.indptr": ArrayRule("int32", "effects+1", ends="entries"),
}
# Labeled rows of a basis's columns, and the indicators of their categories.
IndicatorRows: TypeAlias = tuple[LabeledRows, csr_array]


@dataclass(frozen=True, eq=False)
class RandomEffectSums(Mergeable):
    """The part of the Gram matrix that belongs to random effects, whose columns are indicators of categories.

    A row z with curvature c that has a category adds c to the `curvature` of the
    category, c z to its row of `products`, to `rhs` what `LinearizedSums` adds for
    a column, the square of its residual to `squares`, and its sample weight to
    `counts`. Two categories of the same row add c to their entry of `shared`,
    whose diagonal is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.additive.random_effects import RandomEffectSums
    >>> from opauc.additive.sums import LabeledRows
    >>> rows, labels = csr_array([[1.0, 2.0], [1.0, 0.0]]), np.array([1, 0], np.int8)
    >>> indicators = csr_array(np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    >>> sums = RandomEffectSums.empty(3, 2).update_all([(LabeledRows(rows, labels), indicators)], np.zeros(2))
    >>> sums.curvature.tolist(), sums.products[1].tolist(), sums.shared.toarray()[1].tolist()
    ([0.0, 0.5, 0.25], [0.5, 0.5], [0.0, 0.0, 0.25])
    """

    products: Floats  # (n_categories, n_columns)
    curvature: Floats
    rhs: Floats
    squares: Floats
    counts: Floats
    shared: csr_array  # symmetric

    @classmethod
    def empty(cls, n_categories: int, n_columns: int) -> Self:
        """Return the sums of no rows."""
        curvature, rhs, squares, counts = np.zeros((4, n_categories))
        shared = csr_array((n_categories, n_categories))
        return cls(np.zeros((n_categories, n_columns)), curvature, rhs, squares, counts, shared)

    @property
    def size(self) -> int:
        """Number of categories."""
        return self.counts.size

    def empty_copy(self) -> Self:
        """Return the sums of no rows."""
        return self.empty(*self.products.shape)

    def update_all(self, batches: Iterable[IndicatorRows], expansion_point: Floats) -> RandomEffectSums:
        """Return the sums with batches of rows added, linearized at these weights."""
        accumulator = RandomEffectAccumulator(self, expansion_point)
        for rows, indicators in batches:
            accumulator.add(rows, indicators, rows[2])
        return accumulator.finish()

    def merge(self, other: Self) -> Self:
        """Return the sums of both sets of rows."""
        self._check_same_categories(other)
        return type(self)(
            self.products + other.products,
            self.curvature + other.curvature,
            self.rhs + other.rhs,
            self.squares + other.squares,
            self.counts + other.counts,
            csr_array(self.shared + other.shared),
        )

    def subtract(self, other: Self) -> Self:
        """Return the sums of the rows that are not in `other`; a category without rows left has sums of zero."""
        self._check_same_categories(other)
        counts = self.counts - other.counts
        is_empty = counts <= ROUNDING * self.counts
        remaining = (
            self.products - other.products,
            np.maximum(self.curvature - other.curvature, 0.0),  # rounding may be more than certain rows had
            self.rhs - other.rhs,
            np.maximum(self.squares - other.squares, 0.0),
            counts,
        )
        for array in remaining:
            array[is_empty] = 0.0
        has_rows = np.where(is_empty, 0.0, 1.0)
        shared = csr_array((self.shared - other.shared) * has_rows[:, None] * has_rows)
        shared.eliminate_zeros()
        return type(self)(*remaining, shared)

    def restrict(self, categories: NDArray[np.int64], columns: NDArray[np.int64], fixed: Floats) -> Self:
        """Return the sums of some categories and columns, given the weights of the other columns."""
        at = np.flatnonzero(fixed)
        return type(self)(
            self.products[np.ix_(categories, columns)],
            self.curvature[categories],
            self.rhs[categories] - self.products[np.ix_(categories, at)] @ fixed[at],
            self.squares[categories],
            self.counts[categories],
            csr_array(self.shared[categories][:, categories]),
        )

    def to_arrays(self) -> Arrays:
        """Return copies of the sums, for a file or the network."""
        return {
            "products": self.products.copy(),
            "curvature": self.curvature.copy(),
            "rhs": self.rhs.copy(),
            "squares": self.squares.copy(),
            "counts": self.counts.copy(),
            "shared.data": np.array(self.shared.data),
            "shared.indices": np.array(self.shared.indices, np.int32),
            "shared.indptr": np.array(self.shared.indptr, np.int32),
        }

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the sums from `to_arrays`; raise IncompatibleMomentsError if they cannot be sums of rows."""
        n_effects = check_arrays(EFFECTS_SCHEMA, arrays)["effects"]
        products, curvature, rhs, squares, counts, *shared_parts = (np.array(arrays[name]) for name in EFFECTS_SCHEMA)
        shared = csr_array(tuple(shared_parts), shape=(n_effects, n_effects))
        if abs(shared - shared.T).max() > ROUNDING * max(1.0, float(curvature.max(initial=0.0))):
            raise IncompatibleMomentsError("shared: expected a symmetric matrix")
        return cls(products, curvature, rhs, squares, counts, shared)

    def _check_same_categories(self, other: Self) -> None:
        if self.products.shape != other.products.shape:
            raise IncompatibleMomentsError("sums of different categories cannot be merged")


class RandomEffectAccumulator:
    """Sums to which batches of rows are added in place; the given sums are copied once."""

    def __init__(self, sums: RandomEffectSums, expansion_point: Floats) -> None:
        self._products, self._curvature, self._rhs = sums.products.copy(), sums.curvature.copy(), sums.rhs.copy()
        self._squares, self._counts = sums.squares.copy(), sums.counts.copy()
        self._shared_before, self._shared = sums.shared, csr_array(sums.shared.shape)
        self._expansion_point = expansion_point

    def add(self, batch: LabeledRows, indicators: csr_array, sample_weight: Floats | None) -> None:
        """Add labeled rows, weighted as in the loss, with the indicators of their categories and their own weights."""
        rows, labels, weight, offset = batch
        sparse = rows if isinstance(rows, csr_array) else csr_array(rows, dtype=np.float64)
        curvature, target = linearize_rows(sparse, labels, weight, self._expansion_point, offset)
        add_category_products(_entries(indicators), _entries(sparse), curvature, self._products)
        self._curvature += indicators.T @ curvature
        self._rhs += indicators.T @ target
        scores = sparse @ self._expansion_point if offset is None else sparse @ self._expansion_point + offset
        self._squares += indicators.T @ (target - curvature * scores) ** 2
        self._counts += indicators.T @ (np.ones(labels.size) if sample_weight is None else sample_weight)
        if indicators.nnz > np.count_nonzero(np.diff(indicators.indptr)):  # a row has two categories
            both = (indicators.T @ (indicators * curvature[:, None])).tocoo()
            off_diagonal = both.row != both.col
            entries = both.data[off_diagonal], (both.row[off_diagonal], both.col[off_diagonal])
            self._shared = self._shared + csr_array(entries, shape=self._shared.shape)

    def finish(self) -> RandomEffectSums:
        """Return the sums of all rows."""
        shared = csr_array(self._shared_before + self._shared)
        return RandomEffectSums(self._products, self._curvature, self._rhs, self._squares, self._counts, shared)


def _entries(rows: csr_array) -> CsrRows:
    return csr_rows(rows.data, rows.indices, rows.indptr)


# Distance on the log scale within which the minimum of the deviance lies around a first estimate of it.
NEAR = 0.01
# Conjugate gradients stop when the residual, in the norm of the preconditioner, has fallen by this factor.
MAX_ITERATIONS, RELATIVE_RESIDUAL = 100, 1e-10
# The same for solutions from which only smoothing parameters come.
ROUGH_RESIDUAL = 1e-3


# Entries of the products of random effects and columns that are solved for at a time, for the sake of memory.
ELIMINATED_ENTRIES = 2**22


class MixedFit(NamedTuple):
    """Weights of columns and random effects, and the smoothing parameters of both."""

    weights: Floats
    effects: Floats
    lambdas: Floats
    effect_lambdas: Floats  # one per input with random effects


def smooth_with_random_effects(
    sums: LinearizedSums,
    effects: RandomEffectSums,
    group_index: NDArray[np.int64],
    penalties: Penalties,
    lambdas: Floats,
    policy: SmoothingPolicy = SMOOTHING_POLICY,
    rough: bool = False,
    level_penalty: float | None = None,
) -> MixedFit:
    """Return the penalized minimizer over columns and random effects, and its smoothing parameters.

    Parameters
    ----------
    sums : LinearizedSums
        Sums of the columns.
    effects : RandomEffectSums
        Sums of the random effects over the same rows.
    group_index : ndarray of shape (n_categories,)
        The input of each category, counted from zero; those of an input share a smoothing parameter.
    penalties : Penalties
        Penalties of the columns.
    lambdas : ndarray of shape (n_groups,)
        Initial smoothing parameters of the columns.
    policy : SmoothingPolicy
        Rounds and bounds of the smoothing parameters.
    rough : bool
        Whether one round and three digits suffice.
    level_penalty : float, optional
        The smoothing parameter of the last input, where its categories are the levels of groups: it is not estimated.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
    >>> from opauc.additive.random_effects import RandomEffectSums, smooth_with_random_effects
    >>> from opauc.additive.penalties import Penalties
    >>> from opauc.additive.sums import LabeledRows, LinearizedSums
    >>> labels = np.array([1, 1, 1, 0, 0, 0] * 20, np.int8)
    >>> rows, indicators = csr_array(np.ones((120, 1))), csr_array(np.repeat(np.eye(2), 3, axis=0).tolist() * 20)
    >>> sums = LinearizedSums.empty(1).update(rows, labels)
    >>> effects = RandomEffectSums.empty(2, 1).update_all([(LabeledRows(rows, labels), indicators)], np.zeros(1))
    >>> penalties = Penalties(ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1)]), (None,))
    >>> fit = smooth_with_random_effects(sums, effects, np.zeros(2, int), penalties, np.zeros(1))
    >>> fit.effects.round(1).tolist()
    [2.0, -2.0]
    """
    n_inputs = int(group_index.max()) + 1
    n_estimated = n_inputs if level_penalty is None else n_inputs - 1
    effect_lambdas = np.append(np.ones(n_estimated), [] if level_penalty is None else [level_penalty])
    products = sparse_if_few(effects.products)
    for _ in range(1 if rough else policy.random_effect_rounds):
        system = BorderedSystem(sums, effects, penalties, lambdas, effect_lambdas[group_index], n_inputs, products)
        if n_estimated:
            estimated = _next_effect_lambdas(effects, group_index, system.solve(ROUGH_RESIDUAL), policy)
            effect_lambdas[:n_estimated] = estimated[:n_estimated]
        lambdas = smooth(*system.eliminated, penalties, lambdas, 1, policy).lambdas
    system = BorderedSystem(sums, effects, penalties, lambdas, effect_lambdas[group_index], n_inputs, products)
    return MixedFit(*system.solve(ROUGH_RESIDUAL if rough else RELATIVE_RESIDUAL), lambdas, effect_lambdas)


class Direction(NamedTuple):
    """Weights of columns and random effects, and their products with the matrix between the two.

    These come from the preconditioner at no cost, and the matrix is large.
    """

    columns: Floats
    effects: Floats
    of_columns: Floats  # products @ columns
    of_effects: Floats  # products^T @ effects


@dataclass(frozen=True, eq=False)
class BorderedSystem:
    """The normal equations of columns and random effects; a row has at most one category of each input."""

    sums: LinearizedSums
    effects: RandomEffectSums
    penalties: Penalties
    lambdas: Floats
    effect_lambdas: Floats  # one per category
    n_inputs: int
    sparse_products: Products | None = None  # `sparse_if_few` of those of the effects, if that is known

    @cached_property
    def eliminated(self) -> tuple[Floats, Floats]:
        """The lower triangle and the right-hand side of the columns after eliminating the random effects.

        With categories of one input, the elimination is exact. With those of k
        inputs, k times the diagonal replaces their matrix, because rows share
        categories: it is an upper bound, so that the Schur complement stays
        positive definite.
        """
        products, diagonal = self._products, self._diagonal
        gram = self.sums.gram - products_gram(products, 1.0 / diagonal)
        return gram, self.sums.rhs - products.T @ (self.effects.rhs / diagonal)

    def solve(self, relative_residual: float = RELATIVE_RESIDUAL) -> tuple[Floats, Floats]:
        """Return the weights of columns and random effects, by conjugate gradients preconditioned by elimination."""
        residual = self.sums.rhs, self.effects.rhs
        columns, effects = np.zeros_like(residual[0]), np.zeros_like(residual[1])
        direction = preconditioned = self._precondition(*residual)
        squared_norm = initial = _dot(residual, preconditioned)
        for _ in range(MAX_ITERATIONS):
            if squared_norm <= relative_residual**2 * initial or squared_norm <= 0.0:
                break
            image = self._multiply(direction)
            length = squared_norm / _dot(direction, image)
            columns, effects = columns + length * direction.columns, effects + length * direction.effects
            residual = residual[0] - length * image[0], residual[1] - length * image[1]
            preconditioned = self._precondition(*residual)
            before, squared_norm = squared_norm, _dot(residual, preconditioned)
            ratio = squared_norm / before
            direction = Direction(*(new + ratio * old for new, old in zip(preconditioned, direction, strict=True)))
        return columns, effects

    def eliminate(self) -> tuple[Floats, Floats]:
        """Return the lower triangle and the right-hand side of the columns after exact elimination."""
        products, step = self.effects.products, max(1, ELIMINATED_ENTRIES // max(1, self.effects.size))
        gram, solve_effects = self.sums.gram.copy(), self._solve_effects
        for start in range(0, products.shape[1], step):
            part = slice(start, start + step)
            gram[:, part] -= products.T @ solve_effects(np.asfortranarray(products[:, part]))
        return np.tril(gram), self.sums.rhs - products.T @ solve_effects(self.effects.rhs)

    def effects_given(self, columns: Floats) -> Floats:
        """Return the random effects that suit these column weights."""
        return self._solve_effects(self.effects.rhs - self.effects.products @ columns)

    @cached_property
    def _solve_effects(self) -> Callable[[Floats], Floats]:
        """The solution of the equations of the random effects, given all else."""
        own = self.effects.curvature + self.effect_lambdas
        if not self.effects.shared.nnz:
            return lambda rhs: (rhs.T / own).T
        from scipy.sparse import csc_array, diags_array
        from scipy.sparse.linalg import splu  # takes long to import, and few models need it

        solve_sparse: Callable[[Floats], Floats] = splu(csc_array(self.effects.shared + diags_array(own))).solve
        return solve_sparse

    @cached_property
    def _products(self) -> Products:
        return sparse_if_few(self.effects.products) if self.sparse_products is None else self.sparse_products

    @cached_property
    def _diagonal(self) -> Floats:
        diagonal: Floats = self.n_inputs * self.effects.curvature + self.effect_lambdas
        return diagonal

    @cached_property
    def _factor(self) -> Floats:
        return factorize(self.penalties.add_to(self.eliminated[0], self.lambdas))

    @cached_property
    def _lower(self) -> Floats:
        return self.penalties.add_to(self.sums.gram, self.lambdas)

    @cached_property
    def _eliminated_part(self) -> Floats:
        return self.sums.gram - self.eliminated[0]

    def _precondition(self, columns: Floats, effects: Floats) -> Direction:
        """Return the solution with the diagonal in place of the matrix of the random effects."""
        products, diagonal = self._products, self._diagonal
        of_effects = products.T @ (effects / diagonal)
        weights: Floats = lapack.dpotrs(self._factor, columns - of_effects, lower=0)[0]
        of_weights = products @ weights
        image = of_effects - blas.dsymv(1.0, self._eliminated_part.T, weights, lower=0)
        return Direction(weights, (effects - of_weights) / diagonal, of_weights, image)

    def _multiply(self, direction: Direction) -> tuple[Floats, Floats]:
        """Return the product of the whole matrix with weights of columns and random effects."""
        columns, effects, of_weights, of_effects = direction
        image = of_weights + self.effects.shared @ effects
        image += (self.effects.curvature + self.effect_lambdas) * effects
        return blas.dsymv(1.0, self._lower.T, columns, lower=0) + of_effects, image


def _dot(one: Sequence[Floats], other: Sequence[Floats]) -> float:
    return float(one[0] @ other[0] + one[1] @ other[1])


def _next_effect_lambdas(
    effects: RandomEffectSums, group_index: NDArray[np.int64], fit: tuple[Floats, Floats], policy: SmoothingPolicy
) -> Floats:
    """Return the maximum likelihood smoothing parameter of each input, given all other weights."""
    column_weights, effect_weights = fit
    residual = effects.rhs - effects.products @ column_weights - effects.shared @ effect_weights
    noise = effects.squares.sum() / max(float(effects.curvature.sum()), 1e-300)
    lambdas = []
    for group in range(int(group_index.max()) + 1):
        has_rows = (group_index == group) & (effects.curvature > 0.0)
        lambdas.append(likeliest_lambda(effects.curvature[has_rows], residual[has_rows] ** 2, float(noise), policy))
    return np.array(lambdas)


def likeliest_lambda(curvature: Floats, squares: Floats, noise: float, policy: SmoothingPolicy) -> float:
    """Return the likeliest smoothing parameter s if a residual sum of curvature c has variance c noise + c c / s."""
    from scipy.optimize import brentq, minimize_scalar  # take long to import, and few models need them

    def deviance(log_lambda: float) -> float:
        variance = curvature * (noise + curvature / np.exp(log_lambda))
        return float((np.log(variance) + squares / variance).sum())

    def slope(log_lambda: float) -> float:
        spread = curvature**2 / np.exp(log_lambda)
        variance = curvature * noise + spread
        return float((spread * (squares / variance - 1.0) / variance).sum())

    low, high = np.log(policy.min_lambda), np.log(policy.max_lambda)
    found = float(minimize_scalar(deviance, bounds=(low, high), method="bounded").x)
    # That is good to five digits. Where the slope changes sign nearby, its root is as good as the sums are.
    below, above = max(low, found - NEAR), min(high, found + NEAR)
    if slope(below) < 0.0 < slope(above):
        found = float(brentq(slope, below, above, xtol=1e-14))
    return float(np.exp(found))
