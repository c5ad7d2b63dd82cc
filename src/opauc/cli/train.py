"""`opauc train`: one pass over the data, a model at its end."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from opauc.cli import options as shared
from opauc.cli.console import Reporter
from opauc.errors import InputError
from opauc.estimators.opauc_estimator import OPAUC
from opauc.reading.data_stream import DataStream
from opauc.reading.read_options import ReadOptions
from opauc.training.checkpoints import Checkpoints
from opauc.training.model_file import SavedModel, save_model
from opauc.training.provenance import provenance_of
from opauc.training.stream_training import StreamTraining

LEARNING, SAFETY = "Learning", "Checkpoints"
INTERRUPTED = 130


def command(
    data: shared.Data,
    output: shared.Output,
    solver: Annotated[str, typer.Option(help="auto, exact, sgd or contest.", rich_help_panel=LEARNING)] = "auto",
    alpha: Annotated[float, typer.Option(help="Ridge penalty.", rich_help_panel=LEARNING)] = 1e-4,
    rank: Annotated[
        str, typer.Option(help="auto, none (full covariance) or the rank of a sketch.", rich_help_panel=LEARNING)
    ] = "auto",
    eta0: Annotated[float, typer.Option(help="Step size of sgd.", rich_help_panel=LEARNING)] = 1e4,
    learning_rate: Annotated[
        str, typer.Option(help="theorem, constant or invsqrt.", rich_help_panel=LEARNING)
    ] = "theorem",
    average: Annotated[
        bool, typer.Option("--average/--last", help="Mean of the iterates, or the last.", rich_help_panel=LEARNING)
    ] = True,
    forgetting: Annotated[
        float, typer.Option(help="Factor on earlier rows at each new one.", rich_help_panel=LEARNING)
    ] = 1.0,
    seed: Annotated[int, typer.Option(help="Of the random codes of a sketch.", rich_help_panel=LEARNING)] = 0,
    n_jobs: Annotated[int, typer.Option(help="Threads; -1 is all cores.", rich_help_panel=LEARNING)] = 1,
    positive: Annotated[
        str | None, typer.Option(help="Label of the positive rows; all others are negative.", rich_help_panel=LEARNING)
    ] = None,
    classes: Annotated[
        str | None, typer.Option(help="Both labels, with a comma between.", rich_help_panel=LEARNING)
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Default: the output with .checkpoint added.", rich_help_panel=SAFETY)
    ] = None,
    checkpoint_every: Annotated[
        int | None,
        typer.Option(metavar="ROWS", min=1, help="Default: as often as costs 2 % of the time.", rich_help_panel=SAFETY),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint.", rich_help_panel=SAFETY)
    ] = False,
    format_: shared.Format = None,
    label: shared.Label = None,
    features: shared.Features = None,
    categorical: shared.Categorical = None,
    missing: shared.Missing = "error",
    hash_bits: shared.HashBits = None,
    n_features: shared.NFeatures = None,
    zero_based: shared.ZeroBased = False,
    delimiter: shared.Delimiter = None,
    header: shared.Header = None,
    on_bad_row: shared.OnBadRow = "error",
    max_bad_rows: shared.MaxBadRows = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Learn a model from labelled rows, read once."""
    refuse_unwritable(output)
    reading = shared.reading_options(
        format_, label, features, categorical, missing, hash_bits, n_features, zero_based, delimiter, header
    )
    parameters: dict[str, Any] = {
        "solver": solver, "alpha": alpha, "rank": _rank(rank), "eta0": eta0, "learning_rate": learning_rate,
        "average": average, "forgetting": forgetting, "random_state": seed, "n_jobs": n_jobs,
    }  # fmt: skip
    plan = {"data": list(data), "reading": reading.to_json(), **parameters, "positive": positive, "classes": classes}
    saved = Checkpoints(checkpoint or output.with_name(output.name + ".checkpoint"), checkpoint_every, plan)
    reporter, began = Reporter(json, quiet), time.perf_counter()
    if resume and saved.path.exists():
        training = saved.taken_up()
        reporter.say("resumed", f"going on after row {training.rows:,}", rows=training.rows)
    else:
        training = StreamTraining(OPAUC(**parameters), shared.labels_of(classes), positive)
    stream = DataStream(data, reading, training.bookmark, shared.bad_rows(on_bad_row, max_bad_rows))
    if not run(training, stream, saved, reporter):
        reporter.say(
            "interrupted", f"interrupted after row {training.rows:,}; go on with --resume", rows=training.rows,
            checkpoint=str(saved.path),
        )  # fmt: skip
        return INTERRUPTED
    finish(training, stream, reading, output, reporter, time.perf_counter() - began, saved.seconds)
    saved.remove()
    return 0


def run(training: StreamTraining, stream: DataStream, saved: Checkpoints, reporter: Reporter) -> bool:
    """Learn all chunks; return False if a signal asked to stop, with a checkpoint written."""
    with stopping() as stop, reporter.progress("learning", stream.total_bytes) as show:
        for chunk in stream.chunks():
            training.learn(chunk)
            show(training.rows, chunk.bytes_read, training.running_auc())
            if stop:
                if hasattr(training.model, "solution_"):
                    saved.write(training)
                return False
            if saved.due(training.rows) and hasattr(training.model, "solution_"):
                saved.write(training)
    return True


def finish(
    training: StreamTraining, stream: DataStream, reading: ReadOptions, output: Path, reporter: Reporter,
    seconds: float, checkpoint_seconds: float,
) -> None:  # fmt: skip
    """Write the model and tell about it."""
    model = training.finished()
    if stream.feature_names is not None:
        model.feature_names_in_ = stream.feature_names
    provenance = provenance_of(training)
    reader = {
        "options": reading.to_json(),
        "encoding": training.bookmark.learnt(),
        "positive": training.labels.positive,
    }
    save_model(SavedModel(model, reader, provenance), output)
    skipped = training.bookmark.bad_rows
    auc = training.running_auc()
    if skipped:
        first = "\n  ".join(training.bookmark.first_bad)
        reporter.say("skipped", f"skipped {skipped:,} bad rows, among them\n  {first}", rows=skipped,
                     first=list(training.bookmark.first_bad))  # fmt: skip
    told = "" if auc is None else f", progressive AUC {auc:.4f}"
    reporter.say(
        "trained",
        f"{output}: {training.rows:,} rows, {model.n_features_in_:,} features, {model.solver_}"
        f"{f' of rank {model.rank_}' if model.rank_ else ''}, {seconds:.1f} s{told}",
        model=str(output), rows=training.rows, features=model.n_features_in_, solver=model.solver_, rank=model.rank_,
        seconds=round(seconds, 3), checkpoint_seconds=round(checkpoint_seconds, 3), progressive_auc=auc,
        skipped=skipped,
    )  # fmt: skip


@contextmanager
def stopping() -> Iterator[list[int]]:
    """Give a list that is filled by the first signal to stop; the second one stops at once.

    Learning changes arrays in place: it may only be left between two chunks.
    """
    asked: list[int] = []

    def note(number: int, _: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def refuse_unwritable(target: Path) -> None:
    """Say now, not after hours, that a file cannot be written there."""
    if target.is_dir():
        raise InputError(f"{target}: is a folder, expected the name of a file")
    if not target.parent.is_dir():
        raise InputError(f"{target}: there is no folder {target.parent}")
    probe = target.with_name(f".{target.name}.probe")
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {error.strerror}") from error


def _rank(text: str) -> str | int | None:
    if text in ("none", "None"):
        return None
    return text if text == "auto" or not text.lstrip("-").isdigit() else int(text)
