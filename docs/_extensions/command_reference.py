"""Write the reference of the command from the command itself, before the site is built."""

from importlib import import_module
from pathlib import Path
from typing import get_args, get_type_hints

import typer

from opauc.cli.app import VERBS, build

# How the value of an option is shown, by its type.
VALUES = {int: "NUMBER", float: "NUMBER", Path: "FILE"}
TITLE = """# Options of the command

Generated from `opauc VERB --help`. [The command](command-line.md) describes what the verbs do and how data is read.

Exit codes: 0 for success; 2 for a mistake in the arguments or the data; 3 where the AUC is below `evaluate --at-least`;
1 for a bug; 130 after Ctrl-C.
"""


def command_pages():
    """Return the text of the page: a section per verb, a table per panel of options."""
    return "\n".join([TITLE, *(_section(verb) for verb in VERBS)])


def _section(verb):
    command = typer.main.get_command(build([verb])).commands[verb]
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    usage = " ".join(["opauc", verb, *(_metavar(one) for one in arguments), "[OPTIONS]"])
    lines = [f"## {verb}", "", "```text", usage, "```", "", _paragraphs(command.help), ""]
    hints = get_type_hints(import_module(f"opauc.cli.{verb}").command)
    panels = {}
    for option in options:
        panels.setdefault(getattr(option, "rich_help_panel", None) or "Options", []).append(option)
    if arguments:
        lines += _definitions((f"`{_metavar(one)}`", one.help) for one in arguments)
    for panel, members in panels.items():
        lines += [f"**{panel}**", "", *_definitions((_names(one, hints[one.name]), _help(one)) for one in members)]
    return "\n".join(lines)


def _paragraphs(text):
    return "\n\n".join(" ".join(part.split()) for part in (text or "").replace("\b", "").split("\n\n"))


def _metavar(argument):
    name = argument.metavar or argument.name.upper()
    return f"{name}..." if argument.nargs == -1 and not name.endswith("...") else name


def _names(option, hint):
    flags = ", ".join(f"`{flag}`" for flag in (*option.opts, *option.secondary_opts))
    kind = next((name for one, name in VALUES.items() if one is hint or one in get_args(hint)), "TEXT")
    return flags if option.is_flag else f"{flags} *{option.metavar or kind}*"


def _help(option):
    default = option.default
    has_default = default not in (None, False, True) and not callable(default) and "Default:" not in (option.help or "")
    return f"{option.help}{f' Default: `{default}`.' if has_default else ''}"


def _definitions(entries):
    for name, text in entries:
        yield from (name, f": {' '.join((text or '').split())}", "")


def _write(app):
    target = Path(app.srcdir) / "reference" / "command-options.md"
    text = command_pages()
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def setup(app):
    """Run before Sphinx looks for pages."""
    app.connect("config-inited", lambda app, _: _write(app))
    return {"parallel_read_safe": True}
