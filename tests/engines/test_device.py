"""Sums and solutions on a device of torch are those of this machine; the same code runs on CUDA."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import opauc
from opauc import OPAUC
from opauc.core.checksummed_file import read_checksummed
from opauc.errors import (
    EngineError,
    IncompatibleMomentsError,
    MissingEngineError,
    StatisticsOverflowError,
    UnsupportedOperationError,
)
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.scorer import LinearScorer
from tests import literal
from tests.problems import cuts, problem, problems

torch = pytest.importorskip("torch", reason="torch is not installed: opauc[gpu]")
from opauc.engines.torch import exact as device_exact  # noqa: E402
from opauc.engines.torch import moments as device_moments  # noqa: E402
from opauc.engines.torch import sums as torch_sums  # noqa: E402
from opauc.engines.torch.minimizer import minimizer  # noqa: E402
from opauc.engines.torch.moments import DeviceMoments  # noqa: E402
from opauc.engines.torch.scorer import DeviceScorer  # noqa: E402
from opauc.engines.torch.sums import merged_sums, sums_of  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
on_each = pytest.mark.parametrize("device", DEVICES)


def assert_same(found, right, rtol=1e-10):
    for mine, theirs in zip(found.on_host().groups, right.groups, strict=True):
        assert mine.count == theirs.count
        scale = np.abs(theirs.scatter).max(initial=1e-300)
        # A mean of numbers near 1e6 is good to the last of their digits, and so are sums about it.
        far = np.abs(theirs.mean).max(initial=0.0)
        assert_allclose(mine.mean, theirs.mean, rtol=1e-12, atol=1e-12 * far)
        assert_allclose(mine.scatter, theirs.scatter, rtol=rtol, atol=rtol * scale + 1e-14 * theirs.count * far)


@given(problems(), st.data())
def test_sums_on_a_device_are_those_of_this_machine_however_the_stream_is_cut(drawn, data):
    rows, labels = drawn
    seen = DeviceMoments.empty(rows.shape[1], "cpu")
    for part in np.split(np.arange(labels.size), data.draw(cuts(labels.size))):
        seen = seen.update(rows[part], labels[part])
    assert_same(seen, ClassMoments.of(rows, labels))


@on_each
@pytest.mark.parametrize("piece", [1, 900, 2**29])
@pytest.mark.parametrize("block", [3, 512])
def test_sums_are_those_of_numpy_whatever_the_pieces_and_blocks(monkeypatch, device, piece, block):
    monkeypatch.setattr(torch_sums, "BLOCK", block)
    rows, labels = problem(2, 300, 8, offset=1e4)
    weight = np.random.default_rng(0).random(300) * 3
    for weights in (None, weight):
        given_weights = None if weights is None else torch.from_numpy(weights)
        sums = sums_of(torch.from_numpy(rows), labels, given_weights, 2, device, piece)
        for k in (0, 1):
            some = None if weights is None else weights[labels == k]
            right = literal.covariance(rows[labels == k], some)
            count = float(sums.counts[k])
            assert_allclose(count, (labels == k).sum() if some is None else some.sum(), rtol=1e-12)
            assert_allclose(sums.scatters[k].cpu().numpy() / count, right, rtol=1e-8, atol=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(1, 39))
def test_merging_is_the_sums_of_both(seed, at):
    rows, labels = problem(seed, 40, 3, offset=1e3)
    parts = [sums_of(torch.from_numpy(rows[part]), labels[part], None, 2, "cpu") for part in (slice(at), slice(at, 40))]
    for found, right in zip(merged_sums(*parts), sums_of(torch.from_numpy(rows), labels, None, 2, "cpu"), strict=True):
        assert_allclose(found, right, rtol=1e-9, atol=1e-9)


@on_each
@given(seed=st.integers(0, 2**32 - 1), alpha=st.sampled_from([1e-4, 0.1, 10.0]))
def test_the_minimizer_is_that_of_numpy(device, seed, alpha):
    rows, labels = problem(seed, 50, 5)
    found = minimizer(sums_of(torch.from_numpy(rows), labels, None, 2, device), alpha)
    assert_allclose(found.cpu(), literal.minimizer(rows, labels, alpha), rtol=1e-8, atol=1e-10)


def test_where_rounding_would_spoil_it_the_device_gives_no_minimizer():
    rows, labels = problem(0, 50, 3)
    rows[:, 2] = rows[:, 0]
    assert minimizer(sums_of(torch.from_numpy(rows), labels, None, 2, "cpu"), 0.0) is None
    found, right = (OPAUC(alpha=0.0, device=device).fit(rows, labels).coef_ for device in ("cpu", None))
    assert_allclose(found, right, rtol=1e-8)


@on_each
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_estimator_learns_the_same_on_a_device(device, dtype):
    rows, labels = problem(3, 900, 20, offset=5.0)
    rows = rows.astype(dtype)
    tolerance = {"rtol": 1e-9 if device == "cuda" else 1e-10} if dtype == np.float64 else {"rtol": 1e-4, "atol": 1e-6}
    whole, found = OPAUC(alpha=1e-3).fit(rows, labels), OPAUC(alpha=1e-3, device=device).fit(rows, labels)
    assert_allclose(found.coef_, whole.coef_, **tolerance)
    assert_allclose(found.predict_proba(rows[:20]), whole.predict_proba(rows[:20]), rtol=1e-4)
    tensors = OPAUC(alpha=1e-3, device=device)
    for part in (slice(0, 500), slice(500, 900)):
        tensors.partial_fit(torch.from_numpy(rows[part]).to(device), torch.from_numpy(labels[part]).to(device), [0, 1])
    assert_allclose(tensors.coef_, found.coef_, rtol=1e-9)
    scores = tensors.decision_function(torch.from_numpy(rows).to(device))
    assert_allclose(scores, found.decision_function(rows), rtol=1e-6, atol=1e-6)


@on_each
@pytest.mark.parametrize("piece", [7, 2**16])
@given(problems())
def test_scores_on_a_device_are_those_of_this_machine(device, piece, drawn):
    rows, labels = drawn
    scorer = OPAUC().fit(rows, labels)._scorer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("opauc.engines.torch.scorer.PIECE_ROWS", piece)
        for given_rows in (rows, rows.astype(np.float32), torch.from_numpy(rows).to(device)):
            right = scorer.scores(given_rows.cpu().numpy() if isinstance(given_rows, torch.Tensor) else given_rows)
            size = np.abs(rows) @ np.abs(scorer.weights) + abs(scorer.intercept)
            found = DeviceScorer.of(scorer, device).scores(given_rows)
            assert (np.abs(found - right) <= 1e-12 * size).all()
    assert_array_equal(DeviceScorer.of(scorer, device).probabilities(found), scorer.probabilities(found))


def test_what_a_device_does_not_score_is_one_clear_line():
    rows, labels = problem(0, 30, 3)
    with pytest.raises(UnsupportedOperationError, match="device='cpu' takes linear scorers only"):
        DeviceScorer.of(LinearScorer(np.ones(3), 0.0, 1.0, 0.0, unit_rows=True), "cpu")
    scorer = OPAUC().fit(rows, labels)._scorer()
    with pytest.raises(UnsupportedOperationError, match="takes dense rows; these are sparse"):
        DeviceScorer.of(scorer, "cpu").scores(sparse.csr_array(rows))
    with pytest.raises(MissingEngineError, match="device='cuda:99': torch finds"):
        DeviceScorer.of(scorer, "cuda:99")


def test_weights_fade_rows_merge_and_are_forgotten_as_on_this_machine():
    rows, labels = problem(4, 200, 6)
    weight = np.random.default_rng(1).integers(0, 3, 200).astype(float)
    host, device = OPAUC(alpha=1e-3), OPAUC(alpha=1e-3, device="cpu")
    for model in (host, device):
        model.fit(rows[:120], labels[:120], weight[:120])
        model.merge(OPAUC(alpha=1e-3).fit(rows[120:], labels[120:]))
        model.forget(rows[:20], labels[:20], weight[:20])
    assert_allclose(device.coef_, host.coef_, rtol=1e-9)
    assert_allclose(device.path([0.1, 1.0]), host.path([0.1, 1.0]), rtol=1e-9)
    assert isinstance(device.moments_, ClassMoments)
    host.merge(device)
    assert sum(host.moments_.counts) == 2 * sum(device.moments_.counts)


def test_a_model_of_a_device_is_the_same_file_and_goes_on_anywhere(tmp_path):
    rows, labels = problem(6, 100, 3)
    opauc.save(OPAUC(device="cpu").fit(rows, labels), tmp_path / "device")
    opauc.save(OPAUC().fit(rows, labels), tmp_path / "host")
    (kind, header, arrays), right = (read_checksummed(tmp_path / name) for name in ("device", "host"))
    assert (kind, header, list(arrays)) == (*right[:2], list(right[2]))
    for name, array in arrays.items():
        assert_allclose(array, right[2][name], rtol=1e-9, atol=1e-12)
    device, host = (opauc.load(tmp_path / name) for name in ("device", "host"))
    assert device.get_params() == host.get_params()
    device.partial_fit(rows, labels)
    device.set_params(device="cpu").partial_fit(rows, labels)
    host.partial_fit(rows, labels).partial_fit(rows, labels)
    assert_allclose(device.coef_, host.coef_, rtol=1e-9)


def test_features_can_be_added_and_chosen():
    rows, labels = problem(7, 60, 4)
    seen = DeviceMoments.empty(4, "cpu").update(rows, labels)
    right = ClassMoments.of(rows, labels)
    assert_same(seen.widen(6), right.widen(6))
    assert_same(seen.restrict([2, 0]), right.restrict([2, 0]))
    assert_same(DeviceMoments.from_arrays(seen.to_arrays()), right)
    summary, wanted = seen.summary(np.arange(4.0)), right.summary(np.arange(4.0))
    for mine, theirs in zip(summary, wanted, strict=True):
        assert_allclose(mine, theirs, rtol=1e-10)


def test_a_device_that_is_too_small_falls_to_smaller_pieces(monkeypatch):
    rows, labels = problem(8, 400, 5)
    asked = []

    def tight(*arguments):
        asked.append(arguments[-1])
        if arguments[-1] > 2**24:
            raise torch.OutOfMemoryError("no room")
        return sums_of(*arguments)

    monkeypatch.setattr(device_moments, "sums_of", tight)
    empty = DeviceMoments(sums_of(torch.empty((0, 5)), np.empty(0, np.int8), None, 2, "cpu"), "cpu")
    assert_same(empty.update(rows, labels), ClassMoments.of(rows, labels))
    assert asked == [2**29, 2**27, 2**25, 2**23]


def test_a_device_without_room_for_the_sums_says_how_much_is_needed(monkeypatch):
    empty = DeviceMoments.empty(1000, "cpu")

    def full(*_):
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(device_moments, "sums_of", full)
    with pytest.raises(EngineError, match=r"sums of 1,000 features need 0\.0 GiB"):
        empty.update(np.zeros((2, 1000)), np.array([0, 1], np.int8))
    model = OPAUC(device="cpu")
    with pytest.raises(EngineError, match=r"device='cpu': the sums of 3 features need .* GiB are free; leave features"):
        model.fit(*problem(0, 30, 3))
    assert not hasattr(model, "coef_")


def test_a_device_with_room_for_the_sums_alone_has_the_weights_worked_out_here(monkeypatch):
    rows, labels = problem(8, 400, 5)

    def full(*_):
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(device_exact, "minimizer", full)
    assert_allclose(OPAUC(device="cpu").fit(rows, labels).coef_, OPAUC().fit(rows, labels).coef_, rtol=1e-10)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device whose memory could be short")
def test_the_memory_of_a_real_device_may_be_short():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(100_000, 500)).astype(np.float32), (np.arange(100_000) % 3 == 0).astype(np.int8)
    right, total = ClassMoments.of(rows.astype(np.float64), labels), torch.cuda.mem_get_info()[1]
    try:
        for mebibytes, fits in ((160, True), (8, False)):  # 400 MB of rows in float64; 24 MB of sums
            torch.cuda.empty_cache()
            torch.cuda.set_per_process_memory_fraction(mebibytes * 2**20 / total)
            if fits:
                assert_same(DeviceMoments.empty(500, "cuda").update(rows, labels), right, rtol=1e-9)
                continue
            with pytest.raises(EngineError, match=r"sums of 500 features need 0\.0 GiB of its memory"):
                DeviceMoments.empty(500, "cuda").update(rows, labels)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"solver": "sgd"}, ValueError, "device='cpu' needs solver='exact' with full covariance"),
        ({"rank": 2}, ValueError, "with rank 2"),
        ({"forgetting_factor": 0.5}, ValueError, "forgetting_factor must be 1.0, got 0.5"),
        ({"device": "abacus"}, ValueError, "must be None or the name of a torch device"),
        ({"device": 3.5}, ValueError, "must be None or the name of a torch device"),
        ({"device": "cuda:99"}, MissingEngineError, "device='cuda:99': torch finds"),
    ],
)
def test_what_a_device_cannot_do_is_one_clear_line(parameters, error, message):
    with pytest.raises(error, match=message):
        OPAUC(**{"device": "cpu", **parameters}).fit(*problem(0))


def test_rows_that_a_device_does_not_take_are_one_clear_line():
    rows, labels = problem(0, 30, 3)
    model = OPAUC(device="cpu")
    with pytest.raises(UnsupportedOperationError, match="takes dense rows; these are sparse"):
        model.fit(sparse.csr_array(rows), labels)
    with pytest.raises(UnsupportedOperationError, match="a device takes dense rows"):
        model.fit(torch.from_numpy(rows).to_sparse(), labels)
    with pytest.raises(ValueError, match=r"its shape is \(90,\)"):
        model.fit(torch.from_numpy(rows).flatten(), labels)
    with pytest.raises(ValueError, match="contains NaN, infinity"):
        model.fit(torch.from_numpy(rows) * np.nan, labels)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(torch.from_numpy(rows), labels[:-1])
    with pytest.raises(StatisticsOverflowError):
        model.fit(rows * 1e200, labels)
    model.fit(torch.from_numpy(rows), labels)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="X has 2 features, but OPAUC is expecting 3"):
        model.partial_fit(torch.from_numpy(rows[:, :2]), labels)
    with pytest.raises(IncompatibleMomentsError):
        DeviceMoments.empty(2).merge(DeviceMoments.empty(3))
    assert_array_equal(model.coef_, before)


def test_whole_numbers_and_read_only_rows_are_taken():
    rows, labels = problem(0, 30, 3)
    rows = np.round(rows * 4)
    right = OPAUC().fit(rows, labels).coef_
    rows.flags.writeable = False
    assert_allclose(OPAUC(device="cpu").fit(rows, labels).coef_, right, rtol=1e-10)
    assert_allclose(OPAUC(device="cpu").fit(torch.from_numpy(rows.astype(int)), labels).coef_, right, rtol=1e-10)
    assert_allclose(OPAUC(device="cpu").fit(np.asfortranarray(rows)[::-1], labels[::-1]).coef_, right, rtol=1e-10)
