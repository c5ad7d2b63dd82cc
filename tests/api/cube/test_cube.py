"""Cubes: the model of a slice is the one that its rows give with the basis of the cube."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import opauc
from opauc import OPAUC, OPAUCCV, Cube, InputError, OnePassGAM
from opauc.api.cube.policy import CubePolicy
from opauc.api.cube.training import train_cube
from opauc.api.observer import CallbackObserver
from opauc.api.options import split_options
from opauc.data import BadRows
from tests.api.cube.simulated import COUNTRIES, DAYS, INIT_SIZE, KEYS, features, rows_of, simulate

TABLE, TEST = simulate(), features(simulate(1, 1000))
SLICES = {
    "one segment": {"day": DAYS[0], "country": "NL"},
    "some days": {"day": DAYS[1:3]},
    "some of both": {"day": DAYS[:3], "country": ["NL", "DE"]},
    "all": {},
}


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "table.csv"
    TABLE.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def cube(csv, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cube") / "cube"
    return opauc.train(csv, "bought", by=["day", "country"], output=folder, init_size=INIT_SIZE)


def expected(cube, chosen):
    """Return the model that is trained on the rows of a slice with the basis of the cube."""
    rows = rows_of(TABLE, **chosen)
    return cube.basis.partial_fit(features(rows), rows["bought"])


def test_the_basis_has_every_kind_of_term(cube):
    basis = cube.basis.basis_
    assert basis.trees is not None
    assert basis.crossed.size
    assert basis.random_effects.size
    assert not {"day", "country"} & set(cube.basis.feature_names_in_)


@pytest.mark.parametrize("chosen", SLICES.values(), ids=SLICES)
def test_a_slice_is_trained_on_its_rows(cube, chosen):
    model, other = cube.model(**chosen), expected(cube, chosen)
    assert isinstance(model, OnePassGAM)
    assert_allclose(model.decision_function(TEST), other.decision_function(TEST), atol=1e-8)
    assert model.selection_.model == other.selection_.model
    assert_allclose(list(model.selection_.aucs.values()), list(other.selection_.aucs.values()), atol=1e-12)
    assert [drift.name for drift in model.drift_] == [drift.name for drift in other.drift_]
    assert_allclose(list(model.term_importances_.values()), list(other.term_importances_.values()), atol=1e-8)


def test_slices_are_chosen_by_patterns_lists_and_functions(cube):
    assert cube.select(day="2026-11-0[12]", country="NL") == [(DAYS[0], "NL"), (DAYS[1], "NL")]
    assert cube.select({"day": lambda day: day > DAYS[2]}) == [(DAYS[3], country) for country in COUNTRIES]
    assert cube.select(lambda keys: keys["day"] == DAYS[0] and keys["country"] != "NL") == [
        (DAYS[0], "BE"),
        (DAYS[0], "DE"),
    ]
    assert cube.values("country") == COUNTRIES
    with pytest.raises(InputError, match="no segment is chosen; its keys are day \\(2026-11-01 to 2026-11-04\\)"):
        cube.model(day="2027-*")
    with pytest.raises(InputError, match="the cube has no key 'county'; expected one of country, day"):
        cube.model(county="NL")


def test_segments_count_the_rows_of_each_class(cube):
    counts = TABLE.groupby(["day", "country"])["bought"].agg(["size", lambda labels: (labels == "yes").sum()])
    for segment in cube.segments:
        n_rows, positive = counts.loc[tuple(segment.keys.values())]
        assert (segment.rows, segment.negative, segment.positive) == (n_rows, n_rows - positive, positive)


def test_models_of_slices_add_and_subtract(cube):
    week, day = cube.model(), cube.model(day=DAYS[0])
    assert_allclose((week - day).decision_function(TEST), cube.model(day=DAYS[1:]).decision_function(TEST), atol=1e-8)


def test_totals_replace_the_segments_that_they_are_the_sums_of(cube):
    for chosen, n_files in (
        ({}, 3),
        ({"country": "NL"}, 1),
        ({"day": DAYS[:2]}, 2),
        ({"day": DAYS[:2], "country": "NL"}, 2),
    ):
        assert len(cube._cover(dict.fromkeys(cube.select(chosen), 1.0))) == n_files


def test_rows_fade_by_their_distance_from_the_last_day(cube):
    faded = cube.model(half_life=1.0, country="NL")
    weights = {day: 0.5**age for age, day in enumerate(reversed(DAYS))}
    rows = rows_of(TABLE, country="NL")
    weighted = cube.basis.partial_fit(features(rows), rows["bought"], sample_weight=rows["day"].map(weights))
    assert_allclose(faded.decision_function(TEST), weighted.decision_function(TEST), atol=1e-8)
    recent = cube.model(window=2, country="NL")
    assert_allclose(
        recent.decision_function(TEST), cube.model(day=DAYS[2:], country="NL").decision_function(TEST), atol=1e-10
    )


def test_a_model_of_a_slice_is_saved_and_trained_further(cube, tmp_path):
    model = cube.model(country="NL")
    opauc.save(model, tmp_path / "m")
    loaded = opauc.load(tmp_path / "m")
    assert_array_equal(loaded.decision_function(TEST), model.decision_function(TEST))
    more = simulate(5, 500)
    loaded.partial_fit(features(more), more["bought"])
    assert opauc.evaluate(tmp_path / "m", TABLE, "bought").auc > 0.7


SIMPLE = simulate(2, 2400, intricate=False)
SIMPLE_OPTIONS = {"init_size": 800, "trees": False}


@pytest.fixture(scope="module")
def simple(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simple")
    SIMPLE.to_csv(folder / "t.csv", index=False)
    return opauc.train(folder / "t.csv", "bought", by=KEYS, output=folder / "cube", **SIMPLE_OPTIONS)


@pytest.mark.parametrize("form", ["parquet", "frame", "small buffer"])
def test_any_way_in_gives_the_same_slices(simple, form, tmp_path):
    if form == "parquet":
        SIMPLE.to_parquet(tmp_path / "t.parquet")
        other = opauc.train(tmp_path / "t.parquet", "bought", by=KEYS, output=tmp_path / "cube", **SIMPLE_OPTIONS)
    elif form == "frame":
        other = opauc.train(SIMPLE, "bought", by=KEYS, output=tmp_path / "cube", **SIMPLE_OPTIONS)
    else:
        SIMPLE.to_csv(tmp_path / "t.csv", index=False)
        reading, training = split_options({**SIMPLE_OPTIONS, "label": "bought", "by": KEYS})
        policy, given = CubePolicy(buffer_bytes=30_000), {"label", *SIMPLE_OPTIONS}
        paths, observer = [str(tmp_path / "t.csv")], CallbackObserver()
        train_cube(paths, reading, training, tmp_path / "cube", given, KEYS, BadRows(), observer, policy)
        other = Cube(tmp_path / "cube")
    assert [segment.rows for segment in other.segments] == [segment.rows for segment in simple.segments]
    for chosen in ({"day": DAYS[1], "country": "DE"}, {}):
        assert_allclose(
            other.model(chosen).decision_function(TEST), simple.model(chosen).decision_function(TEST), atol=1e-8
        )


def test_another_basis_serves_a_cube(simple, tmp_path):
    opauc.save(simple.model(), tmp_path / "model")
    SIMPLE.to_csv(tmp_path / "t.csv", index=False)
    other = opauc.train(tmp_path / "t.csv", by="country", output=tmp_path / "cube", basis_from=tmp_path / "model")
    assert_allclose(
        other.model(country="NL").decision_function(TEST), simple.model(country="NL").decision_function(TEST), atol=1e-8
    )


def linear_table(seed=0):
    table = simulate(seed, 1500, intricate=False).drop(columns=["hour", "person"])
    return table.assign(age=table["age"].fillna(0.0))


@pytest.mark.parametrize("options", [{"solver": "exact"}, {"alpha": "auto"}])
def test_linear_models_have_cubes_too(options, tmp_path):
    table, test = linear_table(), features(linear_table(1))
    # The first segments come before some of the categories.
    table = table.sort_values(["day", "shop"], kind="stable")
    table.to_csv(tmp_path / "t.csv", index=False)
    cube = opauc.train(tmp_path / "t.csv", "bought", by=KEYS, output=tmp_path / "cube", categorical=["shop"], **options)
    rows = rows_of(table, day=DAYS[:2])
    model = cube.model(day=DAYS[:2])
    if "solver" in options:
        rows.drop(columns=list(KEYS)).to_csv(tmp_path / "slice.csv", index=False)
        trained = opauc.train(tmp_path / "slice.csv", "bought", categorical=["shop"], **options)
        names = dict(zip(trained.feature_names_in_, trained.coef_[0], strict=True))
        assert_allclose(model.coef_[0], [names[name] for name in model.feature_names_in_], atol=1e-8)
    else:
        assert isinstance(model, OPAUCCV)
        one = OPAUC(alpha=model.alpha_).fit(*_encoded(model, rows))
        assert_allclose(model.coef_, one.coef_, atol=1e-8)
    assert_allclose((cube.model() - model).coef_, cube.model(day=DAYS[2:]).coef_, atol=1e-8, rtol=1e-6)
    faded = cube.model(half_life=2.0)
    assert np.isfinite(faded.decision_function(test)).all()


def _encoded(model, rows):
    columns = {name: np.zeros(len(rows)) for name in model.feature_names_in_}
    for name in ("age", "income", "distance"):
        columns[name] = rows[name].to_numpy()
    for name in columns:
        if name.startswith("shop="):
            columns[name] = (rows["shop"] == name.removeprefix("shop=")).to_numpy(float)
    return pd.DataFrame(columns).to_numpy(), rows["bought"].to_numpy()


def test_a_solver_without_sums_has_no_cube(tmp_path):
    linear_table().to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(opauc.UnsupportedOperationError, match="a cube needs solver='exact'"):
        opauc.train(tmp_path / "t.csv", "bought", by=KEYS, output=tmp_path / "cube", categorical=["shop"], solver="sgd")
    assert not (tmp_path / "cube").exists()
