"""Run the command in this process, as its user would see it."""

import sys
from typing import NamedTuple

import pytest

from opauc.cli import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def without_notice(text):
    """Leave out that kernels are being compiled, which only a first run says and tests of its own look at."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("opauc is compiling"))


@pytest.fixture
def opauc(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["opauc", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Ran(ended.value.code, out, without_notice(err))

    return run
