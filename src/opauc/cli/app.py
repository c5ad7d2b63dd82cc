"""The command with its verbs, and what becomes of errors."""

from __future__ import annotations

import logging
import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from inspect import signature
from typing import Annotated

import typer

from opauc.cli.console import shorten, shown_text
from opauc.errors import TRUE_OR_FALSE, Hint, InputError, OpaucError, Parameter
from opauc.version import __version__

INTERRUPTED = 130
# A longer message quotes a file; it is cut.
MAX_MESSAGE_LENGTH = 1000
VERSION = "--version"
VERBS = ("train", "evaluate", "predict", "inspect", "report", "compare", "merge", "forget")
# Parameters whose option has another name.
FLAGS = {"random_state": "seed", "device": "engine"}
# Arrow's allocator returns free memory to the system at once and asks for it again for the next batch: a tenth of the
# time of reading, and a fifth with two threads. It reads this variable when it is loaded.
KEEP_MEMORY = {"MIMALLOC_PURGE_DELAY": "-1"}


def build(arguments: Sequence[str]) -> typer.Typer:
    """Return the application: the module of each verb has a function `command`.

    Only the verb in `arguments` is imported, all of them where there is none: the command starts faster so.
    """
    app = typer.Typer(
        name="opauc",
        help="Train models that maximize the AUC in one pass over the data: raw tables and sparse rows.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    names = arguments[:1] if arguments and arguments[0] in VERBS else () if arguments[:1] == [VERSION] else VERBS
    for name in names:
        app.command(name=name)(import_module(f"opauc.cli.{name}").command)
    app.callback()(_top)
    return app


def main() -> None:
    """Run the command: a user's mistake is one line and exit code 2, any other exception keeps its traceback."""
    warnings.showwarning = _show_warning
    os.environ.update({name: os.environ.get(name, value) for name, value in KEEP_MEMORY.items()})
    logging.getLogger("opauc").addHandler(logging.NullHandler())  # each verb reports what is logged itself
    arguments = sys.argv[1:] or ["--help"]
    try:
        code = build(arguments)(arguments, standalone_mode=False)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        # The reader of our output is gone; nothing more can be written there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        if not is_mistake(error):
            raise
        print(f"opauc: {shorten(shown_text(message_of(error, arguments)), MAX_MESSAGE_LENGTH)}", file=sys.stderr)
        code = 2
    sys.exit(code or 0)


def is_mistake(error: Exception) -> bool:
    """Tell whether an error is the user's mistake: bad arguments, bad input, a target that cannot be written."""
    # The errors of the command line parser have no class that all versions of it export.
    return isinstance(error, OpaucError | OSError) or hasattr(error, "format_message")


def message_of(error: Exception, arguments: Sequence[str]) -> str:
    """Return the message of a user's mistake in one line, with flags as hints."""
    if hasattr(error, "format_message"):
        text = str(error.format_message())
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, InputError) and error.hints:
        text = error.reworded(lambda hint: _wording(hint, arguments[0]))
    elif isinstance(error, OpaucError):
        text = error.render(_flag)
    else:
        text = str(error) or type(error).__name__
    return " ".join(text.split())


def _flag(parameter: Parameter) -> str:
    """Return a parameter as the option of the command."""
    flag = f"--{FLAGS.get(parameter.name, parameter.name).replace('_', '-')}"
    if isinstance(parameter.value, bool):
        return flag if parameter.value else f"--no-{flag.removeprefix('--')}"
    value = ",".join(map(str, parameter.value)) if isinstance(parameter.value, tuple) else parameter.value
    return flag if value in (None, "") else f"{flag} {value}"


def _wording(hint: Hint, verb: str) -> str:
    """Return a hint as the option of a verb, or of `train` where the model would have to be another one."""
    for name, before in ((verb, ""), ("train", "opauc train ")):
        if hint.parameter in signature(import_module(f"opauc.cli.{name}").command).parameters:
            flag = f"--{hint.parameter.replace('_', '-')}"
            if hint.value == TRUE_OR_FALSE:
                return f"({before}{flag} or --no-{flag.removeprefix('--')})"
            value = hint.value if " or " in hint.value else shlex.quote(hint.value)
            return f"({before}{flag} {value})" if hint.value else f"({before}{flag})"
    return ""


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"opauc: warning: {shorten(shown_text(message), MAX_MESSAGE_LENGTH)}", file=sys.stderr)


def _version(shown: bool) -> None:
    if shown:
        print(f"opauc {__version__}")
        raise typer.Exit


def _top(
    version: Annotated[
        bool, typer.Option(VERSION, help="Print the version and stop.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass
