"""The command with its verbs, and what becomes of errors."""

from __future__ import annotations

import errno
import io
import logging
import os
import shlex
import sys
import warnings
from collections.abc import Collection, Sequence
from importlib import import_module
from inspect import signature
from typing import Annotated

import typer

from opauc.cli.console import INTERRUPTED, shorten, shown_text
from opauc.cli.help import TopCommand, VerbCommand
from opauc.errors import Message, OpaucError, Parameter, unknown_name
from opauc.version import __version__

# A longer message quotes a file; it is cut.
MAX_MESSAGE_LENGTH = 1000
VERSION = "--version"
HELP = """Train models that maximize the AUC in one pass over the data: raw tables and sparse rows.

Each verb has its own help: opauc VERB --help.

Example: opauc train orders.csv --label returned
Example: opauc evaluate orders.opauc later.csv --report page.html
Example: opauc predict orders.opauc new.csv -o scores.txt
"""
# The first lines of the verbs' own help: `opauc --help` imports none of them, and starts faster so.
VERBS = {
    "train": "Train a model on labeled rows in one pass.",
    "evaluate": "Evaluate how well a model ranks labeled rows.",
    "predict": "Score rows with a model; labels in the data are ignored and need not be there.",
    "threshold": "Choose a threshold of the score on labeled rows that the model was not trained on.",
    "inspect": "Print the content of a model, checkpoint or statistics file; nothing in it is executed.",
    "report": "Write a report, one HTML page, on how well a model ranks labeled rows.",
    "compare": "Train methods with default settings on the same rows and score the same held-out rows.",
    "update": "Train a model further on new rows, which are read as those before.",
    "merge": "Merge models trained on different rows into the model of all of them.",
    "export": "Write a model in another language or format, or as a small file that only scores.",
    "serve": "Serve a model by HTTP: scores and reasons for rows as JSON, and training on labeled rows.",
    "edit": "Write a page on which the terms of an additive model are edited, or apply its patch.",
    "forget": "Remove rows from a model without training it again.",
    "constrain": "Constrain an additive model without its rows, and print what that costs.",
    "warmup": "Compile the kernels once per machine, so that later runs start at once.",
}
# Parameters whose option has another name.
FLAGS = {
    "random_state": "seed", "device": "engine", "metrics": "metric", "monotone_constraints": "increasing",
    "pairs": "within",
}  # fmt: skip
# Parameters that either of two flags gives: the one that was typed is named.
OTHER_FLAGS = {"groups": "within"}
# Flags that take something else than the value of the parameter.
OTHER_VALUES = ("within",)
# Arrow's allocator returns free memory to the system at once and asks for it again for the next batch: a tenth of the
# time of reading, and a fifth with two threads. It reads this variable when it is loaded.
KEEP_MEMORY = {"MIMALLOC_PURGE_DELAY": "-1"}


def build(arguments: Sequence[str]) -> typer.Typer:
    """Return the application: the module of each verb has a function `command`; that of the verb given is imported."""
    app = typer.Typer(
        name="opauc",
        cls=TopCommand,
        help=HELP,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name, summary in VERBS.items():
        is_given = name in arguments[:1]
        command = import_module(f"opauc.cli.{name}").command if is_given else _not_imported
        app.command(name=name, help=None if is_given else summary, cls=VerbCommand)(command)
    app.callback()(_top)
    return app


class ClosedOutput(io.TextIOBase):
    """Standard output where the caller closed it: writing is an error with a message, not a crash."""

    def write(self, _text: str) -> int:
        """Raise OSError."""
        raise OSError(errno.EBADF, "standard output is closed")


def main() -> None:
    """Run the command: a user's mistake is one line and exit code 2, any other exception keeps its traceback."""
    os.environ.update({name: os.environ.get(name, value) for name, value in KEEP_MEMORY.items()})
    logging.getLogger("opauc").addHandler(logging.NullHandler())  # each verb reports what is logged itself
    arguments = sys.argv[1:] or ["--help"]
    sys.stdout, sys.stderr = sys.stdout or ClosedOutput(), sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    warnings.showwarning = lambda message, *_, **__: _print(message, arguments, "warning: ")
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
        _print(error, arguments)
        code = 2
    sys.exit(code or 0)


def is_mistake(error: Exception) -> bool:
    """Tell whether an error is the user's mistake: bad arguments, bad input, a target that cannot be written."""
    # The errors of the command line parser have no class that all versions of it export.
    return isinstance(error, OpaucError | OSError) or hasattr(error, "format_message")


def message_of(error: Exception | str, arguments: Sequence[str]) -> str:
    """Return an error or a warning in one line, with parameters as options of the verb."""
    if hasattr(error, "format_message"):
        near, option = getattr(error, "possibilities", None), getattr(error, "option_name", "")
        text = unknown_name("option", option, near) if near else str(error.format_message())
        if option and not near:
            text = f"unknown option {option!r}; opauc {arguments[0]} --help lists all"
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, Message):
        text = error.render(lambda parameter: _option(parameter, arguments))
    else:
        text = str(error) or type(error).__name__
    return " ".join(text.split())


def _option(parameter: Parameter, arguments: Sequence[str]) -> str:
    """Return a parameter as the option of a verb, or of `train` where the model would have to be another one."""
    verb, name, value = arguments[0], parameter.name, parameter.value
    typed = {argument.partition("=")[0] for argument in arguments}
    if name in OTHER_FLAGS and f"--{name}" not in typed and f"--{OTHER_FLAGS[name]}" in typed:
        name = OTHER_FLAGS[name]
    if verb not in VERBS or name not in _options(verb):
        name = FLAGS.get(name, name)
    of_train = verb in VERBS and name not in _options(verb) and name in _options("train")
    flag = f"{'opauc train ' if of_train else ''}--{'no-' if value is False else ''}{name.replace('_', '-')}"
    if value in (None, ..., (), []) or isinstance(value, bool) or name in OTHER_VALUES:
        return flag
    from opauc.data.columns import quoted_list  # only where needed: the command starts faster so

    return f"{flag} {shlex.quote(quoted_list(value) if isinstance(value, list | tuple) else str(value))}"


def _options(verb: str) -> Collection[str]:
    return signature(import_module(f"opauc.cli.{verb}").command).parameters


def _print(message: Exception | str, arguments: Sequence[str], kind: str = "") -> None:
    text = shorten(shown_text(message_of(message, arguments)), MAX_MESSAGE_LENGTH)
    print(f"opauc: {kind}{text}", file=sys.stderr)


def _version(shown: bool) -> None:
    if shown:
        print(f"opauc {__version__}")
        raise typer.Exit


def _not_imported() -> None:
    """Stand for a verb that is not given."""


def _top(
    version: Annotated[
        bool, typer.Option(VERSION, help="Print the version and stop.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass
