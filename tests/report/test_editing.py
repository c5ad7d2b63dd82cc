"""The editing page: self-contained, escaped, and edited by pointer and keyboard in a real browser without a network."""

import base64
import hashlib
import json
import re
import time

import numpy as np
import pytest

from opauc.report import ShownTerm
from opauc.report.editing import EditableTerm, EditingPage, render_editing
from tests.report.browser import Tags
from tests.report.driver import Browser
from tests.report.terms import HOSTILE, curve, levels, pair, tree_term

ROWS = np.array([0.05, 0.2, 0.3, 0.25, 0.15, 0.05])


def editable(term, **fields):
    return EditableTerm(term=term, **fields)


def page(**changes):
    points = np.array([17.0, 20.0, 30.0, 45.0, 60.0, 90.0, 95.0])
    values = np.array([-0.5, -0.4, 0.3, -0.2, 0.6, 0.5, 0.5, 0.25])
    age = curve("age", points, values=values, standard_errors=np.zeros(8), row_shares=np.r_[0.0, ROWS, 0.0] * 0.9)
    job = levels("job", ("clerk", "cook", "smith", "missing"), row_shares=np.array([0.5, 0.3, 0.1, 0.1]))
    sex = ShownTerm("sex", ("sex",), ((0.0, 1.0),), np.array([-0.25, 0.25]), np.zeros(2), 0.25, np.array([0.5, 0.5]))
    strange = levels(HOSTILE, [HOSTILE, "</script><b>", "__proto__"])
    inner = np.array([False, True, True, True, True, True, False])
    terms = [
        editable(pair()),
        editable(age, numbers=points, knots=inner, offsets=np.r_[-0.1, np.zeros(6)], missing=True),
        editable(job, names=("clerk", "cook", "smith"), missing=True, edited=True),
        editable(sex, numbers=np.array([0.0, 1.0])),
        editable(strange, names=(HOSTILE, "</script><b>", "__proto__")),
        editable(tree_term("age")),
    ]
    fields = {"title": "bank.opauc", "model": "5f" * 32, "command": "opauc edit bank.opauc", "terms": terms}
    return render_editing(EditingPage(**(fields | changes)))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture
def opened(browser):
    path = browser.folder / "page.html"
    path.write_text(page(title=HOSTILE), encoding="utf-8")
    return browser.open(path)


def patch(browser):
    return json.loads(browser.run("document.getElementById('patch').value"))


def edit_of(browser, term):
    found = [edit for edit in patch(browser)["edits"] if edit["term"] == term]
    return found[0] if found else None


def choose(browser, term):
    names = browser.run("[...document.querySelectorAll('#terms .term-name')].map(e => e.textContent)")
    browser.click(f"#terms li:nth-child({1 + names.index(term)}) button")


def test_the_page_runs_one_script_by_its_hash_and_loads_nothing():
    html = page()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    scripts, [style] = (
        re.findall(r"<script>(.*?)</script>", html, re.DOTALL),
        re.findall(r"<style>(.*?)</style>", html, re.DOTALL),
    )
    assert len(scripts) == 1
    for kind, text in (("script-src", scripts[0]), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in scripts[0].replace("http://www.w3.org/2000/svg", "")
    for attribute in (" src=", " href=", " style=", " onclick="):
        assert attribute not in html


def test_hostile_names_are_data_and_no_markup():
    html = page(title=HOSTILE)
    assert html.count("<script") == 2
    assert html.count("</script>") == 2
    data = re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1]
    assert "<" not in data
    assert json.loads(data)["terms"][4]["names"] == [HOSTILE, "</script><b>", "__proto__"]
    head = html[: html.index('<script type="application/json"')]
    assert "https://example.org" in head
    Tags(head[head.index("<body>") + 6 :] + "</main>".replace("</main>", ""))


def test_a_dragged_point_is_in_the_patch(opened):
    assert patch(opened)["edits"] == []
    assert opened.run("document.getElementById('download').disabled")
    opened.drag('[data-index="2"]', 0, 50)
    edit = edit_of(opened, "age")
    points = dict(edit["points"])
    assert points[30.0] > 0.35
    assert [points[x] for x in (20.0, 45.0, 60.0, 90.0)] == [-0.4, -0.2, 0.6, 0.5]
    assert points[17.0] == pytest.approx(-0.5)  # a point outside the knots keeps its distance
    assert edit["missing"] == 0.25
    opened.drag('[data-index="1"]', 0, -40)
    points = dict(edit_of(opened, "age")["points"])
    assert points[17.0] == pytest.approx(points[20.0] - 0.1)
    opened.drag('[data-index="missing"]', 0, 30)
    assert edit_of(opened, "age")["missing"] > 0.3
    assert opened.complaints() == []


