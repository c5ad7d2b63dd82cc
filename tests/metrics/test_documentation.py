"""What docs/how-to/metrics.md prints is what its code prints."""

import doctest
from pathlib import Path

TEXT = Path(__file__).parents[2] / "docs" / "how-to" / "metrics.md"


def test_the_examples_print_what_is_written():
    text = TEXT.read_text(encoding="utf-8").replace("```", "")
    example = doctest.DocTestParser().get_doctest(text, {}, "metrics.md", str(TEXT), 0)
    failed = doctest.DocTestRunner(verbose=False).run(example)
    assert failed.attempted > 15
    assert failed.failed == 0
