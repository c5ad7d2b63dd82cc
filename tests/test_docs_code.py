"""The code of README and of every page of the documentation runs, and prints what the page shows."""

import re
from pathlib import Path

import pytest

from tests.code_blocks import FENCE, blocks_of, check_page

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if not {"_build", "gallery"} & set(page.parts)]


def name_of(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page)[0]], ids=name_of)
def test_the_code_of_a_page_prints_what_the_page_shows(page, tmp_path):
    check_page(page, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_code_hides_in_a_block_without_a_language(page):
    """Such a block would not be run."""
    for match in FENCE.finditer(page.read_text(encoding="utf-8")):
        if match["kind"] is None and match["language"] in ("", "text"):
            assert not re.search(r"^(>>> |\$ |import |from \w+ import )", match["text"], re.MULTILINE), match["text"]
