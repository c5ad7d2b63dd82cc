"""The README is short, says what a stranger asks first, and is true; tests/test_docs_code.py runs its examples."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
HEADINGS = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)


def test_it_begins_with_what_this_is_and_how_to_get_it():
    first = TEXT.split("\n\n")[1]
    assert "binary classifiers" in first
    assert "scikit-learn" in first
    assert HEADINGS[:3] == ["Install", "Quick start", "When to use it, and when not"]


def test_it_is_one_screen_and_a_half():
    assert len(TEXT.splitlines()) < 110


@pytest.mark.parametrize("target", ["run", "test", "check", "docs"])
def test_every_target_of_make_it_names_exists(target):
    assert f"make {target}" in TEXT
    assert re.search(rf"^{target}\b.*:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_best_of_each_row_is_bold_whoever_it_is():
    rows = re.findall(r"^\| [\w-]+ \| [\d,]+ \|(.*)\|$", TEXT, re.MULTILINE)
    assert len(rows) == 8
    bold = []
    for row in rows:
        cells = row.split("|")
        aucs = [float(re.search(r"\.\d{4}|–$", cell.strip())[0].replace("–", "0")) for cell in cells]
        assert [("**" in cell) for cell in cells] == [auc == max(aucs) for auc in aucs]
        bold.append(aucs.index(max(aucs)))
    assert len(set(bold)) > 1, "a table on which only one wins is no comparison"


def test_its_figures_are_those_of_the_benchmark():
    page = (ROOT / "docs" / "benchmarks" / "tables.md").read_text(encoding="utf-8")
    for name, rows, cells in re.findall(r"^\| ([\w-]+) \| ([\d,]+) \|(.*)\|$", TEXT, re.MULTILINE):
        spread = re.search(rf"^\| {name} \| \.\d+ ± .*$", page, re.MULTILINE)[0]
        assert re.findall(r"\.\d+ ± \.\d+", cells.replace("**", "")) == re.findall(r"\.\d+ ± \.\d+", spread)
        cells, ebm = cells.rsplit("|", 1)
        assert ebm.replace("**", "").strip() == spread.split("|")[-2].strip()
        cells = re.sub(r" ± \.\d+", "", cells)
        lines = re.findall(rf"^\| {name}(?: †)? \| {rows} \|.*$", page, re.MULTILINE)
        assert any(all(cell.replace("**", "").strip() in line for cell in cells.split("|")) for line in lines), name


def test_what_its_examples_import_is_installed_with_it():
    """The examples take a data frame, and pandas is no dependency: a stranger has what the page tells to install."""
    installed = re.search(r"^python -m pip install \. (.*?) *#", TEXT, re.MULTILINE)[1].split()
    assert ("as_frame=True" in TEXT) == ("pandas" in installed)
