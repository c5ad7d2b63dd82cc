"""Missing values cost OnePassGAM no more than they cost boosted trees."""

import numpy as np
import pytest
from experiments.datasets import available
from experiments.missing_values import SHARE, found, with_missing
from experiments.tables import Table


def test_a_fifth_of_the_best_feature_is_missing():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 2000).astype(np.int8)
    rows = rng.normal(size=(2000, 3)) + np.outer(labels, [0.2, -2.0, 0.5])
    gone = np.isnan(with_missing(Table(rows, np.empty(0, np.int64)), labels).rows)
    assert not gone[:, [0, 2]].any()
    assert abs(gone[:, 1].mean() - SHARE) < 0.03


@pytest.mark.parametrize("name", ["magic04", "diabetes"])
def test_with_missing_values_the_auc_is_within_five_thousandths_of_lightgbms(name):
    pytest.importorskip("lightgbm")
    if not available((name,)):
        pytest.skip(f"{name}.npz is not here; set OPAUC_SHARED to the folder that holds data/")
    splits = found(name, 1 if name == "magic04" else 3)
    assert np.mean([split["gam"].auc - split["lightgbm"].auc for split in splits]) > -0.005
