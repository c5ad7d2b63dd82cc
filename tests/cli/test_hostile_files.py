"""Every verb refuses a strange file in one line."""

import sys

import numpy as np
import pandas as pd
import pytest

from opauc.cli import main
from opauc.core.checksummed_file import read_checksummed
from opauc.data import sources as byte_source
from tests.cli.commands import StopHereError, stop_after
from tests.core.hostile_files import DELETED, changed, write_hostile

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
    "a method among the fitted attributes": (("header", "fit", "fitted", "solver_"), {"predict": "x"}),
}
VERBS = {
    "predict": ["bad", "table-1.csv"],
    "evaluate": ["bad", "table-1.csv"],
    "inspect": ["bad"],
    "merge": ["bad", "good", "-o", "out"],
    "forget": ["bad", "table-1.csv", "-o", "out"],
    "report": ["bad", "table-1.csv", "-o", "out"],
}


TRAIN = ["train", "--solver", "auto", "table-1.csv", "table-2.csv", "--categorical", "word", "--missing", "mean"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with two tables, a model of both, and a checkpoint of the first rows."""
    folder, random = tmp_path_factory.mktemp("made"), np.random.default_rng(0)
    for name, words in (("table-1.csv", ["red", "green"]), ("table-2.csv", ["green", "blue"])):
        size, age = random.normal(size=(2, 150)).round(3)
        table = pd.DataFrame({"size": size, "word": random.choice(words, 150), "age": age})
        table.loc[random.random(150) < 0.1, "size"] = np.nan
        table.assign(label=np.where(age + random.normal(size=150) > 0, "yes", "no")).to_csv(folder / name, index=False)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setattr(sys, "argv", ["opauc", *TRAIN, "-o", "good", "-q"])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        patched.setattr(byte_source, "BLOCK_BYTES", 1024)
        patched.setattr(sys, "argv", ["opauc", *TRAIN, "-o", "half", "-q", "--checkpoint-every", "1"])
        stop_after(patched, 4)
        with pytest.raises(StopHereError):
            main()
    return folder


@pytest.fixture
def folder(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


def spoil(source, place, value):
    kind, header, arrays = read_checksummed(source)
    whole = {"format": "opauc", "version": 1, "kind": kind, "header": header}
    write_hostile("bad", changed(whole, place, value), arrays)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("strange", STRANGE)
def test_every_verb_refuses_a_strange_model_in_one_line(opauc, strange):
    spoil("good", *STRANGE[strange])
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
        (("header", "fit", "fitted"), {}),
        (("header", "n_features"), 14_000),
        (("header", "parameters", "alpha"), "x"),
    ],
)
def test_a_strange_checkpoint_is_not_taken_up(opauc, place, value):
    spoil("half.checkpoint", place, value)
    ran = opauc(*TRAIN, "-o", "model", "--checkpoint", "bad", "--resume")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert ran.err.startswith("opauc: bad: cannot be used: ")
