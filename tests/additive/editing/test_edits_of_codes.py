"""Single values of a number and combinations of values are set and removed too, whichever model is selected."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from opauc import OnePassGAM
from opauc.additive.editing.edit import edit_term, remove_term
from opauc.additive.state import AdditiveFit
from opauc.additive.terms.explain import Terms
from opauc.errors import ParameterError
from tests.additive.editing.test_edits import FRAME, LABELS, TEST, adds_up, contributions, fitted, term_of
from tests.additive.test_state_crossed import CATEGORICAL, NAMES, SETTINGS
from tests.additive.test_state_crossed import sample as crossed_sample
from tests.estimators.test_one_pass_gam_codes import CODE, ROWS
from tests.estimators.test_one_pass_gam_codes import LABELS as CODE_LABELS
from tests.estimators.test_one_pass_gam_codes import TEST as CODE_TEST


@pytest.fixture(scope="module")
def codes():
    return OnePassGAM(random_state=0, init_size=4000, trees=False).partial_fit(ROWS[:6000], CODE_LABELS[:6000])


def test_single_values_are_set_by_name_and_stay(codes):
    term = term_of(codes, CODE)
    level = term.at[0][7]
    edited = codes.edit(CODE, {level: 3.0}, who="ann")
    expected = np.where(np.arange(term.value.size) == 7, 3.0, term.value)
    assert_allclose(term_of(edited, CODE).value, expected, atol=1e-12)
    for _ in range(2):
        explained = edited.explain(CODE_TEST)
        assert_allclose(explained.scores(), edited.decision_function(CODE_TEST), atol=1e-9)
        has_level = CODE_TEST[:, 0] == float(level)
        assert_allclose(explained.contributions[has_level, explained.names.index(CODE)], 3.0, atol=1e-12)
        edited.partial_fit(ROWS[6000:], CODE_LABELS[6000:])
    assert_allclose(term_of(edited, CODE).value, expected, atol=1e-12)


def test_the_curve_of_a_number_with_codes_is_set_apart_from_these(codes):
    edited = codes.edit("x0", [(0.0, 0.0)]).remove("x1")
    assert not term_of(edited, "x0").value.any()
    assert np.abs(term_of(edited, CODE).value).max() > 0.5
    assert not codes.remove(CODE).explain(CODE_TEST).contributions[:, codes.explain(CODE_TEST).names.index(CODE)].any()


@pytest.fixture(scope="module")
def crossed():
    rows, labels = crossed_sample(0, 9000)
    fit = AdditiveFit.start(SETTINGS, CATEGORICAL, 0).update(rows, labels)
    assert fit.current.basis.crossed.size
    return Terms(fit, NAMES, [{}] * 4)


def test_combinations_are_removed_and_cannot_be_set(crossed):
    name = next(term.name for term in crossed.term_columns if term.crossed is not None)
    with pytest.raises(ParameterError, match="is a term of combinations and has no curve to set"):
        edit_term(crossed, name, [(0.0, 1.0)], None)
    removed = Terms(remove_term(crossed, name), NAMES, [{}] * 4)
    rows, labels = crossed_sample(7, 500)
    explained = removed.explain(rows)
    assert not explained.contributions[:, explained.names.index(name)].any()
    assert_allclose(explained.scores(), removed.solution.scorer.scores(rows), atol=1e-9)
    assert np.abs(crossed.solution.scorer.scores(rows) - removed.solution.scorer.scores(rows)).max() > 0.5
    learned = Terms(removed.solution.update(rows, labels), NAMES, [{}] * 4).explain(rows)
    assert not learned.contributions[:, learned.names.index(name)].any()


def test_edits_hold_where_a_simpler_model_is_selected():
    model = fitted(trees=True).partial_fit(FRAME[7000:], 1 - LABELS[7000:])  # what was learned first misleads
    model.partial_fit(FRAME[7000:], 1 - LABELS[7000:])
    assert model.selection_.model != "full"
    edited = model.edit("age", [(20.0, -1.0), (80.0, 2.0)]).remove("job").edit("shop", {"s3": 1.0})
    at = np.array(term_of(edited, "age").at[0], float)
    assert_allclose(contributions(edited, "age"), np.interp(TEST["age"], at, term_of(edited, "age").value), atol=1e-9)
    assert not contributions(edited, "job").any()
    adds_up(edited)


@pytest.mark.parametrize("trees", [False, True])
def test_edits_hold_where_the_classes_have_shifted_too_much_to_solve(trees):
    model = fitted(trees)
    positives = np.flatnonzero(LABELS == 1)[np.arange(40_000) % int(LABELS.sum())]
    model.partial_fit(FRAME.iloc[positives[:30_000]], LABELS[positives[:30_000]])
    assert model.selection_.model == "sample"
    edited = model.edit("age", [(20.0, 4.0), (80.0, 7.0)]).remove("job")
    at = np.array(term_of(edited, "age").at[0], float)
    assert_allclose(contributions(edited, "age"), np.interp(TEST["age"], at, term_of(edited, "age").value), atol=1e-9)
    assert not contributions(edited, "job").any()
    adds_up(edited)
    # The intercept takes the mean of the curve.
    assert abs(edited.decision_function(FRAME).mean() - model.decision_function(FRAME).mean()) < 0.7
