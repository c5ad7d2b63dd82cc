"""The choice of a model by its partial AUC, the same in every family: mixtures that weigh the highest negatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from opauc.types import Floats

# The candidate that is no mixture in every family: its rows weigh what they weigh.
LOGISTIC = "logistic"
# Largest part of a threshold that its width may vanish to, where negatives share their scores.
MIN_WIDTH = 1e-6


@dataclass(frozen=True)
class PartialAucPolicy:
    """The mixtures for a partial AUC, and when one is taken."""

    # Of the weight of the negatives, the share on the top ones, and how many times max_fpr of them those are.
    mixtures: tuple[tuple[float, float], ...] = ((0.3, 1.0), (0.6, 5.0))
    max_top: float = 0.5  # share of the negatives that the top ones are at most
    width: float = 0.5  # of the threshold, in steps from the top share to half of it
    min_errors: float = 1.0  # standard errors by which a mixture must be better than the best of the others
    # Rows without which nothing is compared: the figures would be noise.
    min_positives: int = 50
    min_top: float = 20.0  # negatives among the share max_fpr of them

    def top(self, times: float, max_fpr: float) -> float:
        """Return the share of the negatives that are on top, where these are so many times those allowed."""
        return min(times * max_fpr, self.max_top)

    def names(self, max_fpr: float) -> tuple[str, ...]:
        """Return the names of the mixtures."""
        return tuple(mixture_name(share, self.top(times, max_fpr)) for share, times in self.mixtures)


def mixture_name(share: float, top: float) -> str:
    """Return the name of a mixture that puts a share of the weight of the negatives on the top ones.

    Examples
    --------
    >>> from opauc.core.partial_auc import mixture_name
    >>> mixture_name(0.3, 0.01)
    'logistic, 0.3 on the top 0.01'
    """
    return f"{LOGISTIC}, {share:g} on the top {top:.3g}"


class TopWeight(NamedTuple):
    """Weights of negatives that put a share of their total on those of the highest scores, by a smooth threshold."""

    share: float
    threshold: float
    width: float
    mean: float  # of the smooth threshold over the negatives, by which it is divided

    @classmethod
    def of(cls, scores: Floats, weight: Floats, share: float, top: float, policy: PartialAucPolicy) -> TopWeight:
        """Return the weights for which a share `top` of these negatives is above the threshold.

        Examples
        --------
        >>> import numpy as np
        >>> from opauc.core.partial_auc import PartialAucPolicy, TopWeight
        >>> scores = np.linspace(-1.0, 1.0, 1001)
        >>> weights = TopWeight.of(scores, np.ones(1001), 0.3, 0.1, PartialAucPolicy())
        >>> round(weights.threshold, 2), round(float(weights.factors(scores).mean()), 6)
        (0.8, 1.0)
        """
        threshold, above = np.quantile(scores, [1.0 - top, 1.0 - top / 2.0]).tolist()
        width = max(policy.width * (above - threshold), MIN_WIDTH * (1.0 + abs(threshold)))
        mean = float(np.average(expit((scores - threshold) / width), weights=weight))
        return cls(share, threshold, width, mean)

    def factors(self, scores: Floats) -> Floats:
        """Return the factor on the weight of negatives with these scores."""
        above: Floats = expit((scores - self.threshold) / self.width)
        return 1.0 - self.share + self.share / self.mean * above


class ObjectiveSelection(NamedTuple):
    """The candidates for a partial AUC, and the one taken.

    Attributes
    ----------
    candidates : tuple of str
        What each candidate minimizes.
    partial_aucs : tuple of float
        What each reached on rows held out, standardized as by McClish.
    errors : tuple of float
        The standard errors of the differences from the best candidate that is no mixture, by leaving out one
        fold after the other.
    chosen : int
        The position of the candidate taken.
    """

    candidates: tuple[str, ...]
    partial_aucs: tuple[float, ...]
    errors: tuple[float, ...]
    chosen: int


def choose_candidate(
    candidates: tuple[str, ...], reached: Floats, without_fold: Floats, n_plain: int, policy: PartialAucPolicy
) -> ObjectiveSelection:
    """Return the choice: the best of the first `n_plain` candidates, or a mixture that is better beyond doubt.

    `reached` are the partial AUCs of all rows held out, `without_fold` those without
    the rows of each fold (one row per fold), from which the jackknife gives standard errors.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.core.partial_auc import PartialAucPolicy, choose_candidate
    >>> reached, without_fold = np.array([0.8, 0.81]), np.array([[0.8, 0.81], [0.79, 0.8]])
    >>> choose_candidate(("plain", "mixture"), reached, without_fold, 1, PartialAucPolicy()).chosen
    1
    """
    plain = int(reached[:n_plain].argmax())
    gains = without_fold - without_fold[:, [plain]]
    errors = np.sqrt((len(without_fold) - 1) * gains.var(axis=0))
    better = reached - reached[plain] > policy.min_errors * errors
    better[:n_plain] = False
    chosen = int(np.where(better, reached, -1.0).argmax()) if better.any() else plain
    return ObjectiveSelection(candidates, tuple(reached.tolist()), tuple(errors.tolist()), chosen)
