"""`opauc export --scoring`: a small file for every verb that does not train."""

import json

import numpy as np
import pytest


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


def test_an_export_names_what_it_needs(files, opauc, tmp_path):
    _, full, _ = files
    code, _, err = opauc("export", full, "-o", tmp_path / "small.opauc")
    assert (code, err) == (2, "opauc: there is one kind of export: give --scoring\n")
    assert not list(tmp_path.iterdir())
