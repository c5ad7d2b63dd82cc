"""Draw the picture of the report page in README.md: python examples/report_picture.py

Needs chromium and Pillow, and the page that `make run` writes.
"""

import io
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "run" / "report.html"
PICTURE = ROOT / "docs" / "_static" / "report.png"
WIDTH, HEIGHT = 1280, 960  # the summary and two charts
MARGIN = 150  # empty, on either side
COLORS = 64


def main() -> None:
    """Write the top of the page as a picture of few colors."""
    if not PAGE.exists():
        raise SystemExit(f"{PAGE} is missing: `make run` writes it")
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
        ]
        size = f"--window-size={WIDTH},{HEIGHT}"
        subprocess.run(
            ["chromium", *flags, size, f"--screenshot={shot}", PAGE.as_uri()], check=True, capture_output=True
        )
        top = Image.open(io.BytesIO(shot.read_bytes())).convert("RGB")
    top.crop((MARGIN, 0, WIDTH - MARGIN, HEIGHT)).quantize(COLORS).save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
