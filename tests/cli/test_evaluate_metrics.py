"""`opauc evaluate --metric --within` and `opauc compare --metric`: the metrics of the scores, with intervals."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import opauc as library
from opauc.errors import InputError, ParameterError
from opauc.metrics import GroupAuc, ranking_metric
from tests.cli.commands import one_line

METRICS = "auc,pauc@0.1,ap,recall@10%,lift@0.1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("metrics"), np.random.default_rng(5)
    table = pd.DataFrame(random.normal(size=(600, 2)), columns=["a", "b"])
    table["user"] = random.integers(0, 40, 600)
    table["user"] = "user " + table["user"].astype(str)
    table["label"] = np.where(table.a + 0.4 * table.b + random.normal(size=600) > 0.5, "yes", "no")
    table.to_csv(folder / "rows.csv", index=False)
    library.train(table, label="label", output=folder / "both", solver="exact", drop=["user"])
    library.train(table, label="label", output=folder / "one", solver="exact", features=["b"])
    return folder


def scored(name="both"):
    table = pd.read_csv("rows.csv")
    model = library.load(name)
    return table, (table.label == "yes").to_numpy(), model.decision_function(table[list(model.feature_names_in_)])


def last_line(ran):
    return json.loads(ran.out.splitlines()[-1])


def test_metrics_are_those_of_the_scores(folder, monkeypatch, opauc):
    monkeypatch.chdir(folder)
    _, labels, scores = scored()
    facts = last_line(opauc("evaluate", "both", "rows.csv", "--metric", METRICS, "--json"))
    assert list(facts["metrics"]) == ["auc", "pauc@0.1", "ap", "recall@0.1", "lift@0.1"]
    assert facts["metrics"]["pauc@0.1"]["value"] == pytest.approx(roc_auc_score(labels, scores, max_fpr=0.1), abs=1e-12)
    assert facts["metrics"]["ap"]["value"] == pytest.approx(average_precision_score(labels, scores), abs=1e-12)
    for name, found in facts["metrics"].items():
        assert found == pytest.approx(ranking_metric(name).interval(labels, scores)._asdict())
    shown = opauc("evaluate", "both", "rows.csv", "--metric", METRICS).out
    ap = facts["metrics"]["ap"]
    assert f"{ap['value']:.4f}, 95 % interval {ap['low']:.4f} to {ap['high']:.4f}" in " ".join(shown.split())
    assert "partial AUC, FPR ≤ 0.1" in shown


def test_within_groups(folder, monkeypatch, opauc):
    monkeypatch.chdir(folder)
    table, labels, scores = scored()
    facts = last_line(opauc("evaluate", "both", "rows.csv", "--within", "user", "--json"))["within"]
    assert facts["column"] == "user"
    for weight in ("equal", "rows"):
        expected = GroupAuc(weight).interval(labels, scores, table.user.to_numpy())
        assert facts[weight] == pytest.approx(expected._asdict())
    shown = opauc("evaluate", "both", "rows.csv", "--within", "user").out
    assert "AUC within user, by rows" in shown
    assert f"{expected.n_groups} with both classes, {expected.n_one_class} with one, left out" in shown
    for data in ("rows.csv", table):
        found = library.evaluate("both", data, label="label", within="user", metrics=["ap"])
        assert found.within["rows"] == pytest.approx(expected)
        assert found.metrics["ap"].value == pytest.approx(average_precision_score(labels, scores))


def test_the_paired_tests_of_all_metrics(folder, monkeypatch, opauc):
    monkeypatch.chdir(folder)
    _, labels, first = scored()
    second = scored("one")[2]
    arguments = ("evaluate", "both", "rows.csv", "--against", "one", "--metric", "ap,pauc@0.1")
    facts = last_line(opauc(*arguments, "--json"))["differences"]
    for name in ("ap", "pauc@0.1"):
        assert facts[name] == pytest.approx(ranking_metric(name).compare(labels, first, second)._asdict())
    assert "average precision, minus that of one" in " ".join(opauc(*arguments).out.split())


def test_the_report_shows_them(folder, monkeypatch, opauc):
    monkeypatch.chdir(folder)
    assert (
        opauc("evaluate", "both", "rows.csv", "--metric", "pauc@0.1", "--within", "user", "--report", "page.html").code
        == 0
    )
    page = (folder / "page.html").read_text()
    value = library.evaluate("both", "rows.csv", metrics=["pauc@0.1"]).metrics["pauc@0.1"]
    assert f"{value.value:.4f}, 95 % interval {value.low:.4f} to {value.high:.4f}" in page
    assert "partial AUC, FPR ≤ 0.1" in page
    assert "Mean AUC within groups, by rows" in page


def test_methods_are_compared_by_the_first_metric(folder, monkeypatch, opauc):
    monkeypatch.chdir(folder)
    ran = opauc(
        "compare",
        "rows.csv",
        "--drop",
        "user",
        "--methods",
        "exact,mean_difference",
        "--metric",
        "ap,pauc@0.1",
        "--json",
    )
    lines = [json.loads(line) for line in ran.out.splitlines() if '"compared"' in line]
    values = [line["metrics"]["ap"]["value"] for line in lines]
    assert values == sorted(values, reverse=True)
    assert [set(line["metrics"]) for line in lines] == [{"ap", "pauc@0.1"}] * 2
    assert "p" in lines[1]
    ran = opauc("compare", "rows.csv", "--drop", "user", "--methods", "exact", "--metric", "ap")
    assert f"{values[0]:.4f}" in ran.out or f"{values[1]:.4f}" in ran.out
    found = library.compare("rows.csv", label="label", methods=["exact"], metrics=["lift@0.1"], drop=("user",))
    assert found[0].metrics["lift@0.1"].value > 1


def test_mistakes_are_one_line_that_names_the_option(folder, monkeypatch, opauc):
    monkeypatch.chdir(folder)
    for metric, message in (
        ("pauk", "--metric: unknown metric 'pauk'; expected one of pauc@0.01"),
        ("pauc@3", "--metric: pauc@3: max_fpr must be above 0 and at most 1, got 3"),
        ("ap,precision@1000", "--metric: precision@1000: k=1000 is more than the 600 rows"),
        ("pauc@0.0001", "--metric: pauc@0.0001: max_fpr=0.0001 allows none of the"),
    ):
        assert one_line(opauc("evaluate", "both", "rows.csv", "--metric", metric)).startswith(message)
    assert "usr" in one_line(opauc("evaluate", "both", "rows.csv", "--within", "usr"))
    assert one_line(opauc("evaluate", "both", "rows.csv", "--within", "user", "--engine", "dask")).startswith(
        "--within"
    )
    table = pd.read_csv("rows.csv")
    with pytest.raises(ParameterError, match="within: unknown column 'usr'; expected one of user"):
        library.evaluate("both", table, label="label", within="usr")
    alone = table.assign(user=np.arange(600))
    with pytest.raises(ParameterError, match="within: groups: none of the 600 groups has rows of both classes"):
        library.evaluate("both", alone, label="label", within="user")
    table.loc[7, "user"] = None
    table.to_csv("gaps.csv", index=False)
    assert (
        one_line(opauc("evaluate", "both", "gaps.csv", "--within", "user"))
        == "gaps.csv, line 9, column user: the group is missing"
    )
    with pytest.raises(InputError, match="column user: the group is missing in 1 of 600 rows"):
        library.evaluate("both", table, label="label", within="user")
