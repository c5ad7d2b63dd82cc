"""Fading and merging, and counting pairs, are what they are in plain NumPy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from opauc.linear.kernels.moments import count_wins, decay_and_merge


@given(st.integers(0, 2**32 - 1), st.sampled_from([(0, 0), (0, 5), (5, 0), (4, 6)]), st.floats(0.01, 1.0))
def test_decayed_and_merged_statistics_are_those_of_weighted_rows(seed, sizes, factor):
    rng = np.random.default_rng(seed)
    old, new, d = rng.normal(size=(2, sizes[0], 3)) + 5.0, rng.normal(size=(2, sizes[1], 3)), 3

    def parts(rows):
        mean = rows.mean(axis=1) if rows.shape[1] else np.zeros((2, d))
        away = rows - mean[:, None]
        return np.full(2, float(rows.shape[1])), mean, np.einsum("kni,knj->kij", away, away)

    counts, means, scatters = (np.array([part, part]) for part in parts(old))
    decay_and_merge(np.array([[factor] * 2, [1.0] * 2]), *parts(new), counts, means, scatters, np.empty(d))
    for number, fading in enumerate((factor, 1.0)):
        for k in (0, 1):
            rows = np.vstack([old[k], new[k]])
            weight = np.r_[np.full(sizes[0], fading), np.ones(sizes[1])]
            assert_allclose(counts[number, k], weight.sum(), atol=1e-12)
            if weight.size:
                mean = weight @ rows / weight.sum()
                assert_allclose(means[number, k], mean, rtol=1e-9, atol=1e-9)
                wanted = (rows - mean).T @ ((rows - mean) * weight[:, None])
                assert_allclose(scatters[number, k], wanted, rtol=1e-8, atol=1e-8)


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(0, 1), st.integers(1, 4)), max_size=25),
)
def test_wins_are_counted_pair_by_pair_with_the_product_of_the_weights(drawn):
    table = np.array(drawn, float).reshape(-1, 4)
    scores, labels, weight = table[:, :2].copy(), table[:, 2].astype(np.int8), table[:, 3].copy()
    wins, total = np.ones(2), 0.0
    literal = np.ones(2)
    for i in np.flatnonzero(labels == 1):
        for j in np.flatnonzero(labels == 0):
            total += weight[i] * weight[j]
            literal += weight[i] * weight[j] * ((scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]))
    assert count_wins(scores, labels, weight, wins) == total
    assert_allclose(wins, literal)
