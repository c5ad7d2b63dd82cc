"""Pairs and trees without main effects: against alternating projections of a table, and on fitted models."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit

from opauc import OnePassGAM
from opauc.additive.basis.basis import Basis
from opauc.additive.basis.main_effects import main_effects
from opauc.additive.basis.pairs import PairBasis
from opauc.additive.policy import ADDITIVE_POLICY, SEARCH_POLICY, TREE_POLICY, Growth
from opauc.additive.terms.purify import find_main_part

seeds = st.integers(0, 2**32 - 1)


def purify_table(values, counts):
    """Subtract weighted means of rows and of columns in turn until there are none."""
    values = values.copy()
    for _ in range(20_000):
        moved = 0.0
        for axis in (0, 1):
            totals = counts.sum(axis=axis, keepdims=True)
            means = (counts * values).sum(axis=axis, keepdims=True) / np.where(totals > 0, totals, 1.0)
            values -= means
            moved = max(moved, np.abs(means).max())
        if moved < 1e-13:
            break
    return values


def draw_column(rng, kind, n_rows):
    """Category numbers or booleans; a few are missing if `kind` ends with a question mark."""
    n_values = {"boolean": 2, "few": 4, "many": 12}[kind.rstrip("?")]
    column = np.minimum(rng.geometric(3.0 / (n_values + 2), n_rows) - 1, n_values - 1).astype(float)
    column[:n_values] = np.arange(n_values)
    column[rng.random(n_rows) < (0.15 if kind.endswith("?") else 0.0)] = np.nan
    return column


kinds = st.sampled_from(["boolean", "few", "many", "boolean?", "few?", "many?"])


@given(seeds, kinds, kinds)
def test_a_pair_of_categories_is_purified_as_its_table_is(seed, one, two):
    rng = np.random.default_rng(seed)
    rows = np.stack([draw_column(rng, kind, 400) for kind in (one, two)], axis=1)
    curvature, ones = rng.exponential(size=400), np.ones(400)
    effects = main_effects(rows, ones, ones, np.array(["boolean" not in kind for kind in (one, two)]), 8)
    places = [PairBasis.of(effect, rows[:, j], ones, 4) for j, effect in enumerate(effects)]
    has_column = rng.random(places[0].size * places[1].size) < 0.8
    has_column[0] = True
    basis = Basis.of_effects(effects).with_pairs(places, np.array([[0, 1]], np.int32), [has_column], 1)
    expanded = basis.rows(rows).toarray()
    weights = rng.normal(size=int(has_column.sum()))
    _, columns, maps = find_main_part(
        basis, expanded.T @ (curvature[:, None] * expanded), (0, 1), np.arange(*basis.effects[0, 1].indices(10**6))
    )
    pair = expanded[:, basis.effects[0, 1]] @ weights
    pure = pair - sum(expanded[:, at] @ (matrix @ weights) for at, matrix in zip(columns, maps, strict=True))
    # The table of the places of both inputs, missing values last.
    numbers = [
        place_numbers(place, effect, rows[:, j]) for j, (place, effect) in enumerate(zip(places, effects, strict=True))
    ]
    shape = tuple(number.max() + 1 for number in numbers)
    counts, values = np.zeros(shape), np.zeros(shape)
    np.add.at(counts, tuple(numbers), curvature)
    values[tuple(numbers)] = pair  # the same in all rows of a cell
    assert_allclose(pure, purify_table(values, counts)[tuple(numbers)], atol=1e-8)


def place_numbers(place, effect, values):
    """The place in pairs of each value, missing ones last."""
    if effect.kept.size == 0:
        return np.where(np.isnan(values), 2, values).astype(int)
    level = np.where(np.isin(values, effect.kept), np.searchsorted(effect.kept, values), effect.kept.size)
    return np.where(np.isnan(values), place.size, place.positions[np.minimum(level, effect.kept.size)]).astype(int)


FAST = replace(ADDITIVE_POLICY, tree=replace(TREE_POLICY, growth=Growth(min_leaves=15, patience=10), n_folds=3))
NAMES = ["curve", "few values", "boolean", "category", "many categories", "gaps"]


def draw_table(seed, n_rows):
    """Columns of every type, pairs of which interact."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "curve": rng.normal(size=n_rows),
            "few values": rng.integers(0, 5, n_rows) * 1.5,
            "boolean": rng.integers(0, 2, n_rows),
            "category": rng.choice(list("abc"), n_rows),
            "many categories": [f"c{k}" for k in rng.geometric(0.08, n_rows)],
            "gaps": np.where(rng.random(n_rows) < 0.3, np.nan, rng.exponential(size=n_rows)),
        }
    )
    score = np.sin(table["curve"]) * (1 + table["boolean"]) + 0.4 * table["few values"] * (table["category"] == "b")
    score += table["gaps"].fillna(2.0) * (table["boolean"] - 0.3) - 1.0
    score += (table["many categories"] == "c1") * table["curve"]
    return table, (rng.random(n_rows) < expit(score)).astype(int)


