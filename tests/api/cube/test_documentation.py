"""The examples of docs/how-to/cubes.md print what the page says."""

import doctest
import re
from pathlib import Path

TEXT = (Path(__file__).parents[3] / "docs" / "how-to" / "cubes.md").read_text(encoding="utf-8")


def test_the_page_about_cubes_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    setup, *examples = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names = {}
    exec(compile(setup, "cubes.md", "exec"), names)
    test = doctest.DocTestParser().get_doctest("".join(examples), names, "cubes.md", "cubes.md", 0)
    assert len(test.examples) > 15
    failures = []
    doctest.DocTestRunner().run(test, out=failures.append)
    assert not failures, "".join(failures)
