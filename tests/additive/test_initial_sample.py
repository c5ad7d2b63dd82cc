"""Rows of an initial sample are recognized when all rows are processed, and no others."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from opauc.additive.initial_rows import RowFingerprints, row_keys
from opauc.additive.initial_sample import draw_initial_sample
from opauc.additive.settings import AdditiveSettings
from opauc.additive.state import AdditiveFit
from opauc.core.batch import Position, RawBatch
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.encode.ordinal import OrdinalEncoder
from opauc.data.schema.column import UNSEEN
from opauc.data.schema.policy import SchemaPolicy


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


def literal_row_keys(rows):
    """The sum of the mixed bits of the values of a row, each times an odd number of its column."""
    bits = np.where(np.isnan(rows), np.uint64(1), (rows + 0.0).view(np.uint64))  # minus zero is zero
    odd = np.random.default_rng(0).integers(2**63, size=rows.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    mixed = (bits ^ (bits >> np.uint64(32))) * odd
    return ((mixed ^ (mixed >> np.uint64(29))) * odd).sum(axis=1, dtype=np.uint64)


def test_the_key_of_a_row_is_the_sum_of_its_mixed_bits():
    rows = np.random.default_rng(0).normal(size=(50, 7)) * 10.0 ** np.arange(-300, 400, 100)[:7]
    rows[::3, 0], rows[1::3, 1], rows[2::3, 2], rows[::5, 3] = np.nan, -0.0, np.inf, -np.inf
    rows[::7, 4] = np.array(-np.nan)
    np.testing.assert_array_equal(row_keys(rows), literal_row_keys(rows))
    np.testing.assert_array_equal(row_keys(rows[::2, ::2]), literal_row_keys(rows[::2, ::2].copy()))


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


def shops(n_rows):
    """A shop, a number of which every value is a code, and labels: some shops have many rows, most have few."""
    random = np.random.default_rng(0)
    shop = np.floor(400 * random.random(n_rows) ** 3)
    code = random.integers(0, 300, n_rows).astype(float)
    effects = random.normal(size=(2, 400)) * 1.5
    score = effects[0][shop.astype(int)] + effects[1][code.astype(int)]
    return np.c_[shop, code], (random.random(n_rows) < expit(score)).astype(np.int8)


def test_sample_rows_of_categories_without_a_number_are_pooled_as_single_ones_are():
    rows, labels = shops(4000)
    late = rows[:, 0] >= 300
    unseen, single = rows.copy(), rows.copy()
    unseen[late, 0] = UNSEEN
    single[late, 0] = 400 + np.arange(late.sum())  # no two rows share a category
    fits = [
        AdditiveFit.start(AdditiveSettings(init_size=8000), np.array([True, False]), 0).update(kind, labels)
        for kind in (unseen, single)
    ]
    random_effects = fits[0].current.basis.random_effects
    assert set(np.unique(random_effects.inputs)) == {0, 1}
    assert random_effects.numbers.min() >= 0
    one, other = (fit.current.basis.to_arrays() for fit in fits)
    different = {name for name in one if not np.array_equal(one[name], other[name])}
    assert different <= {"validation_gain", "input_aucs"}, "measured on rows whose order depends on the categories"
    np.testing.assert_allclose(fits[0].scorer.scores(unseen), fits[1].scorer.scores(single), atol=0.02)
    header, arrays = fits[0].with_basis().to_parts()
    loaded = AdditiveFit.from_parts(header, arrays, 2)
    np.testing.assert_array_equal(loaded.scorer.scores(unseen), fits[0].scorer.scores(unseen))


@pytest.mark.parametrize("policy", [SchemaPolicy(growing_rows=2000), SchemaPolicy(max_categories=9)])
def test_categories_that_appear_after_the_schema_stopped_growing_are_pooled(policy):
    random = np.random.default_rng(0)
    names = np.array([f"shop {number}" for number in range(12)])
    batches = [names[random.integers(0, n_names, 1000)] for n_names in (9, 9, 12, 12)]
    encoder, encoded = OrdinalEncoder(TableColumns(raw=True), policy=policy), []
    for shop in batches:
        label = np.where(random.random(1000) < 0.1 + 0.7 * (shop == "shop 3"), "yes", "no")
        batch = pa.record_batch({"shop": shop, "size": random.normal(size=1000), "label": label})
        raw = RawBatch(batch, None, None, Position(), Position(1000, 1000))
        encoded.append(encoder.encode(raw, "rows.csv", BadRows()))
    rows = np.concatenate([part.rows for part in encoded])
    labels = np.concatenate([part.labels == "yes" for part in encoded]).astype(np.int8)
    [shop, _] = encoder.schema.columns
    assert len(shop.categories) == 9
    np.testing.assert_array_equal(rows[:, 0] == UNSEEN, np.isin(np.concatenate(batches), names[9:]))
    fit = AdditiveFit.start(AdditiveSettings(init_size=5000), encoder.schema.categorical, 0).update(rows, labels)
    scores = fit.scorer.scores(np.array([[shop.categories["shop 3"], 0.0], [UNSEEN, 0.0]]))
    assert expit(scores[0]) == pytest.approx(0.8, abs=0.06)
    assert expit(scores[1]) == pytest.approx(0.1, abs=0.05)
