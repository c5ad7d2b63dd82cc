"""Without optional packages, whatever needs one says in one line which extra brings it, from Python and the command."""

import json
import subprocess
import sys

import pytest

ABSENT = [
    "adbc_driver_manager", "adbc_driver_postgresql", "adbc_driver_sqlite", "clarabel", "dask", "distributed", "duckdb",
    "fsspec", "matplotlib", "mlflow", "onnx", "polars", "pyspark", "river", "skl2onnx", "sqlglot", "starlette", "torch",
    "uvicorn", "xlsxwriter",
]  # fmt: skip
# What is called, and the package and the extra that its error names.
CALLS = {
    "from opauc.engines import fit_dask": ("dask", "dask"),
    "from opauc.engines import fit_spark": ("pyspark", "spark"),
    "from opauc.engines import score_spark": ("pyspark", "spark"),
    "OPAUC(device='cuda').fit(X[['age']], y)": ("torch", "gpu"),
    "opauc.OPAUCCV(device='cuda').fit(X[['age']], y)": ("torch", "gpu"),
    "import opauc.river": ("river", "river"),
    "import opauc.mlflow": ("mlflow", "mlflow"),
    "import opauc.serving.app": ("starlette", "serve"),
    "model.plot_term('age')": ("matplotlib", "plots"),
    "model.plot_importances()": ("matplotlib", "plots"),
    "opauc.export(model, 'm.onnx')": ("onnx", "onnx"),
    "opauc.export(model, 'm.sql')": ("sqlglot", "sql"),
    "opauc.export(model, 'm.xlsx')": ("xlsxwriter", "excel"),
    "from opauc.exports.onnx.pipelines import register_converters; register_converters()": ("skl2onnx", "onnx"),
    "opauc.train('ftp://127.0.0.1:9/a.csv', label='y')": ("fsspec", "remote"),
    "opauc.train(sql='select 1', label='y')": ("duckdb", "sql"),
    "opauc.train(sql='select 1', database='a.sqlite', label='y')": ("adbc_driver_manager", "sql"),
    "opauc.train(sql='select 1', database='postgresql://u@127.0.0.1:9/d', label='y')": ("adbc_driver_manager", "sql"),
    "SVMPerf().fit(X[['age']], y)": ("clarabel", "baselines"),
    "SVMOR().fit(X[['age']], y)": ("clarabel", "baselines"),
}
COMMANDS = {
    "train rows.csv --label y --solver exact --engine dask -o d": ("dask", "dask"),
    "train rows.csv --label y --solver exact --engine spark -o s": ("pyspark", "spark"),
    "train rows.csv --label y --solver exact --engine cuda -o c": ("torch", "gpu"),
    "evaluate model.opauc rows.csv --engine dask": ("dask", "dask"),
    "export model.opauc -o m.onnx": ("onnx", "onnx"),
    "export model.opauc -o m.sql": ("sqlglot", "sql"),
    "export model.opauc -o m.xlsx": ("xlsxwriter", "excel"),
    "serve model.opauc": ("starlette", "serve"),
    "train ftp://127.0.0.1:9/a.csv --label y": ("fsspec", "remote"),
    "train --sql 'select 1' --label y": ("duckdb", "sql"),
    "train --sql 'select 1' --database a.sqlite --label y": ("adbc_driver_manager", "sql"),
}
PROGRAM = """
import contextlib, io, json, shlex, sqlite3, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
import pandas as pd
import opauc
from opauc import OPAUC, OnePassGAM
from opauc.baselines import SVMOR, SVMPerf
from opauc.cli import main

sqlite3.connect("a.sqlite").execute("create table t (y integer)").connection.commit()
rows = pd.DataFrame({{"age": [float(i % 7) for i in range(60)], "y": [i % 2 for i in range(60)]}})
rows.to_csv("rows.csv", index=False)
X, y = rows[["age"]], rows["y"]
model = OnePassGAM(trees=False, random_state=0).fit(X, y)
opauc.save(model, "model.opauc")
said = {{}}
for call in {calls!r}:
    try:
        exec(call)
    except Exception as error:
        said[call] = [type(error).__name__, str(error)]
for command in {commands!r}:
    sys.argv, shown = ["opauc", *shlex.split(command)], io.StringIO()
    with contextlib.redirect_stderr(shown), contextlib.suppress(SystemExit):
        main()
    said[command] = ["", shown.getvalue()]
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """The error of each call and what each command writes, in a process without optional packages."""
    program = PROGRAM.format(absent=ABSENT, calls=[*CALLS], commands=[*COMMANDS])
    folder = tmp_path_factory.mktemp("extras")
    ran = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.parametrize("call", CALLS)
def test_the_error_names_the_extra(said, call):
    package, extra = CALLS[call]
    name, message = said[call]
    assert name in ("MissingEngineError", "InputError")
    assert message.endswith(f"{package} is not installed; install opauc with its extra: opauc[{extra}]")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_names_the_extra_in_one_line(said, command):
    package, extra = COMMANDS[command]
    _, message = said[command]
    assert message.startswith("opauc: ")
    assert message.endswith(f"{package} is not installed; install opauc with its extra: opauc[{extra}]\n")
    assert message.count("\n") == 1
