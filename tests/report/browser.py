"""Load a page in a browser, or parse it."""

import json
import re
import shutil
import subprocess
from html import escape
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=5000",
]
# Measures the page in a frame of the given width and writes the results to the outer page.
MEASURE = """
<pre id="result"></pre><iframe style="width:{width}px;height:900px;border:0" srcdoc="{page}"></iframe>
<script>
window.onload = () => {{
  const page = document.querySelector("iframe").contentDocument, root = page.documentElement;
  const boxes = [...page.querySelectorAll("svg.chart")].map(chart => [...chart.querySelectorAll("text")].map(text => {{
    const box = text.getBoundingClientRect();
    return [text.textContent, box.left, box.top, box.right, box.bottom];
  }}));
  const scale = page.querySelector("svg.chart").getBoundingClientRect().width / 400;
  document.getElementById("result").textContent = JSON.stringify({{
    scroll: root.scrollWidth, width: root.clientWidth, scripts: page.scripts.length, boxes: boxes,
    paper: page.defaultView.getComputedStyle(page.body).backgroundColor,
    text: scale * parseFloat(page.defaultView.getComputedStyle(page.querySelector("svg.chart text")).fontSize),
  }});
}};
</script>
"""
VOID = {"meta", "wbr"}


class Tags(HTMLParser):
    """Check that elements are closed in order, and record them."""

    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.headings = [], [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("h1", "h2"):
            self.headings.append(data)


def svgs(page):
    return [ElementTree.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def chromium(directory, page, *flags):
    """The DOM that the browser prints, and its log."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed; the page is checked as text only")
    path = directory / "page.html"
    path.write_text(page, encoding="utf-8")
    profile = f"--user-data-dir={directory / 'profile'}"
    done = subprocess.run(
        [CHROMIUM, *FLAGS, profile, "--enable-logging=stderr", "--v=0", *flags, "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, done.stderr


def measure(directory, page, width, *flags):
    printed, _ = chromium(directory, MEASURE.format(width=width, page=escape(page)), *flags)
    return json.loads(re.search(r'<pre id="result">(.*?)</pre>', printed, re.DOTALL)[1].replace("&amp;", "&"))
