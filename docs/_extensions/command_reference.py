"""Write the reference of the command from the command itself, before the site is built."""

from pathlib import Path

import typer

from opauc.cli.app import VERBS, build
from opauc.cli.help import argument_name, arguments_of, default_text, panels_of, split_help, value_name

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
    text, arguments = split_help(command.help), arguments_of(command)
    usage = " ".join(["opauc", verb, *map(argument_name, arguments), "[OPTIONS]"])
    lines = [f"## {verb}", "", "```text", usage, "```", "", "\n\n".join(text.paragraphs), ""]
    if text.examples:
        lines += ["```sh", *text.examples, "```", ""]
    lines += _definitions((f"`{argument_name(one)}`", one.help) for one in arguments)
    for panel, options in panels_of(command).items():
        lines += [f"**{panel}**", "", *_definitions((_names(verb, one), _help(one)) for one in options)]
    return "\n".join(lines)


def _names(verb, option):
    flags, value = ", ".join(f"`{flag}`" for flag in (*option.opts, *option.secondary_opts)), value_name(verb, option)
    return f"{flags} *{value}*" if value else flags


def _help(option):
    default = default_text(option)
    return f"{option.help}{f' Default: `{default}`.' if default else ''}"


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
