"""`opauc serve`: a model behind HTTP."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from opauc.cli import options as shared
from opauc.cli.console import Reporter
from opauc.serving.settings import Limits, ServeSettings

LIMITS = "Limits"


def command(
    model: shared.Model,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen. 0.0.0.0 is every network.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0 takes a free one.")] = 8000,
    workers: Annotated[int, typer.Option(metavar="N", min=1, help="Processes, each with a copy of the model.")] = 1,
    learn: Annotated[bool, typer.Option("--learn", help="Train the model on the rows that POST /learn sends.")] = False,
    save_every: Annotated[
        int | None,
        typer.Option(
            metavar="ROWS",
            min=1,
            show_default=False,
            help="Save MODEL whenever it was trained on so many rows. Default: when the service stops.",
        ),
    ] = None,
    max_rows: Annotated[
        int, typer.Option(metavar="ROWS", min=1, help="Rows of a request, at most.", rich_help_panel=LIMITS)
    ] = Limits.max_rows,
    max_bytes: Annotated[
        int, typer.Option(metavar="BYTES", min=1, help="Bytes of a request, at most.", rich_help_panel=LIMITS)
    ] = Limits.max_bytes,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Serve a model by HTTP: scores and reasons for rows as JSON, and training on labeled rows.

    POST /score, /explain and, with --learn, /learn; GET /health, /metrics, /openapi.json and /. A model file that
    changes is loaded again. Ctrl-C and SIGTERM finish the requests that have begun. Whoever reaches the address may
    ask: there are no passwords.

    Example: opauc serve model.opauc --port 8000
    """  # fmt: skip
    from opauc.serving.run import Address, run_service  # which needs the extra; the help does not

    limits = replace(Limits(), max_rows=max_rows, max_bytes=max_bytes)
    settings, reporter = ServeSettings(str(model), learn, save_every, limits), Reporter(json, quiet)

    def started(url: str) -> None:
        reporter.say("serving", f"{model}: {url}", model=str(model), url=url)

    run_service(settings, Address(host, port), workers, started)
    reporter.say("stopped", "stopped", model=str(model))
    return 0
