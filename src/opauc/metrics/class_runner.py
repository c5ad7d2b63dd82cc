"""Compare methods on the same rows of several classes, by their mean AUC over pairs of classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from opauc.core.labels import listed_labels
from opauc.errors import InputError
from opauc.metrics.class_scores import MAX_EXACT_SCORES, ClassScores
from opauc.metrics.comparison import Compared, rank_methods
from opauc.metrics.exact_auc import Counts
from opauc.metrics.ranking_metric import RankingMetric
from opauc.metrics.runner import HeldOut, Method, NumberedRows, train_methods


def compare_classes_on_stream(
    methods: Sequence[Method],
    read: Callable[[], Iterable[NumberedRows]],
    choice: HeldOut,
    classes: Sequence[str],
    exact_scores: int = MAX_EXACT_SCORES,
    of_tables: Sequence[Method] = (),
    metrics: Sequence[RankingMetric] = (),
) -> list[Compared]:
    """Train and evaluate methods in two passes over a stream of rows of several classes; return the best method first.

    Parameters
    ----------
    methods : sequence of Method
        Methods that take features.
    read : callable
        Returns the batches of the stream, with labels 0 to K - 1; called once per pass, as for `compare_on_stream`.
    choice : HeldOut
        Which rows are held out.
    classes : sequence of str
        The names of the classes.
    exact_scores : int
        With more scores of held-out rows, intervals come from a streaming AUC and there is no test.
    of_tables : sequence of Method
        Methods that take table columns where there are any.
    metrics : sequence of RankingMetric
        Further metrics, of each class against the rest; the mean of the first, by default the mean AUC over pairs of
        classes, says which method is best.

    Returns
    -------
    compared : list of Compared
        The results, the best first and failed methods last.

    Raises
    ------
    InputError
        If a class has no rows to train on, or none held out.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.metrics import FittedMethod, HeldOut, NumberedRows
    >>> from opauc.metrics.class_runner import compare_classes_on_stream
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 3, 1000).astype(np.int8)
    >>> rows = rng.normal(size=(1000, 3)) + np.eye(3)[labels]
    >>> methods = [FittedMethod(f"times {k}", lambda rows, labels, k=k: lambda rows: k * rows) for k in (1, -1)]
    >>> results = compare_classes_on_stream(methods, lambda: [NumberedRows(0, rows, labels)], HeldOut(0.5), "abc")
    >>> [result.name for result in results], bool(results[1].p_value < 0.001)
    (['times 1', 'times -1'], True)
    """
    n_classes = len(classes)
    trained, scored = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)

    def training() -> Iterator[NumberedRows]:
        for batch in read():
            rows = batch.take(~choice.of(batch))
            trained[:] += np.bincount(rows.labels, minlength=n_classes)
            yield rows

    trials = train_methods(methods, of_tables, training())
    _check_all(trained, classes, "to train on")
    buffers = [ClassScores(n_classes, exact_scores) for _ in trials]
    for batch in read():
        test = batch.take(choice.of(batch))
        scored += np.bincount(test.labels, minlength=n_classes)
        for trial, buffer in zip(trials, buffers, strict=True):
            if (scores := trial.scores(trial.rows_of(test))) is None:
                continue
            if scores.shape == (test.labels.size, n_classes):
                buffer.add(test.labels, scores)
            else:
                trial.trouble = f"takes two classes, here there are {n_classes}"
    _check_all(scored, classes, "held out")
    return rank_methods([(trial.method.name, trial.seconds, trial.trouble) for trial in trials], buffers, metrics)


def _check_all(counts: Counts, classes: Sequence[str], use: str) -> None:
    """Raise unless there are rows of every class."""
    if not counts.all():
        lacking = listed_labels([classes[number] for number in np.flatnonzero(counts == 0).tolist()])
        raise InputError(
            f"comparing needs rows of every class {use}, got {counts.sum():,} rows, none labeled {lacking}"
        )
