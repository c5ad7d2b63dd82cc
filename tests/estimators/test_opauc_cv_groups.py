"""Folds by groups: rows of one group are judged together, in one pass, in shards, and after rows are forgotten."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import opauc
from opauc import OPAUCCV
from opauc.core.group_keys import group_keys
from opauc.core.loop import Trainer
from opauc.errors import IncompatibleMomentsError, UnsupportedOperationError
from opauc.linear.resolve import opauc_factory
from tests import literal
from tests.problems import cuts, problem

ROWS, LABELS = problem(0, 400, 4)
GROUPS = np.array([f"patient {n}" for n in np.random.default_rng(0).integers(0, 60, 400)])


def literal_folds(groups, n_folds):
    """The fold of each row: the hash of its group modulo the number of folds."""
    return np.array([int(key) % n_folds for key in group_keys(groups, len(groups))])


def test_scores_are_those_of_leaving_out_whole_groups():
    model = OPAUCCV(cv=4, alphas=[1e-3, 0.1, 5.0]).fit(ROWS, LABELS, groups=GROUPS)
    found = model.cv_results_
    wanted = literal.cross_validation_scores(
        ROWS, LABELS, literal_folds(GROUPS, 4), [1e-3, 0.1, 5.0], True, "pair_loss"
    )
    scores = np.column_stack([found[f"split{k}_test_score"] for k in range(4)])
    assert_allclose(scores, wanted, rtol=1e-6)


def test_groups_that_give_the_label_away_do_not_fool_the_choice():
    """One indicator feature a group, and groups of one label each: only leaving out whole groups shows its worth."""
    rng = np.random.default_rng(1)
    of = rng.integers(0, 80, 1600)
    labels = (rng.random(80) < 0.5).astype(int)[of]
    rows = np.column_stack([np.eye(80)[of], rng.normal(size=1600) + 0.7 * labels])
    by_rows, by_groups = (OPAUCCV(criterion="auc").fit(rows, labels, groups=g) for g in (None, of))
    assert by_rows.cv_results_["mean_test_score"].max() > 0.99
    assert by_groups.cv_results_["mean_test_score"].max() < 0.8


@given(st.integers(0, 2**32 - 1), cuts(80), st.integers(2, 7))
def test_any_cut_and_any_order_of_the_rows_gives_the_same_folds(seed, at, folds):
    rows, labels = problem(seed, 80, 3)
    groups = np.random.default_rng(seed).integers(0, 12, 80)
    whole = OPAUCCV(cv=folds).partial_fit(rows, labels, groups=groups)
    chunked, order = OPAUCCV(cv=folds), np.random.default_rng(seed).permutation(80)
    for part in np.split(order, at):
        chunked.partial_fit(rows[part], labels[part], classes=[0, 1], groups=groups[part])
    for k in range(folds):
        assert chunked.moments_.fold(k).counts == whole.moments_.fold(k).counts
    assert_allclose(chunked.coef_, whole.coef_, rtol=1e-6, atol=1e-10)


def test_shards_agree_on_the_folds_without_knowing_each_others_groups(tmp_path):
    whole = OPAUCCV().fit(ROWS, LABELS, groups=GROUPS)
    one, other = (
        OPAUCCV().fit(ROWS[part], LABELS[part], groups=GROUPS[part]) for part in (slice(150), slice(150, 400))
    )
    opauc.save(one, tmp_path / "model")
    merged = opauc.load(tmp_path / "model").merge(other)
    assert merged.moments_.grouped
    assert_allclose(merged.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"], rtol=1e-9)
    assert_allclose(merged.coef_, whole.coef_, rtol=1e-9)


def test_rows_are_forgotten_by_their_groups():
    kept = np.r_[0:100, 180:400]
    model = OPAUCCV().fit(ROWS, LABELS, groups=GROUPS).forget(ROWS[100:180], LABELS[100:180], groups=GROUPS[100:180])
    fresh = OPAUCCV().fit(ROWS[kept], LABELS[kept], groups=GROUPS[kept])
    for k in range(5):
        assert_allclose(model.moments_.fold(k).covariance_sum(), fresh.moments_.fold(k).covariance_sum(), rtol=1e-7)
    assert_allclose(model.coef_, fresh.coef_, rtol=1e-8)


def test_rows_of_no_weight_take_their_groups_with_them():
    weight = np.where(np.arange(400) % 3 == 0, 0.0, 1.0)
    kept = weight > 0
    weighed = OPAUCCV().fit(ROWS, LABELS, sample_weight=weight, groups=GROUPS)
    assert_allclose(weighed.coef_, OPAUCCV().fit(ROWS[kept], LABELS[kept], groups=GROUPS[kept]).coef_, rtol=1e-9)


@pytest.mark.parametrize("n_groups", [20, 50, 500, 5000])
def test_folds_are_as_even_as_chance_makes_them(n_groups):
    """Sizes of folds of g equal groups deviate from their mean by about sqrt((folds - 1) / g) of it."""
    numbers = (10**6 * draw + np.arange(n_groups) for draw in range(40))
    shares = [np.bincount(literal_folds(groups, 5), minlength=5) for groups in numbers]
    deviation = np.sqrt(np.mean((np.array(shares) / (n_groups / 5) - 1) ** 2))
    assert deviation == pytest.approx(np.sqrt(4 / n_groups), rel=0.25)


BAD = [
    ({"groups": GROUPS[:399]}, r"groups must hold one value for each of the 400 rows, got shape \(399,\)"),
    ({"groups": np.where(np.arange(400) == 7, None, GROUPS)}, "groups must have no missing values, got one for row 7"),
]


@pytest.mark.parametrize(("given", "message"), BAD, ids=["length", "missing"])
def test_bad_groups_are_refused_by_name_and_leave_the_model_as_it_was(given, message):
    fresh, fitted = OPAUCCV(), OPAUCCV().fit(ROWS, LABELS, groups=GROUPS)
    weights = fitted.coef_
    for call in (fresh.fit, fresh.partial_fit, fitted.fit, fitted.partial_fit, fitted.forget):
        with pytest.raises(ValueError, match=message):
            call(ROWS, LABELS, **given)
    assert vars(fresh).keys() == vars(OPAUCCV()).keys()
    assert_array_equal(fitted.coef_, weights)


def test_groups_come_with_all_rows_or_with_none():
    grouped, numbered = OPAUCCV().fit(ROWS, LABELS, groups=GROUPS), OPAUCCV().fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="groups must be given with all rows or with none: they were given before"):
        grouped.partial_fit(ROWS, LABELS)
    with pytest.raises(ValueError, match=r"groups must be given .* they were missing before and are given now"):
        numbered.partial_fit(ROWS, LABELS, groups=GROUPS)
    with pytest.raises(ValueError, match="forget needs groups where rows are in folds"):
        grouped.forget(ROWS[:5], LABELS[:5])
    with pytest.raises(ValueError, match="forget needs groups, not row_numbers"):
        grouped.forget(ROWS[:5], LABELS[:5], row_numbers=np.arange(5))
    with pytest.raises(ValueError, match="forget needs row_numbers, not groups"):
        numbered.forget(ROWS[:5], LABELS[:5], groups=GROUPS[:5])
    with pytest.raises(ValueError, match="forget takes row_numbers or groups, not both"):
        numbered.forget(ROWS[:5], LABELS[:5], row_numbers=np.arange(5), groups=GROUPS[:5])
    with pytest.raises(IncompatibleMomentsError, match="cannot merge folds by groups with folds by row numbers"):
        grouped.merge(numbered)
    assert numbered.moments_.n_rows == 400


def test_one_group_alone_cannot_be_judged_and_is_warned_about():
    with pytest.warns(UserWarning, match="cv=5: no fold has rows of both classes in it and outside it"):
        model = OPAUCCV().fit(ROWS, LABELS, groups=np.zeros(400, int))
    found = model.cv_results_
    assert model.alpha_ == found["alpha"][6]
    assert np.isnan(found["mean_test_score"]).all()


def test_a_solver_without_folds_says_so():
    trainer = Trainer(opauc_factory({"solver": "exact"}))
    with pytest.raises(UnsupportedOperationError, match="groups are for folds, of which 'exact' has none"):
        trainer.train_rows(ROWS, LABELS, groups=group_keys(GROUPS, 400))
    assert not trainer.begun
