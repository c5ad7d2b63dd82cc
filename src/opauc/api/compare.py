"""Methods compared on the same rows, and scored on the same rows held out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from opauc.api.compare_methods import WantedMethods
from opauc.api.compare_rows import FeaturePasses, Passes, TablePasses
from opauc.api.observer import CallbackObserver, Observer, Progress
from opauc.api.train import report_columns
from opauc.core.labels import ClassLabels
from opauc.data.bad_rows import BadRows
from opauc.data.find_sources import are_tables
from opauc.data.options import ReadOptions
from opauc.data.sources import STANDARD_INPUT
from opauc.errors import InputError, Parameter, ParameterError
from opauc.metrics import Compared, HeldOut, compare_on_stream

# Options by which linear solvers read rows: whoever gives one has every method train on the same features.
FEATURE_OPTIONS = {"missing", "hash_bits", "n_features", "zero_based"}


def compare(
    data: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    label: str | int | None = None,
    *,
    methods: Sequence[str] | None = None,
    held_out: float = 0.2,
    random_state: int = 0,
    positive: str | None = None,
    bad_rows: BadRows | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> list[Compared]:
    """Train methods with default settings on the same rows of files and score the same held-out rows.

    Parameters
    ----------
    data : path or sequence of paths
        Files, glob patterns or folders.
    label : str or int, optional
        The label column, by name or by position. By default the one named label, target, class or y.
    methods : sequence of str, optional
        Names of methods; by default all that are installed and not slow.
    held_out : float, default=0.2
        Share of the rows held out for scoring.
    random_state : int, default=0
        Seed of the random split.
    positive : str, optional
        Label of the positive rows; all others are negative.
    bad_rows : BadRows, optional
        What becomes of rows that cannot be read; by default the first one is an error.
    on_progress : callable, optional
        Called with a `Progress` after every batch.
    **options
        Fields of `ReadOptions`.

    Returns
    -------
    compared : list of Compared
        AUC, interval, p-value against the best and seconds of each method, the best first.

    Examples
    --------
    >>> import tempfile
    >>> import opauc
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,bought\\n" + b"30,no\\n45,yes\\n50,yes\\n25,no\\n" * 50), file.flush()
    ...     [one] = opauc.compare(file.name, label="bought", methods=["exact"])
    >>> one.name, one.auc
    ('exact', 1.0)
    """
    paths = [os.fspath(data)] if isinstance(data, str | os.PathLike) else [os.fspath(path) for path in data]
    reading = ReadOptions(**{**options, **({} if label is None else {"label": label})})
    return run_comparison(
        paths, reading, methods, HeldOut(held_out, random_state), ClassLabels.announced(positive=positive),
        bad_rows or BadRows(), CallbackObserver(on_progress), features_only=bool(FEATURE_OPTIONS & set(options)),
    )  # fmt: skip


def run_comparison(
    paths: Sequence[str],
    reading: ReadOptions,
    methods: Sequence[str] | None,
    split: HeldOut,
    labels: ClassLabels,
    bad_rows: BadRows,
    observer: Observer,
    features_only: bool = False,
) -> list[Compared]:
    """Compare methods on files; what `compare` and the command do."""
    if STANDARD_INPUT in paths:
        raise InputError("comparing reads the data twice, which standard input does not allow; name a file")
    if not 0.0 < split.share < 1.0:
        raise ParameterError(Parameter("held_out"), f" must lie between 0 and 1, got {split.share}")
    wanted = WantedMethods.of(methods)
    passes: Passes
    if features_only or not are_tables(paths, reading.format):
        passes = FeaturePasses(paths, reading, bad_rows, labels, observer)
    else:
        passes = TablePasses(paths, reading, bad_rows, labels, observer, wanted.of_tables)
        report_columns(passes.column_profiles, observer)
    of_tables = wanted.table_methods(passes.categorical)
    return list(compare_on_stream(wanted.feature_methods(), passes.read, split, of_tables=of_tables))
