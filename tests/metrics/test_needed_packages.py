"""Judging scores is light: serving a model and writing a page load no package that they do not need."""

import subprocess
import sys

HEAVY = ("sklearn", "scipy.stats", "scipy.optimize", "pandas", "matplotlib", "pyarrow")
# The rooms by themselves: what the front door of the package loads is another question.
ALONE = """
import importlib.util, sys, types
front = types.ModuleType("opauc")
front.__path__ = list(importlib.util.find_spec("opauc").submodule_search_locations)
sys.modules["opauc"] = front
import opauc.metrics, opauc.report
print(*(name for name in sys.argv[1:] if name in sys.modules))
"""


def test_evaluation_and_report_load_no_heavy_package():
    done = subprocess.run([sys.executable, "-c", ALONE, *HEAVY], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stdout + done.stderr
