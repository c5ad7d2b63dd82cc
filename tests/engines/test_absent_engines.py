"""Engines that are not there are refused in one line."""

import subprocess
import sys

import pytest

BLOCK = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""


def run(blocked, code):
    text = BLOCK.format(names=blocked) + code
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)


# What Python says in one process, and then the command.
BOTH = """
import sys
import opauc.errors
try:
    {code}
except opauc.errors.MissingEngineError as error:
    print(error)
sys.argv = ["opauc", "train", "--solver", "exact", "a.csv", "-o", "m", "--engine", {engine!r}]
from opauc.cli import main
main()
"""


@pytest.mark.parametrize(
    ("package", "absent", "extra", "engine", "code"),
    [
        ("dask", ["dask", "distributed"], "dask", "dask", "from opauc.engines import fit_dask"),
        ("pyspark", ["pyspark"], "spark", "spark", "from opauc.engines import fit_spark"),
        (
            "torch",
            ["torch"],
            "gpu",
            "cuda",
            "from opauc import OPAUC; OPAUC(device='cuda').fit([[0.0], [1.0]], [0, 1])",
        ),
    ],
)
def test_an_engine_that_is_not_installed_is_named_with_its_extra(
    package, absent, extra, engine, code, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("a,label\n1,0\n2,1\n")
    ran = run(absent, BOTH.format(code=code, engine=engine))
    assert ran.stdout == f"{package} is not installed; install opauc with its extra: opauc[{extra}]\n"
    assert ran.returncode == 2
    assert f"install opauc with its extra: opauc[{extra}]" in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_sums_and_grids_on_a_device_need_torch_and_numpy_alone():
    pytest.importorskip("torch", reason="torch is not installed: opauc[gpu]")
    absent = ["scipy", "numba", "sklearn", "pyarrow", "safetensors", "threadpoolctl", "xopen", "typer", "rich", "dask"]
    modules = [f"opauc.engines.torch.{name}" for name in ("sums", "minimizer", "grid_pass")]
    code = f"import {', '.join(modules)}, benchmarks.gpu, benchmarks.gpu_grid; print('here')"
    ran = run(absent, code)
    assert ran.stdout == "here\n", ran.stderr


def test_nothing_of_an_engine_is_imported_unless_asked_for():
    imports = "import sys, opauc.engines, opauc.cli.train, opauc.cli.evaluate, opauc.estimators"
    assert run([], f"{imports}; print({{'torch', 'dask', 'pyspark'}} & set(sys.modules))").stdout == "set()\n"


def test_without_a_client_one_is_asked_for():
    pytest.importorskip("distributed", reason="dask is not installed: opauc[dask]")
    from opauc import OPAUC
    from opauc.engines import fit_dask
    from opauc.errors import EngineError

    with pytest.raises(EngineError, match="there is no Dask client"):
        fit_dask(OPAUC(), "a.csv")
