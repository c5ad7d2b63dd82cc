"""The AUC as one of the metrics of a ranking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opauc.metrics.intervals import INTERVAL_POLICY
from opauc.metrics.ranking_metric import RankingMetric, TableInfluence, check_class_weights
from opauc.metrics.score_table import ScoreTable
from opauc.metrics.streaming_auc import StreamingAuc


@dataclass(frozen=True, slots=True)
class Auc(RankingMetric):
    """The AUC: the probability that a positive row outscores a negative one, ties counting half.

    `exact_auc`, `auc_interval` and `compare_aucs` are its functions; this class has the interval and the test for
    rows in `groups` too.

    Examples
    --------
    >>> from opauc.metrics import Auc
    >>> labels, scores = [0, 0, 1, 1, 0, 1], [0.1, 0.4, 0.35, 0.8, 0.2, 0.3]
    >>> round(Auc()(labels, scores), 4), round(Auc().interval(labels, scores).standard_error, 3)
    (0.7778, 0.248)
    >>> round(Auc().interval(labels, scores, groups=["ann", "ann", "ann", "bob", "bob", "bob"]).standard_error, 3)
    0.222
    """

    @property
    def name(self) -> str:
        """The name "auc"."""
        return "auc"

    @property
    def title(self) -> str:
        """The name in tables."""
        return "AUC"

    def of_table(self, table: ScoreTable) -> float:
        """Return the AUC.

        Parameters
        ----------
        table : ScoreTable
            The rows of each class at each distinct score.

        Returns
        -------
        auc : float
            The AUC.

        Raises
        ------
        ValueError
            If a class has no rows.
        """
        check_class_weights(table, "AUC")
        false, _ = table.corners()
        beaten = 1.0 - (false[1:] - table.negatives / 2) / false[-1]
        return float(np.dot(table.positives, beaten) / table.n_positives)

    def influence_of(self, table: ScoreTable) -> TableInfluence:
        """Return the influence of the rows: their placements, less the mean.

        Parameters
        ----------
        table : ScoreTable
            The rows of each class at each distinct score.

        Returns
        -------
        influence : TableInfluence
            The influence of a row of each class at each score.
        """
        false, true = table.corners()
        beaten = 1.0 - (false[1:] - table.negatives / 2) / false[-1]
        beating = (true[1:] - table.positives / 2) / true[-1]
        value = self.of_table(table)
        largest = value * (1.0 - value)
        return TableInfluence(
            (beating - value) / table.n_negatives,
            (beaten - value) / table.n_positives,
            n_trials=min(table.n_negatives, table.n_positives),
            largest_of_negatives=largest / table.n_negatives,
            n_informative_negatives=table.n_negatives,
            largest_of_positives=largest / table.n_positives,
            n_informative_positives=table.n_positives,
            policy=INTERVAL_POLICY,
        )

    def bounds(self, stream: StreamingAuc) -> tuple[float, float]:
        """Return the bounds of the AUC, which a streaming AUC computes in integers.

        Parameters
        ----------
        stream : StreamingAuc
            The state of the rows of a stream.

        Returns
        -------
        bounds : tuple of float
            The lower and the upper bound.

        Raises
        ------
        ValueError
            If a class has no rows.
        """
        if not stream.counts.all():
            self.of_table(ScoreTable.of_stream(stream))
        return stream.interval()
