"""Every verb refuses a strange file in one line."""

import shutil
from pathlib import Path

import pytest

from opauc.core.checksummed_file import read_checksummed
from tests.core.hostile_files import DELETED, changed, write_hostile

FOLDER = Path(__file__).parents[1] / "fixtures" / "a90a3d9"
READING = ("header", "reading")
STRANGE = {
    "no kind": (("kind",), DELETED),
    "a class label of 31 digits": (("header", "classes"), {"type": "<i8", "values": [0, 10**30]}),
    "class labels of a gigabyte": (("header", "classes"), {"type": "<U999999999", "values": [1, 2]}),
    "an encoding that is a list": ((*READING, "encoding"), [1, 2]),
    "an encoding without columns": ((*READING, "encoding", "numeric"), DELETED),
    "more means than columns": ((*READING, "encoding", "sums"), [1.0, 2.0, 3.0, 4.0]),
    "a category of no column": ((*READING, "encoding", "categories"), [["other", "word"]]),
    "options that are text": ((*READING, "options"), "x"),
    "an option of another type": ((*READING, "options", "hash_bits"), "9"),
    "a learning curve of words": (("header", "provenance", "learning_curve"), [["a", "b"]]),
    "a learning curve of two numbers": (("header", "provenance", "learning_curve"), [[1.0, 0.5]]),
    "inputs that are a number": (("header", "provenance", "inputs"), 3),
    "inputs without a path": (("header", "provenance", "inputs", 0, "path"), DELETED),
    "rows in words": (("header", "provenance", "rows"), "many"),
    "feature names that are numbers": (("header", "feature_names"), [1, 2, 3, 4, 5]),
    "feature names that are a number": (("header", "feature_names"), 5),
    "a method among what fitting found": (("header", "fitted", "solver_"), {"predict": "x"}),
}
VERBS = {
    "predict": ["bad", "table-1.csv"],
    "evaluate": ["bad", "table-1.csv"],
    "inspect": ["bad"],
    "merge": ["bad", "good", "-o", "out"],
    "forget": ["bad", "table-1.csv", "-o", "out"],
    "report": ["bad", "table-1.csv", "-o", "out"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("table-1.csv", "table-2.csv"):
        shutil.copy(FOLDER / name, tmp_path)
    shutil.copy(FOLDER / "command-table.opauc", tmp_path / "good")
    return tmp_path


def spoil(source, place, value):
    kind, header, arrays = read_checksummed(FOLDER / source)
    whole = {"format": "opauc", "version": 1, "kind": kind, "header": header}
    write_hostile("bad", changed(whole, place, value), arrays)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("strange", STRANGE)
def test_every_verb_refuses_a_strange_model_in_one_line(opauc, strange):
    spoil("command-table.opauc", *STRANGE[strange])
    for verb, arguments in VERBS.items():
        ran = opauc(verb, *arguments)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), verb
        assert ran.err.startswith("opauc: bad: cannot be used: "), verb


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("kind",), DELETED),
        (("header", "resume_position"), []),
        (("header", "resume_position", "position"), [1]),
        (("header", "resume_position", "position"), [-1, 0, ""]),
        (("header", "resume_position", "position"), [0, 10**30, ""]),
        (("header", "resume_position", "source"), 7),
        (("header", "resume_position", "encoding", "counts"), ["a", "b"]),
        (("header", "resume_position", "records"), [{"path": 3}]),
        (("header", "next_look"), -1),
        (("header", "pace"), [[3, 4], [1, 2]]),
        (("header", "plan"), None),
        (("header", "positive"), ["a"]),
        (("header", "fitted"), {}),
        (("header", "n_features"), 14_000),
        (("header", "parameters", "alpha"), "x"),
    ],
)
def test_a_strange_checkpoint_is_not_taken_up(opauc, place, value):
    spoil("table.checkpoint", place, value)
    options = ["--categorical", "word", "--missing", "mean", "--checkpoint", "bad", "--resume"]
    ran = opauc("train", "--solver", "auto", "table-1.csv", "table-2.csv", "-o", "model", *options)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert ran.err.startswith("opauc: bad: cannot be used: ")
