"""What a cube says about its segments agrees with models that are trained on the rows."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr
from sklearn.metrics import roc_auc_score

import opauc
from opauc import InputError, UnsupportedOperationError
from opauc.additive.drift import FeatureDrift
from opauc.api.cube.evaluation import GIVEN, KEPT, MOMENTS
from opauc.api.cube.segment_file import SegmentSample
from tests.api.cube.simulated import COUNTRIES, DAYS, KEYS, features, rows_of, simulate

OPTIONS = {"trees": False, "init_size": 1500, "sample_rows": 100}


def table():
    """In Belgium the age counts the other way round, and on the last day incomes are higher."""
    rows = simulate(0, 6000, intricate=False).drop(columns=["person", "shop"])
    odd, last = rows["country"] == "BE", rows["day"] == DAYS[3]
    rows.loc[odd, "bought"] = np.where(rows.loc[odd, "bought"] == "yes", "no", "yes")
    rows.loc[last, "income"] += 2.0
    return rows


TABLE = table()


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    return opauc.train(TABLE, "bought", by=KEYS, output=tmp_path_factory.mktemp("cube") / "cube", **OPTIONS)


def without(cube, **chosen):
    kept = TABLE.drop(index=rows_of(TABLE, **chosen).index)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FeatureDrift)
        return cube.basis.partial_fit(features(kept), kept["bought"])


def test_a_model_without_a_segment_is_that_of_the_other_rows_and_shows_which_one_differs(cube):
    found = {one.values[0]: one for one in cube.leave_one_out("country", rows=TABLE)}
    assert list(found) == COUNTRIES
    for country, one in found.items():
        rows = rows_of(TABLE, country=country)
        expected = without(cube, country=country).score(features(rows), rows["bought"])
        assert one.auc.source == GIVEN
        assert_allclose(one.auc.auc, expected, atol=1e-8)
        assert_allclose(
            one.auc.auc + one.gain.difference, cube.model().score(features(rows), rows["bought"]), atol=1e-8
        )
        assert (one.rows, one.auc.rows) == (len(rows), len(rows))
    assert found["BE"].auc.auc < 0.4 < 0.6 < found["NL"].auc.auc
    kept = {one.values[0]: one.auc for one in cube.leave_one_out("country")}
    for country, auc in kept.items():
        assert auc.source == KEPT
        assert auc.low < found[country].auc.auc < auc.high


def test_rows_can_be_files(cube, tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    by_frame = cube.leave_one_out("day", {"country": "NL"}, rows=TABLE)
    by_file = cube.leave_one_out("day", {"country": "NL"}, rows=tmp_path / "t.csv")
    for one, other in zip(by_frame, by_file, strict=True):
        assert_allclose(one.auc[:4], other.auc[:4], atol=1e-12)


def test_folds_are_of_whole_values_and_each_is_left_out_once(cube):
    folds = cube.cross_validate("day", 2, rows=TABLE)
    assert sorted(value for fold in folds for value in fold.values) == DAYS
    for fold in folds:
        rows = rows_of(TABLE, day=list(fold.values))
        expected = without(cube, day=list(fold.values)).score(features(rows), rows["bought"])
        assert_allclose(fold.auc.auc, expected, atol=1e-8)
    with pytest.raises(InputError, match="expected from 2 to the 4 values of the key"):
        cube.cross_validate("day", 9)


def test_linear_models_without_rows_are_evaluated_by_their_moments(tmp_path):
    rows = TABLE.assign(age=TABLE["age"].fillna(0.0))
    linear = opauc.train(rows, "bought", by=KEYS, output=tmp_path / "cube", sample_rows=0, solver="exact")
    for one in linear.leave_one_out("country"):
        own, rest = rows_of(rows, country=one.values[0]), rows.drop(index=rows_of(rows, country=one.values[0]).index)
        model = opauc.OPAUC().fit(features(rest), rest["bought"])
        scores, labels = features(own).to_numpy() @ model.coef_[0], (own["bought"] == "yes").to_numpy()
        gap = scores[labels].mean() - scores[~labels].mean()
        assert one.auc.source == MOMENTS
        assert_allclose(one.auc.auc, ndtr(gap / np.sqrt(scores[labels].var() + scores[~labels].var())), atol=1e-8)
        assert abs(one.auc.auc - roc_auc_score(labels, scores)) < 0.02
    with pytest.raises(UnsupportedOperationError, match="need a cube of OnePassGAM"):
        linear.drift("day")


def test_a_cube_that_keeps_no_rows_asks_for_them(tmp_path):
    cube = opauc.train(TABLE, "bought", by="day", output=tmp_path / "cube", **{**OPTIONS, "sample_rows": 0})
    with pytest.raises(InputError, match=r"keeps no rows of both classes.*give rows="):
        cube.leave_one_out("day")
    assert len(cube.leave_one_out("day", rows=TABLE)) == 4


def test_windows_are_scored_by_the_segments_before_and_the_gap_is_left_out(cube):
    found = cube.windows("day", windows=(1,), half_lives=(0.5,), gap=1, rows=TABLE)
    assert {(one.window, one.half_life) for one in found} == {(None, None), (1, None), (None, 0.5)}
    weights, aucs = [], {}
    for target in (2, 3):
        rows = rows_of(TABLE, day=DAYS[target])
        weights.append((rows["bought"] == "yes").sum())
        weights[-1] = min(weights[-1], len(rows) - weights[-1])
        for window in (None, 1):
            model = cube.model(day=DAYS[: target - 1], window=window)
            aucs.setdefault(window, []).append(model.score(features(rows), rows["bought"]))
    for one in found:
        if one.half_life is None:
            assert_allclose(one.auc, np.average(aucs[one.window], weights=weights), atol=1e-8)
    assert [one.auc for one in found] == sorted((one.auc for one in found), reverse=True)
    assert found[0].behind == 0.0
    with pytest.raises(InputError, match="windows need more than 4 values of day, got 4"):
        cube.windows("day", gap=3)


def test_drift_names_the_day_and_the_feature_that_changed(cube):
    found = {one.value: one for one in cube.drift("day", weights=True)}
    assert max(found, key=lambda day: found[day].largest) == DAYS[3]
    assert next(iter(found[DAYS[3]].psi)) == "income"
    assert found[DAYS[3]].largest > 1.0
    assert all(one.largest < 1.0 for day, one in found.items() if day != DAYS[3])
    assert set(found[DAYS[0]].psi) == {"age", "income", "distance", "hour"}
    by_country = {one.value: one for one in cube.drift("country", weights=True)}
    fits = [cube.model(country=country)._fitted for country in ("BE", ["DE", "NL"])]
    weights, variances = zip(
        *((fit.final.weights, np.diagonal(fit.current.model.covariance(fit.final))) for fit in fits), strict=True
    )
    z = (weights[0] - weights[1]) / np.sqrt(variances[0] + variances[1])
    assert_allclose(by_country["BE"].weights, np.sqrt((z[1:] ** 2).mean()), rtol=1e-8)
    assert by_country["BE"].weights > 1.5


def test_the_stability_index_is_that_of_the_shares_of_rows(cube):
    (drift,) = [one for one in cube.drift("country") if one.value == "NL"]
    hours = np.arange(24)
    shares = []
    for rows in (rows_of(TABLE, country=["BE", "DE"]), rows_of(TABLE, country="NL")):
        counts = np.array([(rows["hour"] == hour).sum() for hour in hours], float)
        shares.append((counts + 0.5) / (counts.sum() + 12.0))
    # Each hour is a knot: the columns of the curve count its rows.
    assert_allclose(drift.psi["hour"], ((shares[1] - shares[0]) * np.log(shares[1] / shares[0])).sum(), rtol=1e-9)


def test_slices_that_differ_differ_in_the_terms_that_do(cube):
    found = cube.compare({"country": "NL"}, {"country": "BE"})
    assert found.terms[0].name == "age"
    assert abs(found.terms[0].z) > 8
    by_name = {term.name: term for term in found.terms}
    assert abs(by_name["distance"].z) < 4
    same = cube.compare({"country": "NL", "day": DAYS[0]}, {"country": "NL", "day": DAYS[1]})
    assert same.distance < 1.0 < found.distance
    nl, be = (cube.model(country=country) for country in ("NL", "BE"))
    one, other = ({term.name: term for term in model.terms_}["age"] for model in (nl, be))
    z = (other.value - one.value) / np.hypot(one.error, other.error)
    assert_allclose(found.terms[0].z, z[np.argmax(np.abs(z))], rtol=1e-9)
    with pytest.raises(InputError, match="both slices have segment 2026-11-01/NL"):
        cube.compare({"country": "NL"}, {"day": DAYS[0]})


def test_samples_are_of_all_rows_alike_whichever_way_they_are_merged():
    random = np.random.default_rng(0)
    rows, labels = random.normal(size=(5000, 2)), (random.random(5000) < 0.2).astype(np.int8)
    ends = [0, 100, 700, 5000]
    samples = [SegmentSample.of(rows[a:b], labels[a:b], np.arange(a, b), 60) for a, b in pairwise(ends)]
    merged = SegmentSample.merge_all([SegmentSample.merge_all(samples[:2], 60), samples[2]], 60)
    whole = SegmentSample.of(rows, labels, np.arange(5000), 60)
    assert {*merged.order.tolist()} <= {*whole.order.tolist()}
    assert (np.bincount(merged.labels) <= 30).all()
    one = SegmentSample.merge_all(samples, 10**6)
    for label in (0, 1):
        every = SegmentSample.of(rows, labels, np.arange(5000), 10**6)
        below = every.order[(every.labels == label) & (every.order <= one.limits[label])]
        assert set(one.order[one.labels == label].tolist()) == set(below.tolist())
