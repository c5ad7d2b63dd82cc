"""Which rows of a multi-class set are positive, and which columns are computed on which sets."""

import numpy as np
import pytest
from experiments.paper.catalogue import Catalogue
from experiments.paper.data_folder import MissingSetError, arrays_of
from experiments.paper.data_set import columns_to_unit_box
from experiments.paper.plan import planned
from experiments.paper.protocol import PROFILES
from numpy.testing import assert_array_equal
from scipy import sparse


@pytest.mark.parametrize(
    ("name", "positives", "negatives"), [("covtype", 283_301, 581_012 - 283_301), ("connect-4", 16_635, 50_922)]
)
def test_the_published_task_has_these_class_counts(name, positives, negatives):
    data = Catalogue().sets()[name]
    try:
        arrays = arrays_of(data)
    except MissingSetError:
        pytest.skip(f"{data.archive} is not here; set OPAUC_DATA to the folder that holds it")
    assert_array_equal(np.bincount(data.labelling(arrays)), [negatives, positives])


def test_columns_divided_by_their_largest_value_lie_in_the_unit_box():
    rows = sparse.random_array((40, 9), density=0.4, rng=np.random.default_rng(0), format="csr")
    rows.data = rows.data * 7.0 - 3.0
    whole = rows.toarray()
    largest = np.abs(whole).max(axis=0)
    assert_array_equal(columns_to_unit_box(rows).toarray(), whole / largest)


def test_columns_and_sets_may_restrict_each_other():
    pairs = {(one.data.name, one.column.name) for one in planned(PROFILES["paper"], Catalogue())}
    assert ("covtype", "OPAUC, smaller λ") in pairs
    assert ("splice", "OPAUC, smaller λ") not in pairs
    assert ("news20", "OPAUC_pca") in pairs
    assert ("news20_scaled", "OPAUC_pca") not in pairs
    assert ("news20_scaled", "OPAUCr") in pairs
