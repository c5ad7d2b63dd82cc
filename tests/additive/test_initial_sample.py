"""Rows of an initial sample are recognized when all rows are processed, and no others."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from opauc.additive.initial_sample import RowFingerprints, draw_initial_sample, row_keys


@given(seed=st.integers(0, 2**32 - 1), width=st.integers(1, 6), whole=st.booleans())
def test_only_rows_whose_values_the_sample_has_once_are_not_fresh(seed, width, whole):
    random = np.random.default_rng(seed)
    rows = random.integers(-3, 4, size=(300, width)).astype(float) if whole else random.normal(size=(300, width))
    rows[random.random(rows.shape) < 0.2] = np.nan
    rows[random.random(rows.shape) < 0.1] = -0.0
    sample = RowFingerprints.of(rows[:100])
    values = [tuple(np.nan_to_num(row, nan=99.0) + 0.0) for row in rows]
    times = Counter(values[:100])
    expected = [times[value] != 1 for value in values]
    np.testing.assert_array_equal(sample.fresh(rows), expected)


def test_small_whole_numbers_have_distinct_keys():
    grid = np.stack(np.meshgrid(*[np.arange(30.0)] * 3), axis=-1).reshape(-1, 3)
    assert np.unique(row_keys(grid)).size == len(grid)


def test_where_values_repeat_what_is_fresh_is_not_what_is_rare():
    rows = np.random.default_rng(0).normal(size=(100_000, 1)).round(2)
    fresh = rows[RowFingerprints.of(rows[:20_000]).fresh(rows)]
    assert len(fresh) > 0.98 * len(rows)
    assert abs(fresh.std() - rows.std()) < 0.02


def drawn_labels(labels, init_size):
    """Return the labels of the initial sample, and the size of each draw."""
    sizes = []

    def take(numbers):
        sizes.append(numbers.size)
        assert (np.diff(numbers) > 0).all()
        return SimpleNamespace(rows=np.zeros((numbers.size, 3)), labels=labels[numbers])

    return draw_initial_sample(labels.size, init_size, 0, take).labels, sizes


def test_more_rows_are_drawn_where_one_class_is_rare():
    labels = np.zeros(100_000, np.int8)
    labels[:2000] = 1
    found, sizes = drawn_labels(labels, 20_000)
    assert sizes[0] == 20_000
    assert len(sizes) == 2
    assert 900 < found.sum() < 1300
    assert drawn_labels(np.arange(100_000, dtype=np.int8) % 2, 20_000)[1] == [20_000]


def test_few_rows_are_all_the_initial_sample():
    labels = np.arange(2500, dtype=np.int8) % 2
    assert drawn_labels(labels, 2000)[1] == [2500]
    assert drawn_labels(np.append(labels, np.int8(0)), 2000)[1][0] == 2000
