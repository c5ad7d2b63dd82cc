import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import opauc
from opauc import OPAUC, OPAUCCV
from opauc.errors import DivergenceWarning
from opauc.linear.sgd import SGD
from opauc.linear.sketch_sgd import SketchedSGD
from tests import literal
from tests.problems import problem

ROWS, LABELS = problem(0, 400, 6)


class OnlyOnce:
    """Rows that may be looked at once."""

    def __init__(self, rows, labels, n_chunks=7):
        self._parts = np.array_split(np.arange(len(labels)), n_chunks)
        self._rows, self._labels, self._seen = rows, labels, False

    def __iter__(self):
        assert not self._seen, "read a second time"
        self._seen = True
        for part in self._parts:
            yield self._rows[part], self._labels[part]


def test_one_look_at_the_rows_is_enough():
    model = OPAUCCV()
    for rows, labels in OnlyOnce(ROWS.copy(), LABELS):
        model.partial_fit(rows.copy(), labels, classes=[0, 1])
    whole = OPAUCCV().fit(ROWS, LABELS)
    assert model.alpha_ == pytest.approx(whole.alpha_)
    assert_allclose(model.coef_, whole.coef_, rtol=1e-8)


def test_what_was_found_is_published():
    model = OPAUCCV(cv=4).fit(ROWS, LABELS)
    found = model.cv_results_
    assert set(found) == {"alpha", "mean_test_score", "std_test_score", *(f"split{k}_test_score" for k in range(4))}
    assert model.alpha_ == found["alpha"][found["mean_test_score"].argmax()]
    assert model.coef_path_.shape == (13, 6)
    assert_allclose(model.coef_path_[found["alpha"] == model.alpha_], model.coef_, rtol=1e-8)


def test_without_standardizing_it_is_opauc_with_the_alpha_chosen():
    model = OPAUCCV(standardize=False).fit(ROWS, LABELS)
    assert_allclose(
        model.coef_, OPAUC(solver="exact", alpha=model.alpha_, standardize=False).fit(ROWS, LABELS).coef_, rtol=1e-8
    )


def test_saved_merged_and_forgotten_models_keep_their_folds(tmp_path):
    one = OPAUCCV(alphas=[0.01, 1.0]).fit(ROWS[:200], LABELS[:200])
    opauc.save(one, tmp_path / "model")
    again = opauc.load(tmp_path / "model")
    assert again.get_params() == one.get_params()
    other = OPAUCCV(alphas=[0.01, 1.0]).fit(ROWS[200:], LABELS[200:])
    assert_array_equal(again.merge(other).coef_, one.merge(other).coef_)
    again.forget(ROWS[:50], LABELS[:50], row_numbers=np.arange(50))
    assert sum(again.moments_.counts) == 350
    with pytest.raises(ValueError, match="groups and of"):
        one.merge(OPAUCCV(cv=3).fit(ROWS, LABELS))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cv": 1}, r"'cv' parameter of OPAUCCV must be an int in the range \[2, 60\]. Got 1"),
        ({"cv": 61}, r"'cv' parameter of OPAUCCV must be an int in the range \[2, 60\]. Got 61"),
        ({"alphas": []}, r"'alphas' parameter of OPAUCCV must be None or one or more floats in the range \[0.0, inf\)"),
        ({"alphas": [0.1, -1.0]}, "'alphas' parameter"),
        ({"alphas": 0.1}, "'alphas' parameter"),
        ({"criterion": "f1"}, "'criterion' parameter"),
        ({"standardize": 2}, "'standardize' parameter"),
        ({"n_jobs": 0}, "'n_jobs' parameter of OPAUCCV must be None or an int other than 0. Got 0 instead"),
    ],
)
def test_bad_parameters_are_refused_by_name(settings, message):
    with pytest.raises(ValueError, match=message):
        OPAUCCV(**settings).fit(ROWS, LABELS)


