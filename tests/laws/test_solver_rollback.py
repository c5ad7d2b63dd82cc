"""A step of any solver can be rolled back to the bit, whether it ends, fails or is interrupted."""

import contextlib
import sys
from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from opauc.core.kernels.sparse_rows import CsrRows
from opauc.core.registry import SOLVERS
from opauc.errors import OpaucError
from opauc.linear.sgd import LEARNING_RATES
from tests.problems import problem

WIDE, NARROW = 40, 12


def settings():
    """Yield every solver with its defaults, and with each of its learning rates, with and without a penalty."""
    for name, make in SOLVERS.items():
        parameters = {field.name for field in fields(make)}
        defer = {"defer_from": 0} if "defer_from" in parameters else {}
        yield pytest.param(make(**defer), id=name)
        for rate in LEARNING_RATES if "learning_rate" in parameters else ():
            eta0 = {"eta0": 1e3 if rate == "curvature" else 0.05}
            for alpha in (0.0, 3.0) if "alpha" in parameters else (None,):
                penalty = {} if alpha is None else {"alpha": alpha}
                yield pytest.param(make(learning_rate=rate, **eta0, **penalty, **defer), id=f"{name}-{rate}-{alpha}")


everyone = pytest.mark.parametrize("solver", list(settings()))
forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])


def chunk(seed, n_features=WIDE, n_rows=30, features=NARROW):
    """Rows with entries in a few of the features, later chunks in others."""
    rows, labels = problem(seed, n_rows, n_features, scale=0.3)
    hidden = np.random.default_rng(seed).permutation(n_features)[features:]
    rows[:, hidden] = 0.0
    return rows, labels


def copies_of(solver, state):
    """Copy all arrays of a state, spare capacity included."""
    copies = {name: part.copy() for name, part in solver.to_arrays(state).items()}
    return copies | {f"inner {i}": part.copy() for i, part in enumerate(arrays_in(state))}


def arrays_in(part):
    if isinstance(part, np.ndarray):
        return [part]
    return [array for each in part for array in arrays_in(each)] if isinstance(part, tuple) else []


def assert_rolled_back(solver, state, before):
    after = copies_of(solver, state)
    assert set(after) == set(before)
    for name, part in before.items():
        assert part.tobytes() == after[name].tobytes(), name


def interrupt_halfway(run):
    """Return the pass over half of its rows, interrupted there by Ctrl-C."""

    def interrupted(rows, labels, *more):
        half = labels.size // 2
        first = rows._replace(indptr=rows.indptr[: half + 1]) if isinstance(rows, CsrRows) else rows[:half]
        cut = [part[:half] if isinstance(part, np.ndarray) and len(part) == labels.size else part for part in more]
        run(first, labels[:half], *cut)
        raise KeyboardInterrupt

    return interrupted


def interrupt(patch, solver):
    """Interrupt every pass over rows of the solver halfway."""
    for kind in type(solver).__mro__:
        module = sys.modules[kind.__module__]
        for name in [name for name in vars(module) if name.endswith("_pass")]:
            patch.setattr(module, name, interrupt_halfway(getattr(module, name)))


@everyone
@forms
@pytest.mark.filterwarnings("ignore::opauc.errors.DivergenceWarning")
def test_a_step_is_rolled_back_whether_it_ends_or_is_interrupted(solver, form):
    rows, labels = chunk(0)
    state = solver.step(solver.start(WIDE), form(rows), labels)
    for seed in (1, 2, 3):
        rows, labels = chunk(seed)
        before, undo = copies_of(solver, state), solver.rollback(state, form(rows))
        with pytest.MonkeyPatch.context() as patch:
            interrupt(patch, solver)
            with contextlib.suppress(KeyboardInterrupt):
                solver.step(state, form(rows), labels)
        undo.roll_back()
        assert_rolled_back(solver, state, before)
        solver.step(state, form(rows), labels, np.full(30, 1.5))
        undo.roll_back()
        assert_rolled_back(solver, state, before)
        state = solver.step(state, form(rows), labels)


@everyone
@forms
@pytest.mark.filterwarnings("ignore::opauc.errors.DivergenceWarning")
def test_a_step_on_new_features_is_rolled_back(solver, form):
    rows, labels = chunk(4, NARROW)
    narrow = solver.step(solver.start(NARROW), form(rows), labels)
    state = solver.widen(narrow, WIDE)
    rows, labels = chunk(5)
    before, undo = copies_of(solver, state), solver.rollback(state, form(rows))
    solver.step(state, form(rows), labels)
    undo.roll_back()
    assert_rolled_back(solver, state, before)


@everyone
@forms
@pytest.mark.filterwarnings("ignore::opauc.errors.DivergenceWarning")
def test_a_rolled_back_step_does_not_change_later_steps(solver, form):
    (rows, labels), (other, marks), (more, last) = chunk(6), chunk(7), chunk(8)
    straight = solver.step(solver.start(WIDE), form(rows), labels)
    straight = solver.step(straight, form(more), last)
    state = solver.step(solver.start(WIDE), form(rows), labels)
    undo = solver.rollback(state, form(other))
    solver.step(state, form(other), marks)
    undo.roll_back()
    state = solver.step(state, form(more), last)
    for name, part in solver.to_arrays(straight).items():
        assert_array_equal(solver.to_arrays(state)[name], part, err_msg=name)


@everyone
@pytest.mark.filterwarnings("ignore::opauc.errors.DivergenceWarning")
def test_a_step_that_raises_is_rolled_back(solver):
    if not hasattr(solver, "eta0"):
        pytest.skip("no step size to get wrong")
    rows, labels = chunk(9)
    state = solver.step(solver.start(WIDE), sparse.csr_array(rows), labels)
    wild = replace(solver, eta0=1e200)
    rows, labels = chunk(10)
    before, undo = copies_of(solver, state), wild.rollback(state, sparse.csr_array(rows))
    with contextlib.suppress(OpaucError):
        wild.step(state, sparse.csr_array(rows), labels)
    undo.roll_back()
    assert_rolled_back(solver, state, before)


def test_the_memory_of_a_rollback_of_sparse_rows_does_not_grow_with_the_features():
    """Compare a hundred thousand features with a million."""
    import tracemalloc

    sizes = {}
    for n_features in (10**5, 10**6):
        columns = np.sort(np.random.default_rng(0).choice(10**5, 200, replace=False)).astype(np.int32)
        rows = sparse.csr_array((np.ones(200), columns, np.arange(0, 201, 10)), (20, n_features))
        labels = (np.arange(20) % 2).astype(np.int8)
        for name, make in SOLVERS.items():
            if make.keeps_covariances or name in ("mean_difference", "solam", "fsauc", "oam"):
                continue  # matrices of all features or none kept at all; sweeps over all of them
            solver = make()
            state = solver.step(solver.start(n_features), rows, labels)
            solver.rollback(state, rows)
            tracemalloc.start()
            undo = solver.rollback(state, rows)
            sizes[name, n_features] = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
            del undo
    for (name, n_features), size in sizes.items():
        assert size <= 1.1 * sizes[name, 10**5] + 10_000, (name, n_features)
