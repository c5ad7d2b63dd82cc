"""The registry of formats, and what reading a file imports."""

import subprocess
import sys

import pytest

from opauc.core.registry import FORMATS

ENDINGS = [ending for kind in FORMATS.values() for ending in kind.endings]


def test_every_ending_belongs_to_one_format():
    assert len(set(ENDINGS)) == len(ENDINGS)
    assert all(ending.startswith(".") and ending == ending.lower() for ending in ENDINGS)


def test_formats_are_listed_with_the_usual_ones_first():
    assert list(FORMATS) == ["libsvm", "csv", "tsv", "parquet", "arrow", "jsonl", "numpy"]


UNTOUCHED = """
import importlib.util, sys
found = importlib.util.find_spec("opauc")  # the data package alone, whatever `import opauc` imports
sys.modules["opauc"] = importlib.util.module_from_spec(found)
from opauc.data.open_stream import open_stream
from opauc.core.registry import FORMATS
batches = list(open_stream(sys.argv[1:]).batches())
FORMATS
print("pyarrow" in sys.modules, "sklearn" in sys.modules)
"""


@pytest.mark.parametrize(("name", "wanted"), [("rows.svm", "False False"), ("rows.csv", "True False")])
def test_pyarrow_is_imported_only_where_there_is_a_table(tmp_path, name, wanted):
    content = {"rows.svm": "1 1:2\n-1 2:3\n", "rows.csv": "a,y\n1,2\n3,4\n"}
    (tmp_path / name).write_text(content[name])
    done = subprocess.run(
        [sys.executable, "-c", UNTOUCHED, str(tmp_path / name)], capture_output=True, check=True, text=True
    )
    assert done.stdout.strip() == wanted
