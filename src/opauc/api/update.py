"""Train a model of a file further on new data."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from opauc.api.observer import CallbackObserver, Observer, Progress, stopwatch
from opauc.api.output_file import check_writable
from opauc.api.saving import estimator_of
from opauc.api.scored_stream import check_data_files
from opauc.api.tables import sources_of
from opauc.api.train import Training, train_in_order
from opauc.api.training_files import trained_before
from opauc.core.batch import ResumePosition, SourceRecord
from opauc.core.checkpoints import Checkpoints
from opauc.core.fit import Opening
from opauc.core.loop import Trainer
from opauc.core.model import load_model
from opauc.core.parameters import ALL_CORES
from opauc.core.registry import FACTORIES
from opauc.core.threads import use_threads
from opauc.data import BadRows
from opauc.data.find_sources import name_of
from opauc.data.table_source import ResolvedSource
from opauc.errors import InputError
from opauc.metrics.progressive import ProgressiveValidation
from opauc.types import Settings


def update(
    model: str | os.PathLike[str],
    data: Any,
    *,
    output: str | os.PathLike[str] | None = None,
    bad_rows: BadRows | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Any:
    """Train the model of a file further on labeled rows, write it back, and return the fitted estimator.

    Rows are read as those that the model was trained on. The result is the model of the earlier and the new rows: as
    if all had come in one training, where the basis of an additive model stays that of the earlier rows.

    Parameters
    ----------
    model : path
        The model file; it is replaced when all rows have been processed, and stays as it is after an error.
    data : path, sequence of paths, or table
        Files, glob patterns, folders or "-" for standard input; or a table as `train` takes it.
    output : path, optional
        Where to write the model instead.
    bad_rows : BadRows, optional
        What to do with rows that cannot be read; by default the first one is an error.
    on_progress : callable, optional
        Called with a `Progress` after every batch.

    Returns
    -------
    model : OnePassGAM, OPAUC or OPAUCCV
        The fitted estimator.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import opauc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     monday, tuesday, model = (Path(folder, name) for name in ("monday.csv", "tuesday.csv", "model.opauc"))
    ...     _ = monday.write_text("age,bought\\n" + "30,no\\n45,yes\\n" * 30)
    ...     _ = tuesday.write_text("age,bought\\n" + "35,no\\n50,yes\\n" * 20)
    ...     _ = opauc.train(monday, label="bought", solver="exact", output=model)
    ...     opauc.update(model, tuesday).moments_.counts
    ClassCounts(negative=50.0, positive=50.0)
    """
    source = Path(model)
    target = source if output is None else Path(output)
    result = run_update(source, sources_of(data), target, bad_rows or BadRows(), CallbackObserver(on_progress))
    if result.model is None:
        raise KeyboardInterrupt
    return estimator_of(result.model)


def run_update(
    source: Path,
    paths: Sequence[ResolvedSource],
    target: Path,
    bad_rows: BadRows,
    observer: Observer,
    format_: str | None = None,
    checkpoint_every: int | None = None,
    resume: bool = False,
) -> Training:
    """Train the model of a file further and write it, for `update` and the command."""
    checkpoint = Path(f"{target}.checkpoint")
    check_writable(target, checkpoint)
    check_data_files(paths)
    model = load_model(source)
    if model.reading is None:
        raise InputError(f"{source}: was fitted to arrays; load it and train it further with partial_fit")
    reading: Any = model.reading
    reading = replace(reading, options=reading.options.with_format(format_))
    before = model.provenance
    n_rows = int(before.get("rows", sum(model.fit.counts)))
    plan = {"update": os.fspath(source), "rows": n_rows, "data": list(map(name_of, paths)), "format": format_}
    checkpoints = Checkpoints(checkpoint, checkpoint_every, plan, ProgressiveValidation)
    with use_threads(ALL_CORES), stopwatch(observer.compiling) as seconds:
        if resume and checkpoint.exists():
            trainer = checkpoints.resume()
            observer.say("resumed", f"resuming after row {trainer.rows:,}", rows=trainer.rows)
        else:
            if resume:
                text = f"no checkpoint {checkpoint}: starting from the first row"
                observer.say("not_resumed", text, checkpoint=str(checkpoint))
            monitor = ProgressiveValidation(
                scorer=None if model.several_classes else model.scorer,
                next_look=int(model.fit.look_growth * n_rows) + 1,
                pace=((0, n_rows),),
            )
            trainer = Trainer(FACTORIES[model.estimator](model.parameters), model.labels, model.fit, monitor)
            trainer.position = ResumePosition(rows=n_rows)
        start = Opening(trainer.factory, reading.at(trainer.position, trainer.labels), trainer.labels)
        result = train_in_order(
            trainer, start, paths, bad_rows, target, checkpoints, observer, seconds, before, model.threshold
        )
    if result.model is not None:
        _warn_of_repeated(before, trainer.position.records, observer)
    return result


def _warn_of_repeated(before: Settings, records: Sequence[SourceRecord], observer: Observer) -> None:
    """Warn of each file whose content the model had been trained on already, unless it was forgotten."""
    for record in trained_before(before, records):
        observer.warn(f"{record['path']}: the model was trained on these rows before; they count twice now")
