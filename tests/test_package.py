"""The wheel and the sdist: built, and the wheel tried from a folder of its own."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from opauc.version import __version__

ROOT = Path(__file__).parents[1]
TRY = """
import sys, opauc
assert opauc.__file__.startswith(sys.argv[1]), opauc.__file__
assert opauc.__version__ == sys.argv[2]
model = opauc.OPAUC(solver="exact").fit([[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1])
opauc.save(model, sys.argv[1] + "/model.opauc")
assert opauc.load(sys.argv[1] + "/model.opauc").predict([[3.0]]).tolist() == [1]
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


@pytest.mark.slow
def test_the_wheel_works_where_it_is_installed(built, tmp_path):
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--no-index", "--target"]
    subprocess.run([*install, str(tmp_path), str(built[0])], check=True)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONSAFEPATH": "1"}
    environment.pop("NUMBA_CACHE_DIR", None)
    tried = [sys.executable, "-c", TRY, str(tmp_path), __version__]
    subprocess.run(tried, check=True, env=environment, cwd=tmp_path)
    version = subprocess.run(
        [sys.executable, "-m", "opauc", "--version"], check=True, env=environment, cwd=tmp_path, capture_output=True
    )
    assert version.stdout.decode().split() == ["opauc", __version__]


@pytest.mark.slow
def test_the_wheel_has_the_package_and_no_more(built):
    names = zipfile.ZipFile(built[0]).namelist()
    assert {name.split("/")[0] for name in names} == {"opauc", f"opauc-{__version__}.dist-info"}
    assert "opauc/py.typed" in names
    packaged = {name for name in names if name.startswith("opauc/")}
    source = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*") if path.is_file()}
    assert packaged == {name for name in source if "__pycache__" not in name}


@pytest.mark.slow
def test_the_sdist_can_be_tested(built):
    with tarfile.open(built[1]) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "CITATION.cff", "tests/conftest.py", "docs/conf.py"} <= names


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    assert f"\n## {__version__} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert [one["family-names"] for one in citation["references"][0]["authors"]] == ["Gao", "Jin", "Zhu", "Zhou"]


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name)
def test_forms_and_workflows_are_yaml_and_run_what_exists(path):
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    for job in content.get("jobs", {}).values():
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            if step.get("run") == ".ci/run":
                assert (ROOT / ".ci" / "run").exists()


def test_every_note_of_a_change_reaches_the_changelog():
    """Named after its kind, and an item of one list."""
    pytest.importorskip("towncrier")  # of the group dev
    notes = {path.name for path in (ROOT / "CHANGES.d").iterdir()} - {"README.md", "template.md.jinja"}
    assert all(re.fullmatch(r"[a-z0-9-]+\.(feature|change|fix|doc)\.md", name) for name in notes), sorted(notes)
    build = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", __version__]
    draft = subprocess.run(build, capture_output=True, text=True, cwd=ROOT)
    assert draft.returncode == 0, draft.stderr
    assert len(re.findall(r"^- (?!- )", draft.stdout, re.MULTILINE)) == len(notes)
