"""The report page of several classes: escaped, complete and self-contained as text, and correct in a browser."""

import dataclasses
import re

import numpy as np
import pytest

from opauc.metrics import CalibrationBins, MetricInterval, MulticlassAuc, ProgressPoint
from opauc.metrics.class_groups import GroupedClassScores
from opauc.metrics.class_scores import ClassScores
from opauc.report import ClassReport, ClassRow, ClassTerms, WeightRow, render_class_report
from opauc.report.class_page import MAX_DRAWN, shade_of
from opauc.report.style import DARK, DARKEST, LIGHT
from tests.report.browser import Tags, chromium, measure, svgs
from tests.report.penalties import penalty_choice
from tests.report.reports import HOSTILE
from tests.report.terms import terms_section
from tests.report.test_page import contrast


def class_report(n_classes, n_rows=1500, **changes):
    rng = np.random.default_rng(n_classes)
    labels = np.append(np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes))
    scores = rng.normal(size=(n_rows, n_classes)) + 2.0 * (labels[:, None] == np.arange(n_classes))
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    found = ClassScores(n_classes)
    found.add(labels, scores, probabilities)
    names = [HOSTILE, *(f"class {k}" for k in range(1, n_classes))]
    rows = [
        ClassRow(
            name, int(found.counts[k]), found.hits[k] / found.counts[k],
            MetricInterval(0.8 + 0.01 * (k % 9), 0.7, 0.9 + 0.01 * (k % 9), 0.02),
            CalibrationBins.of(labels == k, probabilities[:, k]),
        )
        for k, name in enumerate(names)
    ]  # fmt: skip
    groups = GroupedClassScores("shop", names)
    groups.add([HOSTILE if label == 0 else "shop" for label in labels % 3], labels, scores, probabilities)
    fields = {
        "title": HOSTILE,
        "auc_ovo": MulticlassAuc("ovo").interval(labels, scores),
        "auc_ovr": MulticlassAuc("ovr").interval(labels, scores),
        "bounds": found.bounds(),
        "classes": rows,
        "pair_aucs": found.pair_aucs(),
        "accuracy": float(found.hits.sum()) / n_rows,
        "log_loss": 1.25,
        "model": HOSTILE,
        "n_features": 12,
        "metrics": {"average precision": rows[0].auc},
        "class_metrics": {"average precision": [row.auc for row in rows]},
        "groups": groups.evaluate(),
        "group_column": HOSTILE,
        "learning_curve": [ProgressPoint(100, 0.7, 0.7, 0.7), ProgressPoint(400, 0.9, 0.9, 0.9)],
        "penalty": penalty_choice(),
        "weights": [WeightRow(HOSTILE, -3.0e-7, -3.0), WeightRow("x" * 200, 123456.0, 0.5)],
        "data": {HOSTILE: HOSTILE},
        "about": {"Command": "opauc report " + HOSTILE},
    }
    return ClassReport(**(fields | changes))


def additive():
    section = terms_section()
    terms = [ClassTerms(HOSTILE, section), *(ClassTerms(f"class {k}", section) for k in range(1, 8))]
    return class_report(8, terms=terms, penalty=None, weights=())


def bare():
    report = class_report(3)
    rows = [
        row._replace(name=f"class {k}", calibration=CalibrationBins.empty()) for k, row in enumerate(report.classes)
    ]
    kept = {name: getattr(report, name) for name in ("auc_ovo", "auc_ovr", "pair_aucs", "accuracy", "log_loss")}
    return ClassReport(title="Bare", bounds=(0.6, 0.9), classes=rows, **kept)


PAGES = {"three": lambda: class_report(3), "many": lambda: class_report(30), "additive": additive, "bare": bare}
every_page = pytest.mark.parametrize("name", PAGES)


