"""`opauc edit`: a page, its patch, and a new model with a ledger; `opauc predict --reasons`."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import opauc as library
from opauc import OnePassGAM
from tests.additive.editing.test_edits import FRAME, LABELS, contributions, term_of
from tests.cli.commands import one_line
from tests.report.driver import Browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("edited")
    columns = ["age", "pay", "job", "member"]
    model = OnePassGAM(trees=False, random_state=0, interactions=[("age", "member")])
    library.save(model.fit(FRAME[columns][:1500], LABELS[:1500]), folder / "model")
    library.save(model.fit(FRAME[columns][:1400], LABELS[:1400]), folder / "other")
    library.save(library.OPAUC().fit(np.eye(4), [0, 1, 0, 1]), folder / "linear")
    library.save(model, folder / "small", scoring_only=True)
    FRAME[columns][2000:2100].to_csv(folder / "rows.csv", index=False)
    return folder


@pytest.fixture
def run(folder, monkeypatch, opauc):
    monkeypatch.chdir(folder)
    return opauc


def write_patch(run, edits, source="model", **changes):
    """Write a patch for a model, as its page would export it."""
    run("edit", source, "-o", "page.html")
    text = Path("page.html").read_text(encoding="utf-8")
    data = json.loads(text[text.index('id="data">') + 10 :].split("</script>")[0])
    patch = {"format": data["format"], "version": data["version"], "model": data["model"], "edits": edits} | changes
    Path("patch.json").write_text(json.dumps(patch), encoding="utf-8")


def test_a_curve_dragged_in_the_browser_is_that_of_the_new_model(run, folder):
    assert run("edit", "model", "-o", "drag.html").code == 0
    browser = Browser(folder)
    try:
        browser.open(folder / "drag.html")
        names = browser.run("[...document.querySelectorAll('#terms .term-name')].map(e => e.textContent)")
        browser.click(f"#terms li:nth-child({1 + names.index('age')}) button")
        browser.click("#increasing")
        browser.drag('[data-index="9"]', 0, 25)
        browser.click(f"#terms li:nth-child({1 + names.index('job')}) button")
        browser.type("#level-0", "0.5")
        browser.click("#download")
        patch = json.loads(browser.downloaded("patch.json"))
        assert browser.complaints() == []
    finally:
        browser.close()
    ran = run("edit", "model", "--apply", "patch.json", "-o", "new", "--who", "ann", "--why", "rises with age")
    assert (ran.code, ran.err.strip()) == (0, "new: 2 edits applied")
    model, [of_age, of_job] = library.load("new"), patch["edits"]
    assert of_age["term"] == "age"
    expected = dict(of_age["points"])
    term = term_of(model, "age")
    assert list(term.at[0]) == list(expected)
    np.testing.assert_allclose(term.value, list(expected.values()), atol=1e-9)
    np.testing.assert_allclose(term_of(model, "job").value, list(of_job["levels"].values()), atol=1e-9)
    assert [(edit.who, edit.why) for edit in model.edits_] == [("ann", "rises with age")] * 2


def test_inspect_and_the_report_page_show_the_ledger(run):
    write_patch(run, [{"term": "age × member", "remove": True}, {"term": "job", "levels": {"cook": 1.0}}])
    assert run("edit", "model", "--apply", "patch.json", "-o", "new", "--who", "<ann>", "--why", "as agreed").code == 0
    text = run("inspect", "new").out
    assert "edits, the oldest first" in text
    assert "1. age × member" in text
    assert "remove by <ann>, 20" in text
    assert "as agreed" in text
    found = json.loads(run("inspect", "new", "--json").out)["additive"]["edits"]
    assert [(edit["term"], edit["action"], edit["who"]) for edit in found] == [
        ("age × member", "remove", "<ann>"),
        ("job", "edit", "<ann>"),
    ]
    assert found[1]["after"][found[1]["at"][0].index("cook")] == 1.0
    labeled = FRAME[["age", "pay", "job", "member"]][2000:2400].assign(label=LABELS[2000:2400])
    labeled.to_csv("labeled.csv", index=False)
    page = library.load("new")
    library.save(page, "again")
    assert run("report", "again", "labeled.csv", "-o", "report.html").code == 0
    html = Path("report.html").read_text(encoding="utf-8")
    part = html[html.index(">Edits<") :]
    assert "&lt;ann&gt;" in part
    assert "as agreed" in part
    # A second edit of the same term is for the model that has the first.
    write_patch(run, [{"term": "job", "remove": True}], "new")
    assert run("edit", "new", "--apply", "patch.json", "-o", "newer", "--who", "ben").code == 0
    assert len(library.load("newer").edits_) == 3
    assert not contributions(library.load("newer"), "job", pd.read_csv("rows.csv")).any()


@pytest.mark.parametrize(
    ("edits", "changes", "message"),
    [
        ([{"term": "agee", "remove": True}], {}, "patch.json: unknown term 'agee'; expected one of age, "),
        (
            [{"term": "job", "levels": {"cok": 1}}],
            {},
            "patch.json: term 'job': unknown level 'cok'; expected one of cook",
        ),
        (
            [{"term": "job", "points": [[1, 2]]}],
            {},
            "patch.json: term 'job' has levels: expected a contribution for each",
        ),
        ([{"term": "age"}], {}, "patch.json: term 'age': expected points or levels"),
        (
            [{"term": "age", "points": [[1]]}],
            {},
            "patch.json: term 'age': expected pairs of a value and a contribution",
        ),
        (
            [{"term": "age", "points": "x"}],
            {},
            "is no patch that `opauc edit` exports (patch: edits[0]: points: expected a list",
        ),
        ([{"term": "age", "points": [[1, 1e999]]}], {}, "is no patch that `opauc edit` exports"),
        ([{"name": "age"}], {}, "is no patch that `opauc edit` exports"),
        ([], {}, "patch.json: has no edits"),
        (
            [],
            {"model": "0"},
            "patch.json: is a patch for another model, or for this one before it was changed; export it",
        ),
        ([], {"format": "notes"}, "patch.json: is no patch of this version of opauc: 'notes' 1"),
        ([], {"version": 2}, "patch.json: is no patch of this version of opauc: 'opauc edits' 2"),
    ],
)
def test_a_wrong_patch_is_one_line(run, folder, edits, changes, message):
    write_patch(run, edits, **changes)
    assert message in one_line(run("edit", "model", "--apply", "patch.json", "-o", "wrong", "--who", "ann"))
    assert not (folder / "wrong").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["edit", "linear"], "only OnePassGAM has terms to edit, and this is a model of OPAUC"),
        (["edit", "small"], "saved for scoring only"),
        (["edit", "model", "--apply", "nothing.json", "-o", "x"], "nothing.json: No such file or directory"),
        (["edit", "model", "--apply", "rows.csv", "-o", "x"], "rows.csv: is no patch that `opauc edit` exports"),
        (["edit", "model", "--apply", "patch.json"], "--apply needs the name of the new model (--output)"),
        (["edit", "model", "--who", "ann"], "--who needs --apply"),
        (["edit", "model", "--why", "so"], "--why needs --apply"),
        (["edit", "rows.csv"], "rows.csv: "),
        (["predict", "linear", "rows.csv", "--reasons", "2"], "only OnePassGAM gives reasons"),
        (["predict", "model", "rows.csv", "--reasons", "2", "--reference", "median"], "--reference: unknown reference"),
        (["predict", "model", "rows.csv", "--reasons", "2", "--direction", "down"], "--direction: unknown direction"),
        (["predict", "model", "rows.csv", "--reasons", "2", "--reasons-by", "column"], "--reasons-by: unknown by"),
    ],
)
def test_a_mistake_is_one_line(run, arguments, message):
    assert message in one_line(run(*arguments))


def test_a_patch_for_another_model_is_refused(run):
    write_patch(run, [{"term": "age", "remove": True}])
    assert "is a patch for another model" in one_line(run("edit", "other", "--apply", "patch.json", "-o", "wrong"))


@pytest.mark.parametrize("by", ["term", "feature"])
@pytest.mark.parametrize(("reference", "direction"), [("mean", "lower"), ("best", "raise")])
def test_reasons_are_columns_of_csv_json_and_parquet(run, by, reference, direction):
    options = ["--reasons", "3", "--reference", reference, "--direction", direction, "--reasons-by", by]
    for name in ("p.csv", "p.parquet", "p.jsonl"):
        assert run("predict", "model", "rows.csv", "--keep", "job", *options, "-o", name).code == 0
    rows = pd.read_csv("rows.csv")
    found = library.load("model").reasons(rows, k=3, reference=reference, direction=direction, by=by)
    expected = [[name or None for name in names] for names in found.names_of_rows()]
    columns = ["reason_1", "reason_2", "reason_3"]
    table = pd.read_csv("p.csv", keep_default_na=False)
    assert list(table.columns) == ["job", "score", *columns]
    assert [[name or None for name in names] for names in table[columns].values.tolist()] == expected
    parquet = pd.read_parquet("p.parquet")
    assert [
        [name if isinstance(name, str) else None for name in names] for names in parquet[columns].values.tolist()
    ] == expected
    lines = [json.loads(line) for line in Path("p.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [[line[name] for name in columns] for line in lines] == expected
    np.testing.assert_allclose(table["score"], library.predict("model", rows), atol=1e-12)


def test_more_reasons_than_terms_are_empty(run):
    printed = run("predict", "model", "rows.csv", "--reasons", "9").out.splitlines()
    assert printed[0] == ",".join(["score", *(f"reason_{k}" for k in range(1, 10))])
    assert printed[1].endswith(",,,,")
