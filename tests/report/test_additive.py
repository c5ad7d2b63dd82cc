"""The part of the page about an additive model: what is drawn stands where the numbers say."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from opauc.report.page import render_report
from opauc.report.term_charts import (
    MOST_CELLS,
    MOST_LEVELS,
    _cumulative,
    curve_chart,
    level_chart,
    shown_levels,
    surface_chart,
)
from opauc.report.terms import ExplainedPart, ExplainedRow, ShownTerm
from opauc.report.terms_section import MOST_CHARTS, MOST_IMPORTANCES, MOST_MAPS, additive_section
from opauc.report.text import signed
from opauc.report.waterfall_chart import NAME_LETTERS, part_label, shown_parts, waterfall_chart
from tests.report.additive_models import additive_part, curve, in_trees, levels, surface
from tests.report.browser import Tags, measured, svgs
from tests.report.reports import full_report


def points(chart, look):
    (svg,) = svgs(chart)
    (path,) = [part.get("d") for part in svg.iter("path") if part.get("class") == look]
    return np.array([[float(n) for n in pair.split()] for pair in re.findall(r"[\d.]+ [\d.]+", path)])


def test_the_curve_and_its_band_stand_where_values_and_errors_say():
    effect = curve(value=np.linspace(-1.0, 1.0, 40), error=np.linspace(0.05, 0.1, 40), rows=None)
    line, band = points(curve_chart("c", effect), "curve"), points(curve_chart("c", effect), "area band")
    height = (line[0, 1] - line[-1, 1]) / 2.0  # of one log-odds
    np.testing.assert_allclose(np.diff(line[:, 0]), np.diff(line[:, 0]).mean(), atol=0.02)
    np.testing.assert_allclose((line[:, 1] - band[:40, 1]) / height, 2 * effect.error, atol=1e-3)
    np.testing.assert_allclose((band[40:, 1][::-1] - line[:, 1]) / height, 2 * effect.error, atol=1e-3)


def test_a_value_that_is_missing_stands_beside_the_curve_with_its_error():
    places = (*np.linspace(0.0, 9.5, 20).tolist(), "missing")
    effect = curve(at=(places,), value=np.r_[np.zeros(20), 0.5], error=np.full(21, 0.1), rows=np.full(21, 1 / 21))
    (svg,) = svgs(curve_chart("c", effect))
    (dot,) = svg.iter("circle")
    line = points(curve_chart("c", effect), "curve")
    assert float(dot.get("cx")) > line[:, 0].max() + 20
    assert float(dot.get("cy")) < line[0, 1]
    assert "missing" in [text.text for text in svg.iter("text")]


def test_values_that_crowd_at_the_low_end_get_a_scale_of_powers_with_zero_on_it():
    places = np.r_[0.0, np.geomspace(10.0, 1e5, 30)]
    crowded = curve("gain", places, rows=np.r_[0.9, np.full(30, 0.1 / 30)])
    assert "log scale" in curve_chart("c", crowded)
    labels = [text.text for text in svgs(curve_chart("c", crowded))[0].iter("text")]
    assert labels[0] == "0"
    assert "log scale" not in curve_chart("c", curve("gain", places, rows=np.r_[np.full(30, 0.02), 0.4]))
    assert "log scale" not in curve_chart("c", curve("below zero", places - 1.0, rows=crowded.rows))


@given(rows=arrays(float, 7, elements=st.floats(0.0, 1.0)).filter(lambda rows: rows.sum() > 0.1))
def test_the_bars_of_the_rows_have_all_rows_in_them_once(rows):
    places = np.cumsum([0.0, 1.0, 0.5, 3.0, 0.1, 2.0, 7.0])
    borders, below = _cumulative(places, rows)
    assert np.all(np.diff(borders) > 0)
    assert borders[0] == places[0]
    assert borders[-1] == places[-1]
    np.testing.assert_allclose(np.diff(below), rows, atol=1e-12)


def test_levels_are_those_of_most_rows_by_effect_and_no_level_without_rows():
    rows = np.r_[np.arange(1, 21) / 210.0, 0.0]
    effect = levels("job", [f"level {k}" for k in range(21)], value=np.cos(np.arange(21.0)), rows=rows)
    shown = shown_levels(effect)
    assert set(shown) == set(range(10, 20))
    assert np.all(np.diff(effect.value[shown]) <= 0)
    assert len(shown) == MOST_LEVELS
    assert "10 more levels not shown" in additive_section(additive_part(effects=[effect], n_effects=1))
    (svg,) = svgs(level_chart("c", effect))
    assert len(list(svg.iter("rect"))) == MOST_LEVELS


def test_bars_of_levels_are_as_long_as_their_effects():
    effect = levels("job", ("a", "b", "c"), value=np.array([2.0, 1.0, -1.0]), error=np.full(3, 0.1))
    (svg,) = svgs(level_chart("c", effect))
    widths = np.array([float(rect.get("width")) for rect in svg.iter("rect")])
    np.testing.assert_allclose(widths / widths[1], [2.0, 1.0, 1.0], atol=0.01)
    assert [rect.get("class") for rect in svg.iter("rect")] == ["up", "up", "down"]


def test_cells_of_a_pair_are_deeper_the_larger_the_effect_and_greater_numbers_are_higher_up():
    effect = surface(at=((1.0, 2.0), (5.0, 6.0, 7.0)), value=np.array([[0.0, 0.5, -1.0], [0.25, 0.0, 0.0]]))
    (svg,) = svgs(surface_chart("c", effect))
    cells = list(svg.iter("rect"))
    depths = np.array([float(cell.get("fill-opacity")) for cell in cells]).reshape(2, 3)
    np.testing.assert_allclose((depths - 0.06) / 0.94, np.abs(effect.value), atol=1e-3)
    assert [cell.get("class") for cell in cells[:3]] == ["down", "up", "down"]
    assert float(cells[0].get("y")) > float(cells[3].get("y"))
    assert float(cells[0].get("x")) < float(cells[1].get("x"))


def test_a_map_of_many_levels_has_the_strongest_ones():
    value = np.zeros((30, 20))
    value[7, 3], value[21, 11] = 2.0, -1.0
    effect = surface(at=(tuple(f"a{k}" for k in range(30)), tuple(f"b{k}" for k in range(20))), value=value)
    (svg,) = svgs(surface_chart("c", effect))
    assert len(list(svg.iter("rect"))) == MOST_CELLS**2
    words = " ".join(title.text for title in svg.iter("title"))
    assert "a7, b3: +2" in words
    assert "a21, b11: −1" in words


@given(
    baseline=st.floats(-5, 5),
    values=st.lists(st.floats(-3, 3).filter(lambda v: abs(v) > 0.05), min_size=1, max_size=30),
)
def test_a_row_explained_adds_up_to_its_score_and_each_bar_begins_where_the_last_one_ended(baseline, values):
    row = ExplainedRow("row", "", baseline, [ExplainedPart(f"x{k}", "1", value) for k, value in enumerate(values)])
    assert np.isclose(row.score(), baseline + sum(values))
    assert np.isclose(sum(part.value for part in shown_parts(row)), sum(values), atol=1e-9)
    (svg,) = svgs(waterfall_chart("c", row))
    spans = [(float(bar.get("x")), float(bar.get("x")) + float(bar.get("width"))) for bar in svg.iter("rect")]
    looks = [bar.get("class") for bar in svg.iter("rect")]
    steps = [span if look == "up" else span[::-1] for span, look in zip(spans, looks, strict=True)]
    for (_, end), (start, _) in pairwise(steps[:-1]):
        assert abs(end - start) < 0.6  # the thinnest bar is half a unit wide
    assert abs(steps[-1][1] - steps[-2][1]) < 0.6


@given(name=st.text("abcdeW漢 ", min_size=1, max_size=40), way=st.sampled_from([" (trees)", " (categorical)"]))
def test_the_label_of_what_a_feature_does_in_another_way_has_room_and_is_not_that_of_its_own_effect(name, way):
    label = part_label(ExplainedPart(name, "0.5", 1.0, way))
    assert len(label) <= NAME_LETTERS
    assert label.endswith({" (trees)": " (trees)", " (categorical)": " (cat.)"}[way])
    assert label[0] == name[0]
    assert label != part_label(ExplainedPart(name, "0.5", 1.0))


@given(name=st.text("abcdeW漢 ", min_size=1, max_size=40), had=st.text("0123456789.x", min_size=1, max_size=40))
def test_the_label_of_a_part_has_room_and_says_some_of_both(name, had):
    label = part_label(ExplainedPart(name, had, 1.0))
    assert len(label) <= NAME_LETTERS
    assert " = " in label
    assert label.endswith(had[:5]) or had[:5] in label


def test_five_hundred_features_do_not_make_five_hundred_charts():
    part = additive_part()
    page = render_report(full_report(additive=part, penalty=None, weights=()))
    headings = [attributes["class"] for tag, attributes in Tags(page).seen if tag == "svg" and "class" in attributes]
    assert headings.count("chart") == 5 + 2 + MOST_CHARTS + 2
    assert headings.count("bar") == MOST_IMPORTANCES
    assert f"{MOST_IMPORTANCES} of 510" in page
    assert len(page) < 400_000
    assert MOST_MAPS >= 2


def test_an_effect_without_a_curve_is_a_line_among_the_importances():
    whole = ShownTerm("all features together", (), (), np.empty(0), np.empty(0), 0.15)
    section = additive_section(additive_part(effects=[curve(), whole], n_effects=2))
    assert "<bdi>all features together</bdi>" in section
    assert section.count('class="chart"') == 3  # the curve, and two rows


def test_what_a_feature_does_in_trees_is_a_line_of_that_feature_among_the_importances():
    section = additive_section(additive_part(effects=[curve(), in_trees()], n_effects=2))
    assert [*re.findall(r'<bdi>age</bdi></th><td class="soft">([a-z ]+)<', section)] == ["curve", "trees"]
    assert "With others: what trees do" in section
    assert section.count('class="chart"') == 3  # the curve, and two rows
    assert "With others" not in additive_section(additive_part(effects=[curve()], n_effects=1))


def test_effects_that_the_guard_left_out_are_listed_and_not_drawn():
    gone = surface(value=np.zeros((3, 2)), importance=0.0)
    section = additive_section(additive_part(effects=[curve(), gone], n_effects=2))
    assert "<bdi>age × job</bdi></th>" in section
    assert "<h3><bdi>age × job</bdi></h3>" not in section


@pytest.mark.parametrize(
    "effect",
    [
        curve(value=np.zeros(40), error=np.zeros(40), rows=np.zeros(40)),
        curve("huge", np.linspace(-1e300, 1e300, 20)),
        curve("tiny", 1.0 + 1e-9 * np.arange(20.0), rows=None),
        curve("wild", error=np.full(40, 1e9)),
        levels("one", ("missing",)),
        levels("nothing", value=np.zeros(3), error=np.zeros(3)),
        surface(value=np.zeros((3, 2)), error=np.zeros((3, 2))),
    ],
    ids=[
        "flat",
        "huge values",
        "close values",
        "wild errors",
        "one level",
        "no effect of levels",
        "no effect of a pair",
    ],
)
def test_charts_are_finite_whatever_was_learned(effect):
    page = render_report(full_report(additive=additive_part(effects=[effect], n_effects=1)))
    assert not re.search(r'(?:[dxy]|c[xy]|width|height|fill-opacity)="[^"]*(?:nan|inf)', page, re.IGNORECASE)


def test_the_guard_and_the_shifts_say_what_they_found():
    section = additive_section(additive_part(guard="Everything: nothing simpler ranked better"))
    assert "Everything: nothing simpler ranked better" in section
    assert section.count(">taken<") == 1
    assert '<td class="number">0.80</td>' in section
    assert "No feature" in additive_section(additive_part(shifted=()))
    unwatched = additive_section(additive_part(shifted=(), watched=False, rungs=()))
    assert "Shifted features" not in unwatched
    assert "taken" not in unwatched


def test_signs_are_written_out():
    assert (signed(0.5), signed(-0.5), signed(0.0), signed(1234.5)) == ("+0.5", "−0.5", "0", "+1.23e+03")


@pytest.mark.parametrize("width", [360, 1200])
def test_names_and_numbers_of_every_chart_are_apart(tmp_path, width):
    found = measured(tmp_path, render_report(full_report(additive=additive_part())), width)
    assert found["scroll"] <= found["width"]
    for chart in found["boxes"]:
        for at, (words, left, top, right, bottom) in enumerate(chart):
            for other, its_left, its_top, its_right, its_bottom in chart[:at]:
                apart = right <= its_left or its_right <= left or bottom <= its_top + 2 or its_bottom <= top + 2
                assert apart, (words, other)
