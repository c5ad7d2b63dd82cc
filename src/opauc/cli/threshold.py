"""`opauc threshold`: choose the threshold of a model's score on held-out rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from opauc.api.output_file import check_writable
from opauc.api.scored_stream import Purpose, ScoredStream
from opauc.api.threshold import threshold_of_files
from opauc.cli import options as shared
from opauc.cli.console import Reporter, emit, show_table
from opauc.core.model import load_model, save_model
from opauc.core.threshold import Rate
from opauc.errors import InputError
from opauc.metrics import ThresholdRule


def command(
    model: shared.Model,
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATA...",
            help="Labeled rows that the model was not trained on: files, glob patterns, folders, or - for standard "
            "input.",
            show_default=False,
        ),
    ] = None,
    at_fpr: Annotated[
        float | None, typer.Option(metavar="SHARE", help="At most this share of the negative rows is above it.")
    ] = None,
    at_precision: Annotated[
        float | None, typer.Option(metavar="SHARE", help="At least this share of the rows above it is positive.")
    ] = None,
    at_recall: Annotated[
        float | None, typer.Option(metavar="SHARE", help="At least this share of the positive rows is above it.")
    ] = None,
    cost_fp: Annotated[
        float | None, typer.Option(metavar="COST", help="What a negative row above it costs; give --cost-fn too.")
    ] = None,
    cost_fn: Annotated[
        float | None, typer.Option(metavar="COST", help="What a positive row below it costs; give --cost-fp too.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Model file to write, with the threshold. Default: none, the threshold is printed.",
        ),
    ] = None,
    format_: shared.Format = None,
    drop_unlabeled: shared.DropUnlabeled = False,
    on_bad_row: shared.OnBadRow = "error",
    max_bad_rows: shared.MaxBadRows = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Choose a threshold of the score on labeled rows that the model was not trained on.

    The model that is written has it: `predict --response label` then predicts the positive
    class where the score is above the threshold. Without one the threshold is zero.

    Example: opauc threshold model.opauc later.csv --at-fpr 0.01 -o model.opauc
    """
    if not data:
        raise InputError(
            "a threshold is chosen on labeled rows that the model was not trained on: "
            f"opauc threshold {model} DATA --at-fpr 0.01"
        )
    rule = ThresholdRule(cost_fp, cost_fn, at_fpr, at_precision, at_recall)
    if output is not None:
        check_writable(output)
    reporter = Reporter(json, quiet)
    scored = ScoredStream(
        model, data, format_, shared.bad_rows(on_bad_row, max_bad_rows, drop_unlabeled), Purpose.EVALUATE
    )
    threshold = threshold_of_files(scored, rule, reporter)
    probability = float(scored.model.scorer.probabilities(np.array([threshold.score]))[0])
    if output is not None:
        save_model(replace(load_model(model), threshold=threshold), output)
    if json:
        emit("threshold", **threshold.to_json(), probability=probability, model=None if output is None else str(output))
        return 0
    facts = {
        "threshold": f"score above {threshold.score:.6g}, probability above {probability:.4g}",
        "false positive rate": _shown(threshold.false_positive_rate),
        "recall": _shown(threshold.recall),
        "precision": _shown(threshold.precision),
        "rows": f"{threshold.n_positives:,} positive, {threshold.n_negatives:,} negative",
    }
    if output is not None:
        facts["model"] = str(output)
    show_table(f"{model} on {', '.join(data)}, {threshold.rule}", facts)
    return 0


def _shown(rate: Rate) -> str:
    return f"{rate.value:.4f}, 95 % interval {rate.low:.4f} to {rate.high:.4f}"