PAIRS = [
    ("curve", "boolean"), ("curve", "gaps"), ("few values", "category"), ("boolean", "gaps"), ("boolean", "category"),
    ("curve", "many categories"), ("category", "many categories"),
]  # fmt: skip


def curvature_of(model, table, labels):
    """The weight of each training row: p (1 - p), or its secant on the wrong side of zero."""
    numbers = model._columns.read(pa.Table.from_pandas(table)).rows
    margin = (2.0 * labels - 1.0) * model.basis_.products(numbers, model._fitted.current.model.sums.expansion_point)
    wrong = expit(-margin)
    return np.where(margin >= 0, wrong * (1 - wrong), (wrong - 0.5) / -np.where(margin == 0, 1.0, margin)), numbers


def averaging_functions(model, numbers, j):
    """Functions of one input, written out: places, values or hat functions, and missing values."""
    tables, values = model.basis_.tables, numbers[:, j]
    is_missing = np.isnan(values)
    knots = tables.knots[tables.knot_ends[j] : tables.knot_ends[j + 1]]
    nodes = tables.pair_knots[tables.pair_knot_ends[j] : tables.pair_knot_ends[j + 1]]
    if knots.size:
        nodes = nodes if nodes.size else knots[np.linspace(0, knots.size - 1, min(7, knots.size)).round().astype(int)]
        functions = [np.interp(values, knots, np.interp(knots, nodes, at)) for at in np.eye(nodes.size)]
    elif tables.n_levels[j]:
        levels = tables.levels[tables.level_ends[j] : tables.level_ends[j + 1]]
        level = [levels[int(v)] if v < levels.size else tables.n_levels[j] - 1 for v in np.nan_to_num(values)]
        places = tables.pair_levels[tables.pair_level_ends[j] : tables.pair_level_ends[j + 1]]
        level = places[level] if places.size else np.array(level)
        functions = [level == place for place in np.unique(level)]
    elif tables.kinds[j] == 1:
        functions = [values == value for value in np.unique(values[~is_missing])]
    else:  # a line: no curve
        functions = [np.ones(values.size), np.clip(values, *tables.scales[j, :2])]
    return [np.where(is_missing, 0.0, function) for function in functions] + [is_missing]


def assert_pure(model, table, labels):
    """Terms add up to scores, and pairs are zero on average along each of their inputs."""
    explained = model.explain(table)
    assert_allclose(explained.scores(), model.decision_function(table), atol=1e-8, rtol=0)
    curvature, numbers = curvature_of(model, table, labels)
    names, n_checked = list(model._input_names()), 0
    for name, contributions in zip(explained.names, explained.contributions.T, strict=True):
        inputs = name.split(" × ")
        if len(inputs) == 2:
            for j in map(names.index, inputs):
                for function in averaging_functions(model, numbers, j):
                    assert abs(curvature @ (function * contributions)) <= 1e-8 * curvature.sum()
                    n_checked += 1
    return n_checked


@pytest.mark.parametrize("curve_share", [SEARCH_POLICY.curve_share, 0.0])
def test_pairs_of_every_kind_have_no_margins_and_terms_add_up_to_the_score(curve_share):
    table, labels = draw_table(0, 4000)
    model = OnePassGAM(interactions=PAIRS, random_state=0)
    # Without a share for curves, numbers have a line only.
    model._policy = replace(ADDITIVE_POLICY, search=replace(SEARCH_POLICY, curve_share=curve_share))
    model.fit(table, labels)
    pairs = [name for name in model.term_importances_ if " × " in name]
    assert len(pairs) == len(PAIRS)
    assert assert_pure(model, table, labels) > 40


def test_pairs_have_no_margins_beside_trees_and_terms_add_up_to_the_score():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(5000, 3)), columns=["a", "b", "c"]).assign(kind=rng.choice(list("xyz"), 5000))
    table["gaps"] = np.where(rng.random(5000) < 0.2, np.nan, rng.integers(0, 3, 5000))
    score = 3.0 * np.sign(table["a"] * table["b"] * table["c"]) + 2.0 * table["a"] * (table["kind"] == "x")
    labels = (rng.random(5000) < expit(score)).astype(int)
    model = OnePassGAM(random_state=0, init_size=5000, max_columns=600)
    model._policy = FAST
    model.partial_fit(table, labels)
    assert {"a (trees)", "b (trees)", "c (trees)"} <= set(model.term_importances_)
    assert any(" × " in name for name in model.term_importances_)
    assert assert_pure(model, table, labels) > 5


