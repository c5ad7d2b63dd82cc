"""The blend of the additive model with a tree ensemble: what is fixed with the basis, and sums over later rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.basis.ensemble import TreeEnsemble, ValidationGain, join_ensembles
from opauc.additive.kernels.trees import add_leaf_terms, add_leaf_weights
from opauc.additive.policy import TREE_POLICY, TreePolicy
from opauc.additive.trees.grow import CodedRows
from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.core.logistic import linearize
from opauc.core.mergeable import Mergeable
from opauc.errors import IncompatibleMomentsError
from opauc.types import Arrays, Floats, Labels, NamedArrays

# Positions among the weights of a blend.
ADDITIVE, TREES, INTERCEPT = range(3)
# Newton steps of the weights of a blend at most; they converge in a few.
MAX_STEPS = 50
# Added to the diagonal of the Gram matrix of a blend, relative to its trace: two scores may be equal.
RIDGE = 1e-10
SUMS_SCHEMA = {
    "residuals": ArrayRule("float64", "leaves"),
    "curvatures": ArrayRule("float64", "leaves"),
    "n_rows": ArrayRule("float64"),
    "gram": ArrayRule("float64", "3 3"),
    "rhs": ArrayRule("float64", "3"),
}
BLEND_SCHEMA = {
    "point": ArrayRule("float64", "3"),
    "additive": ArrayRule("float64", "nonzero"),
    "additive_at": ArrayRule("int64", "nonzero", low=0, below="additive", rising=True),
    "validation_codes": ArrayRule("uint8", "validation coded"),
    "validation_labels": ArrayRule("int8", "validation", low=0, high=1),
    "validation_weight": ArrayRule("float64", "validation", low=0),
    "validation_additive": ArrayRule("float64", "validation"),
    "validation_trees": ArrayRule("float64", "validation"),
    "validation_offset": ArrayRule("float64", "validation", optional=True),
    "frozen": ArrayRule("bool"),
    "kept_codes": ArrayRule("uint8", "kept coded"),
    **SUMS_SCHEMA,
}


@dataclass(frozen=True, eq=False)
class BlendSums(Mergeable):
    """Sums over rows, linearized at one blend: of residual and curvature per leaf, and of the blend's two scores.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.trees.blend import BlendSums
    >>> sums = BlendSums(np.ones(2), np.ones(2), 2.0, np.eye(3), np.ones(3))
    >>> sums.merge(sums).subtract(sums).residuals.tolist()
    [1.0, 1.0]
    """

    residuals: Floats  # (n_leaves,)
    curvatures: Floats  # (n_leaves,)
    n_rows: float  # total sample weight
    gram: Floats  # (3, 3)
    rhs: Floats  # (3,)

    @classmethod
    def empty(cls, n_leaves: int) -> Self:
        """Return the sums of no rows."""
        return cls(np.zeros(n_leaves), np.zeros(n_leaves), 0.0, np.zeros((3, 3)), np.zeros(3))

    def empty_copy(self) -> Self:
        """Return the sums of no rows."""
        return self.empty(self.residuals.size)

    def merge(self, other: Self) -> Self:
        """Return the sums of both sets of rows."""
        return self._plus(other, 1.0)

    def subtract(self, other: Self) -> Self:
        """Return the sums of the rows that are not in `other`."""
        return self._plus(other, -1.0)

    def to_arrays(self) -> Arrays:
        """Return copies of all sums."""
        return {name: np.array(getattr(self, name)) for name in SUMS_SCHEMA}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the sums from `to_arrays`; raise IncompatibleMomentsError if their shapes do not fit."""
        check_arrays(SUMS_SCHEMA, arrays)
        residuals, curvatures, n_rows, gram, rhs = (np.array(arrays[name]) for name in SUMS_SCHEMA)
        return cls(residuals, curvatures, float(n_rows), gram, rhs)

    def _plus(self, other: Self, sign: float) -> Self:
        if self.residuals.size != other.residuals.size:
            raise IncompatibleMomentsError(
                f"sums of {self.residuals.size} leaves and of {other.residuals.size} cannot be merged"
            )
        return type(self)(
            self.residuals + sign * other.residuals,
            self.curvatures + sign * other.curvatures,
            self.n_rows + sign * other.n_rows,
            self.gram + sign * other.gram,
            self.rhs + sign * other.rhs,
        )


