"""`opauc edit`: a page on which the terms of a model are edited, and the patch that it exports."""

from __future__ import annotations

from getpass import getuser
from pathlib import Path
from typing import Annotated

import typer

from opauc.api.edit import apply_patch, edit_page
from opauc.api.output_file import check_writable
from opauc.cli import options as shared
from opauc.cli.console import Reporter, number_of
from opauc.core.atomic_write import atomic_write
from opauc.core.model import load_model, save_model
from opauc.errors import Parameter, ParameterError

PAGE = Path("edit.html")


def command(
    model: shared.Model,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="File to write: the page, by default edit.html in this folder, or with --apply the new model.",
        ),
    ] = None,
    apply: Annotated[
        Path | None,
        typer.Option("--apply", metavar="PATCH", show_default=False, help="Patch to apply, as the page exports it."),
    ] = None,
    who: Annotated[
        str | None, typer.Option(help="With --apply: who edits. Default: the name of the user.", show_default=False)
    ] = None,
    why: Annotated[str, typer.Option(help="With --apply: the reason.", show_default=False)] = "",
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Write a page on which the terms of an additive model are edited, or apply its patch.

    The page is one HTML file that works without a network: curves are dragged, smoothed,
    made monotone or flattened, levels are set, terms are removed. It exports a patch. With
    --apply the patch is checked and a new model is written, whose edited terms stay as they
    are while all others are the optimum given them. A ledger in the model says who, when
    and why; `opauc inspect` prints it.

    Example: opauc edit orders.opauc -o terms.html
    Example: opauc edit orders.opauc --apply patch.json -o edited.opauc
    """
    reporter = Reporter(json, quiet)
    if apply is None:
        if who is not None or why:
            raise ParameterError(Parameter("who" if who is not None else "why"), " needs ", Parameter("apply", ...))
        target = output or PAGE
        check_writable(target)
        page = edit_page(load_model(model), str(model))
        with atomic_write(target) as temporary:
            temporary.write_text(page, encoding="utf-8")
        reporter.say("page", f"{target}: open it in a browser, edit, and download the patch", page=str(target))
        return 0
    if output is None:
        raise ParameterError(
            Parameter("apply", ...), " needs the name of the new model (", Parameter("output", ...), ")"
        )
    check_writable(output)
    edited, n_edits = apply_patch(load_model(model), apply, getuser() if who is None else who, why)
    save_model(edited, output)
    reporter.say("edited", f"{output}: {number_of(n_edits, 'edit')} applied", model=str(output), edits=n_edits)
    return 0
