"""The pictures of the documentation, as a browser draws them."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from opauc.report.style import LIGHT
from tests.report.browser import CHROMIUM, FLAGS

# The logo has colors of its own.
DOCS = Path(__file__).parents[2] / "docs"
PICTURES = sorted(
    path for path in DOCS.rglob("*.svg") if path.name != "logo.svg" and "_build" not in path.relative_to(DOCS).parts
)


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.name)
def test_a_picture_is_drawn_in_the_colors_of_the_page(picture, tmp_path):
    """An unclosed rule of style once made all of them black shapes."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    shot = tmp_path / "shot.png"
    flags = [*FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--window-size=500,500", f"--screenshot={shot}"]
    subprocess.run([CHROMIUM, *flags, picture.as_uri()], capture_output=True, timeout=120, check=True)
    pixels = np.asarray(Image.open(shot).convert("RGB")).reshape(-1, 3).astype(int)
    share = {name: np.mean(np.abs(pixels - _rgb(color)).max(1) < 24) for name, color in LIGHT.items()}
    black = np.mean(pixels.max(1) < 16)
    assert share["paper"] > 0.5, share
    assert black < 0.02, black
    assert share["negative"] + share["positive"] > 1e-3, share


def _rgb(color):
    return np.array([int(pair, 16) for pair in re.findall("..", color[1:])])


def test_the_picture_of_the_readme_shows_the_page():
    root = DOCS.parent
    name = re.search(r'<img src="([^"]+)"', (root / "README.md").read_text(encoding="utf-8"))[1]
    pixels = np.asarray(Image.open(root / name).convert("RGB")).reshape(-1, 3).astype(int)
    share = {name: np.mean(np.abs(pixels - _rgb(color)).max(1) < 24) for name, color in LIGHT.items()}
    assert share["paper"] > 0.5, share
    assert share["negative"] > 1e-3, share
