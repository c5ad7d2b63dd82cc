"""What `opauc --help` and `opauc VERB --help` print: purpose, examples, then the options in their panels."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import typer.core
from rich.console import Console
from rich.table import Table
from rich.text import Text

# A line of a docstring that begins so is an example.
EXAMPLE = "Example: "
# How the value of an option is shown, by its type, where it has no metavar.
VALUES: dict[type, str] = {int: "NUMBER", float: "NUMBER", Path: "FILE"}
INDENT = "  "
OPTIONS, LINEAR = "Options", "Linear models"
# Columns of the text, at most, and of the names of options.
MAX_WIDTH, NAME_WIDTH = 110, 34


class HelpText(NamedTuple):
    """The docstring of a verb in parts."""

    paragraphs: list[str]
    examples: list[str]


def split_help(text: str) -> HelpText:
    """Return the paragraphs of a docstring without line breaks, and the commands of its lines "Example: ...".

    Examples
    --------
    >>> from opauc.cli.help import split_help
    >>> split_help("Score rows.\\n\\nOf one\\nfile.\\nExample: opauc predict m.opauc new.csv")
    HelpText(paragraphs=['Score rows.', 'Of one file.'], examples=['opauc predict m.opauc new.csv'])
    """
    lines = inspect.cleandoc(text).split("\n")
    examples = [line.removeprefix(EXAMPLE) for line in lines if line.startswith(EXAMPLE)]
    rest = "\n".join(line for line in lines if not line.startswith(EXAMPLE))
    return HelpText([" ".join(part.split()) for part in rest.split("\n\n") if part.strip()], examples)


def argument_name(argument: Any) -> str:
    """Return the name of an argument as usage lines show it."""
    name: str = argument.metavar or argument.name.upper()
    return f"{name}..." if argument.nargs == -1 and not name.rstrip("]").endswith("...") else name


def value_name(verb: str, option: Any) -> str:
    """Return the placeholder of the value of an option, such as FILE; empty for a flag."""
    if option.is_flag:
        return ""
    hint = get_type_hints(import_module(f"opauc.cli.{verb}").command).get(option.name)
    kind = next((name for one, name in VALUES.items() if one is hint or one in get_args(hint)), "TEXT")
    return option.metavar or kind


def default_text(option: Any) -> str:
    """Return the default of an option as it would be given; empty where there is none, or the help tells it."""
    default = option.default
    if default is None or callable(default) or "Default:" in (option.help or ""):
        return ""
    if option.is_flag:
        return (option.opts if default else option.secondary_opts)[0] if option.secondary_opts else ""
    return str(default)


def panels_of(command: Any) -> dict[str, list[Any]]:
    """Return the options of a verb by panel: those without one first, those of linear models last."""
    panels: dict[str, list[Any]] = {OPTIONS: []}
    for option in command.params:
        if option.param_type_name == "option" and not getattr(option, "hidden", False):
            panels.setdefault(getattr(option, "rich_help_panel", None) or OPTIONS, []).append(option)
    if LINEAR in panels:
        panels[LINEAR] = panels.pop(LINEAR)
    return panels


def arguments_of(command: Any) -> list[Any]:
    """Return the arguments of a verb."""
    return [one for one in command.params if one.param_type_name == "argument"]


class VerbCommand(typer.core.TyperCommand):
    """A verb whose help has examples, and names options without their types."""

    def format_help(self, ctx: Any, _formatter: Any) -> None:
        """Print the help."""
        verb, text = str(self.name), split_help(self.help or "")
        usage = " ".join(["opauc", verb, "[OPTIONS]", *map(argument_name, arguments_of(self))])
        panels = {"Arguments": [(argument_name(one), one.help or "") for one in arguments_of(self)]}
        for panel, options in panels_of(self).items():
            panels[panel] = [(_flags(verb, one), _description(one)) for one in options]
        panels[OPTIONS].append((_flags(verb, self.get_help_option(ctx)), "Show this message and exit."))
        _print(usage, text, panels)


class TopCommand(typer.core.TyperGroup):
    """The command itself, whose help lists the verbs in the order of work."""

    def format_help(self, ctx: Any, _formatter: Any) -> None:
        """Print the help."""
        verbs = [(name, command.help or "") for name, command in self.commands.items()]
        options = [(_flags("", one), getattr(one, "help", None) or "") for one in self.params]
        options.append((_flags("", self.get_help_option(ctx)), "Show this message and exit."))
        _print("opauc VERB [OPTIONS] ...", split_help(self.help or ""), {"Verbs": verbs, OPTIONS: options})


def _flags(verb: str, option: Any) -> str:
    longest_last = sorted(option.opts, key=len)
    flags = ", ".join(longest_last) + "".join(f" / {flag}" for flag in option.secondary_opts)
    return f"{flags} {value_name(verb, option)}".rstrip()


def _description(option: Any) -> str:
    default = default_text(option)
    required = ["Required."] if option.required else []
    return " ".join([option.help or "", *required, *([f"Default: {default}."] if default else [])])


def _print(usage: str, text: HelpText, panels: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    console = Console(highlight=False)
    console.width = min(console.width, MAX_WIDTH)
    for line in _lines(usage, text, panels):
        console.print(line, soft_wrap=isinstance(line, Text) and line.plain.startswith(INDENT))


def _lines(usage: str, text: HelpText, panels: Mapping[str, Sequence[tuple[str, str]]]) -> Iterator[Text | Table]:
    yield Text.assemble("Usage: ", (usage, "bold"))
    for paragraph in text.paragraphs:
        yield Text("\n" + paragraph)
    if text.examples:
        yield Text("\nExamples", "bold")
        yield from (Text(INDENT + example) for example in text.examples)  # not broken: they are copied
    for title, entries in panels.items():
        if entries:
            yield Text(f"\n{title}", "bold")
            table = Table.grid(padding=(0, 2))
            table.add_column(width=0)  # indents by the padding
            table.add_column(max_width=NAME_WIDTH)
            table.add_column(ratio=1)
            for name, description in entries:
                table.add_row("", Text(name), Text(description))
            yield table
