"""Files written by earlier versions are read, say what they said then, and learning goes on from them."""

import json
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import opauc
from opauc.cli import main
from opauc.linear.model_file import RENAMED

FOLDER = Path(__file__).parents[1] / "fixtures" / "a90a3d9"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
MODELS = {**EXPECTED["models"], **EXPECTED["commands"]}
ROWS = np.array(EXPECTED["rows"])
# Nothing, and each feature alone: their scores are sums of two numbers, the same bits on every machine.
N_EXACT = 6


def as_given(rows, told):
    """The rows as the estimator was given them: with names where it knows some."""
    rows = rows[:, : told["n_features"]]
    return rows if told["feature_names"] is None else pd.DataFrame(rows, columns=told["feature_names"])


def check(model, told, **tolerance):
    """Hold a model to what was said of it."""
    assert type(model).__name__ == told["estimator"]
    assert model.n_features_in_ == told["n_features"]
    assert model.classes_.tolist() == told["classes"]
    assert model.classes_.dtype == told["classes_type"]
    if told["feature_names"] is not None:
        assert list(model.feature_names_in_) == told["feature_names"]
    if told["solver"] is not None:
        assert (model.solver_, model.rank_) == (RENAMED.get(told["solver"], told["solver"]), told["rank"])
    rows = as_given(ROWS, told)
    scores = model.decision_function(rows)
    if not tolerance:
        assert_array_equal(model.coef_[0], told["coef"])
        assert_array_equal(scores[:N_EXACT], told["scores"][:N_EXACT])
        tolerance = {"rtol": 1e-12}
    assert_allclose(scores, told["scores"], **tolerance)
    assert_allclose(model.predict_proba(rows)[:, 1], told["probabilities"], **tolerance)
    assert model.predict(rows).tolist() == told["predicted"]


def command(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["opauc", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0


def test_every_file_beside_this_is_expected():
    kept = {path.name for path in FOLDER.iterdir() if path.suffix in (".opauc", ".checkpoint")}
    assert kept == {*MODELS, *EXPECTED["statistics"], *EXPECTED["checkpoints"]}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_an_earlier_version_scores_to_the_same_bits(name):
    check(opauc.load(FOLDER / name), MODELS[name])


@pytest.mark.parametrize("name", [name for name, told in MODELS.items() if "scores_after_more" in told])
def test_a_model_of_an_earlier_version_goes_on_learning_as_it_did(name):
    told = MODELS[name]
    model = opauc.load(FOLDER / name)
    labels = np.array(told["classes"], told["classes_type"])[EXPECTED["more_labels"]]
    model.partial_fit(as_given(np.array(EXPECTED["more_rows"]), told), labels)
    # Sums of rows may be rounded otherwise by other processors.
    assert_allclose(model.decision_function(as_given(ROWS, told)), told["scores_after_more"], rtol=1e-9)


def test_what_began_on_features_as_they_come_is_said_to_and_goes_on_so(tmp_path):
    for name in ("opauc-exact.opauc", "opauc-sgd.opauc", "command-libsvm.opauc"):
        model = opauc.load(FOLDER / name)
        assert model.standardize is False
        assert model.solution_.learner.standardize is False
    now = opauc.OPAUC(solver="sgd").fit(ROWS, np.arange(len(ROWS)) % 2)
    opauc.save(now, tmp_path / "now")
    again = opauc.load(tmp_path / "now")
    assert again.standardize is again.solution_.learner.standardize is True


@pytest.mark.parametrize("name", MODELS)
def test_a_model_written_again_is_the_same_model(name, tmp_path):
    opauc.save(opauc.load(FOLDER / name), tmp_path / "again")
    check(opauc.load(tmp_path / "again"), MODELS[name])


def test_a_fresh_process_loads_every_file_whatever_was_imported_before():
    code = "import sys, opauc\nfor path in sys.argv[1:]: print(type(opauc.load(path)).__name__)"
    paths = [FOLDER / name for name in MODELS]
    said = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=False)
    assert said.stdout.split() == [told["estimator"] for told in MODELS.values()], said.stderr


@pytest.mark.parametrize("name", EXPECTED["commands"])
def test_the_command_says_of_raw_rows_what_it_said(name, monkeypatch, capsys):
    told = EXPECTED["commands"][name]
    command(monkeypatch, "predict", FOLDER / name, FOLDER / told["data"], "--json")
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()][: len(told["rows_said"])]
    scores, probabilities, labels = zip(*told["rows_said"], strict=True)
    assert_allclose([row["score"] for row in said], scores, rtol=1e-12)
    assert_allclose([row["probability"] for row in said], probabilities, rtol=1e-12)
    assert [row["label"] for row in said] == list(labels)


def test_the_command_scores_rows_with_a_baseline(monkeypatch, capsys):
    command(monkeypatch, "predict", FOLDER / "baseline-OAM.opauc", FOLDER / "rows-1.svm")
    assert len(capsys.readouterr().out.splitlines()) == 150


@pytest.mark.parametrize("name", ["class-moments.opauc", "class-sketch.opauc"])
def test_statistics_of_an_earlier_version_say_the_same_of_any_weights(name):
    told = EXPECTED["statistics"][name]
    statistics = opauc.load(FOLDER / name)
    assert statistics.n_features == len(told["weights"])
    assert list(statistics.counts) == told["counts"]
    for found, expected in zip(statistics.summary(np.array(told["weights"])), told["summary"], strict=True):
        assert_allclose(found, expected, rtol=1e-12)


def test_statistics_of_an_earlier_version_merge():
    statistics = opauc.load(FOLDER / "class-moments.opauc")
    counts = EXPECTED["statistics"]["class-moments.opauc"]["counts"]
    assert list(statistics.merge(statistics).counts) == [2 * count for count in counts]


def test_moments_of_one_class_come_back():
    told = EXPECTED["statistics"]["exact-moments.opauc"]
    moments = opauc.load(FOLDER / "exact-moments.opauc")
    assert moments.count == told["count"]
    assert_array_equal(moments.mean, told["mean"])
    assert_allclose(moments.covariance(), told["covariance"], rtol=1e-12)


@pytest.mark.parametrize("name", EXPECTED["checkpoints"])
def test_training_begun_by_an_earlier_version_is_taken_up_and_ends_as_it_would_have(
    name, tmp_path, monkeypatch, capsys
):
    told = EXPECTED["checkpoints"][name]
    for file in (name, *told["data"]):
        shutil.copy(FOLDER / file, tmp_path)
    monkeypatch.chdir(tmp_path)  # a checkpoint knows its data by the names that were given
    options = [*(RENAMED.get(word, word) for word in told["options"]), "--checkpoint", name, "--resume", "--json"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        command(monkeypatch, "train", "--solver", "auto", *told["data"], "-o", "model", *options)
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (first["event"], first["rows"]) == ("resumed", told["rows_learned"])
    check(opauc.load("model"), told, rtol=1e-9)
