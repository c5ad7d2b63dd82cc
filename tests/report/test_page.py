"""The report page: escaped, complete and self-contained as text, and correct in a browser."""

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
from opauc.report import DecisionPoint, FileRow, WeightRow, render_report
from opauc.report.style import DARK, LIGHT
from opauc.report.svg import Axis
from opauc.report.text import breakable, outward, plain, safe, share
from tests.report.browser import CHROMIUM, FLAGS, Tags, chromium, measure, svgs
from tests.report.driver import Browser
from tests.report.reports import HOSTILE, PAGES, bare_report, full_report, offset_report, rare_report

# Printed sheets per page; three unless listed.
SHEETS = {"additive": 5, "bare": 1}


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_well_formed_without_scripts_and_links(name):
    page = render_report(PAGES[name]())
    tags = Tags(page)
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in tags.seen}
    for tag, attributes in tags.seen:
        for key, value in attributes.items():
            assert not key.startswith("on"), (tag, key)
            assert key not in ("src", "style"), (tag, key)
            assert key != "href" or (tag == "a" and value.startswith("#")), (tag, value)
            assert "http" not in (value or "") or key == "http-equiv"
    style = page[page.index("<style>") : page.index("</style>")]
    assert not re.search(r"url\(|@import|http", style)
    ids = [attributes["id"] for _, attributes in tags.seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    anchors = {attributes["href"][1:] for _, attributes in tags.seen if "href" in attributes}
    assert anchors <= set(ids)
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


def test_hostile_text_is_escaped():
    page = render_report(full_report())
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quoted&quot;") >= 5
    assert "\x00" not in page
    assert "\u202e" not in page


def test_close_thresholds_have_enough_digits():
    rows = re.findall(r'<td class="number">(−98[^<]*)</td>', render_report(offset_report()))
    assert len(set(rows)) == len(rows) == 4


def test_absent_parts_are_left_out():
    everything = ["ROC curve", "Precision and recall", "Scores by class", "Calibration", "Learning curve"]
    everything += ["Penalty selection", "Regularization path"]
    everything += ["Operating points", "Largest weights", "Data", "Settings", "About this page", "Timings"]
    everything += ["Provenance"]
    assert Tags(render_report(full_report(title="All"))).headings == ["All", *everything]
    bare = ["Two rows", "ROC curve", "Precision and recall", "Scores by class", "Operating points"]
    assert Tags(render_report(bare_report())).headings == bare
    empty = full_report(calibration=CalibrationBins.empty(), learning_curve=[ProgressPoint(5, np.nan, 0, 1)])
    assert not {"Calibration", "Learning curve"} & set(Tags(render_report(empty)).headings)


def test_the_summary_describes_the_interval():
    report = full_report()
    interval = report.ranking.confidence
    page = render_report(report)
    assert f'<p class="auc">{interval.auc:.4f}</p>' in page
    assert f"{interval.low:.4f} to {interval.high:.4f}" in page
    assert "from the exact ranks of all rows" in page
    streamed = rare_report()
    assert f"lies within {outward(*streamed.ranking.auc_bounds)}" in render_report(streamed)
    few = Ranking.of_stream(StreamingAuc.of([0, 1], [0.0, 1.0]))
    assert "the AUC of these rows is exact" in render_report(full_report(ranking=few))


@given(st.floats(-1e300, 1e300), st.floats(1e-9, 1e300))
def test_axes_have_two_to_nine_ticks_with_distinct_labels(low, span):
    high = low + max(span, abs(low) * 1e-3)
    axis = Axis.linear(low, high)
    assert 2 <= len(axis.ticks) <= 9
    assert len(set(axis.labels)) == len(axis.labels)
    assert axis.at([low, high]).tolist() == [0.0, 1.0]
    room = 1e-6 * (high - low)
    assert low - room <= min(axis.ticks) < max(axis.ticks) <= high + room


def test_numbers_are_rounded_without_becoming_wrong():
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
def test_colors_have_enough_contrast(theme):
    for name in ("ink", "soft", "negative", "positive", "alarm"):
        assert contrast(theme[name], theme["paper"]) >= 4.5, name


@pytest.mark.parametrize("name", ["full", "additive"])
def test_the_browser_logs_no_errors_and_blocks_images(tmp_path, name):
    page = render_report(PAGES[name]())
    printed, logged = chromium(tmp_path, page)
    assert "<h1>" in printed
    assert "CONSOLE" not in logged
    # The content security policy of the page blocks an image.
    _, logged = chromium(tmp_path, page.replace("<main>", '<main><img alt="" src="http://127.0.0.1:9/x.png">'))
    assert "CONSOLE" in logged
    assert "Content Security Policy" in logged


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_scrolls_sideways_or_overlaps_and_text_is_large_enough(tmp_path, name, width):
    result = measure(tmp_path, render_report(PAGES[name]()), width)
    assert result["scroll"] <= result["width"] <= width
    assert result["scripts"] == 0
    assert result["text"] >= 11
    for chart in result["boxes"]:
        for at, (label, left, top, right, bottom) in enumerate(chart):
            for other, its_left, its_top, its_right, its_bottom in chart[:at]:
                apart = right <= its_left or its_right <= left or bottom <= its_top + 2 or its_bottom <= top + 2
                assert apart, (label, other)


def test_the_dark_theme_follows_the_color_scheme(tmp_path):
    page = render_report(bare_report())
    assert measure(tmp_path, page, 800)["paper"] == "rgb(255, 255, 255)"
    dark = measure(tmp_path, page, 800, "--blink-settings=preferredColorScheme=0")["paper"]
    assert dark == f"rgb({', '.join(str(int(DARK['paper'][at : at + 2], 16)) for at in (1, 3, 5))})"


@pytest.mark.parametrize("name", PAGES)
def test_the_printed_page_has_few_sheets(tmp_path, name):
    if CHROMIUM is None:
        pytest.skip("chromium is not installed; the page is checked as text only")
    (tmp_path / "page.html").write_text(render_report(PAGES[name]()), encoding="utf-8")
    profile, printed = f"--user-data-dir={tmp_path / 'profile'}", tmp_path / "page.pdf"
    address = (tmp_path / "page.html").as_uri()
    subprocess.run(
        [CHROMIUM, *FLAGS, profile, f"--print-to-pdf={printed}", address], capture_output=True, timeout=120, check=True
    )
    sheets = len(re.findall(rb"/Type /Page\b", printed.read_bytes()))
    assert 1 <= sheets <= SHEETS.get(name, 3)


def test_print_unfolds_the_provenance(tmp_path):
    (tmp_path / "page.html").write_text(render_report(full_report()), encoding="utf-8")
    browser = Browser(tmp_path)
    try:
        browser.open(tmp_path / "page.html")
        seen = "document.querySelector('.provenance table').checkVisibility()"
        assert not browser.run(seen)
        browser.send("Emulation.setEmulatedMedia", media="print")
        assert browser.run(seen)
    finally:
        browser.close()


def render_weights(rows, order="by standardized weight"):
    return render_report(full_report(weights=rows, weight_order=order, penalty=None))


def names_in(page):
    return re.findall(r"<bdi>(\w+)</bdi>", page)


def test_the_twenty_largest_standardized_weights_are_listed():
    page = render_weights([WeightRow(f"name{i}", 1e6 / (i + 1), (-1) ** i * (i % 30)) for i in range(30)])
    assert names_in(page) == [f"name{i}" for i in range(29, 9, -1)]
    assert "20 of 40, by standardized weight" in page


def test_raw_weights_have_their_own_digits():
    page = render_weights([WeightRow("meters", 3.4361e-07, 0.5), WeightRow("years", -114.243, -0.25)])
    cells = re.findall(r'<bdi>(\w+)</bdi></th><td class="number">([^<]+)</td><td class="number">([^<]+)</td>', page)
    assert cells == [("meters", "0.5000", "3.436e−07"), ("years", "−0.2500", "−114.2")]
    assert '<th scope="col" class="number">Weight × SD</th><th scope="col" class="number">Weight</th>' in page


def test_weights_without_deviations_are_ordered_by_size():
    page = render_weights(
        [WeightRow("zero", 0.0), WeightRow("missing", np.nan), WeightRow("one", 1.0)], "by size of the weight"
    )
    assert names_in(page) == ["one", "zero", "missing"]
    assert "3 of 40, by size of the weight" in page
    assert ">Weight × SD<" not in page


def test_nan_weights_go_last_and_have_no_bar():
    rows = [WeightRow("zero", 0.0), WeightRow("missing", np.nan), WeightRow("one", 1.0), WeightRow("infinite", -np.inf)]
    page = render_weights(rows)
    assert names_in(page) == ["infinite", "one", "zero", "missing"]
    widths = [float(bar.find("rect").get("width")) for bar in svgs(page) if bar.get("class") == "bar"]
    assert sorted(widths) == [0.0, 0.0, 0.0, 50.0]


def test_training_rows_are_told_in_red_on_top():
    page = render_report(full_report(training_files={HOSTILE: 1500, "b.csv": 2500}))
    (note,) = re.findall(r'<p class="alarm".*?</p>', page)
    assert "trained on all rows of this page" in note
    assert "&lt;script&gt;" in note
    assert page.index(note) < page.index('<section class="summary"')
    some = render_report(full_report(training_files={f"{k}.csv": 10 for k in range(9)}))
    assert "trained on 90 of the 4,000 rows of this page: 0.csv, 1.csv, 2.csv, 3.csv, 4.csv and 4 more files" in some
    assert 'class="alarm"' not in render_report(full_report())


def test_two_sentences_say_what_the_numbers_mean():
    report = full_report()
    area, point = report.ranking.confidence, report.ranking.operating_points[3]
    (text,) = re.findall(r'<p class="short">(.*?)</p>', render_report(report))
    text = text.replace("\u00a0", " ")
    assert f"above a random negative {100 * area.auc:.1f} % of the time" in text
    assert f"(95 % confidence interval {100 * area.low:.1f} % to {100 * area.high:.1f} %)" in text
    assert f"at most 10 % it finds {100 * point.true_positive_rate:.1f} % of the positives" in text
    assert f"off by {report.calibration.expected_error():.4f} on average" in text
    assert text.count(". ") + text.endswith(".") == 2


def test_thresholds_have_probabilities_and_counts_per_thousand_rows():
    labels, scores = np.repeat([0, 1], [80, 20]), np.r_[np.arange(80.0), np.arange(60.0, 80.0)]
    ranking = Ranking.of(labels, scores)
    decision = DecisionPoint("predict: at_fpr=0.1", 69.5, 0.25, 10, 10)
    probabilities = [0.5] * len(ranking.operating_points)
    page = render_report(full_report(ranking=ranking, decision=decision, threshold_probabilities=probabilities))
    rows = re.findall(r'<tr><th scope="row">([^<]*)</th>((?:<td class="number">[^<]*</td>){8})</tr>', page)
    table = {name: re.findall(r">([^<]+)<", cells) for name, cells in rows}
    threshold, *numbers = table["predict: at_fpr=0.1"]
    assert float(threshold) == 69.5
    assert numbers == ["0.2500", "50.0 %", "50.0 %", "100.0", "100.0", "700.0", "100.0"]
    for name, numbers in table.items():
        cut = float(numbers[0]) - 1e-9
        true, false = (scores[80:] > cut).sum(), (scores[:80] > cut).sum()
        counts = [true, false, 80 - false, 20 - true]
        assert [float(number) for number in numbers[4:]] == [10.0 * count for count in counts], name


def test_hashes_are_folded_away():
    files = [FileRow(f"part_{k}.csv", 1234, 56789, "0123456789abcdef" * 4) for k in range(250)]
    page = render_report(full_report(training_data=files))
    folded = page[page.index("<details") : page.index("</details>")]
    assert folded.count("0123456789abcdef" * 4) == 201
    assert "0123456789abcdef" not in page.replace(folded, "")
    assert "And 50 more files" in folded
    assert '<td class="number">1,234</td><td class="number">56,789</td>' in folded
    assert "<details open" not in page


@given(st.text("ab_/<&\"'", max_size=12))
def test_names_break_at_underscores_only(name):
    assert breakable(name).replace("<wbr>", "") == safe(name)
    assert "<wbr>" not in breakable(name.replace("_", "").replace("/", ""))
