"""The page of the evaluation, as text and in a browser."""

import re
import shutil
import subprocess
from xml.etree import ElementTree

import numpy as np
import pytest
from experiments.paper.__main__ import write_report
from experiments.paper.catalogue import Catalogue
from experiments.paper.claims import all_claims
from experiments.paper.evidence import PAPER, Evidence
from experiments.paper.figures import all_figures
from experiments.paper.marks import LOOKS
from experiments.paper.page import render_page, standalone, title_of
from experiments.paper.protocol import PROFILES
from experiments.paper.store import Line, Store

from tests.report.browser import CHROMIUM, FLAGS, Tags, measure, svgs

BENCHMARK = ("OPAUC", "OAM_seq", "OAM_gra", "online Uni-Exp", "online Uni-Squ", "batch LS-SVM", "exact")


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    store, rng = Store(tmp_path_factory.mktemp("store")), np.random.default_rng(0)
    for place, name in enumerate(("diabetes", "a9a", "nomao", "kddcup04_bio")):
        for column in BENCHMARK:
            for run in range(25):
                curve = [[20, 0.6], [200, 0.7], [2000, 0.8 + 0.01 * len(column)]] if run < 5 else ()
                line = Line(
                    "paper", name, column, run // 5, run % 5, auc=float(0.8 + rng.normal(scale=0.01)),
                    seconds=float(rng.uniform(0.001, 10) * 10**place), curve=curve,
                    rules=("setting chosen once a trial",) if place else (),
                )  # fmt: skip
                store.add(line)
    for name in ("news20", "news20_binary_rebuilt"):
        for run in range(25):
            store.add(
                Line("paper", name, "OPAUCr", run // 5, run % 5, auc=0.9, seconds=1.0, curve=[[1, 0.7], [50, 0.9]])
            )
            store.add(Line("paper", name, "online Uni-Exp", run // 5, run % 5, auc=0.9, seconds=0.1))
        store.add(Line("paper", name, "OPAUC_pca", 0, 0, not_available="900 s of one core"))
        store.add(Line("paper", name, "OAM_gra", 0, 0, error="<script>alert(1)</script>"))
    grid = [[2.0**k, 2.0**r, 0.5 + 0.3 * (k < 0)] for k in range(-12, 11) for r in range(-10, 3)]
    store.add(Line("paper", "a9a", "influence of η and λ", 0, 0, curve=grid))
    return Evidence(store, "paper", Catalogue())


def test_the_page_shows_every_part(evidence):
    page = render_page(evidence)
    headings = " | ".join(Tags(page).headings)
    for part in (
        "What the paper says",
        "What we add",
        "Table 2",
        "Table 3",
        "Table 5",
        "Beyond the paper",
        "Figure 1",
        "Figure 2",
        "Figure 3: step",
    ):
        assert part in headings
    for part in ("Figure 4: penalty", "Figure 5: rank", "Figure 6: convergence", "Data sets", "Protocol"):
        assert part in headings
    assert '<span class="printed">.9002 ± .0047</span>' in page
    assert "14/2/0 in all" in page
    assert "The published task" in page
    assert "Not in the paper" in page
    assert "Figure 3: step size η, a9a" in headings
    assert "2⁻¹²" in page
    assert "Far from print" in headings
    assert "N/A after 900 s of one core" in page
    assert "<sup>a</sup>" in page


def test_a_claim_of_several_methods_stands_once_under_its_table(evidence):
    page = render_page(evidence)
    assert page.count("OPAUC wins for most times and never loses<") == 2  # of the paper's methods, of stronger ones
    assert page.count(">against OAM_seq</th>") == 1
    headings = re.findall(r'<tr class="where"><th colspan="3" scope="rowgroup">(.*?)</th>', page)
    of_paper = headings[: headings.index("Running time") + 1]
    assert of_paper == ["Table 2", "Table 3", "Table 5", "Figure 3", "Figure 4", "Figure 5", "Figure 6", "Running time"]


def test_the_page_says_what_it_is_and_counts_the_verdicts(evidence):
    page = render_page(evidence)
    assert '<a href="https://proceedings.mlr.press/v28/gao13.html">One-Pass AUC Optimization</a>' in page
    n_claims, *parts = map(
        int, re.search(
            r"Of the (\d+) claims of the paper, (\d+) hold, (\d+) do not, (\d+) are not decided by these runs and "
            r"(\d+) cannot be tested here\.",
            page,
        ).groups()
    )  # fmt: skip
    assert n_claims == sum(parts) == sum(claim.by == PAPER for claim in all_claims())


def test_the_page_needs_nothing_else_and_obeys_no_store(evidence):
    page = render_page(evidence)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "src=" not in page
    assert re.findall(r'<(\w+)[^<>]* href="', page) == ["a"]  # the link to the paper, which loads nothing
    for chart in svgs(page):
        for part in chart.iter():
            for key in ("d", "x", "y", "cx", "cy"):
                assert not re.search(r"nan|inf", part.get(key, ""), re.IGNORECASE)


def test_running_times_stand_alone_as_a_drawing(evidence):
    for figure in all_figures(evidence):
        if figure.narrow:
            drawn = ElementTree.fromstring(standalone(figure))
            texts = "".join(drawn.itertext())
            assert all(name in texts for name in figure.key)


def test_a_report_is_a_page_two_texts_and_a_figure_where_one_is_asked_for(tmp_path, evidence, capsys):
    write_report(evidence, tmp_path / "report", tmp_path / "figure.svg")
    assert sorted(path.name for path in (tmp_path / "report").iterdir()) == ["cells.csv", "report.html", "tables.md"]
    assert "Seconds of processor time" in (tmp_path / "figure.svg").read_text()
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_an_empty_store_still_gives_a_page(tmp_path):
    assert "cannot be tested here" in render_page(Evidence(Store(tmp_path), "paper", Catalogue()))


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_but_tables_scrolls_sideways_and_text_is_readable(tmp_path, evidence, width):
    found = measure(tmp_path, render_page(evidence), width)
    assert found["scroll"] <= found["width"] <= width
    assert found["scripts"] == 0
    heights = [bottom - top for boxes in found["boxes"] for _, left, top, right, bottom in boxes if right > left]
    assert round(min(heights), 1) >= 13  # a font of 11 px; browsers place text between pixels


def test_a_screen_that_asks_for_it_gets_dark_paper(tmp_path, evidence):
    flags = ("--blink-settings=preferredColorScheme=0",)
    assert measure(tmp_path, render_page(evidence), 800)["paper"] == "rgb(255, 255, 255)"
    assert measure(tmp_path, render_page(evidence), 800, *flags)["paper"] != "rgb(255, 255, 255)"


def test_it_can_be_printed(tmp_path, evidence):
    if CHROMIUM is None or shutil.which(CHROMIUM) is None:
        pytest.skip("no chromium here; the page is checked as text only")
    (tmp_path / "page.html").write_text(render_page(evidence), encoding="utf-8")
    printed, address = tmp_path / "page.pdf", (tmp_path / "page.html").as_uri()
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    subprocess.run(
        [CHROMIUM, *FLAGS, profile, f"--print-to-pdf={printed}", address], capture_output=True, timeout=120, check=True
    )
    assert 3 <= len(re.findall(rb"/Type /Page\b", printed.read_bytes())) <= 20


def test_series_differ_by_shape_and_dash_and_not_by_color_alone(evidence):
    assert len({look.outline for look in LOOKS}) == len({look.dashes for look in LOOKS}) == len(LOOKS)
    (figure,) = [one for one in all_figures(evidence) if one.title.startswith("Figure 1")]
    assert "exact" in figure.key
    shapes = {look.outline for look in LOOKS[: len(figure.key)]}
    assert shapes == set(re.findall(r'class="point \w+" d="([^"]+)"', figure.drawing))


def test_no_drawing_is_wider_than_a_narrow_screen(tmp_path, evidence):
    found = measure(tmp_path, render_page(evidence), 390)
    assert found["scroll"] <= 390
    assert all(right <= 390 for boxes in found["boxes"] for _, _, _, right, _ in boxes)


def test_the_title_of_the_quick_profile_says_so():
    assert "quick" not in title_of(PROFILES["paper"])
    assert "at most 5,000 rows" in title_of(PROFILES["quick"])
