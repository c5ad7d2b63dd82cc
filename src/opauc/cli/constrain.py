"""`opauc constrain`: the best additive model under constraints, from its file alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opauc.additive.constraints.named import ConstraintOptions
from opauc.additive.constraints.price import ConstraintPrice, Price
from opauc.api.constrain import constrain_file
from opauc.api.output_file import check_writable
from opauc.cli import options as shared
from opauc.cli.console import Reporter
from opauc.cli.options import columns
from opauc.core.model import save_model
from opauc.errors import Parameter, ParameterError

PAIR_SEPARATOR = ":"


def command(
    model: shared.Model,
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DATA...]", help="Labeled rows to measure the AUC on.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Model file to write. Without it, only the price of the constraints is printed.",
        ),
    ] = None,
    increasing: shared.Increasing = None,
    decreasing: shared.Decreasing = None,
    convex: Annotated[
        str | None, typer.Option(metavar="COLUMNS", help="Columns in which the score bends upwards only.")
    ] = None,
    concave: Annotated[
        str | None, typer.Option(metavar="COLUMNS", help="Columns in which the score bends downwards only.")
    ] = None,
    without: Annotated[str | None, typer.Option(metavar="COLUMNS", help="Columns that no term may use.")] = None,
    pairs: Annotated[
        str | None, typer.Option(metavar="PAIRS", help="The only pairs that stay, as one:two, separated by commas.")
    ] = None,
    no_pairs: Annotated[bool, typer.Option("--no-pairs", help="Drop all pairs.")] = False,
    equal_mean: Annotated[
        str | None, typer.Option(metavar="COLUMNS", help="Columns of categories whose groups get the same mean score.")
    ] = None,
    fixed: Annotated[str | None, typer.Option(metavar="TERMS", help="Terms whose weights stay as they are.")] = None,
    format_: shared.Format = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Constrain an additive model without its rows, and print what that costs.

    The weights become the best ones of all rows seen that satisfy the constraints,
    and stay so when the model is updated, merged or forgets rows. The price is printed
    first: the rise of the log loss, estimated from the sums in the file, and the AUC if
    labeled rows are given. Names of several columns are separated by commas.

    Example: opauc constrain orders.opauc later.csv --increasing amount -o new.opauc
    """
    if output is not None:
        check_writable(output)
    constraints = ConstraintOptions(
        increasing=columns(increasing or ""), decreasing=columns(decreasing or ""), convex=columns(convex or ""),
        concave=columns(concave or ""), without=columns(without or ""), pairs=_pairs(pairs), no_pairs=no_pairs,
        equal_mean=columns(equal_mean or ""), fixed=[str(term) for term in columns(fixed or "")],
    )  # fmt: skip
    reporter = Reporter(json, quiet)
    result = constrain_file(model, constraints, data or [], format_, reporter)
    _show(result.price, reporter)
    if output is not None:
        save_model(result.model, output)
        words = ", ".join(part.constraint for part in result.price.each)
        reporter.say("constrained", f"{output}: {words}", model=str(output), constraints=words)
    return 0


def _pairs(text: str | None) -> list[tuple[str | int, str | int]] | None:
    """Return pairs of columns, None if none are given."""
    if text is None:
        return None
    pairs = []
    for pair in columns(text):
        one, separator, two = str(pair).partition(PAIR_SEPARATOR)
        if not separator:
            raise ParameterError(Parameter("pairs"), f": expected pairs as one:two, got {str(pair)!r}")
        pairs.append((one.strip(), two.strip()))
    return list(pairs)


def _show(price: Price, reporter: Reporter) -> None:
    """Print the price of each constraint, and of all together."""
    parts = [*price.each, price.together] if len(price.each) > 1 else price.each
    for number, part in enumerate(parts):
        what = "together" if number == len(price.each) else part.constraint
        reporter.say(
            "price", f"{what}: {_in_words(part)}",
            constraint=what, log_loss=part.log_loss, auc=part.auc, auc_change=part.auc_change,
        )  # fmt: skip


def _in_words(part: ConstraintPrice) -> str:
    text = f"log loss {part.log_loss:+.4f}"
    return text if part.auc is None else f"{text}, AUC {part.auc:.4f} ({part.auc_change:+.4f})"