def test_one_alpha_is_taken_as_it_is():
    assert OPAUCCV(alphas=[0.25]).fit(ROWS, LABELS).alpha_ == 0.25


def test_folds_cannot_change_in_mid_stream():
    model = OPAUCCV(cv=3).fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="cv was 3 at the start, now it is 4"):
        model.set_params(cv=4).partial_fit(ROWS, LABELS)


def test_fewer_rows_than_folds_in_a_class_are_judged_as_far_as_they_go():
    rows, labels = ROWS[:60], np.zeros(60, int)
    labels[[3, 30, 50]] = 1
    model = OPAUCCV(cv=5).fit(rows, labels)
    assert model.cv_results_["mean_test_score"].shape == (13,)
    assert 1 <= sum(name.startswith("split") for name in model.cv_results_) <= 3
    with pytest.warns(UserWarning, match="cv=5: no fold has rows of both classes"):
        OPAUCCV(cv=5).fit([[0.0], [1.0]], [0, 1])


def test_fewer_rows_than_folds_give_the_exact_solution_of_the_penalty_taken():
    rows, labels = ROWS[:7], np.array([0, 1, 0, 1, 0, 1, 0])
    model = OPAUCCV(cv=60, standardize=False, alphas=[0.1, 0.5, 1.0])
    with pytest.warns(UserWarning, match="cv=60: no fold has rows of both classes"):
        model.fit(rows, labels)
    assert model.alpha_ == 0.5
    assert_allclose(model.coef_[0], literal.minimizer(rows, labels, 0.5), rtol=1e-8)


@pytest.mark.parametrize("standardize", [True, False])
def test_all_equal_features_give_zero_weights_and_no_warning(standardize):
    model = OPAUCCV(standardize=standardize).fit(np.full((100, 3), 7.0), np.arange(100) % 2)
    assert not model.coef_.any()
    assert_array_equal(model.decision_function(np.full((2, 3), 7.0)), 0.0)
    assert np.isfinite(model.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("alphas", [[0.0], [0.0, 1e-9], None])
def test_a_feature_given_twice_shares_its_weight(alphas):
    doubled = np.column_stack([ROWS, ROWS[:, 0]])
    single, twice = (OPAUCCV(alphas=alphas).fit(rows, LABELS) for rows in (ROWS, doubled))
    assert_allclose(twice.coef_[0, 0], twice.coef_[0, -1], rtol=1e-5)
    assert_allclose(doubled @ twice.coef_[0], ROWS @ single.coef_[0], rtol=0.02, atol=0.02)


def test_one_alpha_has_one_score_a_fold_and_one_path():
    model = OPAUCCV(alphas=[0.25], standardize=False).fit(ROWS, LABELS)
    assert model.cv_results_["mean_test_score"].shape == (1,)
    assert_allclose(model.coef_path_[0], literal.minimizer(ROWS, LABELS, 0.25), rtol=1e-8)


@pytest.mark.filterwarnings("ignore::opauc.errors.DivergenceWarning")
def test_a_grid_is_trained_and_chosen_from_in_one_look():
    model = OPAUCCV(solver="sgd")
    for rows, labels in OnlyOnce(0.2 * ROWS, LABELS):
        model.partial_fit(rows.copy(), labels, classes=[0, 1])
    whole = OPAUCCV(solver="sgd").fit(0.2 * ROWS, LABELS)
    assert_array_equal(model.coef_, whole.coef_)
    assert (model.alpha_, model.eta0_) == (whole.alpha_, whole.eta0_)
    alone = SGD(model.alpha_, model.eta0_, "constant")
    expected = alone.weights(alone.step(alone.start(6), 0.2 * ROWS, LABELS))
    assert_allclose(model.coef_[0], expected, rtol=1e-9)


def test_what_a_grid_found_is_published():
    model = OPAUCCV(solver="sgd", alphas=[0.0, 0.1], etas=[1e-3, 0.05, 1e3]).fit(ROWS, LABELS)
    found = model.cv_results_
    assert found["eta0"].tolist() == [1e-3, 1e-3, 0.05, 0.05, 1e3, 1e3]
    assert found["alpha"].tolist() == [0.0, 0.1] * 3
    best = found["mean_test_score"].argmax()
    assert (model.eta0_, model.alpha_) == (found["eta0"][best], found["alpha"][best])
    assert found["mean_test_score"][4:].tolist() == [0.0, 0.0]
    assert_array_equal(model.coef_path_[best], model.coef_[0])
    assert model.moments_.counts == tuple(np.bincount(LABELS))
    with pytest.raises(ValueError, match="merge needs solver='exact'"):
        model.merge(model)
    with pytest.raises(AttributeError, match="eta0_ needs solver='sgd', here it is 'exact'"):
        _ = OPAUCCV().fit(ROWS, LABELS).eta0_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "newton"}, r"'solver' parameter of OPAUCCV must be one of {'exact', 'sgd'}. Got 'newton'"),
        ({"etas": [0.0]}, r"'etas' parameter of OPAUCCV must be None or one or more floats in the range \(0.0, inf\)"),
        ({"etas": []}, "'etas' parameter"),
        ({"average": "yes"}, "'average' parameter of OPAUCCV"),
        ({"cv": 1}, "'cv' parameter of OPAUCCV"),
    ],
)
@pytest.mark.parametrize("solver", ["exact", "sgd"])
def test_parameters_that_a_solver_does_not_use_are_checked_too(settings, message, solver):
    with pytest.raises(ValueError, match=message):
        OPAUCCV(**{"solver": solver} | settings).fit(ROWS, LABELS)