class ValidationRows(NamedTuple):
    """Coded rows, and their scores by an additive model and by trees that have not seen them."""

    rows: CodedRows
    additive: Floats
    trees: Floats


@dataclass(frozen=True, eq=False)
class Blend:
    """Weights of the additive score, the ensemble's score and an intercept, and sums over the rows after the basis.

    `point`, the validation rows and the kept rows are fixed with the basis. Later rows are sums, which merge and can
    be subtracted. They change the leaves too, unless these are `frozen`: those of ensembles of several folds, each of
    which was grown on the validation rows of the others.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.trees.blend import fit_blend
    >>> random = np.random.default_rng(0)
    >>> scores = random.normal(size=(4000, 2))
    >>> labels = (random.random(4000) < 1 / (1 + np.exp(-scores @ [2.0, 1.0]))).astype(np.int8)
    >>> fit_blend(scores[:, 0], scores[:, 1], labels, np.ones(4000)).round().tolist()
    [2.0, 1.0, 0.0]
    """

    ensemble: TreeEnsemble
    additive: Floats  # weights of the additive part at which rows are linearized
    point: Floats  # (3,)
    validation: ValidationRows
    kept: NDArray[np.uint8]  # codes of rows that the trees were grown on
    sums: BlendSums
    frozen: bool = False

    @classmethod
    def start(
        cls,
        ensemble: TreeEnsemble,
        additive: Floats,
        validation: ValidationRows,
        grown: NDArray[np.uint8],
        frozen: bool = False,
        policy: TreePolicy = TREE_POLICY,
    ) -> Blend:
        """Return the blend that suits the validation rows; some of the rows that the trees were grown on are kept.

        `additive` are the weights of the additive part after the initial sample.
        """
        rows = validation.rows
        point = fit_blend(validation.additive, validation.trees, rows.labels, rows.weight, rows.offset)
        n_kept = min(policy.max_kept_rows, policy.max_kept_bytes // max(1, grown.shape[1]), len(grown))
        kept = grown[np.arange(n_kept) * len(grown) // max(1, n_kept)]
        return cls(ensemble, additive, point, validation, kept, BlendSums.empty(ensemble.n_leaves), frozen)

    @property
    def gain(self) -> ValidationGain:
        """What the trees gain on the validation rows over the additive model alone, calibrated on the same rows."""
        rows, additive = self.validation.rows, self.validation.additive
        alone = fit_blend(additive, None, rows.labels, rows.weight, rows.offset)
        before = log_losses(additive * alone[ADDITIVE] + alone[INTERCEPT], rows)
        return measure_gain(before, log_losses(self.point @ self._validation_columns, rows))

    def update(
        self,
        additive: Floats,
        leaves: NDArray[np.int32],
        labels: Labels,
        weight: Floats | None,
        offset: Floats | None = None,
    ) -> Self:
        """Return the blend after more rows, given their scores by the additive model, leaves, and levels of groups."""
        return replace(self, sums=self.sums.merge(self._sums_of(additive, leaves, labels, weight, offset)))

    def reweighted(self, weights: Callable[[Floats, Labels, Floats | None], Floats]) -> Self:
        """Return the blend whose validation rows weigh otherwise: a function of additive score, label and weight."""
        rows, additive, _ = self.validation
        weighted = rows._replace(weight=weights(additive, rows.labels, rows.weight))
        return replace(self, validation=self.validation._replace(rows=weighted))

    def merge(self, other: Self) -> Self:
        """Return the blend after the rows of both."""
        self._check_same(other)
        return replace(self, sums=self.sums.merge(other.sums))

    def subtract(self, other: Self) -> Self:
        """Return the blend without the rows of `other`."""
        self._check_same(other)
        return replace(self, sums=self.sums.subtract(other.sums))

    def empty_copy(self) -> Self:
        """Return the blend before any later row."""
        return replace(self, sums=BlendSums.empty(self.ensemble.n_leaves))

    def scores(self, additive: Floats, leaves: NDArray[np.int32]) -> Floats:
        """Return the scores of rows at the point at which they are linearized."""
        scores: Floats = self.point @ self._columns(additive, leaves)
        return scores

    @cached_property
    def weights(self) -> Floats:
        """The weights of the blend by the validation rows and the later ones: one Newton step from `point`."""
        rows = self.validation.rows
        gram, rhs = blend_sums(self._validation_columns, self.point, rows.labels, rows.weight, rows.offset)
        prior_gram, prior_rhs = blend_prior(self._validation_columns, rows.weight)
        return solve_blend(gram + prior_gram + self.sums.gram, rhs + prior_rhs + self.sums.rhs)

    def leaf_weights(self, policy: TreePolicy = TREE_POLICY) -> Floats:
        """Return the leaf values for all rows: as grown, plus the step that suits the validation rows best.

        Of the candidates of the policy for ridge and step length, the one with the lowest log loss is taken.
        """
        n_grown = len(self.kept)
        if self.frozen or not n_grown or self.sums.n_rows < policy.min_later_rows * n_grown:
            return self.ensemble.values
        values, rows = self.ensemble.values, self.validation.rows
        leaves = _indicators(self.ensemble, rows.codes)
        before = self.weights @ self._validation_columns
        lowest, best = float(log_losses(before, rows).sum()), values
        system = LeafSystem(_indicators(self.ensemble, self.kept), np.maximum(self.sums.curvatures, 0.0))
        for ridge in policy.leaf_ridges:
            step = system.solve(self.sums.residuals, ridge, policy) / max(float(self.point[TREES]), 1e-6)
            change = self.weights[TREES] * (leaves @ step)
            for length in policy.leaf_steps:
                loss = float(log_losses(before + length * change, rows).sum())
                if loss < lowest:
                    lowest, best = loss, values + length * step
        return best

    def to_arrays(self) -> Arrays:
        """Return copies of all arrays but those of the ensemble, for a file or the network."""
        rows, additive, trees = self.validation
        return {
            "frozen": np.array(self.frozen),
            "point": self.point.copy(),
            "additive": self.additive[used := np.flatnonzero(self.additive)],
            "additive_at": used,
            "validation_codes": rows.codes.copy(),
            "validation_labels": rows.labels.copy(),
            "validation_weight": rows.weight.copy(),
            "validation_additive": additive.copy(),
            "validation_trees": trees.copy(),
            **({} if rows.offset is None else {"validation_offset": rows.offset.copy()}),
            "kept_codes": self.kept.copy(),
            **self.sums.to_arrays(),
        }

    @classmethod
    def from_arrays(cls, ensemble: TreeEnsemble, n_additive: int, arrays: NamedArrays) -> Self:
        """Return the blend of an ensemble from `to_arrays`; raise IncompatibleMomentsError if they do not fit it."""
        sizes = {"leaves": ensemble.n_leaves, "coded": ensemble.codes.n_coded, "additive": n_additive}
        check_arrays(BLEND_SCHEMA, arrays, sizes)
        parts = {name: np.ascontiguousarray(arrays[name]) for name in arrays if name not in SUMS_SCHEMA}
        rows = CodedRows(
            parts["validation_codes"], parts["validation_labels"], parts["validation_weight"],
            parts.get("validation_offset"),
        )  # fmt: skip
        validation = ValidationRows(rows, parts["validation_additive"], parts["validation_trees"])
        sums = BlendSums.from_arrays({name: arrays[name] for name in SUMS_SCHEMA})
        additive = np.zeros(n_additive)
        additive[parts["additive_at"]] = parts["additive"]
        kept, frozen = parts["kept_codes"], bool(parts["frozen"])
        return cls(ensemble, additive, parts["point"], validation, kept, sums, frozen)

    def _sums_of(
        self,
        additive: Floats,
        leaves: NDArray[np.int32],
        labels: Labels,
        weight: Floats | None,
        offset: Floats | None,
    ) -> BlendSums:
        """Return the sums of rows."""
        weight = np.ones(labels.size) if weight is None else weight
        columns = self._columns(additive, leaves)
        curvature, residual = linearize(_with_offset(self.point @ columns, offset), labels)
        sums = BlendSums.empty(self.ensemble.n_leaves)
        add_leaf_terms(leaves, weight * residual, weight * curvature, sums.residuals, sums.curvatures)
        gram, rhs = blend_sums(columns, self.point, labels, weight, offset)
        return replace(sums, n_rows=float(weight.sum()), gram=gram, rhs=rhs)

    def _columns(self, additive: Floats, leaves: NDArray[np.int32]) -> Floats:
        trees = np.zeros(additive.size)
        add_leaf_weights(leaves, self.ensemble.values, trees)
        return blend_columns(additive, trees)

    @property
    def _validation_columns(self) -> Floats:
        return blend_columns(self.validation.additive, self.validation.trees)

    def _check_same(self, other: Self) -> None:
        if not np.array_equal(self.point, other.point) or self.ensemble.n_leaves != other.ensemble.n_leaves:
            raise IncompatibleMomentsError("sums of different tree ensembles cannot be merged")


class LeafSystem:
    """The equations for leaf weights: which leaves occur together, and the curvature of each leaf.

    The Gram matrix of the leaf indicators over all rows is not kept. Kept rows show which leaves occur together; a
    leaf of curvature h that c of these rows have is scaled by sqrt(h / c), so that the diagonal is exact.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.additive.trees.blend import LeafSystem
    >>> system = LeafSystem(csr_array(np.eye(2)), np.array([9.0, 4.0]))
    >>> system.solve(np.array([10.0, 5.0]), ridge=0.0).round(1).tolist()
    [1.1, 1.1]
    """

    def __init__(self, indicators: csr_array, curvatures: Floats) -> None:
        counts = np.asarray(indicators.sum(axis=0)).ravel()
        self._indicators, self._transposed = indicators, indicators.T.tocsr()
        self._n_trees = float(np.diff(indicators.indptr).max(initial=1))
        self._curvatures = curvatures
        self._scales = np.sqrt(curvatures / np.maximum(counts, 1.0))

    def solve(self, residuals: Floats, ridge: float, policy: TreePolicy = TREE_POLICY) -> Floats:
        """Return x with (Gram matrix + ridge * curvatures + 1) x = residuals, by Chebyshev iteration.

        A fixed number of steps from zero is linear in the residuals, so that merged and subtracted sums give the
        same weights to rounding; conjugate gradients would not.
        """
        diagonal = (1.0 + ridge) * self._curvatures + 1.0

        def apply(x: Floats) -> Floats:
            product = self._scales * (self._transposed @ (self._indicators @ (self._scales * x)))
            applied: Floats = (product + ridge * self._curvatures * x + x) / diagonal
            return applied

        # A row has one leaf per tree, and the square of a sum of n numbers is at most n times the sum of their squares:
        # no eigenvalue is larger, and that of equal weights comes near.
        largest = (self._n_trees + ridge) / (1.0 + ridge)
        smallest = largest / policy.condition
        middle, half = 0.5 * (largest + smallest), 0.5 * (largest - smallest)
        x, rest = np.zeros(residuals.size), residuals / diagonal
        move, factor = rest / middle, half / middle
        for _ in range(policy.chebyshev_steps):
            x = x + move
            rest = rest - apply(move)
            next_factor = 1.0 / (2.0 * middle / half - factor)
            move, factor = next_factor * factor * move + (2.0 * next_factor / half) * rest, next_factor
        return x


def _indicators(ensemble: TreeEnsemble, codes: NDArray[np.uint8]) -> csr_array:
    """Return the leaf indicators of coded rows."""
    leaves = ensemble.leaves(codes)
    ends = np.arange(0, leaves.size + 1, max(1, leaves.shape[1]))
    return csr_array((np.ones(leaves.size), leaves.ravel(), ends), shape=(len(codes), ensemble.n_leaves))


def log_losses(scores: Floats, rows: CodedRows) -> Floats:
    """Return the weighted logistic losses of rows with these scores, to which the levels of their groups are added."""
    all_scores = _with_offset(scores, rows.offset)
    return np.asarray(rows.weight * np.logaddexp(0.0, (1.0 - 2.0 * rows.labels) * all_scores))


def _with_offset(scores: Floats, offset: Floats | None) -> Floats:
    return scores if offset is None else scores + offset


def measure_gain(before: Floats, after: Floats) -> ValidationGain:
    """Return the validation gain of rows whose losses were `before` and are `after`.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.trees.blend import measure_gain
    >>> measure_gain(np.array([1.0, 2.0]), np.array([0.5, 1.7])).share.__round__(3)
    0.267
    """
    gains = before - after
    error = float(gains.std() * np.sqrt(gains.size))
    return ValidationGain(
        float(gains.sum()) / max(error, 1e-300), float(gains.sum()) / max(float(before.sum()), 1e-300)
    )


def blend_columns(additive: Floats, trees: Floats) -> Floats:
    """Return the columns of a blend as rows of an array: the additive score, that of the trees, ones."""
    return np.stack([additive, trees, np.ones(additive.size)])


def blend_sums(
    columns: Floats, point: Floats, labels: Labels, weight: Floats, offset: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return the Gram matrix and the right-hand side of the logistic loss of the columns of a blend."""
    curvature, residual = linearize(_with_offset(point @ columns, offset), labels)
    gram = (columns * (weight * curvature)) @ columns.T
    return gram, gram @ point + columns @ (weight * residual)


def blend_prior(columns: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return the sums of a prior that is worth one row: each score has half the weight.

    Rows that the scores separate would otherwise have weights without bound.
    """
    squares = columns**2 @ weight / max(float(weight.sum()), 1e-300)
    gram = np.diag(squares * (np.arange(3) != INTERCEPT))
    return gram, gram @ np.array([0.5, 0.5, 0.0])


def solve_blend(gram: Floats, rhs: Floats) -> Floats:
    """Return the weights with the lowest quadratic loss of which those of the two scores are not negative."""
    best, lowest = np.zeros(3), np.inf
    for used in ([0, 1, 2], [0, 2], [1, 2], [2]):
        part = gram[np.ix_(used, used)] + RIDGE * max(float(np.trace(gram)), 1e-300) * np.eye(len(used))
        weights = np.zeros(3)
        weights[used] = np.linalg.solve(part, rhs[used])
        loss = 0.5 * float(weights @ gram @ weights) - float(rhs @ weights)
        if (weights[:2] >= 0.0).all() and loss < lowest:
            best, lowest = weights, loss
    return best


def fit_blend(
    additive: Floats, trees: Floats | None, labels: Labels, weight: Floats, offset: Floats | None = None
) -> Floats:
    """Return the weights of two scores and an intercept with the lowest logistic loss; no score has a negative weight.

    Without trees, their weight is zero. `offset` is added to each score: the level of its group.
    """
    columns = blend_columns(additive, np.zeros(labels.size) if trees is None else trees)
    point, prior = np.array([0.5, 0.0 if trees is None else 0.5, 0.0]), blend_prior(columns, weight)
    for _ in range(MAX_STEPS):
        (gram, rhs), (prior_gram, prior_rhs) = blend_sums(columns, point, labels, weight, offset), prior
        after = solve_blend(gram + prior_gram, rhs + prior_rhs)
        converged = np.abs(after - point).max() < 1e-9 * (1.0 + np.abs(point).max())
        point = after
        if converged:
            break
    return point


def average_ensembles(
    ensembles: Sequence[TreeEnsemble], scores: Sequence[Floats], rows: CodedRows
) -> tuple[TreeEnsemble, Floats]:
    """Return the average of one or two ensembles that suits rows best, of which these are the scores, and its scores.

    The weights of the average are those of a logistic regression without negative weights.
    """
    if len(ensembles) == 1:
        return ensembles[0], scores[0]
    weights = fit_blend(scores[0], scores[1], rows.labels, rows.weight, rows.offset)[:2]
    weights = weights / weights.sum() if weights.sum() > 0.0 else np.full(2, 0.5)
    kept = np.flatnonzero(weights > 0.0).tolist()
    return join_ensembles([ensembles[k] for k in kept], weights[kept]), weights @ np.stack(scores)
