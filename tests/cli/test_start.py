"""What the command imports before it does anything."""

import subprocess
import sys
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import opauc
from opauc import OnePassGAM, save
from opauc.cli.app import VERBS

WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in {absent}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
sys.argv = ["opauc", {arguments}]
from opauc.cli import main
main()
"""


def run_without(absent, *arguments):
    code = WITHOUT.format(absent=set(absent), arguments=", ".join(map(repr, map(str, arguments))))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_is_listed_by_the_first_line_of_its_own_help(verb):
    assert import_module(f"opauc.cli.{verb}").command.__doc__.split("\n\n")[0].split("\n")[0].strip() == VERBS[verb]


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], []])
def test_help_imports_no_numeric_library(arguments):
    done = run_without(["numpy", "scipy", "sklearn", "numba", "pyarrow", "pandas"], *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    if arguments[:1] != ["--version"]:
        assert all(verb in done.stdout for verb in VERBS)


def test_a_misspelled_verb_is_found_without_importing_any():
    done = run_without(["numpy", "scipy"], "trian")
    assert done.returncode == 2
    assert done.stderr == "opauc: No such command 'trian'. Did you mean 'train'?\n"


def test_predicting_imports_neither_scikit_learn_nor_statistics(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=300), "kind": rng.choice(["a", "b"], 300)})
    model = OnePassGAM(random_state=0).fit(table, (table["x"] > 0).astype(int))
    save(model, tmp_path / "model.opauc")
    table.head(5).to_csv(tmp_path / "rows.csv", index=False)
    done = run_without(["sklearn", "scipy.stats"], "predict", tmp_path / "model.opauc", tmp_path / "rows.csv")
    assert done.returncode == 0, done.stderr
    assert [float(line) for line in done.stdout.split()] == pytest.approx(
        model.decision_function(table.head(5)), abs=1e-9
    )


IMPORTED = """
import atexit, sys
atexit.register(lambda: print(*sorted({"pandas", "sklearn"} & set(sys.modules)), file=sys.stderr))
sys.argv = ["opauc", *sys.argv[1:]]
from opauc.cli import main
main()
"""


@pytest.mark.parametrize("verb", ["predict", "evaluate"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_reading_numbers_categories_and_dates_does_not_import_pandas_through_pyarrow(tmp_path, verb, ending):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"x": rng.normal(size=300), "kind": rng.choice(["a", "b"], 300), "n": rng.integers(9, size=300)}
    )
    table["y"] = (table["x"] > 0).astype(int)
    days = pd.date_range("2024-01-01", periods=300)
    table["day"], table["when"] = days.strftime("%d.%m.%Y"), days.strftime("%Y-%m-%d %H:%M:%S")
    table.loc[::7, ["x", "kind", "day"]] = None
    getattr(table, f"to_{ending}")(tmp_path / f"rows.{ending}", index=False)
    opauc.train(table, label="y", output=tmp_path / "model.opauc")
    command = [sys.executable, "-c", IMPORTED, verb, tmp_path / "model.opauc", tmp_path / f"rows.{ending}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "\n"
