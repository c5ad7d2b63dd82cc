"""The largest weights: by effect, whatever the units, with the raw weight beside it."""

import re

import numpy as np

from opauc.report.page import render_report
from opauc.report.weights import WeightRow
from tests.report.browser import svgs
from tests.report.reports import full_report


def rendered(rows, order="by effect"):
    return render_report(full_report(weights=rows, weight_order=order, penalty=None))


def names_in(page):
    return re.findall(r"<bdi>(\w+)</bdi>", page)


def test_the_largest_effects_come_first_and_are_twenty_at_most():
    page = rendered([WeightRow(f"name{i}", 1e6 / (i + 1), (-1) ** i * (i % 30)) for i in range(30)])
    assert names_in(page) == [f"name{i}" for i in range(29, 9, -1)]
    assert "20 of 40, by effect" in page


def test_the_raw_weight_stands_beside_the_effect_with_its_own_digits():
    page = rendered([WeightRow("metres", 3.4361e-07, 0.5), WeightRow("years", -114.243, -0.25)])
    cells = re.findall(r'<bdi>(\w+)</bdi></th><td class="number">([^<]+)</td><td class="number">([^<]+)</td>', page)
    assert cells == [("metres", "0.5000", "3.436e−07"), ("years", "−0.2500", "−114.2")]
    assert '<th scope="col" class="number">Effect</th><th scope="col" class="number">Weight</th>' in page


def test_without_effects_weights_are_ordered_by_size_and_the_page_says_so():
    page = rendered(
        [WeightRow("zero", 0.0), WeightRow("none", np.nan), WeightRow("some", 1.0)], "by size of the weight"
    )
    assert names_in(page) == ["some", "zero", "none"]
    assert "3 of 40, by size of the weight" in page
    assert ">Effect<" not in page


def test_what_is_no_number_goes_last_and_has_no_bar():
    odd = [WeightRow("zero", 0.0), WeightRow("none", np.nan), WeightRow("some", 1.0), WeightRow("endless", -np.inf)]
    page = rendered(odd)
    assert names_in(page) == ["endless", "some", "zero", "none"]
    widths = [float(bar.find("rect").get("width")) for bar in svgs(page) if bar.get("class") == "bar"]
    assert sorted(widths) == [0.0, 0.0, 0.0, 50.0]
