"""`opauc export`: a small model file that only scores."""

from __future__ import annotations

from typing import Annotated

import typer

from opauc.api.output_file import check_writable
from opauc.cli import options as shared
from opauc.cli.console import Reporter
from opauc.core.model import load_model, save_model
from opauc.errors import Parameter, ParameterError


def command(
    model: shared.Model,
    output: shared.Output,
    scoring: Annotated[
        bool, typer.Option("--scoring", help="Leave out what only training needs: scores and explanations stay.")
    ] = False,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Write a small file of an additive model that scores and explains rows, and cannot be trained further."""
    if not scoring:
        raise ParameterError("there is one kind of export: give ", Parameter("scoring", True))
    check_writable(output)
    save_model(load_model(model).scoring_only(), output)
    size = output.stat().st_size
    Reporter(json, quiet).say(
        "exported", f"{output}: {size / 2**20:.2f} MB, for scoring only", model=str(output), bytes=size
    )
    return 0
