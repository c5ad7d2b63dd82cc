"""Sums of several classes against the rest on one basis."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from opauc.additive.initial_sample import WarmUpBuffer
from opauc.additive.labeled_sample import encode_rows
from opauc.additive.multiclass.initial_fit import fit_classes, share_rows
from opauc.additive.multiclass.sums import BLOCKS_AT_ONCE, ClassSums
from opauc.additive.settings import AdditiveSettings
from tests.additive.multiclass.data import simulate

ROWS, LABELS = simulate(seed=1, n_rows=1500)
LATER, LATER_LABELS = simulate(seed=2, n_rows=700)


@pytest.fixture(scope="module")
def fitted():
    """A basis and its sums, with the trees of each class."""
    buffer = WarmUpBuffer.empty(3, 3).with_rows(ROWS, LABELS, None)
    basis, sums = fit_classes(buffer, AdditiveSettings(), np.zeros(3, bool), 0)
    assert any(model.blend is not None for model in sums.models)
    return basis, sums


def test_each_class_adds_rows_as_a_model_of_two_classes_does(fitted):
    basis, sums = fitted
    weight = np.random.default_rng(0).uniform(0.5, 2.0, LATER_LABELS.size)
    fresh = np.arange(LATER_LABELS.size) % 5 > 0
    after = sums.update(share_rows(basis, LATER, LATER_LABELS, weight, fresh))
    for k, (model, together) in enumerate(zip(sums.models, after.models, strict=True)):
        own = replace(basis, trees=model.columns.trees)
        rows = encode_rows(own, LATER, (k == LATER_LABELS).astype(np.int8), weight, fresh, model.blend)
        alone = model.update(rows).to_arrays()
        for name, array in together.to_arrays().items():
            assert_allclose(array, alone[name], rtol=1e-12, atol=1e-12, err_msg=name)
        assert_allclose(after.counts[k], model.counts.positive + weight[k == LATER_LABELS].sum())


def test_many_blocks_are_the_rows_of_one(fitted):
    basis, sums = fitted
    some = list(share_rows(basis, LATER[:20], LATER_LABELS[:20], None))
    cut = [block for i in range(20) for block in share_rows(basis, LATER[i : i + 1], LATER_LABELS[i : i + 1], None)]
    assert len(cut) > 2 * BLOCKS_AT_ONCE
    one, many = sums.update(some), sums.update(cut)
    for name, array in one.to_arrays().items():
        assert_allclose(array, many.to_arrays()[name], rtol=1e-10, atol=1e-10, err_msg=name)


def test_arrays_of_other_classes_or_rows_are_refused(fitted):
    basis, sums = fitted
    arrays = sums.to_arrays()
    again = ClassSums.from_arrays(basis, 3, arrays)
    assert again.counts == sums.counts
    with pytest.raises(ValueError, match="expected the arrays of 2 classes"):
        ClassSums.from_arrays(basis, 2, arrays)
    with pytest.raises(ValueError, match="expected arrays"):
        ClassSums.from_arrays(basis, 4, arrays)
    with pytest.raises(ValueError, match="expected the same rows for every class"):
        ClassSums.from_arrays(basis, 3, arrays | {"class1.sums.class_counts": np.array([1.0, 2.0])})