def test_a_grid_of_which_every_pair_diverges_is_warned_about_and_scores_zero():
    with pytest.warns(DivergenceWarning, match="Lower etas or scale the features"):
        model = OPAUCCV(solver="sgd").fit(1e6 * ROWS, LABELS)
    assert not model.coef_.any()
    assert not model.cv_results_["mean_test_score"].any()


def test_the_solver_cannot_change_in_mid_stream():
    model = OPAUCCV(solver="sgd").fit(ROWS, LABELS)
    with pytest.raises(ValueError, match=r"solver was 'sgd' .* now it is 'exact'"):
        model.set_params(solver="exact").partial_fit(ROWS, LABELS)


def test_a_rank_keeps_sketches():
    model = OPAUCCV(solver="sgd", rank=2, random_state=0).fit(0.2 * ROWS, LABELS)
    alone = SketchedSGD(model.alpha_, model.eta0_, "constant", average=False, rank=2)
    expected = alone.weights(alone.step(alone.start(6), 0.2 * ROWS, LABELS))
    assert_allclose(model.coef_[0], expected, rtol=1e-9)
    assert model.coef_path_.shape == (299, 6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rank": 2}, "rank=2 needs solver='sgd', here it is 'exact'"),
        ({"rank": -1, "solver": "sgd"}, r"'rank' parameter of OPAUCCV must be None or an int in the range \[0, inf\)"),
        ({"rank": "auto"}, "'rank' parameter of OPAUCCV"),
    ],
)
def test_a_rank_that_cannot_be_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        OPAUCCV(**settings).fit(ROWS, LABELS)


def test_more_features_than_there_is_room_for_are_refused_by_number():
    wide = sparse.csr_array(([1.0, 2.0], ([0, 1], [0, 999_999])), shape=(2, 1_000_000))
    with pytest.raises(ValueError, match=r"of 1000000 features take 3.2 GiB; OPAUCCV uses at most 2 GiB"):
        OPAUCCV(solver="sgd", rank=50).fit(wide, [0, 1])
    with pytest.raises(ValueError, match="Set solver='sgd' and rank to a small int"):
        OPAUCCV().fit(wide, [0, 1])
