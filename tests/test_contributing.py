"""CONTRIBUTING.md leads to files that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "opauc"
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
# Where the paths of a sentence may begin: the walks of a row name files of the package that they are in.
BEGINNINGS = (ROOT, SOURCE, SOURCE / "additive", SOURCE / "data")
FILES = sorted({*re.findall(r"`(\w[\w./]*\.py)`", TEXT)})
POLICIES = re.findall(
    r"^\| ((?:`\w+`(?:, )?)+)[^|]*\| `([\w/]+\.py)`", TEXT.split("## Where the deciding numbers")[1], re.M
)


@pytest.mark.parametrize("name", FILES)
def test_every_file_that_it_names_exists(name):
    if "/" in name:
        assert any((beginning / name).is_file() for beginning in BEGINNINGS)
    else:
        assert [*SOURCE.rglob(name)]


@pytest.mark.parametrize(("names", "file"), POLICIES)
def test_every_policy_is_in_its_file(names, file):
    text = (SOURCE / file).read_text(encoding="utf-8")
    for name in re.findall(r"\w+", names):
        assert re.search(rf"^class {name}\b", text, re.M)


def test_every_policy_of_the_library_is_listed():
    defined = {
        name
        for path in SOURCE.rglob("*.py")
        for name in re.findall(r"^class (\w+Policy)\b", path.read_text(encoding="utf-8"), re.M)
    }
    listed = {name for names, _ in POLICIES for name in re.findall(r"\w+", names)}
    assert defined - listed == {"AdditivePolicy"}  # all policies of an additive model in one


def test_every_field_of_a_policy_decides_something():
    sources = [path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")]
    classes = [
        cls for text in sources for cls in re.findall(r"^class \w+Policy\b.*?(?=^\S)", text + "\n#", re.M | re.S)
    ]
    fields = {field for cls in classes for field in re.findall(r"^    (\w+): ", cls, re.M)}
    assert len(fields) > 100
    read = {name for text in sources for name in re.findall(r"(?<=\w)\.(\w+)", text)}
    assert fields - read == set()
