import numpy as np
import pytest
from numba.core import event

from opauc.api.methods import SolverMethod
from opauc.core.registry import SOLVERS
from opauc.linear.exact import Exact
from opauc.metrics import HeldOut, NumberedRows, compare_on_stream
from tests.problems import problem


class Compiled(event.Listener):
    def __init__(self):
        self.names = []

    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        pass


@pytest.mark.parametrize("name", SOLVERS)
def test_nothing_is_left_to_compile_after_the_warm_up(name):
    rows, labels = problem(0, 60, 9)
    method = SolverMethod(name, SOLVERS[name]())
    method.warm_up(rows)
    with event.install_listener("numba:compile", seen := Compiled()):
        method.train(rows, labels)
        method.finish()
    assert seen.names == []


def test_what_would_take_too_much_memory_is_left_out_with_the_reason():
    rows, labels = problem(1, 300, 4)
    wide = np.zeros((300, 20_000))
    wide[:, :4] = rows
    methods = [SolverMethod(name, SOLVERS[name]()) for name in ("exact", "uni_squ")]
    found = compare_on_stream(methods, lambda: [NumberedRows(0, wide, labels)], HeldOut())
    assert [one.name for one in found] == ["uni_squ", "exact"]
    assert found[1].trouble.startswith("would take 6.0 GiB for 20,000 features")


def test_scores_are_those_of_the_weights():
    rows, labels = problem(2, 80, 3)
    method = SolverMethod("exact", Exact())
    method.train(rows, labels)
    method.finish()
    solver = Exact()
    weights = solver.weights(solver.step(solver.start(3), rows, labels))
    np.testing.assert_allclose(method.scores(rows), rows @ weights)
