"""What is written about the command is what it does."""

import re
from pathlib import Path

import typer

from opauc.cli.app import VERBS, build
from opauc.core.registry import FORMATS

TEXT = (Path(__file__).parents[2] / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")


def test_every_verb_is_documented_and_no_other():
    verbs = {command.name for command in build([]).registered_commands}
    assert set(re.findall(r"^\| `opauc (\w+)", TEXT, re.MULTILINE)) == verbs


def test_every_option_named_in_the_text_exists():
    verbs = [typer.main.get_command(build([verb])).commands[verb] for verb in VERBS]
    options = {"--help"} | {name for verb in verbs for one in verb.params for name in (*one.opts, *one.secondary_opts)}
    for option in set(re.findall(r"`?(--[a-z][a-z-]+)", TEXT)):
        assert option in options, option


def test_every_ending_is_documented():
    for kind in FORMATS.values():
        for ending in kind.endings:
            assert ending in TEXT
