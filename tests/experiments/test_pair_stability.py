"""Which pairs join the model, on subsamples of a table."""

import pytest
from experiments.pair_stability import mean_overlap


def test_the_overlap_is_the_mean_share_of_members_that_two_sets_have_in_common():
    assert mean_overlap([{"a", "b"}, {"a", "b"}]) == 1.0
    assert mean_overlap([{"a", "b"}, {"b", "c"}, {"d"}]) == pytest.approx((1 / 3 + 0 + 0) / 3)
    assert mean_overlap([set(), {"a"}, set()]) == pytest.approx(1 / 3)
