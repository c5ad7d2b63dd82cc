"""Models as sums: a + b - b is a, the operands stay as they are, and rows that were never added are refused."""

import numpy as np
import pytest

import opauc
from opauc import OPAUC, OPAUCCV, IncompatibleMomentsError, OnePassGAM
from tests.tables import raw_table

N_ROWS, INIT_SIZE = 2400, 1200


def table(seed=0, n_rows=N_ROWS):
    frame = raw_table(n_rows, seed).drop(columns=["id", "name", "empty", "always"])
    return frame.drop(columns="bought"), frame["bought"]


def days(model, n_days=3):
    """Return the models of the rows of some days, which have the basis of `model`."""
    X, y = table(7)
    return [model.empty_copy().partial_fit(X[d::n_days], y[d::n_days]) for d in range(n_days)]


@pytest.fixture(scope="module", params=["curves", "trees"])
def gam(request):
    X, y = table()
    return OnePassGAM(init_size=INIT_SIZE, trees=request.param == "trees", random_state=0).partial_fit(X, y)


def numbers(seed):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(900, 3))
    return rows, (rows[:, 0] ** 2 + random.normal(size=900) > 1).astype(int)


def linear(kind, seed):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(300, 4))
    return kind().partial_fit(rows, (rows[:, 0] + random.normal(size=300) > 0).astype(int))


def assert_same_scores(one, other, X):
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-10, rtol=1e-10)


def test_a_plus_b_minus_b_is_a(gam):
    monday, tuesday, wednesday = days(gam)
    X, _ = table(9, 500)
    week = monday + tuesday + wednesday
    assert_same_scores(week - tuesday, monday + wednesday, X)
    assert_same_scores(week - tuesday - wednesday, monday, X)
    assert_same_scores(gam + tuesday - tuesday, gam, X)
    assert_same_scores(sum([monday, tuesday, wednesday]), week, X)


def test_the_sum_of_days_is_trained_on_their_rows(gam):
    X, y = table(7)
    fresh, _ = table(9, 500)
    np.testing.assert_allclose(
        sum(days(gam)).decision_function(fresh), gam.empty_copy().partial_fit(X, y).decision_function(fresh), atol=1e-8
    )


def test_operands_stay_as_they_are(gam):
    monday, tuesday, _ = days(gam)
    X, _ = table(9, 500)
    before = monday.decision_function(X), tuesday.decision_function(X)
    both = monday + tuesday
    both.partial_fit(*table(11, 200))
    _ = both - tuesday
    np.testing.assert_array_equal(monday.decision_function(X), before[0])
    np.testing.assert_array_equal(tuesday.decision_function(X), before[1])


def test_days_that_were_never_added_are_refused(gam):
    monday, tuesday, wednesday = days(gam)
    with pytest.raises(IncompatibleMomentsError, match="cannot subtract rows that were never added"):
        monday + tuesday - wednesday
    with pytest.raises(IncompatibleMomentsError, match=r"rows that were never added|only .* were seen|cannot take out"):
        monday - (monday + tuesday)
    with pytest.raises(IncompatibleMomentsError, match="never added"):
        monday + tuesday - gam


def test_models_of_other_bases_and_kinds_are_refused(gam):
    other = OnePassGAM(trees=False).fit(*table(3, 600))
    with pytest.raises(IncompatibleMomentsError, match="different"):
        gam - other.empty_copy().partial_fit(*table(4, 300))
    with pytest.raises(IncompatibleMomentsError, match="cannot merge OnePassGAM and OPAUC"):
        gam + linear(OPAUC, 0)
    with pytest.raises(TypeError):
        gam + 3


def test_a_model_that_has_its_first_rows_only_adds_and_subtracts():
    X, y = numbers(0)
    first = OnePassGAM(trees=False).fit(X, y)
    more = first.empty_copy().partial_fit(*numbers(1))
    fresh, _ = numbers(9)
    np.testing.assert_allclose(
        (first + more - more).decision_function(fresh), (first + more.empty_copy()).decision_function(fresh), atol=1e-9
    )
    np.testing.assert_allclose(
        (more + first).decision_function(fresh), (first + more).decision_function(fresh), atol=1e-8
    )
    with pytest.raises(IncompatibleMomentsError, match="never"):
        first - OnePassGAM(trees=False).fit(*numbers(1))


@pytest.mark.parametrize("kind", [OPAUC, OPAUCCV])
def test_linear_models_add_and_subtract(kind):
    one, other, third = (linear(kind, seed) for seed in range(3))
    both = one + other
    np.testing.assert_allclose((both - other).coef_, one.coef_, atol=1e-10)
    np.testing.assert_allclose((both - one).coef_, other.coef_, atol=1e-10)
    with pytest.raises(IncompatibleMomentsError, match="never added"):
        one - both
    far = kind().partial_fit(1e3 * np.random.default_rng(5).normal(size=(40, 4)), [0, 1] * 20)
    with pytest.raises(IncompatibleMomentsError, match="never added"):
        both + third - far


def test_linear_models_that_keep_no_sums_are_refused():
    sgd = linear(lambda: OPAUC(solver="sgd"), 0)
    with pytest.raises(opauc.UnsupportedOperationError, match="subtract needs solver='exact'"):
        sgd - sgd


def test_a_linear_model_of_categories_that_were_never_seen_is_refused(tmp_path):
    for name, cities in (("a", "Bern,Chur"), ("b", "Genf,Zug")):
        one, two = cities.split(",")
        (tmp_path / f"{name}.csv").write_text("age,city,label\n" + f"30,{one},0\n40,{two},1\n35,{two},0\n" * 20)
    one, other = (opauc.train(tmp_path / f"{name}.csv", solver="exact", categorical=["city"]) for name in "ab")
    assert set((one + other).feature_names_in_) == {
        "age",
        *(f"city={city}" for city in ("Bern", "Chur", "Genf", "Zug")),
    }
    np.testing.assert_allclose((one + other - other).coef_[0, :3], one.coef_[0], atol=1e-10)
    with pytest.raises(IncompatibleMomentsError, match="features that no row of this model has"):
        one - other