@every_page
def test_the_page_is_well_formed_without_scripts_and_links(name):
    tags = Tags(render_class_report(PAGES[name]()))
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in tags.seen}
    for tag, attributes in tags.seen:
        for key, value in attributes.items():
            assert not key.startswith("on"), (tag, key)
            assert key not in ("src", "style"), (tag, key)
            assert key != "href" or value.startswith("#"), (tag, value)
    ids = [attributes["id"] for _, attributes in tags.seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {attributes["href"][1:] for _, attributes in tags.seen if "href" in attributes} <= set(ids)


@every_page
def test_every_chart_has_a_name_a_description_and_finite_numbers(name):
    charts = [svg for svg in svgs(render_class_report(PAGES[name]())) if svg.get("class") == "chart"]
    assert len(charts) >= (0 if name == "bare" else 3)
    for chart in charts:
        assert chart.find("title").text
        assert chart.find("desc").text
        for part in chart.iter():
            for key in ("d", "x", "y", "cx", "cy", "width", "transform"):
                assert not re.search(r"nan|inf", part.get(key, ""), re.IGNORECASE)


def test_absent_parts_are_left_out():
    headings = ["Classes", "Pairs of classes", "Calibration: class 1", "Learning curve", "Largest weights"]
    found = Tags(render_class_report(class_report(3))).headings
    assert set(headings) <= set(found)
    assert Tags(render_class_report(bare())).headings == ["Bare", "Classes", "Pairs of classes"]
    assert "lies within 0.600000 to 0.900000" in render_class_report(bare())


def test_the_numbers_of_pairs_are_shown_and_the_worst_ones_of_many():
    report = class_report(3)
    page = render_class_report(report)
    for row in range(3):
        for column in range(3):
            if row != column:
                auc = report.pair_aucs[row, column]
                assert f'<td class="number shade-{shade_of(auc)}">{auc:.3f}</td>' in page
    many = class_report(30)
    means = {(i, j): (many.pair_aucs[i, j] + many.pair_aucs[j, i]) / 2 for i in range(1, 30) for j in range(i + 1, 30)}
    (one, other), worst = min(means.items(), key=lambda pair: pair[1])
    page = render_class_report(many)
    assert f"<bdi>class {one} and class {other}</bdi>" in page
    assert f'<td class="number">{worst:.4f}</td>' in page
    assert "shade-" not in page[page.index("<body>") :]


def test_classes_with_the_most_rows_are_drawn_and_importances_are_means():
    report = additive()
    page = render_class_report(report)
    assert page.count("<details") == MAX_DRAWN
    assert page.count("<details open>") == 1
    assert "The terms of 2 more classes are not drawn" in page
    halved = [
        one if k % 2 else one._replace(section=dataclasses.replace(one.section, terms=[
            term._replace(importance=0.0) for term in one.section.terms
        ]))
        for k, one in enumerate(report.terms)
    ]  # fmt: skip
    whole, half = (
        importances(render_class_report(dataclasses.replace(report, terms=t))) for t in (report.terms, halved)
    )
    for name, size in half.items():
        assert size == pytest.approx(whole[name] / 2, abs=0.002)


def importances(page):
    part = page[page.index("<h3>Importances</h3>") :]
    part = part[: part.index("</table>")]
    return {
        name: float(size) for name, size in re.findall(r'<bdi>([^<]*)</bdi></th><td class="number">([^<]*)</td>', part)
    }


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_shaded_cells_have_enough_contrast(theme):
    paper, color = (np.array([int(theme[name][at : at + 2], 16) for at in (1, 3, 5)]) for name in ("paper", "positive"))
    darkest = np.rint(paper + (color - paper) * DARKEST / 100).astype(int)
    assert contrast(theme["ink"], "#" + "".join(f"{part:02x}" for part in darkest)) >= 4.5


@pytest.mark.parametrize("name", ["three", "many", "additive"])
@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_scrolls_sideways_or_overlaps_and_text_is_large_enough(tmp_path, name, width):
    result = measure(tmp_path, render_class_report(PAGES[name]()), width)
    assert result["scroll"] <= result["width"] <= width
    assert result["scripts"] == 0
    assert result["text"] >= 11
    for chart in result["boxes"]:
        for at, (label, left, top, right, bottom) in enumerate(chart):
            for other, its_left, its_top, its_right, its_bottom in chart[:at]:
                apart = right <= its_left or its_right <= left or bottom <= its_top + 2 or its_bottom <= top + 2
                assert apart, (label, other)


def test_the_browser_logs_no_errors(tmp_path):
    printed, logged = chromium(tmp_path, render_class_report(additive()))
    assert "<h1>" in printed
    assert "CONSOLE" not in logged
