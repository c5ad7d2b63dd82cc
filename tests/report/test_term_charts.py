"""The charts of an additive model: marks are at the positions of their values."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from opauc.report import Contribution, ExplainedRow, ShownTerm, render_report
from opauc.report.importances import importances_by_feature
from opauc.report.page import MAX_IMPORTANCES, MAX_MAIN_EFFECTS, MAX_PAIRS
from opauc.report.svg import Axis
from opauc.report.term_charts import (
    LABEL_LETTERS,
    MAX_LEVELS,
    contribution_label,
    cumulative_rows,
    curve_chart,
    level_chart,
    shown_contributions,
    shown_levels,
    waterfall_chart,
)
from opauc.report.text import signed
from tests.report.browser import Tags, measure, svgs
from tests.report.reports import full_report
from tests.report.terms import curve, levels, pair, terms_html, terms_section, tree_term


def path_points(chart, css_class):
    (svg,) = svgs(chart)
    (path,) = [part.get("d") for part in svg.iter("path") if part.get("class") == css_class]
    return np.array([[float(n) for n in pair.split()] for pair in re.findall(r"[\d.]+ [\d.]+", path)])


def test_the_curve_and_its_band_match_values_and_errors():
    term = curve(values=np.linspace(-1.0, 1.0, 40), standard_errors=np.linspace(0.05, 0.1, 40), row_shares=None)
    line, band = path_points(curve_chart("c", term), "curve"), path_points(curve_chart("c", term), "area band")
    height = (line[0, 1] - line[-1, 1]) / 2.0  # of one log-odds
    np.testing.assert_allclose(np.diff(line[:, 0]), np.diff(line[:, 0]).mean(), atol=0.02)
    np.testing.assert_allclose((line[:, 1] - band[:40, 1]) / height, 2 * term.standard_errors, atol=1e-3)
    np.testing.assert_allclose((band[40:, 1][::-1] - line[:, 1]) / height, 2 * term.standard_errors, atol=1e-3)


def test_missing_values_are_drawn_right_of_the_curve_with_their_error():
    points = (*np.linspace(0.0, 9.5, 20).tolist(), "missing")
    values = np.r_[np.zeros(20), 0.5]
    errors, rows = np.full(21, 0.1), np.full(21, 1 / 21)
    term = curve(grid=(points,), values=values, standard_errors=errors, row_shares=rows)
    (svg,) = svgs(curve_chart("c", term))
    (dot,) = svg.iter("circle")
    line = path_points(curve_chart("c", term), "curve")
    assert float(dot.get("cx")) > line[:, 0].max() + 20
    assert float(dot.get("cy")) < line[0, 1]
    assert "missing" in [text.text for text in svg.iter("text")]


def test_values_crowded_at_the_low_end_get_a_logarithmic_axis_that_includes_zero():
    points = np.r_[0.0, np.geomspace(10.0, 1e5, 30)]
    crowded = curve("gain", points, row_shares=np.r_[0.9, np.full(30, 0.1 / 30)])
    assert "log scale" in curve_chart("c", crowded)
    labels = [text.text for text in svgs(curve_chart("c", crowded))[0].iter("text")]
    assert labels[0] == "0"
    assert "log scale" not in curve_chart("c", curve("gain", points, row_shares=np.r_[np.full(30, 0.02), 0.4]))
    assert "log scale" not in curve_chart("c", curve("below zero", points - 1.0, row_shares=crowded.row_shares))


@given(rows=arrays(float, 7, elements=st.floats(0.0, 1.0)).filter(lambda rows: rows.sum() > 0.1))
def test_the_histogram_contains_all_rows_once(rows):
    points = np.cumsum([0.0, 1.0, 0.5, 3.0, 0.1, 2.0, 7.0])
    borders, below = cumulative_rows(points, rows)
    assert np.all(np.diff(borders) > 0)
    assert borders[0] == points[0]
    assert borders[-1] == points[-1]
    np.testing.assert_allclose(np.diff(below), rows, atol=1e-12)


def test_levels_are_those_with_the_most_rows_by_value():
    rows = np.r_[np.arange(1, 21) / 210.0, 0.0]
    term = levels("job", [f"level {k}" for k in range(21)], values=np.cos(np.arange(21.0)), row_shares=rows)
    shown = shown_levels(term)
    assert set(shown) == set(range(10, 20))
    assert np.all(np.diff(term.values[shown]) <= 0)
    assert len(shown) == MAX_LEVELS
    assert "10 more levels not shown" in terms_html(terms=[term], n_terms=1)
    (svg,) = svgs(level_chart("c", term))
    assert len(list(svg.iter("rect"))) == MAX_LEVELS


def test_bars_of_levels_are_as_long_as_their_values():
    term = levels("job", ("a", "b", "c"), values=np.array([2.0, 1.0, -1.0]), standard_errors=np.full(3, 0.1))
    (svg,) = svgs(level_chart("c", term))
    widths = np.array([float(rect.get("width")) for rect in svg.iter("rect")])
    np.testing.assert_allclose(widths / widths[1], [2.0, 1.0, 1.0], atol=0.01)
    assert [rect.get("class") for rect in svg.iter("rect")] == ["up", "up", "down"]


@given(
    baseline=st.floats(-5, 5),
    values=st.lists(st.floats(-3, 3).filter(lambda v: abs(v) > 0.05), min_size=1, max_size=30),
)
def test_an_explained_row_adds_up_to_its_score_and_each_bar_starts_where_the_last_one_ended(baseline, values):
    row = ExplainedRow("row", "", baseline, [Contribution(f"x{k}", "1", value) for k, value in enumerate(values)])
    assert np.isclose(row.score(), baseline + sum(values))
    assert np.isclose(sum(contribution.value for contribution in shown_contributions(row)), sum(values), atol=1e-9)
    (svg,) = svgs(waterfall_chart("c", row))
    spans = [(float(bar.get("x")), float(bar.get("x")) + float(bar.get("width"))) for bar in svg.iter("rect")]
    classes = [bar.get("class") for bar in svg.iter("rect")]
    steps = [span if css_class == "up" else span[::-1] for span, css_class in zip(spans, classes, strict=True)]
    for (_, end), (start, _) in pairwise(steps[:-1]):
        assert abs(end - start) < 0.6  # the thinnest bar is half a unit wide
    assert abs(steps[-1][1] - steps[-2][1]) < 0.6


@given(name=st.text("abcdeW漢 ", min_size=1, max_size=40), suffix=st.sampled_from([" (trees)", " (categorical)"]))
def test_the_label_of_a_term_with_a_suffix_fits_and_differs_from_that_of_the_main_effect(name, suffix):
    label = contribution_label(Contribution(name, "0.5", 1.0, suffix))
    assert len(label) <= LABEL_LETTERS
    assert label.endswith({" (categorical)": " (cat.)"}.get(suffix, suffix))
    assert label[0] == name[0]
    assert label != contribution_label(Contribution(name, "0.5", 1.0))


@given(name=st.text("abcdeW漢 ", min_size=1, max_size=40), value=st.text("0123456789.x", min_size=1, max_size=40))
def test_the_label_of_a_contribution_fits_and_shows_a_part_of_name_and_value(name, value):
    label = contribution_label(Contribution(name, value, 1.0))
    assert len(label) <= LABEL_LETTERS
    assert " = " in label
    assert label.endswith(value[:5]) or value[:5] in label


def test_the_number_of_charts_is_limited():
    page = render_report(full_report(additive=terms_section(), penalty=None, weights=()))
    headings = [attributes["class"] for tag, attributes in Tags(page).seen if tag == "svg" and "class" in attributes]
    assert headings.count("chart") == 5 + 2 + MAX_MAIN_EFFECTS + 2
    assert headings.count("bar") == MAX_IMPORTANCES
    assert f"{MAX_IMPORTANCES} of 508 features" in page
    assert len(page) < 400_000
    assert MAX_PAIRS >= 2


def test_a_term_without_a_grid_is_listed_by_importance_only():
    whole = ShownTerm("all features together", (), (), np.empty(0), np.empty(0), 0.15)
    section = terms_html(terms=[curve(), whole], n_terms=2)
    assert "<bdi>all features together</bdi>" in section
    assert section.count('class="chart"') == 3  # the curve, and two rows


def test_a_feature_has_one_bar_with_a_segment_for_its_own_term_its_pairs_and_its_trees():
    section = terms_html(terms=[curve(importance=0.5), pair(importance=0.25), tree_term(importance=0.125)], n_terms=3)
    rows = re.findall(r'<bdi>(\w+)</bdi></th><td class="number">([\d.]+)</td><td>(<svg.*?</svg>)', section)
    assert [(name, size) for name, size, _ in rows] == [("age", "0.750"), ("job", "0.125")]
    widths = [{bar.get("class"): float(bar.get("width")) for bar in svgs(svg)[0].iter("rect")} for _, _, svg in rows]
    for found, expected in zip(widths, ({"own": 0.5, "pairs": 0.125, "trees": 0.125}, {"pairs": 0.125}), strict=True):
        assert found.keys() == expected.keys()
        assert list(found.values()) == pytest.approx([100 * size / 0.75 for size in expected.values()], abs=0.01)
    assert section.count('class="trees"') > 0
    assert 'class="trees"' not in terms_html(terms=[curve()], n_terms=1)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"), st.floats(0.0, 2.0)), max_size=12))
def test_the_importances_of_features_add_up_to_those_of_the_terms(drawn):
    terms = [pair(one, two, importance=size) if one != two else curve(one, importance=size) for one, two, size in drawn]
    rows = importances_by_feature(terms)
    assert sum(row.total for row in rows) == pytest.approx(sum(term.importance for term in terms))
    assert len({row.name for row in rows}) == len(rows)
    assert all(one.total >= other.total for one, other in pairwise(rows))


def test_terms_that_the_model_selection_left_out_are_not_shown():
    left_out = pair(values=np.zeros((3, 2)), importance=0.0)
    section = terms_html(terms=[curve(), left_out], n_terms=2)
    assert "<h3><bdi>age × job</bdi></h3>" not in section
    assert "job</bdi></th>" not in section
    assert "1 of 1 features" in section
    row = ExplainedRow("row", "", 0.0, [Contribution(f"x{k}", "", float(k < 2)) for k in range(30)])
    assert [contribution.name for contribution in shown_contributions(row)] == ["x0", "x1"]


def test_weak_pairs_come_last_and_say_so():
    weak = pair("day", importance=0.9, is_weak=True)
    section = terms_html(terms=[weak, pair(importance=0.2)], n_terms=2)
    assert section.count("Weak evidence of an interaction") == 1
    assert section.index("age × job") < section.index("<h3><bdi>day × job") < section.index("Weak evidence")


def test_maps_have_one_color_scale_and_those_within_error_are_not_drawn():
    values = np.array([[0.1, -0.1], [0.2, 0.0], [0.0, 0.1]])
    maps = [pair(values=10.0 * values), pair("hour", values=values, standard_errors=np.full((3, 2), 0.01))]
    unclear = pair("day", values=values, standard_errors=np.full((3, 2), 0.1))
    section = terms_html(terms=[*maps, unclear], n_terms=3)
    assert section.count('<span class="legend"><span>−2</span>') == 2
    assert "<h3><bdi>day × job</bdi></h3>" not in section
    assert "1 pair lies within two standard errors of zero everywhere" in section
    darkest = [
        max(float(cell.get("fill-opacity")) for cell in svg.iter("rect"))
        for svg in svgs(section)
        if "×" in svg.findtext("title", "")
    ]
    assert darkest == pytest.approx([1.0, 0.154])


def test_ticks_of_a_narrow_axis_have_gaps():
    for low in np.linspace(-9.0, -0.3, 30):
        labels = Axis.fitting(low, 0.2, room=14).labels
        assert len(" ".join(labels)) <= 14


@pytest.mark.parametrize(
    "term",
    [
        curve(values=np.zeros(40), standard_errors=np.zeros(40), row_shares=np.zeros(40)),
        curve("huge", np.linspace(-1e300, 1e300, 20)),
        curve("tiny", 1.0 + 1e-9 * np.arange(20.0), row_shares=None),
        curve("wild", standard_errors=np.full(40, 1e9)),
        levels("one", ("missing",)),
        levels("nothing", values=np.zeros(3), standard_errors=np.zeros(3)),
        pair(values=np.zeros((3, 2)), standard_errors=np.zeros((3, 2))),
    ],
    ids=[
        "flat",
        "huge values",
        "close values",
        "wild errors",
        "one level",
        "zero levels",
        "zero pair",
    ],
)
def test_charts_are_finite_for_extreme_terms(term):
    page = render_report(full_report(additive=terms_section(terms=[term], n_terms=1)))
    assert not re.search(r'(?:[dxy]|c[xy]|width|height|fill-opacity)="[^"]*(?:nan|inf)', page, re.IGNORECASE)


def test_the_model_selection_and_the_drift_are_shown():
    section = terms_html(selection="All terms: no simpler model has a higher AUC")
    assert "All terms: no simpler model has a higher AUC" in section
    assert section.count(">selected<") == 1
    assert '<td class="number">0.80</td>' in section
    assert "No feature" in terms_html(drift=())
    unchecked = terms_html(drift=(), drift_checked=False, candidates=())
    assert ">Drift<" not in unchecked
    assert "selected<" not in unchecked


def test_signed_numbers_have_a_sign():
    assert (signed(0.5), signed(-0.5), signed(0.0), signed(1234.5)) == ("+0.5", "−0.5", "0", "+1.23e+03")


@pytest.mark.parametrize("width", [360, 1200])
def test_labels_do_not_overlap_in_any_chart(tmp_path, width):
    result = measure(tmp_path, render_report(full_report(additive=terms_section())), width)
    assert result["scroll"] <= result["width"]
    for chart in result["boxes"]:
        for at, (label, left, top, right, bottom) in enumerate(chart):
            for other, its_left, its_top, its_right, its_bottom in chart[:at]:
                apart = right <= its_left or its_right <= left or bottom <= its_top + 2 or its_bottom <= top + 2
                assert apart, (label, other)


def test_the_ledger_of_edits_is_a_table():
    page = terms_html()
    part = page[page.index("<h3>Edits</h3>") :]
    assert "<td>set<" in part
    assert "<bdi>rises with age</bdi>" in part
    assert "ann, 2026-11-18 12:30" in part
    assert "−0.5 to +1, then 0 to +1.25" in part
    assert "<b>&" not in part
    assert "<h3>Edits</h3>" not in terms_html(edits=())
