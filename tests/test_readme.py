"""The example of the README runs as it stands."""

import contextlib
import io
import re
from pathlib import Path


def test_the_example_prints_a_good_auc():
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert float(printed.getvalue()) > 0.98
