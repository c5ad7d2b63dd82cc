"""The examples of the README run as they stand."""

import contextlib
import io
import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_prints_a_good_auc(number):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(EXAMPLES[number], "README.md", "exec"), {})
    assert float(printed.getvalue()) > 0.98


def test_there_are_examples_for_tables_and_for_the_objective_of_the_paper():
    assert [kind in text for kind, text in zip(("OnePassGAM", "OPAUC"), EXAMPLES, strict=True)] == [True, True]
