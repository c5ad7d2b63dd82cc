"""The command with its verbs, found by looking through this folder, and what becomes of errors."""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated

import typer

import opauc
import opauc.cli
from opauc.errors import OpaucError

INTERRUPTED = 130


def build() -> typer.Typer:
    """Return the application: every module here with a function `command` is a verb of that name."""
    app = typer.Typer(
        name="opauc",
        help="Linear scorers that maximise AUC, learnt in one pass over the data.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for module in iter_modules(opauc.cli.__path__):
        verb = getattr(import_module(f"opauc.cli.{module.name}"), "command", None)
        if verb is not None:
            app.command(name=module.name.removesuffix("_verb"))(verb)
    app.callback()(_top)
    return app


def main() -> None:
    """Run the command: a user's mistake is one line and exit code 2, anything unforeseen keeps its traceback."""
    warnings.showwarning = _show_warning
    try:
        code = build()(standalone_mode=False)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has had enough; nothing more can be said there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        if not is_mistake(error):
            raise
        print(f"opauc: {message_of(error)}", file=sys.stderr)
        code = 2
    sys.exit(code or 0)


def is_mistake(error: Exception) -> bool:
    """Tell whether an error is the user's to mend: bad arguments, bad input, a target that cannot be written."""
    return isinstance(error, OpaucError | OSError) or hasattr(error, "format_message")


def message_of(error: Exception) -> str:
    """Return the error in one line."""
    if hasattr(error, "format_message"):
        text = error.format_message()
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    else:
        text = str(error) or type(error).__name__
    return " ".join(text.split())


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"opauc: warning: {message}", file=sys.stderr)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"opauc {opauc.__version__}")
        raise typer.Exit


def _top(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass
