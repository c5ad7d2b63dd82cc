"""Columns that alone rank nearly all rows rightly: they may have been recorded after the outcome."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.knots import OrderedValues
from opauc.additive.initial_sample import SampleRows
from opauc.additive.policy import LEAK_POLICY, LeakPolicy
from opauc.core.fit import Fit
from opauc.types import Floats


class Leak(UserWarning):
    """A column that alone ranks nearly all rows rightly.

    Attributes
    ----------
    name : str
        The name of the column, or of a part of its dates.
    auc : float
        AUC of its values by themselves on rows of the initial sample.

    Examples
    --------
    >>> from opauc.additive.leaks import Leak
    >>> str(Leak("refund", 0.99963))[:55]
    'refund: this column alone ranks the rows with AUC 0.999'
    """

    def __init__(self, name: str, auc: float) -> None:
        self.name: str = name
        self.auc: float = auc
        shown = np.floor(1e4 * auc) / 1e4  # only a perfect ranking is shown as 1
        super().__init__(
            f"{name}: this column alone ranks the rows with AUC {shown:.4f}; if its value is not known before the "
            "outcome, drop it"
        )


def find_leaks(fit: Fit, names: Sequence[str], policy: LeakPolicy = LEAK_POLICY) -> list[Leak]:
    """Return the inputs, by their names, that alone rank nearly all rows rightly, the best first."""
    aucs = fit.input_aucs
    if aucs is None:
        return []
    return [Leak(names[j], float(aucs[j])) for j in np.argsort(-aucs, kind="stable") if aucs[j] > policy.min_auc]


def measure_inputs(
    sample: SampleRows, categorical: NDArray[np.bool_], policy: LeakPolicy = LEAK_POLICY
) -> Floats | None:
    """Return the AUC of each input by itself; None where rows are too few to tell.

    Values are put into bins: categories, quantiles of numbers, missing values. The
    bins are ordered by their share of positive rows in one half of the rows, and
    rank the other half.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.initial_sample import SampleRows
    >>> from opauc.additive.leaks import measure_inputs
    >>> rng, ones = np.random.default_rng(0), np.ones(1000)
    >>> labels = (rng.random(1000) < 0.3).astype(np.int8)
    >>> rows = np.c_[np.where(labels, np.nan, rng.normal(size=1000)), rng.normal(size=1000)]
    >>> measure_inputs(SampleRows(rows, labels, ones, ones), np.zeros(2, bool)).round(1)
    array([1. , 0.5])
    """
    screened, rare = (
        np.bincount(sample.labels[:n_rows], minlength=2).min() for n_rows in (policy.screened_rows, policy.max_rows)
    )
    if rare < policy.min_rare_rows:
        return None
    few = screened < policy.screened_rare_rows
    aucs, cells = np.empty(categorical.size), 2 * (np.arange(sample.labels.size) % 2) + sample.labels
    for j, is_categorical in enumerate(categorical.tolist()):
        for n_rows in (policy.max_rows,) if few or is_categorical else (policy.screened_rows, policy.max_rows):
            rows = slice(0, n_rows)  # the rows of a sample come in random order
            bins = _bin(sample.numbers[rows, j], sample.mass[rows], is_categorical, policy.n_bins)
            aucs[j] = _rank_halves(bins, cells[rows], sample.weight[rows])
            if aucs[j] < policy.screened_auc:
                break
    return aucs


def _bin(values: Floats, mass: Floats, is_categorical: bool, n_bins: int) -> NDArray[np.int64]:
    """Return the bin of each value: its category, its quantile with class-balanced weights, or the last if missing."""
    is_missing = np.isnan(values)
    if is_missing.any():
        bins = np.empty(values.size, np.int64)
        bins[~is_missing] = _bin(values[~is_missing], mass[~is_missing], is_categorical, n_bins)
        bins[is_missing] = bins[~is_missing].max(initial=0) + 1
        return bins
    if is_categorical or not values.size:
        return np.unique(values, return_inverse=True)[1]
    is_greatest = values == values.max()
    if (is_greatest | (values == values.min())).all():
        return np.asarray(is_greatest, np.int64)
    order = np.argsort(values)
    cuts = np.unique(OrderedValues(values[order], mass[order]).quantiles(np.arange(1, n_bins) / n_bins))
    return np.searchsorted(cuts, values)


def _rank_halves(bins: NDArray[np.int64], cells: NDArray[np.int64], weight: Floats) -> float:
    """Return the mean AUC of the two halves of the rows, each ranked by the shares of positive rows in the other.

    `cells` has twice the half of each row, 0 or 1, plus its label.
    """
    sums = np.bincount(4 * bins + cells, weight, 4 * (int(bins.max()) + 1)).reshape(-1, 4)
    negative, positive = (np.ascontiguousarray(sums[:, label::2].T) for label in (0, 1))
    aucs = []
    for own, other in ((0, 1), (1, 0)):
        prior = positive[other].sum() / (positive[other].sum() + negative[other].sum())
        shares = (positive[other] + prior) / (positive[other] + negative[other] + 1.0)
        levels, level = np.unique(shares, return_inverse=True)  # bins of equal shares are ties
        high, low = (np.bincount(level, counts[own], levels.size) for counts in (positive, negative))
        below = np.cumsum(low) - 0.5 * low
        aucs.append(float(high @ below / max(high.sum() * low.sum(), 1e-300)))
    return float(np.mean(aucs))
