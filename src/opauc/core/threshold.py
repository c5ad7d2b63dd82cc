"""A threshold of scores and the rates that it had on the rows it was chosen on."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

from scipy.special import betaincinv

from opauc.types import Json

LEVEL = 0.95
N_BOUNDS = 3


class Rate(NamedTuple):
    """A share of rows with its 95 % confidence interval (Clopper and Pearson's).

    Attributes
    ----------
    value : float
        The rate.
    low, high : float
        Its 95 % limits.

    Examples
    --------
    >>> from opauc.metrics import Rate
    >>> [round(bound, 3) for bound in Rate.of(8, 10)]
    [0.8, 0.444, 0.975]
    """

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, count: int, total: int) -> Rate:
        """Return the share of `count` among `total` rows; of no rows it is 0, and anything between 0 and 1.

        Parameters
        ----------
        count : int
            Number of successes.
        total : int
            Number of rows.

        Returns
        -------
        rate : Rate
            The rate with its limits.
        """
        tail = (1.0 - LEVEL) / 2.0
        low = float(betaincinv(count, total - count + 1, tail)) if count else 0.0
        high = float(betaincinv(count + 1, total - count, 1.0 - tail)) if count < total else 1.0
        return cls(count / total if total else 0.0, low, high)


class SavedThreshold(TypedDict):
    """A threshold in the header of a model file."""

    score: float
    false_positive_rate: list[float]
    recall: list[float]
    precision: list[float]
    n_negatives: int
    n_positives: int
    rule: str


class Threshold(NamedTuple):
    """A threshold: rows with a higher score are predicted positive.

    The rates are those of the rows it was chosen on. Their intervals take the threshold as given; since it was
    chosen on the same rows, they are somewhat narrow.

    Attributes
    ----------
    score : float
        The threshold, on the scale of `decision_function`.
    false_positive_rate, recall, precision : Rate
        Each with its 95 % confidence interval: the share of the negative rows above the threshold, of the positive
        rows above it, and of positive rows among those above it.
    n_negatives, n_positives : int
        Rows of each class that it was chosen on.
    rule : str
        What it was chosen for.

    Examples
    --------
    >>> from opauc.metrics import ThresholdRule, choose_threshold
    >>> threshold = choose_threshold([0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.8, 0.9], ThresholdRule(at_fpr=0.0))
    >>> round(threshold.score, 2), threshold.recall.value, threshold.rule
    (0.7, 0.6666666666666666, 'at_fpr=0')
    """

    score: float
    false_positive_rate: Rate
    recall: Rate
    precision: Rate
    n_negatives: int
    n_positives: int
    rule: str

    def cost(self, cost_fp: float, cost_fn: float) -> float:
        """Return the mean cost of a row, where a false positive and a false negative cost so much.

        Parameters
        ----------
        cost_fp, cost_fn : float
            What a false positive and a missed positive cost.

        Returns
        -------
        cost : float
            The mean cost per row.
        """
        false_positives = self.false_positive_rate.value * self.n_negatives
        false_negatives = (1.0 - self.recall.value) * self.n_positives
        return (cost_fp * false_positives + cost_fn * false_negatives) / (self.n_negatives + self.n_positives)

    def to_json(self) -> Json:
        """Return it for the header of a file.

        Returns
        -------
        saved : dict
            The fields as JSON has them.
        """
        return {name: list(part) if isinstance(part, Rate) else part for name, part in self._asdict().items()}

    @classmethod
    def from_json(cls, saved: SavedThreshold) -> Threshold:
        """Return the threshold from `to_json`; raise ValueError unless its rates are rates.

        Parameters
        ----------
        saved : mapping
            What `to_json` returned.

        Returns
        -------
        threshold : Threshold
            The threshold.
        """
        rates = []
        for name in ("false_positive_rate", "recall", "precision"):
            bounds = saved[name]
            if len(bounds) != N_BOUNDS or not 0.0 <= bounds[1] <= bounds[0] <= bounds[2] <= 1.0:
                raise ValueError(f"threshold: expected a {name} between its bounds, got {bounds[:N_BOUNDS]}")
            rates.append(Rate(*bounds))
        if min(saved["n_negatives"], saved["n_positives"]) < 1:
            raise ValueError("threshold: expected rows of both classes")
        false, recall, precision = rates
        return cls(saved["score"], false, recall, precision, saved["n_negatives"], saved["n_positives"], saved["rule"])
