"""`opauc evaluate --by` and `opauc report --by`."""

import json
import re

import pytest

from tests.api.test_evaluate_groups import TABLE
from tests.cli.commands import one_line


@pytest.fixture
def model(tmp_path, opauc):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    words = ("--label", "bought", "--drop", "site", "--no-trees", "-o", tmp_path / "m")
    assert opauc("train", tmp_path / "t.csv", *words).code == 0
    return tmp_path / "m"


def test_groups_are_printed_and_on_the_page(model, tmp_path, opauc):
    ran = opauc("evaluate", model, tmp_path / "t.csv", "--by", "site")
    assert ran.code == 0, ran.err
    assert "by site" in ran.out
    assert "north" in ran.out
    assert "predicted" in ran.out
    facts = json.loads(opauc("evaluate", model, tmp_path / "t.csv", "--by", "age", "--json").out.splitlines()[-1])
    assert facts["by"] == "age"
    assert sum(group["rows"] for group in facts["groups"]) == facts["rows"] == 3000
    for group in facts["groups"]:
        assert group["low"] < group["auc"] < group["high"]
        assert group["points"]
    assert opauc("report", model, tmp_path / "t.csv", "--by", "site", "-o", tmp_path / "p.html").code == 0
    assert "By site" in (tmp_path / "p.html").read_text()


def test_the_terminal_and_the_page_show_rates_at_the_same_threshold(model, tmp_path, opauc):
    ran = opauc("evaluate", model, tmp_path / "t.csv", "--by", "site", "--report", tmp_path / "p.html")
    printed = {float(found) for found in re.findall(r"; at\s+(\S+)\s+recall", ran.out)}
    (on_page,) = re.findall(
        r"rates at one threshold for all, (\S+), where at most 10 %", (tmp_path / "p.html").read_text()
    )
    assert printed == {float(on_page.replace("\u2212", "-"))}


def test_mistakes_are_one_line(model, tmp_path, opauc):
    message = one_line(opauc("evaluate", model, tmp_path / "t.csv", "--by", "sites"))
    assert "no column sites; there are site" in message
    message = one_line(opauc("evaluate", model, tmp_path / "t.csv", "--by", "site", "--engine", "dask"))
    assert message == "--by reads on this machine; leave --engine out"
