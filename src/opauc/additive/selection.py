"""Model selection by progressive validation: simpler candidate models score every later row before it is trained on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.basis.groups import ColumnGroups, GroupKind
from opauc.additive.penalties import Penalties
from opauc.additive.policy import SELECTION_POLICY, SelectionPolicy
from opauc.additive.smoothing import solve
from opauc.additive.sums import LinearizedSums
from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.core.mergeable import Mergeable
from opauc.errors import IncompatibleMomentsError
from opauc.types import Arrays, Floats, Labels, NamedArrays

# The candidate models from the simplest to the full one; a basis without trees has no candidate "pairs".
LINEAR, ADDITIVE, CERTAIN_PAIRS, PAIRS, FULL = MODELS = ("linear", "additive", "certain pairs", "pairs", "full")
MODELS_WITHOUT_TREES = (LINEAR, ADDITIVE, CERTAIN_PAIRS, FULL)
# The fit to the initial sample: the fallback if the class proportions have changed too much since then.
SAMPLE = "sample"
# Scores are counted in equal bins between plus and minus so many log-odds.
N_BINS, MAX_SCORE = 4096, 16.0
CANDIDATES_SCHEMA = {
    "weights": ArrayRule("float64", "models columns"),
    "counts": ArrayRule("float64", f"models 2 {N_BINS}", low=0),
}


def candidate_columns(
    groups: ColumnGroups, main_columns: int, certain_columns: int, has_trees: bool = False
) -> dict[str, NDArray[np.int64]]:
    """Return the columns of each candidate: no curves, main effects, certain pairs too, all pairs; all with trees."""
    of_columns = groups.kinds[groups.of_columns()]
    linear = (GroupKind.INTERCEPT, GroupKind.BINARY, GroupKind.LINEAR, GroupKind.CATEGORICAL)
    columns = {
        LINEAR: np.flatnonzero(np.isin(of_columns, linear)),
        ADDITIVE: np.arange(main_columns),
        CERTAIN_PAIRS: np.arange(certain_columns),
        PAIRS: np.arange(groups.n_columns),
        FULL: np.arange(groups.n_columns),
    }
    if not has_trees:
        del columns[PAIRS]
    return columns


def candidate_weights(
    sums: LinearizedSums,
    penalties: Penalties,
    lambdas: Floats,
    columns: NDArray[np.int64],
    policy: SelectionPolicy = SELECTION_POLICY,
) -> Floats:
    """Return the weights of the model that has only these columns, zero for the others."""
    kept = np.unique(penalties.groups.of_columns()[columns])
    kept_lambdas = candidate_lambdas(penalties, lambdas, columns, policy)[kept]
    kept_sums = sums if columns.size == sums.n_features else sums.restrict(columns)
    weights = np.zeros(sums.n_features)
    weights[columns] = solve(kept_sums.gram, kept_sums.rhs, penalties.restrict(kept), kept_lambdas)
    return weights


def candidate_lambdas(
    penalties: Penalties, lambdas: Floats, columns: NDArray[np.int64], policy: SelectionPolicy = SELECTION_POLICY
) -> Floats:
    """Return the smoothing parameters of the model that has only these columns: limited if it has no curves."""
    kinds = penalties.groups.kinds[np.unique(penalties.groups.of_columns()[columns])]
    has_curves = np.isin(kinds, (GroupKind.SPLINE, GroupKind.PAIR)).any()
    return lambdas if has_curves else np.minimum(lambdas, policy.max_linear_lambda)


class ModelSelection(NamedTuple):
    """The selected model, the AUC of each candidate on the later rows, and the number of rows of each class.

    Attributes
    ----------
    model : str
        The model that scores: a candidate, or "sample" for the fit to the initial sample.
    aucs : dict of str to float
        AUC of each candidate model on the rows after the initial sample.
    rows : tuple of float
        Number of those rows of the negative and of the positive class.

    Examples
    --------
    >>> from opauc import OnePassGAM
    >>> OnePassGAM().fit([[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30).selection_.model
    'full'
    """

    model: str
    aucs: dict[str, float]
    rows: tuple[float, float]


@dataclass(frozen=True, eq=False)
class CandidateModels(Mergeable):
    """Score histograms of candidate models, fixed with the basis, on the rows after it: counts that merge.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.additive.selection import CandidateModels
    >>> weights = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, -1.0]])
    >>> rows, labels = csr_array([[1.0, 2.0], [1.0, -2.0]]), np.array([1, 0], np.int8)
    >>> CandidateModels.of(weights).update(rows, labels).select().model
    'additive'
    """

    weights: Floats  # (n_models, n_columns)
    counts: Floats  # (n_models, 2, N_BINS): rows of each class by their score

    @classmethod
    def of(cls, weights: Floats) -> Self:
        """Return the candidates before any row."""
        return cls(weights, np.zeros((len(weights), 2, N_BINS)))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the candidates."""
        return MODELS if len(self.weights) == len(MODELS) else MODELS_WITHOUT_TREES

    def empty_copy(self) -> Self:
        """Return the candidates before any row."""
        return self.of(self.weights)

    def update(
        self,
        rows: csr_array,
        labels: Labels,
        weight: Floats | None = None,
        fresh: NDArray[np.bool_] | None = None,
        blended: Floats | None = None,
        offset: Floats | None = None,
    ) -> Self:
        """Return the candidates after scoring rows that no candidate was trained on: all, or those that are fresh.

        `blended` are the scores of the full model where it is a blend with trees; `offset` is added to all scores, the
        level of the group of each row.
        """
        counted = slice(None) if fresh is None or fresh.all() else fresh
        first_bins = labels[counted] * np.int64(N_BINS)
        row_weights = None if weight is None else weight[counted]
        counts = self.counts.copy()
        for model, model_weights in enumerate(self.weights):
            is_full = model == len(self.weights) - 1
            scores: Floats = blended if is_full and blended is not None else (rows @ model_weights)[counted]
            if offset is not None:
                scores = scores + offset[counted]
            bins = np.clip(scores * (N_BINS / (2 * MAX_SCORE)) + N_BINS / 2, 0, N_BINS - 1)
            histogram = np.bincount(first_bins + bins.astype(np.int64), row_weights, minlength=2 * N_BINS)
            counts[model] += histogram.reshape(2, N_BINS)
        return replace(self, counts=counts)

    def merge(self, other: Self) -> Self:
        """Return the candidates with the scored rows of both."""
        self._check_same_candidates(other)
        return replace(self, counts=self.counts + other.counts)

    def subtract(self, other: Self) -> Self:
        """Return the candidates without the scored rows of `other`; no count falls below zero."""
        self._check_same_candidates(other)
        return replace(self, counts=np.maximum(self.counts - other.counts, 0.0))

    def select(self, policy: SelectionPolicy = SELECTION_POLICY, with_trees: bool = True) -> ModelSelection:
        """Return the selection: the full model, unless a candidate has a significantly larger AUC.

        Without trees, the model of all pairs takes the place of the full one.
        """
        names = self.names if with_trees or PAIRS not in self.names else self.names[:-1]
        negative, positive = self.counts[-1].sum(axis=1).tolist()
        if not (negative > 0 and positive > 0):
            return ModelSelection(names[-1], {}, (negative, positive))
        aucs = [_auc(*counts) for counts in self.counts[: len(names)]]
        best = int(np.argmax(aucs))
        margin = policy.min_z * np.sqrt((1.0 - aucs[-1]) / (2.0 * min(positive, negative)))
        model = names[best] if aucs[best] > aucs[-1] + margin else names[-1]
        return ModelSelection(model, dict(zip(names, aucs, strict=True)), (negative, positive))

    def to_arrays(self) -> Arrays:
        """Return copies of weights and counts, for a file or the network."""
        return {"weights": self.weights.copy(), "counts": self.counts.copy()}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the candidates from `to_arrays`; raise IncompatibleMomentsError if they are invalid."""
        n_models = check_arrays(CANDIDATES_SCHEMA, arrays)["models"]
        if n_models not in (len(MODELS), len(MODELS_WITHOUT_TREES)):
            raise IncompatibleMomentsError(f"weights: expected four or five candidate models, got {n_models}")
        return cls(np.asarray(arrays["weights"]), np.asarray(arrays["counts"]))

    def _check_same_candidates(self, other: Self) -> None:
        if not np.array_equal(self.weights, other.weights):
            raise IncompatibleMomentsError("score counts of different candidate models cannot be merged")


def _auc(negative: Floats, positive: Floats) -> float:
    """Return the AUC of binned scores, ties counting half."""
    below = np.cumsum(negative) - 0.5 * negative
    return float(positive @ below / (positive.sum() * negative.sum()))
