"""Methods of other libraries: learned as they are there, within bounds, and only where asked for and installed."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from opauc.api.competitors import feature_method_names, find_feature_method
from opauc.errors import UnsupportedOperationError
from opauc.metrics import FittedMethod, exact_auc
from tests.problems import problem

ROWS, LABELS = problem(0, 400, 5)


def learned(method, *chunks):
    method = method.fresh()
    for rows, labels in chunks:
        method.learn(rows, labels)
    method.finish()
    return method


@pytest.mark.parametrize("name", feature_method_names())
def test_every_file_declares_the_rival_of_its_name(name):
    assert find_feature_method(name).name == name
    assert np.isfinite(find_feature_method(name).most_bytes)


@pytest.mark.parametrize("rows", [ROWS, sparse.csr_array(ROWS)], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", feature_method_names())
def test_chunks_of_rows_are_learnt_as_a_whole(name, rows):
    halves = [(rows[part], LABELS[part]) for part in (slice(0, 150), slice(150, 400))]
    whole, cut = learned(find_feature_method(name), (rows, LABELS)), learned(find_feature_method(name), *halves)
    assert_allclose(cut.scores(rows), whole.scores(rows))
    assert exact_auc(LABELS, whole.scores(rows)) > 0.65


def test_logistic_regression_is_that_of_scikit_learn_on_features_of_unit_variance():
    scaled = StandardScaler().fit_transform(ROWS)
    expected = LogisticRegression(max_iter=1000).fit(scaled, LABELS).decision_function(scaled)
    assert_allclose(learned(find_feature_method("logistic_regression"), (ROWS, LABELS)).scores(ROWS), expected)


@pytest.mark.parametrize("rows", [ROWS, sparse.csr_array(ROWS)], ids=["dense", "sparse"])
def test_more_rows_than_fit_are_refused_and_let_go_of(rows):
    method = FittedMethod("small", lambda *_: np.asarray, most_bytes=1.9 * ROWS.nbytes)
    method.learn(rows, LABELS)
    with pytest.raises(UnsupportedOperationError, match=r"needs all rows in memory and takes at most \S+ GiB"):
        method.learn(rows, LABELS)
    assert method.collected.rows == []


ABSENT = """
import sys
sys.modules["sklearn"] = sys.modules["lightgbm"] = None
from opauc.api.compare_methods import WantedMethods
from opauc.errors import InputError
wanted = WantedMethods.of(None)
assert "gam" in wanted.of_tables and "lightgbm" not in wanted.of_tables
assert "exact" in wanted.of_features and "logistic_regression" not in wanted.of_features
try:
    WantedMethods.of("logistic_regression")
except InputError as error:
    print(error)
"""

NOT_ASKED_FOR = """
import sys
from opauc.api.compare_methods import WantedMethods
wanted = WantedMethods.of("exact,sgd,gam")
wanted.feature_methods(), wanted.table_methods(None)
assert not {"sklearn", "lightgbm"} & set(sys.modules)
"""


def test_without_its_library_a_rival_is_left_out_and_missed_only_by_name():
    done = subprocess.run([sys.executable, "-c", ABSENT], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("logistic_regression needs a package that is not installed\n", "")


def test_a_library_is_not_imported_unless_its_rival_is_asked_for():
    subprocess.run([sys.executable, "-c", NOT_ASKED_FOR], check=True)
