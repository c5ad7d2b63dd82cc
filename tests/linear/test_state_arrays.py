import pytest

from opauc.core.registry import SOLVERS
from opauc.core.state_arrays import state_arrays
from opauc.linear.sgd import SGD


def test_what_is_no_array_or_number_cannot_be_saved():
    state = SGD().start(2)._replace(weights="text")
    with pytest.raises(TypeError, match="cannot save weights: str"):
        state_arrays(state)


def test_the_folder_is_listed_once():
    assert SOLVERS is SOLVERS
    assert "univariate" not in SOLVERS
    assert "means_learner" not in SOLVERS