def test_curves_are_made_monotone_smoothed_and_flattened(opened):
    opened.click("#increasing")
    points = dict(edit_of(opened, "age")["points"])
    # Pool adjacent violators, weighted by rows: 0.3 and -0.2, then 0.6 and 0.5.
    first = np.average([0.3, -0.2], weights=ROWS[1:3] * 0.9 + 1e-6)
    last = np.average([0.6, 0.5], weights=ROWS[3:5] * 0.9 + 1e-6)
    expected = [-0.4, first, first, last, last]
    np.testing.assert_allclose([points[x] for x in (20.0, 30.0, 45.0, 60.0, 90.0)], expected, atol=1e-12)
    assert (points[17.0], points[95.0]) == (points[20.0], points[90.0])
    opened.click("#undo")
    assert patch(opened)["edits"] == []
    opened.click("#decreasing")
    values = [value for _, value in edit_of(opened, "age")["points"]]
    assert (np.diff(values) <= 1e-12).all()
    opened.click("#undo")
    opened.click("#smooth")
    points = dict(edit_of(opened, "age")["points"])
    np.testing.assert_allclose(points[30.0], (-0.4 + 2 * 0.3 - 0.2) / 4, atol=1e-12)
    np.testing.assert_allclose(points[20.0], (2 * -0.4 + 0.3) / 3, atol=1e-12)
    opened.click("#flatten")
    values = [value for _, value in edit_of(opened, "age")["points"]]
    assert np.ptp(values) < 1e-12
    opened.click("#reset")
    assert patch(opened)["edits"] == []
    opened.click("#undo")
    assert np.ptp([value for _, value in edit_of(opened, "age")["points"]]) < 1e-12


def test_a_point_is_moved_by_the_keyboard_and_by_its_number(opened):
    opened.click('[data-index="3"]')
    opened.press("ArrowUp")
    opened.press("ArrowUp", modifiers=8)
    assert dict(edit_of(opened, "age")["points"])[45.0] > -0.2
    opened.type("#value", "0.75")
    assert dict(edit_of(opened, "age")["points"])[45.0] == 0.75
    opened.run("document.activeElement.blur()")
    opened.press("z", modifiers=2)
    assert dict(edit_of(opened, "age")["points"])[45.0] < 0.75


def test_levels_are_dragged_and_typed(opened):
    choose(opened, "job")
    assert "Set by hand before" in opened.run("document.getElementById('about').textContent")
    opened.drag('.grip[data-index="0"]', 60, 0)
    edit = edit_of(opened, "job")
    assert edit["levels"]["clerk"] > -0.95
    assert (edit["levels"]["cook"], edit["missing"]) == (-0.5, 0.5) or edit["levels"]["smith"] == 0.0
    opened.type("#level-1", "0.125")
    assert edit_of(opened, "job")["levels"]["cook"] == 0.125
    opened.click("#flatten")
    assert np.ptp(list(edit_of(opened, "job")["levels"].values())) < 1e-12
    choose(opened, "sex")
    opened.drag('.grip[data-index="1"]', -30, 0)
    assert edit_of(opened, "sex")["points"][0] == [0.0, -0.25]
    choose(opened, HOSTILE)
    opened.type("#level-2", "2")
    assert edit_of(opened, HOSTILE)["levels"]["__proto__"] == 2
    assert opened.complaints() == []


def test_any_term_can_be_removed(opened):
    for term in ("age (trees)", "age × job", "job"):
        choose(opened, term)
        opened.click("#remove")
        assert edit_of(opened, term) == {"term": term, "remove": True}
    opened.click("#remove")
    assert edit_of(opened, "job") is None


def test_the_patch_is_downloaded_with_the_fingerprint(opened):
    opened.click("#flatten")
    shown = opened.run("document.getElementById('patch').value")
    opened.click("#download")
    assert opened.downloaded("patch.json") == shown
    assert json.loads(shown)["model"] == "5f" * 32
    opened.click("#copy")
    deadline = time.monotonic() + 20.0  # the browser copies when it comes to it
    while opened.run("document.getElementById('status').textContent") == "Saved as patch.json.":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert opened.run("document.getElementById('status').textContent") == "Copied."


@pytest.mark.parametrize("width", [360, 390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_scrolls_sideways_and_text_is_large_enough(browser, width, dark):
    path = browser.folder / "page.html"
    path.write_text(page(), encoding="utf-8")
    browser.open(path, width, 800, dark)
    for term in (1, 2, 4):
        browser.run(
            f"(() => {{ const s = document.getElementById('choose'); s.selectedIndex = {term}; "
            "s.dispatchEvent(new Event('change')); })()"
        )
        assert browser.run("document.documentElement.scrollWidth") <= width
        sizes = browser.run(
            "[...document.querySelectorAll('#chart text, #chart span')].map(e => getComputedStyle(e).fontSize)"
        )
        assert min((float(size.removesuffix("px")) for size in sizes), default=13) >= 13
    assert browser.complaints() == []
