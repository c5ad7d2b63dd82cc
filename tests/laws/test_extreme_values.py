"""Values near the ends of float64: a model is trained and can be loaded, or refuses the rows and stays as it was."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone

import opauc
from opauc import OPAUC, OPAUCCV, OnePassGAM
from opauc.additive.basis.main_effects import MainEffect
from opauc.errors import DivergedError, StatisticsOverflowError

ESTIMATORS = {
    "gam": OnePassGAM(),
    "exact": OPAUC(solver="exact"),
    "sketch": OPAUC(solver="exact", rank=2, random_state=0),
    "sgd": OPAUC(solver="sgd"),
    "sketched sgd": OPAUC(solver="sgd", rank=2, random_state=0),
    "folds": OPAUCCV(),
    "logistic": OPAUC(loss="logistic", init_size=100),
    "logistic, first rows": OPAUC(loss="logistic"),
    "drifting": OPAUC(forgetting_factor="auto", horizon=50),
}
VALUES = {
    "1e155": [1e155],
    "1e200": [1e200],
    "both signs": [1e155, -1e155],
    "largest": [1.7e308, -1.7e308],
    "1e-200": 1e-200,
    "all 1e200": 1e200,
}


def table(values):
    random = np.random.default_rng(0)
    rows = random.normal(size=(300, 3))
    labels = (rows[:, 0] + random.normal(size=300) > 0).astype(int)
    if isinstance(values, float):
        rows[:, 0] *= values
    else:
        rows[5 : 5 + len(values), 0] = values
    return rows, labels


@pytest.mark.filterwarnings("ignore:rank=2")
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_model_of_extreme_values_is_saved_and_loaded_or_never_made(name, values, tmp_path):
    rows, labels = table(values)
    model = clone(ESTIMATORS[name])
    before, before_labels = table([])
    model.partial_fit(before, before_labels)
    scores = model.decision_function(before)
    message = ""
    try:
        model.partial_fit(rows, labels)
        after = model.decision_function(before)
    except (StatisticsOverflowError, DivergedError) as error:
        message, after = str(error), model.decision_function(before)
    assert np.isfinite(after).all()
    if message:
        assert name != "gam"
        assert "scale the features" in message
        assert_array_equal(after, scores)
    opauc.save(model, tmp_path / "model")
    assert_array_equal(opauc.load(tmp_path / "model").decision_function(before), after)


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_a_few_extreme_values_do_not_spoil_an_additive_model(values, tmp_path):
    rows, labels = table(values)
    model = OnePassGAM().fit(rows, labels)
    assert model.score(rows, labels) > 0.85
    opauc.save(model, tmp_path / "model")
    assert_array_equal(opauc.load(tmp_path / "model").decision_function(rows), model.decision_function(rows))


@given(
    values=st.lists(st.floats(-1e308, 1e308), min_size=3, max_size=9, unique=True),
    scale=st.sampled_from([1.0, 1e-300, 1e-150]),
)
def test_mean_and_deviation_of_a_linear_term_are_those_of_exact_arithmetic(values, scale):
    numbers = np.unique(np.array(values) * scale)
    if numbers.size < 3:
        return
    low, high, mean, deviation = MainEffect.of(numbers, np.ones(numbers.size), np.ones(numbers.size), False, 0).scale
    clipped = [Fraction(min(max(value, low), high)) for value in numbers.tolist()]
    exact = sum(clipped) / len(clipped)
    variance = sum((value - exact) ** 2 for value in clipped) / len(clipped)
    size = max(abs(Fraction(low)), abs(Fraction(high)))
    assert abs(Fraction(mean) - exact) <= size * Fraction(1e-15)
    if variance > (size * Fraction(1e-6)) ** 2:
        assert abs(Fraction(deviation) ** 2 / variance - 1) < Fraction(1e-6)
