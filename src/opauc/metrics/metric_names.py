"""Metrics of a ranking by their names, as users type them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from opauc.errors import Parameter, ParameterError, nearest_first
from opauc.metrics.auc import Auc
from opauc.metrics.average_precision import AveragePrecision
from opauc.metrics.partial_auc import PartialAuc
from opauc.metrics.ranking_metric import RankingMetric
from opauc.metrics.top_rows import LiftAt, PrecisionAt, RecallAt

# By name: an example, and the metric of the numbers after "@".
KINDS: dict[str, tuple[str, Callable[[list[int | float]], RankingMetric]]] = {
    "auc": ("auc", lambda numbers: Auc(*numbers)),
    "pauc": ("pauc@0.01", lambda numbers: PartialAuc(numbers[0], numbers[1] if numbers[1:] else 0.0)),
    "ap": ("ap", lambda numbers: AveragePrecision(*numbers)),
    "precision": ("precision@100", lambda numbers: PrecisionAt(*numbers)),
    "recall": ("recall@0.01", lambda numbers: RecallAt(*numbers)),
    "lift": ("lift@0.1", lambda numbers: LiftAt(*numbers)),
}
# Metrics with one number, and with up to two, after "@"; the others have none.
N_NUMBERS = {"pauc": (1, 2), "precision": (1, 1), "recall": (1, 1), "lift": (1, 1)}


def ranking_metric(name: str) -> RankingMetric:
    """Return the metric of a name.

    The names are "auc"; "pauc@0.01", the partial AUC at false positive rates of at most .01, and "pauc@0.01:0.5" at
    true positive rates of at least .5 too; "ap", average precision; "precision@100" and "recall@100" of the top 100
    rows, "precision@0.01" or "precision@1%" of the top percent; "lift@0.1".

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    metric : RankingMetric
        The metric.

    Raises
    ------
    ParameterError
        If there is no such metric, or a number is out of range.

    Examples
    --------
    >>> from opauc.metrics import ranking_metric
    >>> ranking_metric("pauc@0.01"), ranking_metric("recall@5%")
    (PartialAuc(max_fpr=0.01, min_tpr=0.0, standardize=True), RecallAt(k=0.05))
    """
    kind, at, text = name.strip().partition("@")
    if kind not in KINDS:
        examples = ", ".join(KINDS[near][0] for near in nearest_first(kind, KINDS))
        raise ParameterError(Parameter("metrics"), f": unknown metric {name.strip()!r}; expected one of {examples}")
    example, of_numbers = KINDS[kind]
    fewest, most = N_NUMBERS.get(kind, (0, 0))
    numbers = [_number(part) for part in text.split(":")] if at else []
    values = [number for number in numbers if number is not None]
    if len(values) < len(numbers) or not fewest <= len(values) <= most:
        raise ParameterError(Parameter("metrics"), f": cannot read {name.strip()!r}; expected for example {example}")
    try:
        return of_numbers(values)
    except ParameterError as error:
        raise ParameterError(Parameter("metrics"), f": {name.strip()}: {error}") from error


def ranking_metrics(names: Sequence[str | RankingMetric]) -> list[RankingMetric]:
    """Return the metrics of names; a metric stands for itself, and a repeated one is left out.

    Examples
    --------
    >>> from opauc.metrics.metric_names import ranking_metrics
    >>> [metric.name for metric in ranking_metrics(["auc", "lift@10%", "auc"])]
    ['auc', 'lift@0.1']
    """
    metrics = [ranking_metric(name) if isinstance(name, str) else name for name in names]
    return list({metric.name: metric for metric in metrics}.values())


def _number(text: str) -> int | float | None:
    """Return a whole number, a number with a point, or a percentage as a share; None if the text is none of them."""
    percent = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*%", text.strip(), re.ASCII)
    if percent:
        return float(percent[1]) / 100
    if re.fullmatch(r"-?\d+", text.strip(), re.ASCII):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return None
