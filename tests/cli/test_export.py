"""`opauc export`: models in other formats, and a small file for every verb that does not train."""

import json

import duckdb
import numpy as np
import pytest

from opauc import export, load


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of two classes with an interaction."""
    folder, rng = tmp_path_factory.mktemp("export"), np.random.default_rng(0)
    rows, kinds = rng.normal(size=(3000, 3)), rng.choice(["a", "b", "c"], 3000)
    labels = np.where(rows[:, 0] * rows[:, 1] + rows[:, 2] + (kinds == "a") + rng.normal(size=3000) > 0, "yes", "no")
    lines = [f"{x},{y},{z},{kind},{label}" for (x, y, z), kind, label in zip(rows, kinds, labels, strict=True)]
    (folder / "table.csv").write_text("\n".join(["x,y,z,kind,bought", *lines]) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def files(folder, opauc):
    table, full, small = folder / "table.csv", folder / "full.opauc", folder / "small.opauc"
    if not small.exists():
        assert opauc("train", table, "--label", "bought", "-o", full)[0] == 0
        code, out, err = opauc("export", full, "-o", small, "--scoring")
        assert code == 0, err
        assert f"{small}: " in out + err
        assert "for scoring only" in out + err
    return table, full, small


def test_the_small_file_predicts_evaluates_and_is_inspected_as_the_full_one(files, opauc):
    table, full, small = files
    assert small.stat().st_size < full.stat().st_size
    scores = [opauc("predict", model, table) for model in (full, small)]
    assert scores[0] == scores[1]
    assert scores[0].code == 0
    lines = [opauc("evaluate", model, table, "--json").out.splitlines() for model in (full, small)]
    assert ["trained on these rows" in warning for warning, _ in lines] == [True, True]
    aucs = [json.loads(last)["auc"] for _, last in lines]
    assert aucs[0] == aucs[1] > 0.7
    code, shown, _ = opauc("inspect", small)
    assert code == 0
    assert "x × y" in shown


def test_the_report_page_shows_the_terms(files, opauc, tmp_path):
    table, _, small = files
    code, _, err = opauc("report", small, table, "-o", tmp_path / "page.html")
    assert code == 0, err
    assert "x × y" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_training_merging_and_forgetting_are_refused_in_one_line(files, opauc, tmp_path):
    table, full, small = files
    for arguments in (
        ("merge", full, small, "-o", tmp_path / "merged.opauc"),
        ("merge", small, small, "-o", tmp_path / "merged.opauc"),
        ("forget", small, table, "-o", tmp_path / "less.opauc"),
        ("update", small, table, "-o", tmp_path / "more.opauc"),
        ("train", table, "--label", "bought", "--basis-from", small, "-o", tmp_path / "more.opauc"),
    ):
        code, _, err = opauc(*arguments)
        assert code == 2
        assert "saved for scoring only" in err
        assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "small.opauc"], "small.opauc: for a small model file give --scoring"),
        (["-o", "a.opauc", "--scoring", "--to", "json"], "--scoring is a format of its own; leave out --to json"),
        (["-o", "a.txt"], "a.txt: the ending '.txt' is of no format; name one (--to) or end the name with one of "),
        (["-o", "a.json", "--to", "jason"], "unknown format of export 'jason'; expected one of json"),
        (["-o", "a.json", "--dialect", "spark"], "the format json does not take --dialect; these do: "),
        (["-o", "a.json", "--table", "t"], "the format json does not take --table; these do: sql"),
        (["-o", "a.sql", "--dialect", "postgre"], "--dialect: unknown dialect 'postgre'; expected one of postgres, "),
        (["-o", "a.sql", "--table", "a."], "--table a. is no name of a table"),
        (["-o", "a.csv", "--base-odds", "0"], "--base-odds must be positive, got 0.0"),
        (["-o", "a.sql", "--base-odds", "3"], "the format sql does not take --base-odds; these do: scorecard"),
        (["-o", "a.json", "--reasons", "2"], "the format json does not take --reasons; these do: "),
    ],
)
def test_an_export_names_what_it_needs(arguments, message, files, opauc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = opauc("export", files[1], *arguments)
    assert code == 2
    assert err.startswith(f"opauc: {message}")
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [["model.js"], ["model.cjs"], ["model.c", "--reasons", "2"], ["model.onnx"]])
def test_code_is_what_python_writes(arguments, files, opauc, tmp_path):
    name, options = arguments[0], arguments[1:]
    code, _, err = opauc("export", files[1], "-o", tmp_path / name, *options)
    assert code == 0, err
    export(load(files[1]), tmp_path / f"same-{name}", reasons=int(options[1]) if options else 0)
    assert (tmp_path / name).read_bytes() == (tmp_path / f"same-{name}").read_bytes()


def test_the_file_is_what_python_writes(files, opauc, tmp_path):
    code, out, err = opauc("export", files[1], "-o", tmp_path / "model.json")
    assert code == 0, err
    assert f"{tmp_path / 'model.json'}: " in out + err
    export(load(files[1]), tmp_path / "same.json")
    assert (tmp_path / "model.json").read_bytes() == (tmp_path / "same.json").read_bytes()
    assert json.loads((tmp_path / "model.json").read_text())["estimator"] == "OnePassGAM"


def test_sql_of_the_command_scores_the_file_it_was_trained_on(files, opauc, tmp_path):
    table, full, _ = files
    query = tmp_path / "score.sql"
    code, _, err = opauc("export", full, "-o", query, "--table", "shop.rows", "--reasons", "2", "--typed")
    assert code == 0, err
    with duckdb.connect() as connection:
        connection.execute("create schema shop")
        connection.execute(f"create table shop.rows as from read_csv('{table}')")
        found = connection.execute(query.read_text(encoding="utf-8")).df()
    expected = load(full).decision_function(found[["x", "y", "z", "kind"]])
    assert np.abs(found["score"] - expected).max() < 1e-9
    assert {"x", "bought", "probability", "label", "reason_2", "contribution_2"} <= set(found)


def test_a_scorecard_of_the_command_is_csv(files, opauc, tmp_path):
    table, _, _ = files
    code, _, err = opauc("train", table, "--label", "bought", "-o", tmp_path / "plain.opauc", "--no-trees")
    assert code == 0, err
    code, _, err = opauc("export", tmp_path / "plain.opauc", "-o", tmp_path / "card.csv", "--points-to-double", "0")
    assert code == 0, err
    lines = (tmp_path / "card.csv").read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["term,bin,points,log_odds", "(scale),points are log-odds,,"]
    assert any(line.startswith("kind,kind: a,") for line in lines)