def test_tree_terms_are_zero_on_average_at_every_value_of_their_input():
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.integers(0, 6, (4000, 3)) * 1.5, columns=["a", "b", "c"]).assign(
        d=rng.integers(0, 2, 4000)
    )
    table.loc[rng.random(4000) < 0.1, "c"] = np.nan
    score = 3.0 * np.sign((table["a"] - 4.0) * (table["b"] - 4.0) * (table["d"] - 0.5)) + (table["a"] - 4.0).abs()
    labels = (rng.random(4000) < expit(score - 2.0)).astype(int)
    for n_rows, frozen in ((4000, False), (10_000, True)):
        model = OnePassGAM(random_state=0, init_size=n_rows)
        model._policy = FAST
        model.partial_fit(table, labels)
        blend = model._fitted.current.model.blend
        assert blend.frozen is frozen
        kept = pd.DataFrame(blend.ensemble.codes.decode(blend.kept, 4), columns=table.columns)
        explained = model.explain(kept)
        shares = [name for name in explained.names if name.endswith("(trees)")]
        assert len(shares) >= 3
        for name in shares:
            contributions = explained.contributions[:, explained.names.index(name)]
            means = pd.Series(contributions).groupby(kept[name.removesuffix(" (trees)")], dropna=False).mean()
            assert len(means) >= 2
            assert_allclose(means, 0.0, atol=1e-9)
        assert_allclose(explained.scores(), model.decision_function(kept), atol=1e-9, rtol=0)


def test_the_table_of_a_pair_of_categories_has_no_margins():
    table, labels = draw_table(2, 4000)
    table.loc[::7, "category"] = None
    model = OnePassGAM(interactions=[("boolean", "category")], random_state=0).fit(table, labels)
    [pair] = (term for term in model.terms_ if " × " in term.name)
    assert pair.at[0] == (0.0, 1.0)
    assert sorted(pair.at[1]) == ["(others)", "a", "b", "c", "missing"]
    curvature, _ = curvature_of(model, table, labels)
    counts = pd.crosstab(table["boolean"], table["category"].fillna("missing"), curvature, aggfunc="sum")
    counts = counts.reindex(columns=pair.at[1], fill_value=0.0)
    for axis in (0, 1):
        assert_allclose((counts.to_numpy() * pair.value).sum(axis=axis) / curvature.sum(), 0.0, atol=1e-8)
    assert_allclose(pair.importance, np.sqrt((counts.to_numpy() * pair.value**2).sum() / curvature.sum()), atol=1e-8)


def test_what_one_input_does_is_not_said_of_its_pair():
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"sex": rng.integers(0, 2, 6000), "tenure": rng.exponential(size=6000)})
    labels = (rng.random(6000) < expit(2.0 * table["sex"] - 1.0)).astype(int)
    model = OnePassGAM(interactions=[("sex", "tenure")], random_state=0).fit(table, labels)
    assert model.term_importances_["sex × tenure"] < 0.1 * model.term_importances_["sex"]
    assert_allclose(model.term_importances_["sex"], 1.0, atol=0.15)


def test_standard_errors_of_purified_terms_are_those_of_refitted_tables():
    """Of main effects and pairs of booleans the values are contrasts of four log-odds, whose errors are known."""
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.integers(0, 2, (20_000, 2)), columns=["a", "b"])
    log_odds = np.array([[-1.0, 0.2], [0.4, 1.0]])
    labels = (rng.random(20_000) < expit(log_odds[table["a"], table["b"]])).astype(int)
    model = OnePassGAM(interactions=[("a", "b")], random_state=0).fit(table, labels)
    terms = {term.name: term for term in model.terms_}
    curvature, _ = curvature_of(model, table, labels)
    counts = pd.crosstab(table["a"], table["b"], curvature, aggfunc="sum").to_numpy()
    jacobian = [purify_table(cell.reshape(2, 2), counts).ravel() for cell in np.eye(4)]
    expected = np.sqrt(np.square(jacobian).T @ (1.0 / counts.ravel())).reshape(2, 2)
    assert_allclose(terms["a × b"].error, expected, rtol=0.02)


def test_a_pair_that_has_lost_all_rows_is_left_as_it_is():
    rows = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    ones = np.ones(4)
    effects = main_effects(rows, ones, ones, np.zeros(2, bool), 8)
    places = [PairBasis.of(effect, rows[:, j], ones, 4) for j, effect in enumerate(effects)]
    basis = Basis.of_effects(effects).with_pairs(places, np.array([[0, 1]], np.int32), [np.ones(1, bool)], 1)
    _, _, maps = find_main_part(basis, np.zeros((basis.n_columns,) * 2), (0, 1), np.array([3]))
    assert not any(matrix.any() for matrix in maps)


def test_categories_that_no_training_row_has_are_explained_by_sums_of_scores():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(list("abcdefgh"), 3000), "b": rng.choice(list("uvwxyz"), 3000)})
    effects = {pair: rng.normal() for pair in product("abcdefgh", "uvwxyz")}
    scores = 2.0 * np.array([effects[pair] for pair in zip(frame["a"], frame["b"], strict=True)])
    model = OnePassGAM(trees=False, random_state=0).fit(frame, (scores > rng.logistic(size=3000)).astype(int))
    assert "a × b" in model.term_importances_
    new = pd.DataFrame({"a": ["new", "a", "new"], "b": ["u", "new", "new"]})
    explained = model.explain(new)
    assert_allclose(explained.scores(), model.decision_function(new), rtol=1e-9)
    assert np.abs(explained.contributions).max() < 10
