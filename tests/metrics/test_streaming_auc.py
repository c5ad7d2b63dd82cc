"""The streaming AUC: its bounds contain the exact AUC for any order of rows, are narrow, and its size is fixed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config
from numpy.testing import assert_array_equal
from scipy.stats import norm

from opauc.errors import IncompatibleMomentsError
from opauc.metrics import StreamingAuc, exact_auc

ODD = [-np.inf, -1.7e308, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1e-300, 1.0, np.nextafter(1, 2), 1e8, 1.7e308, np.inf]
ORDERS = {
    "as drawn": lambda _, scores: np.arange(scores.size),
    "sorted": lambda _, scores: np.argsort(scores, kind="stable"),
    "reversed": lambda _, scores: np.argsort(scores, kind="stable")[::-1],
    "by class": lambda labels, _: np.argsort(labels, kind="stable"),
    "from both ends": lambda _, scores: np.argsort(-np.abs(scores), kind="stable"),
}
# Without compiled kernels the same laws are checked on fewer rows.
MANY = 20_000 if config.DISABLE_JIT else 1_000_000


@st.composite
def streams(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.integers(2, 300))
    labels = rng.random(n_rows) < draw(st.sampled_from([0.02, 0.5, 0.9]))
    labels[:2] = False, True
    kind = draw(st.sampled_from(["normal", "huge", "odd", "constant", "alternating", "few"]))
    scores = {
        "normal": lambda: rng.normal(size=n_rows) + labels,
        "huge": lambda: rng.normal(size=n_rows) * 10.0 ** rng.integers(-300, 300, n_rows),
        "odd": lambda: rng.choice(ODD, n_rows),
        "constant": lambda: np.full(n_rows, 3.0),
        "alternating": lambda: np.where(np.arange(n_rows) % 2, 1.0, -1.0) * np.arange(n_rows),
        "few": lambda: rng.integers(0, 7, n_rows).astype(float),
    }[kind]()
    order = ORDERS[draw(st.sampled_from(sorted(ORDERS)))](labels, scores)
    return labels[order], scores[order]


def assert_contains(streaming, labels, scores):
    low, high = streaming.interval()
    assert 0 <= low <= exact_auc(labels, scores) <= high <= 1
    assert low <= streaming.estimate() <= high
    assert streaming.n_intervals <= 3 * streaming.size
    assert_array_equal(streaming.counts, [(~labels).sum(), labels.sum()])


@given(streams(), st.sampled_from([1, 2, 3, 8, 40]), st.lists(st.integers(0, 300), max_size=6))
def test_the_exact_auc_lies_in_the_interval_for_any_batches(stream, size, cuts):
    labels, scores = stream
    streaming = StreamingAuc.empty(size)
    for part in np.split(np.arange(labels.size), sorted(min(cut, labels.size) for cut in cuts)):
        streaming = streaming.update(labels[part], scores[part])
    assert_contains(streaming, labels, scores)


@given(streams(), st.sampled_from([1, 2, 8, 40]), st.integers(2, 9), st.randoms(use_true_random=False))
def test_the_exact_auc_lies_in_the_interval_for_any_merge_order(stream, size, n_shards, random):
    labels, scores = stream
    shards = [StreamingAuc.of(labels[i::n_shards], scores[i::n_shards], size) for i in range(n_shards)]
    while len(shards) > 1:
        random.shuffle(shards)
        shards.append(shards.pop().merge(shards.pop()))
    assert_contains(shards[0], labels, scores)


@given(streams())
def test_few_distinct_scores_give_the_exact_auc(stream):
    labels, scores = stream
    size = np.unique(scores).size
    halves = [StreamingAuc.of(labels[i::2], scores[i::2], size) for i in range(2)]
    for streaming in (StreamingAuc.of(labels, scores, size), halves[0].merge(halves[1])):
        assert streaming.interval() == (exact_auc(labels, scores),) * 2


def test_rows_can_be_added_one_by_one():
    rng = np.random.default_rng(0)
    labels = rng.random(400) < 0.3
    scores = rng.normal(size=400) + labels
    streaming = StreamingAuc.empty(20)
    for label, score in zip(labels, scores, strict=True):
        streaming = streaming.update([label], [score])
    assert_contains(streaming, labels, scores)
    low, high = streaming.interval()
    assert high - low < 0.15


def large_stream(name):
    rng = np.random.default_rng(1)
    labels = rng.random(MANY) < (0.01 if name == "rare class" else 0.5)
    noise, time = rng.normal(size=MANY), np.linspace(0, 1, MANY)
    if name.startswith("normal"):
        return labels, noise + labels * np.sqrt(2) * norm.ppf(float(name[7:]))
    if name == "sorted":
        scores = np.sort(noise)
        return rng.random(MANY) < 1 / (1 + np.exp(-scores)), scores
    if name == "class after class":
        labels = np.sort(labels)
    return labels, {
        "rare class": lambda: noise + labels,
        "heavy tails": lambda: rng.standard_cauchy(MANY) + labels,
        "log-normal": lambda: np.exp(5 * (noise + labels)),
        "ties": lambda: (noise + labels).round(3),
        "class after class": lambda: noise + 0.3 * labels,
        "drift": lambda: noise + labels + 2 * time,
    }[name]()


LARGE = ["normal 0.6", "normal 0.8", "normal 0.99", "rare class", "heavy tails", "log-normal", "ties", "sorted"]


@pytest.mark.parametrize("name", [*LARGE, "class after class", "drift"])
def test_2048_intervals_bound_the_auc_of_a_million_scores_to_a_thousandth(name):
    labels, scores = large_stream(name)
    whole = StreamingAuc.of(labels, scores)
    parts = zip(np.array_split(labels, 64), np.array_split(scores, 64), strict=True)
    shards = [StreamingAuc.of(*part) for part in parts]
    while len(shards) > 1:
        shards = [one.merge(other) for one, other in zip(shards[::2], shards[1::2], strict=True)]
    for streaming in (whole, shards[0]):
        assert_contains(streaming, labels, scores)
        low, high = streaming.interval()
        assert high - low <= 0.001


def test_memory_does_not_grow_with_the_rows():
    rng, streaming, most = np.random.default_rng(2), StreamingAuc.empty(), 0
    for _ in range(10):
        labels = rng.random(MANY) < 0.4
        streaming = streaming.update(labels, rng.normal(size=MANY) + labels)
        most = max(most, sum(part.nbytes for part in streaming.to_arrays().values()))
    assert streaming.counts.sum() == 10 * MANY
    assert most <= 3 * 2048 * 32 + 8
    low, high = streaming.interval()
    assert high - low <= 0.001


def test_empty_is_the_identity_and_knows_nothing():
    empty, streaming = StreamingAuc.empty(), StreamingAuc.of([0, 1], [0.0, 1.0])
    assert (empty.interval(), empty.estimate()) == ((0.0, 1.0), 0.5)
    assert StreamingAuc.of([1], [2.0]).interval() == (0.0, 1.0)
    for merged in (streaming.merge(empty), empty.merge(streaming), streaming.update([], [])):
        assert merged.interval() == (1.0, 1.0)
    assert streaming.merge(StreamingAuc.empty(7)).size == StreamingAuc.empty(7).merge(streaming).size == 7


def test_counts_whose_products_exceed_64_bits_stay_exact():
    arrays = StreamingAuc.of([0, 1], [0.0, 1.0]).to_arrays()
    arrays["class_counts"] = arrays["class_counts"] * 10**12
    assert StreamingAuc.from_arrays(arrays).interval() == (1.0, 1.0)


@given(streams())
def test_arrays_round_trip_bit_for_bit(stream):
    streaming = StreamingAuc.of(*stream, size=9)
    arrays = streaming.to_arrays()
    back = StreamingAuc.from_arrays(arrays)
    for key, part in arrays.items():
        assert_array_equal(back.to_arrays()[key], part)
        part[...] = 0
    assert back.counts.all()
    assert streaming.counts.all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": 0}, "size: expected numbers of at least 1"),
        ({"size": 2.0}, "size: expected int64 numbers"),
        ({"lows": [[0.0]]}, r"lows: expected float64 numbers of shape \(intervals,\), got float64 of shape \(1, 1\)"),
        ({"lows": [0.0, np.nan]}, "lows: expected numbers, not NaN"),
        ({"lows": [0.0, 9.0]}, "must not exceed highs"),
        ({"lows": "nonsense"}, "lows: expected float64 numbers"),
        ({"class_counts": [[1, 0], [0, 0]]}, "no interval may be empty"),
        ({"class_counts": [[1, 0], [-1, 3]]}, "class_counts: expected numbers that are not negative"),
        ({"class_counts": [[1, 0], [2**62, 3]]}, "add up to 2.62"),
        ({"class_counts": [[1.0, 0.0], [0.0, 1.0]]}, "class_counts: expected int64 numbers"),
        ({"lows": np.arange(9.0), "highs": np.arange(9.0), "class_counts": np.ones((9, 2), int)}, "third of the 9"),
    ],
)
def test_invalid_arrays_raise_an_error(change, message):
    arrays = {"size": 2, "lows": [0.0, 1.0], "highs": [0.5, 2.0], "class_counts": [[1, 1], [0, 3]]}
    assert StreamingAuc.from_arrays(arrays).counts.tolist() == [1, 4]
    with pytest.raises(IncompatibleMomentsError, match=message):
        StreamingAuc.from_arrays(arrays | change)
    with pytest.raises(IncompatibleMomentsError, match="expected arrays"):
        StreamingAuc.from_arrays({})


def test_invalid_sizes_and_scores_raise_an_error():
    with pytest.raises(ValueError, match="size must be at least 1, got 0"):
        StreamingAuc.empty(0)
    with pytest.raises(ValueError, match="NaN at row 1"):
        StreamingAuc.empty().update([0, 1], [0.0, np.nan])
