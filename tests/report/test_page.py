"""The report page: safe, whole and self-contained as text, and sound in a real browser."""

import re
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opauc.metrics.calibration import CalibrationBins
from opauc.metrics.progressive import ProgressPoint
from opauc.metrics.ranking import Ranking
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.report.page import render_report
from opauc.report.style import DARK, LIGHT
from opauc.report.svg import Axis
from opauc.report.text import outward, plain, safe, share
from tests.report.browser import CHROMIUM, FLAGS, Tags, chromium, measured, svgs
from tests.report.reports import PAGES, bare_report, full_report, offset_report, rare_report

# Sheets of paper that a page may take; others take three.
SHEETS = {"additive": 6, "bare": 1}


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_well_formed_with_no_script_and_no_address(name):
    page = render_report(PAGES[name]())
    tags = Tags(page)
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in tags.seen}
    for tag, attributes in tags.seen:
        for key, value in attributes.items():
            assert not key.startswith("on"), (tag, key)
            assert key not in ("src", "href", "style"), (tag, key)
            assert "http" not in (value or "") or key == "http-equiv"
    style = page[page.index("<style>") : page.index("</style>")]
    assert not re.search(r"url\(|@import|http", style)
    ids = [attributes["id"] for _, attributes in tags.seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    page.encode("utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_every_chart_has_a_name_a_description_and_finite_numbers(name):
    charts = [svg for svg in svgs(render_report(PAGES[name]())) if svg.get("class") == "chart"]
    assert len(charts) >= 3
    for chart in charts:
        assert chart.get("role") == "img"
        title, about = chart.find("title"), chart.find("desc")
        assert chart.get("aria-labelledby") == f"{title.get('id')} {about.get('id')}"
        assert title.text
        assert about.text
        for part in chart.iter():
            for key in ("d", "x", "y", "cx", "cy", "width", "transform"):
                assert not re.search(r"nan|inf", part.get(key, ""), re.IGNORECASE)


def test_what_users_supply_is_shown_and_not_obeyed():
    page = render_report(full_report())
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quoted&quot;") >= 5
    assert "\x00" not in page
    assert "\u202e" not in page


def test_thresholds_that_differ_by_little_are_told_apart():
    rows = re.findall(r'<td class="number">(−98[^<]*)</td>', render_report(offset_report()))
    assert len(set(rows)) == len(rows) == 4


def test_parts_that_are_absent_are_left_out():
    everything = ["ROC curve", "Precision and recall", "Scores by class", "Calibration", "Learning curve"]
    everything += ["Choice of the penalty", "Terms by penalty"]
    everything += ["Operating points", "Largest weights", "Data", "Settings", "Timings", "Provenance"]
    assert Tags(render_report(full_report(title="All"))).headings == ["All", *everything]
    bare = ["Two rows", "ROC curve", "Precision and recall", "Scores by class", "Operating points"]
    assert Tags(render_report(bare_report())).headings == bare
    empty = full_report(calibration=CalibrationBins.empty(), learning_curve=[ProgressPoint(5, np.nan, 0, 1)])
    assert not {"Calibration", "Learning curve"} & set(Tags(render_report(empty)).headings)


def test_the_summary_says_which_interval_it_is():
    report = full_report()
    found = report.ranking.confidence
    page = render_report(report)
    assert f'<p class="auc">{found.auc:.4f}</p>' in page
    assert f"{found.low:.4f} to {found.high:.4f}" in page
    assert "from the exact ranks of all rows" in page
    streamed = rare_report()
    assert f"certain to lie within {outward(*streamed.ranking.auc_bounds)}" in render_report(streamed)
    few = Ranking.of_stream(StreamingAuc.of([0, 1], [0.0, 1.0]))
    assert "the AUC of these rows is exact" in render_report(full_report(ranking=few))


@given(st.floats(-1e300, 1e300), st.floats(1e-9, 1e300))
def test_axes_have_a_few_ticks_within_their_range_and_labels_that_differ(low, span):
    high = low + max(span, abs(low) * 1e-3)
    axis = Axis.linear(low, high)
    assert 2 <= len(axis.ticks) <= 9
    assert len(set(axis.labels)) == len(axis.labels)
    assert axis.at([low, high]).tolist() == [0.0, 1.0]
    room = 1e-6 * (high - low)
    assert low - room <= min(axis.ticks) < max(axis.ticks) <= high + room


def test_numbers_are_rounded_so_that_they_stay_true():
    assert (share(1.0), share(0.99996), share(1 - 1e-12)) == ("1.0000", "0.99996", "0.99999999")
    assert outward(0.12345678, 0.12345679) == "0.123456 to 0.123457"
    assert (plain(-1234), plain(np.float64(0.5)), safe("<a\ud800>")) == ("−1,234", "0.5", "&lt;a?&gt;")


def contrast(one, other):
    """Ratio of relative luminances as WCAG 2 defines it."""

    def luminance(color):
        parts = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    dim, bright = sorted([luminance(one), luminance(other)])
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_text_and_classes_stand_out_from_the_paper(theme):
    for name in ("ink", "soft", "negative", "positive"):
        assert contrast(theme[name], theme["paper"]) >= 4.5, name


@pytest.mark.parametrize("name", ["full", "additive"])
def test_the_browser_has_nothing_to_complain_about_and_would_say_so(tmp_path, name):
    page = render_report(PAGES[name]())
    printed, logged = chromium(tmp_path, page)
    assert "<h1>" in printed
    assert "CONSOLE" not in logged
    # The same page with an image in it: the page's own policy keeps the browser from fetching it.
    _, logged = chromium(tmp_path, page.replace("<main>", '<main><img alt="" src="http://127.0.0.1:9/x.png">'))
    assert "CONSOLE" in logged
    assert "Content Security Policy" in logged


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_scrolls_sideways_or_overlaps_and_text_is_readable(tmp_path, name, width):
    found = measured(tmp_path, render_report(PAGES[name]()), width)
    assert found["scroll"] <= found["width"] <= width
    assert found["scripts"] == 0
    assert found["text"] >= 11
    for chart in found["boxes"]:
        for at, (words, left, top, right, bottom) in enumerate(chart):
            for other, its_left, its_top, its_right, its_bottom in chart[:at]:
                apart = right <= its_left or its_right <= left or bottom <= its_top + 2 or its_bottom <= top + 2
                assert apart, (words, other)


def test_a_screen_that_asks_for_it_gets_dark_paper(tmp_path):
    page = render_report(bare_report())
    assert measured(tmp_path, page, 800)["paper"] == "rgb(255, 255, 255)"
    dark = measured(tmp_path, page, 800, "--blink-settings=preferredColorScheme=0")["paper"]
    assert dark == f"rgb({', '.join(str(int(DARK['paper'][at : at + 2], 16)) for at in (1, 3, 5))})"


@pytest.mark.parametrize("name", PAGES)
def test_printed_it_takes_two_sheets_or_three_and_an_additive_model_twice_as_many(tmp_path, name):
    if CHROMIUM is None:
        pytest.skip("no chromium here; the page is checked as text only")
    (tmp_path / "page.html").write_text(render_report(PAGES[name]()), encoding="utf-8")
    profile, printed = f"--user-data-dir={tmp_path / 'profile'}", tmp_path / "page.pdf"
    address = (tmp_path / "page.html").as_uri()
    subprocess.run(
        [CHROMIUM, *FLAGS, profile, f"--print-to-pdf={printed}", address], capture_output=True, timeout=120, check=True
    )
    sheets = len(re.findall(rb"/Type /Page\b", printed.read_bytes()))
    assert 1 <= sheets <= SHEETS.get(name, 3)
