"""`opauc update` trains a model further, in place; `train` refuses to replace one by a model of the new rows alone."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import opauc as library
from opauc.core.loop import Trainer
from opauc.core.model import load_model
from tests.cli.commands import StopHereError, one_line, stop_after

KINDS = {
    "gam": ("--init-size", "1000"),
    "exact": ("--solver", "exact", "--categorical", "city"),
    "folds": ("--alpha", "auto", "--categorical", "city"),
    "sketch": ("--solver", "exact", "--rank", "2", "--categorical", "city"),
    "sgd": ("--solver", "sgd", "--categorical", "city"),
    "filled": ("--solver", "exact", "--missing", "mean", "--categorical", "city"),
}


@pytest.fixture(autouse=True)
def in_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def write_day(name, seed, n_rows=2000, missing=False, cities=("Bern", "Chur")):
    random = np.random.default_rng(seed)
    age, size = random.normal(40, 10, n_rows), random.normal(size=n_rows)
    city = random.choice(cities, n_rows)
    bought = np.where(age / 10 + 2 * (city == "Bern") + random.logistic(size=n_rows) > 5, "yes", "no")
    sizes = ["" if missing and i % 7 == 0 else repr(float(value)) for i, value in enumerate(size)]
    lines = [f"{a!r},{s},{c},{b}" for a, s, c, b in zip(age.tolist(), sizes, city, bought, strict=True)]
    with open(name, "w") as out:
        out.write("\n".join(["age,size,city,bought", *lines]) + "\n")
    return [
        {"age": a, "size": s, "city": c} for a, s, c in zip(age.tolist(), size.tolist(), city.tolist(), strict=True)
    ]


@pytest.mark.filterwarnings("ignore:rank=2")
@pytest.mark.parametrize("kind", KINDS)
def test_an_updated_model_is_that_of_both_data_sets(opauc, kind):
    missing = kind in ("gam", "filled")
    rows = write_day("monday.csv", 0, missing=missing)
    write_day("tuesday.csv", 1, missing=missing, cities=("Bern", "Chur", "Genf"))
    assert opauc("train", "monday.csv", "--label", "bought", *KINDS[kind], "-o", "model").code == 0
    if kind == "gam":
        both = opauc("train", "monday.csv", "tuesday.csv", "--basis-from", "model", "-o", "both")
    else:
        both = opauc("train", "monday.csv", "tuesday.csv", "--label", "bought", *KINDS[kind], "-o", "both")
    assert both.code == 0, both.err
    ran = opauc("update", "model", "tuesday.csv", "--json")
    assert ran.code == 0, ran.err
    said = json.loads(ran.out.splitlines()[-1])
    assert (said["event"], said["rows"], said["model"]) == ("trained", 4000, "model")
    assert said["progressive_auc"] > 0.6
    updated, whole = library.load("model"), library.load("both")
    assert updated._fitted.counts == whole._fitted.counts
    if kind == "gam":
        assert_allclose(updated.decision_function(rows), whole.decision_function(rows), rtol=1e-8, atol=1e-8)
    else:
        assert updated.feature_names_in_.tolist() == whole.feature_names_in_.tolist()
        assert_allclose(updated.coef_, whole.coef_, rtol=1e-8, atol=1e-8 * np.abs(whole.coef_).max())


def test_an_updated_additive_model_selects_as_one_training_would(opauc):
    for day in range(3):
        write_day(f"day-{day}.csv", day)
    assert opauc("train", "day-0.csv", "--label", "bought", "--init-size", 1000, "-o", "model").code == 0
    days = [f"day-{day}.csv" for day in range(3)]
    assert opauc("train", *days, "--basis-from", "model", "-o", "both").code == 0
    for day in days[1:]:
        assert opauc("update", "model", day).code == 0
    updated, whole = library.load("model"), library.load("both")
    assert updated.selection_.model == whole.selection_.model
    assert_array_equal(updated._fitted.fixed.model.candidates.counts, whole._fitted.fixed.model.candidates.counts)
    provenance = load_model("model").provenance
    assert provenance["rows"] == 6000
    assert [one["path"] for one in provenance["inputs"]] == days
    ends = [point[0] for point in provenance["learning_curve"]]
    assert ends == sorted(ends)
    assert ends[-1] == 6000


def test_rows_that_count_twice_are_reported_unless_forgotten(opauc):
    write_day("monday.csv", 0)
    assert opauc("train", "monday.csv", "--label", "bought", *KINDS["exact"], "-o", "model").code == 0
    twice = "monday.csv: the model was trained on these rows before; they count twice now"
    assert twice in opauc("update", "model", "monday.csv", "-o", "other").err
    assert library.load("model")._fitted.counts.positive < library.load("other")._fitted.counts.positive
    write_day("tuesday.csv", 1)
    assert opauc("update", "model", "tuesday.csv").code == 0
    assert opauc("forget", "model", "monday.csv", "-o", "model").code == 0
    again = opauc("update", "model", "monday.csv")
    assert (again.code, twice in again.err) == (0, False)


def test_an_error_leaves_the_model_as_it_was(opauc):
    write_day("monday.csv", 0)
    assert opauc("train", "monday.csv", "--label", "bought", "-o", "model").code == 0
    before = Path("model").read_bytes()
    write_day("tuesday.csv", 1)
    with open("tuesday.csv", "a") as out:
        out.write("30,0.5,Bern,perhaps\n")
    assert "label perhaps" in one_line(opauc("update", "model", "tuesday.csv"))
    with open("header.csv", "w") as out:
        out.write("age,size,city,bought\n")
    assert "no rows" in one_line(opauc("update", "model", "header.csv"))
    assert "no such file" in one_line(opauc("update", "nothing", "monday.csv"))
    assert Path("model").read_bytes() == before
    library.save(library.OnePassGAM().fit([[0.0], [1.0]] * 30, [0, 1] * 30), "arrays")
    assert "partial_fit" in one_line(opauc("update", "arrays", "monday.csv"))


@pytest.mark.parametrize("kind", ["gam", "exact"])
def test_a_run_that_was_stopped_resumes_to_the_same_model(opauc, monkeypatch, kind):
    write_day("monday.csv", 0)
    for day in range(3):
        write_day(f"day-{day}.csv", 1 + day, 1000)
    days = [f"day-{day}.csv" for day in range(3)]
    assert opauc("train", "monday.csv", "--label", "bought", *KINDS[kind], "-o", "model").code == 0
    assert opauc("update", "model", *days, "-o", "wanted").code == 0
    train = Trainer.train
    stop_after(monkeypatch, 2)
    with pytest.raises(StopHereError):
        opauc("update", "model", *days, "--checkpoint-every", 1)
    monkeypatch.setattr(Trainer, "train", train)
    resumed = opauc("update", "model", *days, "--resume")
    assert resumed.code == 0, resumed.err
    assert resumed.err.startswith("resuming after row 4,000")
    assert Path("model").read_bytes() == Path("wanted").read_bytes()
    started = opauc("update", "model", *days, "--resume", "-o", "more")
    assert started.err.startswith("no checkpoint more.checkpoint: starting from the first row")


def test_train_refuses_to_replace_a_model_that_the_user_wants_to_train_further(opauc):
    write_day("monday.csv", 0)
    write_day("tuesday.csv", 1)
    assert opauc("train", "monday.csv", "--label", "bought", "-o", "base").code == 0
    before = Path("base").read_bytes()
    refused = one_line(opauc("train", "tuesday.csv", "--basis-from", "base", "-o", "./base"))
    assert "--basis-from would replace it by a model of the new rows alone" in refused
    assert "opauc update" in refused
    refused = one_line(opauc("train", "tuesday.csv", "--label", "bought", "--resume", "-o", "base"))
    assert "--resume finds no checkpoint, and would replace this model of other data" in refused
    assert "opauc update base" in refused
    assert Path("base").read_bytes() == before
    assert opauc("train", "monday.csv", "--label", "bought", "--resume", "-o", "base").code == 0
    assert opauc("train", "tuesday.csv", "--label", "bought", "-o", "base").code == 0
