"""Tree ensembles grown by LightGBM on the codes of rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from opauc.additive.basis.bins import ValueCodes
from opauc.additive.basis.ensemble import TreeEnsemble, join_ensembles
from opauc.additive.kernels.trees import TreeSplits
from opauc.additive.policy import GROUP_POLICY, TREE_POLICY, Growth, TreePolicy
from opauc.core.threads import raise_if_dropped
from opauc.errors import TreesUnavailableWarning
from opauc.types import Floats, Labels

# Rows by which the most frequent code of a column is found, and the share of other codes below which rows are sparse.
MODE_ROWS, SPARSE_SHARE = 2048, 0.2


class CodedRows(NamedTuple):
    """Rows of codes with labels and sample weights; where there are groups, the level of each and its offset."""

    codes: NDArray[np.uint8]
    labels: Labels
    weight: Floats
    offset: Floats | None = None
    places: NDArray[np.int64] | None = None

    def take(self, rows: NDArray[np.int64]) -> CodedRows:
        """Return some of the rows."""
        offset = None if self.offset is None else self.offset[rows]
        places = None if self.places is None else self.places[rows]
        return CodedRows(self.codes[rows], self.labels[rows], self.weight[rows], offset, places)


class WithinGroups:
    """The logistic loss of rows with a level of each group, which follows the trees: one Newton step at each tree.

    The residuals of a group then add up to nearly nothing: what its rows have in common is no merit of a split, however
    few rows the level is estimated from. Groups of one class, whose level would be infinite, have no residuals.
    """

    def __init__(
        self, rows: CodedRows, places: NDArray[np.int64], level_penalty: float = GROUP_POLICY.level_penalty
    ) -> None:
        _, self._places = np.unique(places, return_inverse=True)
        n_rows, n_positive = (np.bincount(self._places, part) for part in (None, rows.labels))
        is_ranked = ((n_positive > 0) & (n_positive < n_rows))[self._places]
        self._labels, self._weight, self._penalty = rows.labels, rows.weight * is_ranked, level_penalty
        negative, positive = np.bincount(rows.labels, rows.weight, minlength=2).tolist()
        self._mean = np.log((positive + 0.5) / (negative + 0.5))
        self._levels = np.full(int(self._places.max(initial=-1)) + 1, self._mean)

    def __call__(self, scores: Floats, data: object) -> tuple[Floats, Floats]:  # noqa: ARG002  LightGBM gives both
        """Return the gradient and the curvature of each row."""
        gradient, curvature = self._terms(scores)
        sums, curvatures = (np.bincount(self._places, part) for part in (gradient, curvature))
        sums = sums + self._penalty * (self._levels - self._mean)
        self._levels = self._levels - sums / (curvatures + self._penalty)
        return self._terms(scores)

    def _terms(self, scores: Floats) -> tuple[Floats, Floats]:
        share = expit(scores + self._levels[self._places])
        return self._weight * (share - self._labels), self._weight * share * (1.0 - share)


class GrowthLimits(NamedTuple):
    """Inputs in which trees rise (1) or fall (-1), and the groups of inputs that a branch may combine; None if any.

    Inputs in no group are one more group.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.trees.grow import GrowthLimits
    >>> limits = GrowthLimits(((2, -1),), ((0, 1),))
    >>> limits.parameters(np.array([0, 1, 2, 3]))
    {'monotone_constraints': [0, 0, -1, 0], 'interaction_constraints': [[0, 1], [2, 3]]}
    """

    directions: tuple[tuple[int, int], ...] = ()
    groups: tuple[tuple[int, ...], ...] | None = None

    def parameters(self, sources: NDArray[np.int64]) -> dict[str, object]:
        """Return the parameters of LightGBM for coded columns of these inputs."""
        parameters: dict[str, object] = {}
        if self.directions:
            signs = dict(self.directions)
            parameters["monotone_constraints"] = [signs.get(j, 0) for j in sources.tolist()]
        if self.groups is not None:
            groups = complete_groups(self.groups, sources)
            columns = [np.flatnonzero(np.isin(sources, group)).tolist() for group in groups]
            parameters["interaction_constraints"] = [group for group in columns if group]
        return parameters


NO_LIMITS = GrowthLimits()


def complete_groups(groups: Sequence[Sequence[int]], inputs: NDArray[np.int64]) -> list[Sequence[int]]:
    """Return groups of inputs, and one of the inputs that are in none of them."""
    others = np.setdiff1d(inputs, [j for group in groups for j in group])
    return [*groups, others.tolist()]


def grow_ensemble(
    codes: ValueCodes,
    rows: CodedRows,
    validation: CodedRows,
    growth: Growth = TREE_POLICY.growth,
    max_leaves: int = TREE_POLICY.max_leaves_of_all,
    seed: int = 0,
    n_threads: int = 1,
    limits: GrowthLimits = NO_LIMITS,
) -> TreeEnsemble | None:
    """Return the ensemble of trees boosted on rows until the AUC of the validation rows stops rising.

    None if no tree raises it, or if LightGBM cannot be loaded, which a warning says. The same rows in the same order
    give the same trees, whatever the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.bins import ValueCodes
    >>> from opauc.additive.trees.grow import CodedRows, grow_ensemble
    >>> numbers = np.random.default_rng(0).normal(size=(4000, 2))
    >>> labels, ones = (numbers.prod(axis=1) > 0).astype(np.int8), np.ones(4000)
    >>> codes = ValueCodes.of(numbers, labels, ones, np.zeros(2, bool))
    >>> rows = CodedRows(codes.of_rows(numbers), labels, ones)
    >>> ensemble = grow_ensemble(codes, rows.take(np.arange(3000)), rows.take(np.arange(3000, 4000)))
    >>> bool(((ensemble.scores(numbers) > 0) == labels).mean() > 0.97)
    True
    """
    lightgbm = load_lightgbm()
    if lightgbm is None:
        return None
    # LightGBM leaves out columns with one code: they must not count here either.
    n_varying = int(np.count_nonzero(rows.codes.min(axis=0) < rows.codes.max(axis=0)))
    n_leaves = growth.leaves_for(rows.labels.size, int(np.bincount(rows.labels, minlength=2).min()))
    objective = None if rows.places is None else WithinGroups(rows, rows.places)
    parameters = {
        "objective": "binary" if objective is None else "none", "metric": "auc", "num_leaves": n_leaves,
        "learning_rate": growth.rate_for(rows.labels.size), "lambda_l2": growth.ridge,
        "feature_fraction": growth.input_share_of(n_varying), "min_data_in_leaf": growth.min_leaf_rows,
        "bagging_fraction": growth.row_share, "bagging_freq": int(growth.row_share < 1.0),
        "extra_trees": growth.random_splits,
        "max_bin": 255, "min_data_in_bin": 1, "use_missing": False, "feature_pre_filter": False,
        "deterministic": True, "force_row_wise": True, "num_threads": n_threads, "seed": seed % 2**31, "verbose": -1,
        **limits.parameters(codes.sources),
    }  # fmt: skip
    usual = most_frequent_codes(rows.codes)
    data = lightgbm.Dataset(
        relative_codes(rows.codes, usual, n_varying), rows.labels, weight=rows.weight, params=parameters
    )
    held_out = data.create_valid(
        relative_codes(validation.codes, usual, n_varying),
        validation.labels,
        weight=validation.weight,
        init_score=validation.offset,
        params=parameters,
    )
    booster = lightgbm.Booster(parameters, data).add_valid(held_out, "validation")
    best_size = _boost(booster, max(1, max_leaves // n_leaves), growth, objective)
    text = booster.model_to_string(num_iteration=best_size)
    return read_trees(text, codes, usual)


def most_frequent_codes(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the code that most of some rows have, of each column."""
    some = codes[:: max(1, len(codes) // MODE_ROWS)]
    return np.array([np.bincount(column).argmax() for column in some.T], np.uint8)


def relative_codes(
    codes: NDArray[np.uint8], usual: NDArray[np.uint8], n_varying: int
) -> NDArray[np.float32] | csr_array:
    """Return the codes less those that most rows have, as LightGBM takes them: what is zero costs it little.

    They are sparse where they are few among the entries of the columns that vary.
    """
    some = codes[:: max(1, len(codes) // MODE_ROWS)]
    if np.count_nonzero(some != usual) >= SPARSE_SHARE * len(some) * n_varying:
        return np.subtract(codes, usual, dtype=np.float32)
    differs = codes != usual
    ends = np.append(0, np.cumsum(np.count_nonzero(differs, axis=1))).astype(np.int32)
    at = np.flatnonzero(differs)
    columns = (at % codes.shape[1]).astype(np.int32)
    values = np.subtract(codes.ravel()[at], usual[columns], dtype=np.float32)
    return csr_array((values, columns, ends), shape=codes.shape)


def _boost(booster: Any, max_trees: int, growth: Growth, objective: WithinGroups | None = None) -> int:
    """Add trees until the AUC of the validation rows stops rising; return how many trees it is highest with."""
    best_auc, best_size = -np.inf, 1
    for size in range(1, max_trees + 1):
        raise_if_dropped()
        is_finished = booster.update(fobj=objective)
        if size % growth.trees_per_look == 0 or size == max_trees or is_finished:
            auc = booster.eval_valid()[0][2]
            if auc > best_auc + growth.min_progress:
                best_auc, best_size = auc, size
            elif size - best_size >= growth.patience:
                break
        if is_finished:
            break
    return best_size


class CrossFit(NamedTuple):
    """The mean of the ensembles of several folds, and the score of each row by the one that has not seen it."""

    ensemble: TreeEnsemble
    scores: Floats


def cross_fit(
    codes: ValueCodes,
    rows: CodedRows,
    folds: NDArray[np.int64],
    growth: Growth,
    max_leaves: int,
    seed: int = 0,
    n_threads: int = 1,
    limits: GrowthLimits = NO_LIMITS,
    offsets: Sequence[Floats] | None = None,
) -> CrossFit | None:
    """Return ensembles of which each is grown without one fold of the rows; None if one of them has no tree.

    The codes are those of `code_folds`: an ensemble splits on the columns that were coded without its fold. `offsets`
    are the levels of the groups of all rows for each fold, estimated without it.
    """
    ensembles, scores = [], np.empty(rows.labels.size)
    for fold in range(int(folds.max()) + 1):
        held_out, columns = np.flatnonzero(folds == fold), fold_columns(codes, fold, int(folds.max()) + 1)
        own = rows._replace(codes=rows.codes[:, columns], offset=None if offsets is None else offsets[fold])
        others = own.take(np.flatnonzero(folds != fold))
        fold_codes, validation = codes.take(columns), own.take(held_out)
        grown = grow_ensemble(fold_codes, others, validation, growth, max_leaves, seed, n_threads, limits)
        if grown is None:
            return None
        splits = grown.splits._replace(columns=columns[grown.splits.columns].astype(np.int32))
        ensemble = TreeEnsemble(codes, splits, grown.values)
        scores[held_out] = ensemble.products(rows.codes[held_out], ensemble.values)
        ensembles.append(ensemble)
    return CrossFit(join_ensembles(ensembles, np.full(len(ensembles), 1.0 / len(ensembles))), scores)


def code_folds(
    numbers: Floats,
    labels: Labels,
    weight: Floats,
    categorical: NDArray[np.bool_],
    folds: NDArray[np.int64],
    policy: TreePolicy = TREE_POLICY,
) -> ValueCodes:
    """Return codes of all rows, in which categorical inputs are coded once for each fold, without its rows.

    The order of categories depends on labels: with those of the fold, trees would seem to rank its rows well. The
    columns of numeric inputs come first, then those of the categorical inputs, fold by fold.
    """
    codes = ValueCodes.of(numbers, labels, weight, categorical, policy)
    if not categorical.any():
        return codes
    joined = codes.take(np.flatnonzero(~categorical))
    for fold in range(int(folds.max()) + 1):
        others = folds != fold
        without = ValueCodes.of(numbers[others], labels[others], weight[others], categorical, policy)
        joined = joined.join(without.take(np.flatnonzero(categorical)))
    return joined


def fold_columns(codes: ValueCodes, fold: int, n_folds: int) -> NDArray[np.int64]:
    """Return the coded columns of `code_folds` that a fold uses: the numeric ones and its own categorical ones."""
    of_categories = np.flatnonzero(codes.pooled_codes > 0)
    n_own = of_categories.size // n_folds
    own = of_categories[fold * n_own : (fold + 1) * n_own]
    return np.concatenate([np.flatnonzero(codes.pooled_codes == 0), own])


def load_lightgbm() -> ModuleType | None:
    """Return LightGBM; where it cannot be loaded, warn of what to install and return None."""
    try:
        import lightgbm
    except (ImportError, OSError) as fault:
        warnings.warn(
            TreesUnavailableWarning(
                f"LightGBM cannot be loaded ({fault}), so that no trees join the model, which may rank worse; "
                "on Debian or Ubuntu `apt-get install libgomp1` installs the library that its wheel needs"
            ),
            stacklevel=2,
        )
        return None
    return lightgbm


def read_trees(text: str, codes: ValueCodes, usual: NDArray[np.uint8]) -> TreeEnsemble | None:
    """Return the trees of a LightGBM model in its text form; None if no tree has a split.

    It was grown on codes less those that are `usual` in each column. The value of trees without a split is added to the
    leaves of the first tree.
    """
    parts: list[tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int32], Floats]] = []
    constant, n_splits, n_leaves, roots = 0.0, 0, 0, []
    for section in text.split("\nTree=")[1:]:
        lines = dict(line.split("=", 1) for line in section.split("\n\n", 1)[0].split("\n")[1:] if "=" in line)
        values = np.array(lines["leaf_value"].split(), np.float64)
        if values.size < 2:
            constant += float(values.sum())
            continue
        children = np.stack([np.array(lines[side].split(), np.int64) for side in ("left_child", "right_child")], axis=1)
        children = np.where(children >= 0, children + n_splits, children - n_leaves)
        # A row goes left if its code is at most the threshold, which lies between two codes.
        columns = np.array(lines["split_feature"].split(), np.int32)
        cuts = np.floor(np.array(lines["threshold"].split(), np.float64)) + usual[columns]
        parts.append(
            (
                columns,
                cuts.astype(np.uint8),
                children.astype(np.int32),
                values,
            )
        )
        roots.append(n_splits)
        n_splits, n_leaves = n_splits + len(children), n_leaves + values.size
    if not parts:
        return None
    inputs, cut_codes, all_children, all_values = (np.concatenate(part) for part in zip(*parts, strict=True))
    all_values[: parts[0][3].size] += constant
    return TreeEnsemble(codes, TreeSplits(inputs, cut_codes, all_children, np.array(roots, np.int32)), all_values)
