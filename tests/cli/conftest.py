"""Run the command in this process, as its user would see it."""

import sys
from typing import NamedTuple

import pytest

from opauc.cli import main
from tests.cli.commands import without_notice


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def opauc(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["opauc", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Ran(ended.value.code, out, without_notice(err))

    return run
