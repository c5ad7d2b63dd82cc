"""All pairs of a step size and a penalty on a device learn what the kernel of this machine does."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import opauc
from opauc import OPAUC, OPAUCCV
from opauc.errors import DivergenceWarning, EngineError, StatisticsOverflowError, UnsupportedOperationError
from opauc.linear.grid import GridSGD
from tests import literal
from tests.problems import problem

torch = pytest.importorskip("torch", reason="torch is not installed: opauc[gpu]")
from opauc.engines.torch import grid as device_grid  # noqa: E402
from opauc.engines.torch.grid import DeviceGrid  # noqa: E402
from opauc.engines.torch.rows import copying_threads, fill  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
on_each = pytest.mark.parametrize("device", DEVICES)
ETAS, ALPHAS = (0.001, 0.01, 0.1, 40.0), (0.0, 0.1)


def learned(learner, rows, labels, weight=None, cut=None):
    state = learner.start(rows.shape[1])
    for part in (slice(0, cut), slice(cut, None)) if cut else (slice(None),):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergenceWarning)
            state = learner.step(state, rows[part], labels[part], None if weight is None else weight[part])
    return state


def assert_same(learner, found, right):
    """Assert that two states agree, in whatever order their columns stand."""
    assert_array_equal(np.sort(found.race.order), np.sort(right.race.order))
    assert found.race.active[0] == right.race.active[0]
    assert_allclose(found.race.progress, right.race.progress, rtol=1e-12)
    assert_array_equal(found.race.kept_weights, right.race.kept_weights)
    assert_allclose(found.counts, right.counts, rtol=1e-14)
    assert_allclose(found.scatters, right.scatters, rtol=1e-9, atol=1e-9)
    mine, theirs = learner.candidates(found), learner.candidates(right)
    assert_array_equal(mine.diverged, theirs.diverged)
    assert_allclose(mine.weights, theirs.weights, rtol=1e-8, atol=1e-9)
    assert_allclose(learner.selection(found).aucs, learner.selection(right).aucs, rtol=1e-9)


@on_each
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("rare", [0.5, 0.05])
def test_the_paper_grid_learns_the_same_on_a_device(device, average, rare):
    rows, _ = problem(1, 1500, 4)
    labels = (np.random.default_rng(0).random(1500) < rare).astype(np.int8)
    rows = (rows + labels[:, None]) / 4
    host, there = GridSGD(average=average), DeviceGrid(average=average, device=device)
    assert_same(host, learned(there, rows, labels), learned(host, rows, labels))


@given(st.integers(0, 2**32 - 1), st.integers(1, 39), st.booleans())
def test_the_state_does_not_depend_on_where_the_stream_is_cut_nor_on_who_learns_which_part(seed, cut, weighted):
    rows, labels = problem(seed, 40, 3)
    weight = np.random.default_rng(seed).integers(1, 4, 40).astype(float) if weighted else None
    host, there = GridSGD(ETAS, ALPHAS), DeviceGrid(ETAS, ALPHAS, device="cpu")
    right = learned(host, rows, labels, weight)
    assert_same(host, learned(there, rows, labels, weight, cut), right)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        begun = there.step(there.start(3), rows[:cut], labels[:cut], None if weight is None else weight[:cut])
        mixed = host.step(begun, rows[cut:], labels[cut:], None if weight is None else weight[cut:])
    assert_same(host, mixed, right)


@on_each
def test_a_pair_moves_as_it_would_alone(device):
    rows, labels = problem(5, 300, 6, scale=0.2)
    there = DeviceGrid(ETAS[:3], ALPHAS, average=False, device=device)
    found = there.candidates(learned(there, rows, labels)).weights
    for pair, (eta, alpha) in enumerate(zip(*there.pairs(), strict=True)):
        right = literal.descent(rows, labels, alpha, np.full(300, eta))[-1]
        assert_allclose(found[pair], right, rtol=1e-8, atol=1e-10)


def test_more_rows_than_the_device_takes_at_a_time_are_learnt_in_order(monkeypatch):
    rows, labels = problem(3, 700, 3)
    host, there = GridSGD(ETAS, ALPHAS), DeviceGrid(ETAS, ALPHAS, device="cpu")
    monkeypatch.setattr(device_grid, "PIECE_ROWS", 64)
    assert_same(host, learned(there, rows, labels), learned(host, rows, labels))


def test_pairs_that_all_diverge_are_said_and_go_on_as_nothing():
    rows, labels = problem(0, 200, 3)
    there = DeviceGrid((50.0, 1e3), (0.0,), device="cpu")
    with pytest.warns(DivergenceWarning, match="every pair has diverged"):
        state = there.step(there.start(3), 10 * rows, labels)
    assert state.race.active[0] == 0
    assert_array_equal(there.weights(state), np.zeros(3))
    more = there.step(state, rows, labels)
    right = learned(GridSGD((50.0, 1e3), (0.0,)), np.concatenate([10 * rows, rows]), np.tile(labels, 2))
    assert_same(there, more, right)


@on_each
def test_the_estimator_learns_the_same_on_a_device_from_arrays_and_tensors(device, tmp_path):
    rows, labels = problem(3, 400, 5)
    whole, found = (
        OPAUCCV(solver="sgd", etas=ETAS[:3], alphas=ALPHAS, device=where).fit(rows, labels) for where in (None, device)
    )
    assert_allclose(found.coef_, whole.coef_, rtol=1e-8)
    assert (found.eta0_, found.alpha_) == (whole.eta0_, whole.alpha_)
    tensors = OPAUCCV(solver="sgd", etas=ETAS[:3], alphas=ALPHAS, device=device)
    for part in (slice(0, 150), slice(150, 400)):
        tensors.partial_fit(torch.from_numpy(rows[part]).to(device), torch.from_numpy(labels[part]), [0, 1])
    assert_allclose(tensors.coef_, whole.coef_, rtol=1e-8)
    opauc.save(tensors, tmp_path / "model")
    again = opauc.load(tmp_path / "model")
    assert again.device is None
    assert_allclose(again.partial_fit(rows, labels).coef_, whole.partial_fit(rows, labels).coef_, rtol=1e-8)


def test_what_a_device_cannot_do_is_one_clear_line():
    rows, labels = problem(0, 60, 3)
    with pytest.raises(ValueError, match="device='cpu' needs solver='sgd' with full covariance"):
        OPAUCCV(device="cpu").fit(rows, labels)
    with pytest.raises(ValueError, match="here it is 'sgd' with rank 2"):
        OPAUCCV(solver="sgd", rank=2, device="cpu").fit(rows, labels)
    model = OPAUCCV(solver="sgd", device="cpu")
    with pytest.raises(UnsupportedOperationError, match="takes dense rows"):
        model.fit(sparse.csr_array(rows), labels)
    with pytest.raises(StatisticsOverflowError):
        model.fit(rows * 1e150, labels)
    with pytest.raises(ValueError, match="needs solver='exact'"):
        OPAUC(solver="sgd", device="cpu").fit(rows, labels)


@given(st.integers(0, 50), st.integers(1, 5), st.sampled_from([np.float32, np.float64]))
def test_threads_copy_every_row(n_rows, width, dtype):
    rows = torch.from_numpy(np.random.default_rng(n_rows).normal(size=(n_rows, width)).astype(dtype))
    target = torch.full_like(rows, np.nan)
    with copying_threads() as pool:
        fill(target, rows, pool)
    assert torch.equal(target, rows)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device whose memory could be short")
def test_the_memory_of_a_real_device_may_be_too_short_for_the_grid():
    rows, labels = problem(3, 60, 1000)
    learner, total = DeviceGrid(device="cuda"), torch.cuda.mem_get_info()[1]
    before = learner.start(1000)
    try:
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(16 * 2**20 / total)  # 16 MB are the sums alone
        with pytest.raises(EngineError, match=r"299 pairs of 1,000 features need 0\.0 GiB"):
            learner.step(before, rows / 1000, labels)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert not before.counts.any()
    assert learner.counts(learner.step(before, rows / 1000, labels)).both


def test_a_device_without_room_for_the_grid_says_how_much_is_needed_and_leaves_the_state(monkeypatch):
    rows, labels = problem(3, 60, 4)
    learner = DeviceGrid(etas=ETAS, alphas=ALPHAS, device="cpu")
    before = learned(learner, rows[:30], labels[:30])
    kept = {name: array.copy() for name, array in learner.to_arrays(before).items()}

    def full(*_):
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(device_grid.TorchGrid, "train", full)
    with pytest.raises(EngineError, match=r"pairs of 4 features need 0\.0 GiB of its memory, .* GiB are free"):
        learner.step(before, rows[30:], labels[30:])
    for name, array in learner.to_arrays(before).items():
        assert_array_equal(array, kept[name])
