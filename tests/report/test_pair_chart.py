"""The heat map of a pair of features."""

import numpy as np
import pytest

from opauc.report.pair_chart import MAX_CELLS, pair_chart
from tests.report.browser import measure, svgs
from tests.report.terms import pair

WORK = ("Local-government", "Self-employed", "Self-employed abroad", "Private", "(others)", "missing")


def test_cells_of_a_pair_are_darker_for_larger_values_and_larger_numbers_are_higher_up():
    values = np.array([[0.0, 0.5, -1.0], [0.25, 0.0, 0.1]])
    term = pair(grid=((1.0, 2.0), (5.0, 6.0, 7.0)), values=values, standard_errors=np.full((2, 3), 0.1))
    (svg,) = svgs(pair_chart("c", term, 2.0))
    cells = list(svg.iter("rect"))
    opacities = np.array([float(cell.get("fill-opacity")) for cell in cells]).reshape(2, 3)
    # Of a scale up to 2; cells within two standard errors of zero are faded.
    expected = (0.06 + 0.94 * np.abs(values) / 2.0) * np.where(np.abs(values) > 0.2, 1.0, 0.3)
    np.testing.assert_allclose(opacities, expected, atol=1e-3)
    assert [cell.get("class") for cell in cells[:3]] == ["down", "up", "down"]
    assert float(cells[0].get("y")) > float(cells[3].get("y"))
    assert float(cells[0].get("x")) < float(cells[1].get("x"))


def test_a_pair_with_many_levels_shows_the_largest_values():
    values = np.zeros((30, 20))
    values[7, 3], values[21, 11] = 2.0, -1.0
    term = pair(grid=(tuple(f"a{k}" for k in range(30)), tuple(f"b{k}" for k in range(20))), values=values)
    (svg,) = svgs(pair_chart("c", term, 2.0))
    assert len(list(svg.iter("rect"))) == MAX_CELLS**2
    tooltips = " ".join(title.text for title in svg.iter("title"))
    assert "a7, b3: +2" in tooltips
    assert "a21, b11: −1" in tooltips


def texts(chart):
    """The texts left of and below the cells: the shown name, the tooltip, whether it is written upward."""
    (svg,) = svgs(chart)
    marks = [text for text in svg.iter("text") if text.find("title") is not None]
    return [(text.text, text.find("title").text, "rotate" in text.get("transform", "")) for text in marks]


def test_numbers_that_three_digits_do_not_tell_apart_are_written_with_more():
    term = pair(grid=((2015.0, 2016.0, 2017.0), (0.12345, 0.5)), values=np.ones((3, 2)))
    assert [name for name, _, _ in texts(pair_chart("c", term, 1.0))] == ["2015", "2016", "2017", "0.123", "0.5"]


def test_names_that_do_not_fit_below_their_column_are_written_upward():
    narrow = pair(grid=((1.0, 2.0), WORK), values=np.ones((2, 6)))
    shown = [text for text in texts(pair_chart("c", narrow, 1.0)) if text[2]]
    assert [full for _, full, _ in shown] == list(WORK)
    assert shown[3][0] == "Private"
    wide = pair(grid=((1.0, 2.0), ("Private", "Local")), values=np.ones((2, 2)))
    assert not any(upward for _, _, upward in texts(pair_chart("c", wide, 1.0)))


@pytest.mark.parametrize("names", [WORK, tuple("abcdef"), ("x" * 40, "y" * 40)])
def test_names_of_columns_overlap_neither_each_other_nor_the_name_of_the_feature(tmp_path, names):
    term = pair(grid=((1.0, 2.0), names), values=np.ones((2, len(names))))
    (chart,) = measure(tmp_path, f"<body>{pair_chart('c', term, 1.0)}</body>", 400)["boxes"]
    for at, (label, left, top, right, bottom) in enumerate(chart):
        for other, its_left, its_top, its_right, its_bottom in chart[:at]:
            apart = right <= its_left or its_right <= left or bottom <= its_top + 2 or its_bottom <= top + 2
            assert apart, (label, other)
