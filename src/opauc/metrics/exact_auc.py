"""The exact AUC of scored rows: the probability that a positive row outscores a negative one, ties counting half."""

from __future__ import annotations

from operator import mul
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.types import Floats

Counts: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Weights = TypeVar("Weights", Counts, Floats)


def exact_auc(labels: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Return the AUC: the share of the pairs of a positive and a negative row in which the positive scores higher.

    Ties count half, and a pair counts the product of the two sample weights. It takes O(n log n) time.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        Labels of 0 and 1, or booleans, of both classes.
    scores : array-like of shape (n_rows,)
        Scores, the higher the more positive. They are read as float64, and may be infinite but not NaN.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight of each row; None weights all rows alike.

    Returns
    -------
    auc : float
        The AUC, 0.5 by chance and 1 if every positive scores higher than every negative.

    Raises
    ------
    ValueError
        If all rows are of one class, a score is NaN, or the lengths differ.

    Examples
    --------
    >>> from opauc.metrics import exact_auc
    >>> exact_auc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    0.875
    >>> exact_auc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8], sample_weight=[1, 3, 1, 1])
    0.8125
    """
    positive, score = check_scores(labels, scores)
    check_both_classes(positive)
    if sample_weight is None:
        ones = np.ones(score.size, np.int64)
        return auc_of_counts(score[positive], score[~positive], ones[positive], ones[~positive])
    weight = check_weights(sample_weight, positive)
    above, below = _by_score(score[positive], score[~positive], weight[positive], weight[~positive])
    beaten = np.cumsum(below) - below / 2
    return float(np.clip(np.dot(above / above.sum(), beaten / below.sum()), 0.0, 1.0))


def auc_of_counts(positive: Floats, negative: Floats, positive_counts: Counts, negative_counts: Counts) -> float:
    """Return the AUC of scores with their counts, correctly rounded; no class may be empty.

    The arithmetic is in integers, so rounding never reverses the order of a lower and an upper bound.
    """
    above, below = _by_score(positive, negative, positive_counts, negative_counts)
    beaten = 2 * np.cumsum(below) - below
    pairs = 2 * int(above.sum()) * int(below.sum())
    if pairs < 2**63:
        return int(np.dot(above, beaten)) / pairs
    wins: int = sum(map(mul, above.tolist(), beaten.tolist()))
    return wins / pairs


def check_scores(labels: ArrayLike, scores: ArrayLike) -> tuple[Flags, Floats]:
    """Return which rows are positive, and their scores as float64; raise ValueError if they cannot be ranked."""
    label, score = np.asarray(labels), np.asarray(scores)
    if label.ndim != 1 or score.shape != label.shape:
        raise ValueError(f"labels and scores must be vectors of one length, got shapes {label.shape} and {score.shape}")
    if label.dtype != bool:
        invalid = np.flatnonzero((label != 0) & (label != 1))
        if invalid.size:
            at = int(invalid[0])
            raise ValueError(f"labels must be 0 or 1 (or booleans), got {label[at].item()!r} at row {at}")
    if score.dtype.kind not in "fiub":
        raise ValueError(f"scores must be real numbers, got dtype {score.dtype}")
    score = score.astype(np.float64)
    missing = np.isnan(score)
    if missing.any():
        raise ValueError(f"scores must not be NaN, got NaN at row {int(missing.argmax())}")
    return label.astype(bool), score


def check_both_classes(positive: Flags) -> None:
    """Raise ValueError unless there are rows of both classes."""
    n_positive = int(positive.sum())
    if not 0 < n_positive < positive.size:
        raise ValueError(
            f"AUC needs rows of both classes, got {n_positive} positives and {positive.size - n_positive} negatives"
        )


def _by_score(
    positive: Floats, negative: Floats, positive_weights: Weights, negative_weights: Weights
) -> tuple[Weights, Weights]:
    """Return the weight of the positives and of the negatives at each distinct score, rising."""
    scores = np.concatenate([positive, negative])
    weights = np.zeros((2, scores.size), positive_weights.dtype)
    weights[0, : positive.size] = positive_weights
    weights[1, positive.size :] = negative_weights
    order = np.argsort(scores)
    ranked = scores[order]
    starts = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
    above, below = np.add.reduceat(weights[:, order], starts, axis=1)
    return above, below


def check_weights(sample_weight: ArrayLike, positive: Flags) -> Floats:
    """Return the weights of rows as float64; raise ValueError unless both classes have some."""
    weight = np.asarray(sample_weight, np.float64)
    if weight.shape != positive.shape:
        raise ValueError(f"sample_weight must hold one number for each of the {positive.size} rows, got {weight.shape}")
    invalid = ~((weight >= 0) & np.isfinite(weight))
    if invalid.any():
        at = int(invalid.argmax())
        raise ValueError(f"sample_weight must be finite and not negative, got {weight[at]} at row {at}")
    if not (weight[positive].any() and weight[~positive].any()):
        raise ValueError("sample_weight must leave some weight to both classes")
    return weight
