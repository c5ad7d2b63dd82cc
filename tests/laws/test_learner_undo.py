"""Whatever happens in a step, the state it was given can be put back to the bit."""

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
from opauc.linear import sketch_sgd as sketched_sgd
from opauc.linear.sgd import LEARNING_RATES
from tests.problems import problem

WIDE, NARROW = 40, 12


def settings():
    """Every learner as it is, and with each of its learning rates, with and without a penalty that sweeps."""
    for name, make in SOLVERS.items():
        known = {field.name for field in fields(make)}
        yield pytest.param(make(), id=name)
        for rate in LEARNING_RATES if "learning_rate" in known else ():
            eta0 = {"eta0": 1e3 if rate == "theorem" else 0.05}
            for alpha in (0.0, 3.0) if "alpha" in known else (None,):
                penalty = {} if alpha is None else {"alpha": alpha}
                yield pytest.param(make(learning_rate=rate, **eta0, **penalty), id=f"{name}-{rate}-{alpha}")


everyone = pytest.mark.parametrize("learner", list(settings()))
forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])


def chunk(seed, n_features=WIDE, n_rows=30, features=NARROW):
    """Rows with entries in a few of the features, later chunks in others."""
    rows, labels = problem(seed, n_rows, n_features, scale=0.3)
    hidden = np.random.default_rng(seed).permutation(n_features)[features:]
    rows[:, hidden] = 0.0
    return rows, labels


def everything(learner, state):
    """Copies of all arrays of a state, rows of a table that are not in use and room to spare included."""
    found = {name: part.copy() for name, part in learner.to_arrays(state).items()}
    found |= {f"inner {i}": part.copy() for i, part in enumerate(arrays_in(state))}
    return found


def arrays_in(part):
    if isinstance(part, np.ndarray):
        return [part]
    return [array for each in part for array in arrays_in(each)] if isinstance(part, tuple) else []


def assert_put_back(learner, state, before):
    after = everything(learner, state)
    assert set(after) == set(before)
    for name, part in before.items():
        assert part.tobytes() == after[name].tobytes(), name


def half_of_it(run):
    """The pass over half of its rows, after which somebody presses Ctrl-C."""

    def interrupted(rows, labels, *more):
        half = labels.size // 2
        some = rows._replace(indptr=rows.indptr[: half + 1]) if isinstance(rows, CsrRows) else rows[:half]
        cut = [part[:half] if isinstance(part, np.ndarray) and len(part) == labels.size else part for part in more]
        run(some, labels[:half], *cut)
        raise KeyboardInterrupt

    return interrupted


def interrupt(patch, learner):
    """Let every pass over rows that the learner knows break off in the middle."""
    for kind in type(learner).__mro__:
        module = sys.modules[kind.__module__]
        for name in [name for name in vars(module) if name.endswith("_pass")]:
            patch.setattr(module, name, half_of_it(getattr(module, name)))


@everyone
@forms
@pytest.mark.filterwarnings("ignore::opauc.errors.DivergenceWarning")
def test_a_step_can_be_undone_whether_it_ends_or_breaks_off(learner, form, monkeypatch):
    monkeypatch.setattr(sketched_sgd, "MIN_FEATURES_TO_DEFER", 0)
    rows, labels = chunk(0)
    state = learner.step(learner.start(WIDE), form(rows), labels)
    for seed in (1, 2, 3):
        rows, labels = chunk(seed)
        before, undo = everything(learner, state), learner.rollback(state, form(rows))
        with pytest.MonkeyPatch.context() as patch:
            interrupt(patch, learner)
            with contextlib.suppress(KeyboardInterrupt):
                learner.step(state, form(rows), labels)
        undo.roll_back()
        assert_put_back(learner, state, before)
        learner.step(state, form(rows), labels, np.full(30, 1.5))
        undo.roll_back()
        assert_put_back(learner, state, before)
        state = learner.step(state, form(rows), labels)


@everyone
@forms
@pytest.mark.filterwarnings("ignore::opauc.errors.DivergenceWarning")
def test_a_step_into_features_that_turned_up_late_can_be_undone(learner, form):
    rows, labels = chunk(4, NARROW)
    narrow = learner.step(learner.start(NARROW), form(rows), labels)
    state = learner.widen(narrow, WIDE)
    rows, labels = chunk(5)
    before, undo = everything(learner, state), learner.rollback(state, form(rows))
    learner.step(state, form(rows), labels)
    undo.roll_back()
    assert_put_back(learner, state, before)


@everyone
@forms
@pytest.mark.filterwarnings("ignore::opauc.errors.DivergenceWarning")
def test_what_was_undone_leaves_no_trace_in_what_follows(learner, form):
    (rows, labels), (other, marks), (more, last) = chunk(6), chunk(7), chunk(8)
    straight = learner.step(learner.start(WIDE), form(rows), labels)
    straight = learner.step(straight, form(more), last)
    state = learner.step(learner.start(WIDE), form(rows), labels)
    undo = learner.rollback(state, form(other))
    learner.step(state, form(other), marks)
    undo.roll_back()
    state = learner.step(state, form(more), last)
    for name, part in learner.to_arrays(straight).items():
        assert_array_equal(learner.to_arrays(state)[name], part, err_msg=name)


@everyone
@pytest.mark.filterwarnings("ignore::opauc.errors.DivergenceWarning")
def test_a_step_that_is_refused_can_be_undone(learner):
    if not hasattr(learner, "eta0"):
        pytest.skip("no step size to get wrong")
    rows, labels = chunk(9)
    state = learner.step(learner.start(WIDE), sparse.csr_array(rows), labels)
    wild = replace(learner, eta0=1e200)
    rows, labels = chunk(10)
    before, undo = everything(learner, state), wild.rollback(state, sparse.csr_array(rows))
    with contextlib.suppress(OpaucError):
        wild.step(state, sparse.csr_array(rows), labels)
    undo.roll_back()
    assert_put_back(learner, state, before)


def test_what_is_kept_of_a_sparse_chunk_does_not_grow_with_the_features():
    """The memory that an undo holds, at a hundred thousand features and at a million."""
    import tracemalloc

    kept = {}
    for n_features in (10**5, 10**6):
        columns = np.sort(np.random.default_rng(0).choice(10**5, 200, replace=False)).astype(np.int32)
        rows = sparse.csr_array((np.ones(200), columns, np.arange(0, 201, 10)), (20, n_features))
        labels = (np.arange(20) % 2).astype(np.int8)
        for name, make in SOLVERS.items():
            if make.keeps_covariances or name in ("mean_difference", "solam", "oam"):
                continue  # matrices of all features or none kept at all; sweeps over all of them
            learner = make()
            state = learner.step(learner.start(n_features), rows, labels)
            learner.rollback(state, rows)
            tracemalloc.start()
            undo = learner.rollback(state, rows)
            kept[name, n_features] = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
            del undo
    for (name, n_features), size in kept.items():
        assert size <= 1.1 * kept[name, 10**5] + 10_000, (name, n_features)
