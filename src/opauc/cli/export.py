"""`opauc export`: a model in another language or format, or as a small model file that only scores."""

from __future__ import annotations

from typing import Annotated

import typer

from opauc.api.export import export
from opauc.api.output_file import MODEL_SUFFIX, check_writable
from opauc.cli import options as shared
from opauc.cli.console import Reporter
from opauc.core.model import load_model, save_model
from opauc.core.registry import EXPORTS
from opauc.errors import Parameter, ParameterError


def command(
    model: shared.Model,
    output: shared.Output,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            show_default=False,
            help=f"The format: {', '.join(EXPORTS)}. Default: that of the ending of the file.",
        ),
    ] = None,
    scoring: Annotated[
        bool, typer.Option("--scoring", help="Write a small model file, without what only training needs.")
    ] = False,
    reasons: Annotated[int, typer.Option(metavar="K", help="Write so many reasons for the score of each row too.")] = 0,
    dialect: Annotated[str, typer.Option(metavar="DIALECT", help="The dialect of SQL.")] = "duckdb",
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Write a model in another language or format, or as a small file that only scores.

    In another language or format it scores raw rows without this program. With --scoring the file is a model file of
    this program that scores and explains rows and cannot be trained further.

    Example: opauc export model.opauc -o model.json
    """  # fmt: skip
    if scoring and to is not None:
        raise ParameterError(Parameter("scoring", True), " is a format of its own; leave out ", Parameter("to", to))
    if to is None and not scoring and output.suffix == MODEL_SUFFIX:
        raise ParameterError(f"{output}: for a small model file give ", Parameter("scoring", True))
    if scoring:
        check_writable(output)
        save_model(load_model(model).scoring_only(), output)
    else:
        export(model, output, to=to, reasons=reasons, dialect=dialect)
    size = output.stat().st_size
    reporter = Reporter(json, quiet)
    purpose = ", for scoring only" if scoring else ""
    reporter.say("exported", f"{output}: {size / 2**20:.2f} MB{purpose}", model=str(output), bytes=size)
    return 0
