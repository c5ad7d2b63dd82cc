"""The help of the command and of each verb: examples that parse, no types, panels, any width."""

import re
import shlex

import pytest
import typer

from opauc.cli.app import VERBS, build
from opauc.cli.help import LINEAR, OPTIONS, default_text, panels_of, split_help


def command_of(verb):
    return typer.main.get_command(build([verb])).commands[verb]


def shown(opauc, monkeypatch, *arguments, width=100):
    monkeypatch.setenv("COLUMNS", str(width))
    return opauc(*arguments).out


def test_verbs_are_listed_in_the_order_of_work(opauc, monkeypatch):
    text = shown(opauc, monkeypatch, "--help")
    assert re.findall(r"^  (\w+)  ", text.split("Verbs")[1].split("Options")[0], re.MULTILINE) == list(VERBS)
    assert list(VERBS)[:3] == ["train", "evaluate", "predict"]
    assert "opauc train orders.csv" in text


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_has_every_option_and_no_types(verb, opauc, monkeypatch):
    text = shown(opauc, monkeypatch, verb, "--help")
    for option in command_of(verb).params:
        for flag in (*option.opts, *option.secondary_opts):
            assert option.param_type_name == "argument" or flag in text
    assert not re.search(r"<\w+>|\[default|\brange\b \[", text)
    assert text.startswith(f"Usage: opauc {verb} [OPTIONS]")


@pytest.mark.parametrize("verb", VERBS)
def test_each_example_of_a_verb_parses(verb):
    command = command_of(verb)
    examples = split_help(command.help).examples
    assert examples
    for example in examples:
        words = shlex.split(re.split(r"[>]", example.split("| ")[-1])[0])
        start = words.index("opauc")
        assert words[start + 1] == verb
        context = command.make_context(verb, words[start + 2 :])
        assert all(not one.required or context.params[one.name] for one in command.params)


@pytest.mark.parametrize("width", [60, 100, 300])
def test_lines_fit_the_terminal(width, opauc, monkeypatch):
    text, examples = (
        shown(opauc, monkeypatch, "train", "-h", width=width),
        split_help(command_of("train").help).examples,
    )
    assert all(len(line.rstrip()) <= min(width, 110) for line in text.splitlines() if line.strip() not in examples)


def test_examples_are_not_broken(opauc, monkeypatch):
    assert f"  {split_help(command_of('constrain').help).examples[0]}\n" in shown(
        opauc, monkeypatch, "constrain", "-h", width=40
    )


def test_options_of_linear_models_are_the_last_panel():
    panels = panels_of(command_of("train"))
    assert next(iter(panels)) == OPTIONS
    assert list(panels)[-1] == LINEAR
    assert "--alpha" in [option.opts[0] for option in panels[LINEAR]]


def test_defaults_are_shown_as_they_are_given():
    defaults = {option.opts[0]: default_text(option) for option in command_of("train").params}
    assert defaults["--trees"] == "--trees"
    assert defaults["--alpha"] == "1e-4"
    assert defaults["--json"] == ""
    assert defaults["--label"] == ""
