"""Methods of other libraries: fitted as they are there, within memory limits, only if requested and installed."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from opauc.api.methods import FEATURE_METHODS, find_feature_method
from opauc.errors import UnsupportedOperationError
from opauc.metrics import FittedMethod, exact_auc
from tests.problems import problem

ROWS, LABELS = problem(0, 400, 5)


def fit(method, *batches):
    method = method.fresh()
    for rows, labels in batches:
        method.train(rows, labels)
    method.finish()
    return method


@pytest.mark.parametrize("name", FEATURE_METHODS)
def test_every_name_is_that_of_a_competitor(name):
    assert find_feature_method(name).name == name
    assert np.isfinite(find_feature_method(name).most_bytes)


@pytest.mark.parametrize("rows", [ROWS, sparse.csr_array(ROWS)], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", FEATURE_METHODS)
def test_batches_of_rows_are_fitted_as_a_whole(name, rows):
    halves = [(rows[part], LABELS[part]) for part in (slice(0, 150), slice(150, 400))]
    whole, cut = fit(find_feature_method(name), (rows, LABELS)), fit(find_feature_method(name), *halves)
    assert_allclose(cut.scores(rows), whole.scores(rows))
    assert exact_auc(LABELS, whole.scores(rows)) > 0.65


def test_logistic_regression_is_that_of_scikit_learn_on_features_of_unit_variance():
    scaled = StandardScaler().fit_transform(ROWS)
    expected = LogisticRegression(max_iter=1000).fit(scaled, LABELS).decision_function(scaled)
    assert_allclose(fit(find_feature_method("logistic_regression"), (ROWS, LABELS)).scores(ROWS), expected)


@pytest.mark.parametrize("rows", [ROWS, sparse.csr_array(ROWS)], ids=["dense", "sparse"])
def test_more_rows_than_fit_are_refused_and_dropped(rows):
    method = FittedMethod("small", lambda *_: np.asarray, most_bytes=1.9 * ROWS.nbytes)
    method.train(rows, LABELS)
    with pytest.raises(UnsupportedOperationError, match=r"needs all rows in memory and takes at most \S+ GiB"):
        method.train(rows, LABELS)
    assert method.collected.rows == []


ABSENT = """
import sys
sys.modules["sklearn.pipeline"] = sys.modules["lightgbm"] = None  # of what the package needs, only compare imports it
from opauc.api.methods import MethodNames
from opauc.errors import InputError
wanted = MethodNames.of(None)
assert "gam" in wanted.of_tables and "lightgbm" not in wanted.of_tables
assert "exact" in wanted.of_features and "logistic_regression" not in wanted.of_features
try:
    MethodNames.of(["logistic_regression"])
except InputError as error:
    print(error)
"""

NOT_REQUESTED = """
import sys
from opauc.api.methods import MethodNames
wanted = MethodNames.of(["exact", "sgd", "gam"])
wanted.feature_methods(), wanted.table_methods(None)
assert not {"sklearn", "lightgbm"} & set(sys.modules)
"""


def test_without_its_library_a_competitor_is_left_out_and_an_error_only_by_name():
    done = subprocess.run([sys.executable, "-c", ABSENT], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("logistic_regression needs a package that is not installed\n", "")


def test_a_library_is_not_imported_unless_its_competitor_is_requested():
    subprocess.run([sys.executable, "-c", NOT_REQUESTED], check=True)
