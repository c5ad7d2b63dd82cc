"""Metrics and the report import no heavy package."""

import subprocess
import sys

HEAVY = ("sklearn", "scipy.stats", "scipy.optimize", "pandas", "matplotlib", "pyarrow")
# Import the two packages without opauc/__init__.py, which has tests of its own.
ALONE = """
import importlib.util, sys, types
parent = types.ModuleType("opauc")
parent.__path__ = list(importlib.util.find_spec("opauc").submodule_search_locations)
sys.modules["opauc"] = parent
import opauc.metrics, opauc.report
print(*(name for name in sys.argv[1:] if name in sys.modules))
"""


def test_metrics_and_report_import_no_heavy_package():
    done = subprocess.run([sys.executable, "-c", ALONE, *HEAVY], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stdout + done.stderr
