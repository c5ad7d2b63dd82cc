"""Terms that are set or removed: what is shown is what was said, and all other weights are the optimum given that."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import opauc
from opauc import OnePassGAM
from opauc.additive.editing.fixed_terms import cut_trees
from opauc.additive.editing.ledger import TermKey
from opauc.additive.policy import SMOOTHING_POLICY, TREE_POLICY, AdditivePolicy, Growth
from opauc.additive.terms.grids import MainWeights, main_grid
from opauc.additive.terms.purify import find_main_part
from opauc.errors import IncompatibleMomentsError, InputError, ParameterError, UnknownNameError

POLICY = AdditivePolicy(
    smoothing=replace(SMOOTHING_POLICY, many_rows=1500, min_subset=700),
    tree=replace(TREE_POLICY, growth=Growth(min_leaves=15, patience=10)),
)
JOBS = np.array(["clerk", "cook", "nurse", "driver", "smith"])


def table(seed, n_rows):
    """A table with curves, levels, rare levels, a yes/no column, a pair, missing values and a three-way interaction."""
    rng = np.random.default_rng(seed)
    age, pay, x, y, z = rng.normal(45, 12, n_rows), rng.exponential(2.0, n_rows), *rng.normal(size=(3, n_rows))
    job, shop = rng.choice(JOBS, n_rows, p=[0.4, 0.3, 0.15, 0.1, 0.05]), rng.integers(0, 400, n_rows)
    member = rng.random(n_rows) < 0.4
    score = np.abs(age - 45) / 10 + 0.8 * (job == "cook") * (pay > 1.5) - pay / 3 + 0.7 * member
    score += 0.06 * (age - 45) * np.where(member, 1.0, -0.5) + 0.5 * np.sin(shop) + 3.0 * np.sign(x * y * z) - 0.6
    labels = (rng.random(n_rows) < expit(score)).astype(np.int8)
    frame = pd.DataFrame({"age": age, "pay": np.where(rng.random(n_rows) < 0.1, np.nan, pay), "job": job})
    frame = frame.assign(shop=[f"s{number}" for number in shop], member=np.where(member, "yes", "no"), x=x, y=y, z=z)
    return frame, labels


FRAME, LABELS = table(0, 9000)
TEST, _ = table(1, 400)


def fitted(trees):
    pairs = "auto" if trees else [("age", "member"), ("job", "pay"), ("x", "y")]
    model = OnePassGAM(init_size=5000, random_state=0, trees=trees, max_columns=500, interactions=pairs)
    model._policy = POLICY
    return model.partial_fit(FRAME[:7000], LABELS[:7000])


@pytest.fixture(scope="module")
def plain():
    """A model with pairs and random effects."""
    model = fitted(trees=False)
    assert "age × member" in model.term_importances_
    assert model.basis_.random_effects.size
    return model


@pytest.fixture(scope="module")
def with_trees():
    model = fitted(trees=True)
    assert model.basis_.trees is not None
    assert model.selection_.model == "full"
    return model


@pytest.fixture(params=["plain", "with_trees"])
def model(request):
    return request.getfixturevalue(request.param)


def term_of(model, name):
    return next(term for term in model.terms_ if term.name == name)


def contributions(model, name, rows=TEST):
    explained = model.explain(rows)
    return explained.contributions[:, explained.names.index(name)]


def adds_up(model):
    assert_allclose(model.explain(TEST).scores(), model.decision_function(TEST), atol=1e-9, rtol=0)


def points_of(term):
    """What a user passes to set the values of a term."""
    at, has_missing = term.at[0], term.at[0][-1] == "missing"
    n = len(at) - has_missing
    points = (
        dict(zip(at[:n], term.value[:n], strict=True))
        if isinstance(at[0], str)
        else list(zip(at[:n], term.value[:n], strict=True))
    )
    return points, {"missing": float(term.value[-1])} if has_missing else {}


@pytest.mark.parametrize("name", ["age", "pay", "job", "shop", "member"])
@pytest.mark.parametrize("factor", [0.0, -0.5])
def test_what_is_shown_afterwards_is_what_was_set(model, name, factor):
    term = term_of(model, name)
    halved = replace(term, value=factor * term.value + 0.25)
    points, missing = points_of(halved)
    if factor and model.basis_.trees is not None and name in ("age", "pay"):
        # Steps of trees beyond the knots are no line: there the curve is as near as one linear term allows.
        inside = slice(1, len(term.at[0]) - 1 - bool(missing))
    else:
        inside = slice(None)
    edited = model.edit(name, points, **missing)
    found = term_of(edited, name)
    assert found.at == term.at
    assert_allclose(found.value[inside], halved.value[inside], atol=1e-9, rtol=0)
    assert_allclose(edited.edits_[-1].after, found.value, atol=1e-12, rtol=0)
    assert not found.error.any()
    adds_up(edited)


def test_a_curve_is_linear_between_its_knots_in_every_row(model):
    edited = model.edit("age", [(20.0, -1.0), (45.0, 0.5), (80.0, 2.0)], who="ann", why="as agreed")
    term = term_of(edited, "age")
    expected = np.interp(TEST["age"], np.array(term.at[0], float), term.value)
    assert_allclose(contributions(edited, "age"), expected, atol=1e-9, rtol=0)
    adds_up(edited)


@pytest.mark.parametrize("name", ["age", "pay", "job", "shop", "member", "age × member"])
def test_a_removed_term_contributes_nothing(model, name):
    if name not in model.term_importances_:
        pytest.skip("no such pair")
    removed = model.remove(name)
    assert not contributions(removed, name).any()
    assert not term_of(removed, name).value.any()
    assert removed.term_importances_[name] == 0.0
    adds_up(removed)


def literal(model, names_fixed):
    """The weights by a dense solve of the constrained quadratic: columns and random effects in one matrix."""
    basis, inner, final = model.basis_, model._fitted.current.model, model._fitted.final
    sums, effects = inner.sums, inner.random_effects
    n, m = basis.n_columns, effects.size
    full = np.zeros((n + m, n + m))
    full[:n, :n] = sums.gram + np.tril(sums.gram, -1).T
    full[n:, :n], full[:n, n:] = effects.products, effects.products.T
    full[n:, n:] = np.diag(effects.curvature) + effects.shared.toarray()
    rhs, penalty = np.concatenate([sums.rhs, effects.rhs]), np.zeros_like(full)
    groups, roughness = basis.groups, basis.roughness
    for number, (start, size) in enumerate(zip(groups.starts, groups.sizes, strict=True)):
        part = slice(start, start + size)
        matrix = np.eye(size) if roughness[number] is None else roughness[number]
        penalty[part, part] = (number > 0) * final.lambdas[number] * matrix
    penalty[n:, n:] = np.diag(final.effect_lambdas[basis.random_effects.group_index()])
    rows, targets, fixed = [], [], []
    for kind, inputs, values in names_fixed:
        if kind == "pair":
            fixed.extend(range(basis.effects[inputs].start, basis.effects[inputs].stop))
            continue
        own, [j] = basis.effects[inputs], inputs
        main = MainWeights.of_values(basis, j, values)
        equations = np.zeros((own.stop - own.start, n + m))
        equations[:, own] = np.eye(own.stop - own.start)
        penalty[own, own] = 0.0
        for pair, columns in basis.effects.items():
            if len(pair) == 2 and j in pair and ("pair", pair) not in [one[:2] for one in names_fixed]:
                part = find_main_part(basis, sums.gram, pair, np.arange(columns.start, columns.stop))
                equations[:, columns] += part.maps[part.inputs.index(j)][1:]
        rows.append(equations)
        targets.append(main.columns)
        if main.effects.size:
            levels = basis.random_effects.of_input(j)
            equations = np.zeros((main.effects.size, n + m))
            equations[:, n + levels.start : n + levels.stop] = np.eye(main.effects.size)
            rows.append(equations)
            targets.append(main.effects)
    for column in fixed:
        equation = np.zeros((1, n + m))
        equation[0, column] = 1.0
        rows.append(equation)
        targets.append([0.0])
    equations, target = np.vstack(rows), np.concatenate(targets)
    # Lagrange: (H C^T; C 0) (w; l) = (b; t).
    zeros = np.zeros((len(target), len(target)))
    matrix = np.block([[full + penalty, equations.T], [equations, zeros]])
    return np.linalg.solve(matrix, np.concatenate([rhs, target]))[: n + m], full + penalty, rhs, equations


def test_all_other_weights_are_the_optimum_given_the_fixed_ones(plain):
    basis = plain.basis_
    names = plain._input_names()
    pair = next(pair for pair in basis.effects if len(pair) == 2 and names.index("age") not in pair)
    pair_name = " × ".join(names[j] for j in pair)
    edited = plain.edit("age", [(20.0, -1.0), (45.0, 0.5), (80.0, 2.0)]).remove("member").remove(pair_name)
    edited = edited.edit("shop", {"s3": 2.0})
    fixed = [(key.kind, key.inputs, values) for key, values in edited._fitted.edits.in_force.items()]
    expected, hessian, rhs, equations = literal(edited, fixed)
    found = edited._fitted.final.weights
    assert_allclose(found, expected, atol=1e-7, rtol=0)
    # The gradient is a combination of the constraints: nothing is left in their null space.
    gradient = hessian @ found - rhs
    left = gradient - equations.T @ np.linalg.lstsq(equations.T, gradient, rcond=None)[0]
    assert np.abs(left).max() <= 1e-8 * np.abs(rhs).max()


def test_the_kkt_residual_of_columns_alone_is_rounding():
    model = OnePassGAM(init_size=4000, random_state=0, trees=False)
    model._policy = POLICY
    frame = FRAME[["age", "pay", "member", "x"]]
    model.partial_fit(frame, LABELS)
    edited = model.edit("age", [(20.0, -1.0), (80.0, 2.0)], who="ann").remove("x")
    fixed = [(key.kind, key.inputs, values) for key, values in edited._fitted.edits.in_force.items()]
    _, hessian, rhs, equations = literal(edited, fixed)
    gradient = hessian @ edited._fitted.final.weights[: len(rhs)] - rhs
    left = gradient - equations.T @ np.linalg.lstsq(equations.T, gradient, rcond=None)[0]
    assert np.abs(left).max() <= 1e-8


def test_an_edit_stays_while_the_model_learns_merges_and_forgets(model):
    edited = model.edit("age", [(20.0, -1.0), (80.0, 2.0)], who="ann").remove("job")
    shown, before = term_of(edited, "age").value, edited.decision_function(TEST)
    shards = [
        edited.empty_copy().partial_fit(FRAME[part], LABELS[part]) for part in (slice(7000, 8000), slice(8000, None))
    ]
    merged = edited.edit("age", [(20.0, -1.0), (80.0, 2.0)]).merge(shards[0]).merge(shards[1])
    learned = edited.remove("job").partial_fit(FRAME[7000:], LABELS[7000:])
    for after in (merged, learned):
        assert_allclose(term_of(after, "age").value, shown, atol=1e-9, rtol=0)
        assert not contributions(after, "job").any()
        adds_up(after)
    assert_allclose(merged.decision_function(TEST), learned.decision_function(TEST), atol=1e-7, rtol=0)
    assert np.abs(learned.decision_function(TEST) - before).max() > 1e-3
    learned.forget(FRAME[7000:], LABELS[7000:])
    assert_allclose(learned.decision_function(TEST), before, atol=1e-6, rtol=0)


def test_subtracting_a_model_keeps_the_edits(plain):
    edited = plain.edit("age", [(20.0, -1.0), (80.0, 2.0)])
    shard = edited.empty_copy().partial_fit(FRAME[7000:], LABELS[7000:])
    both = edited + shard
    for one in (both, both - shard):
        assert_allclose(term_of(one, "age").value, term_of(edited, "age").value, atol=1e-9, rtol=0)
    assert_allclose((both - shard).decision_function(TEST), edited.decision_function(TEST), atol=1e-6, rtol=0)


def test_models_with_different_edits_do_not_merge(plain):
    for one, other in ((plain.remove("age"), plain), (plain.remove("age"), plain.edit("age", [(45.0, 1.0)]))):
        with pytest.raises(IncompatibleMomentsError, match="edit both alike, or merge first and edit the result"):
            one.merge(other)


def test_files_keep_edits_and_ledger(model, tmp_path):
    name = next(name for name in model.term_importances_ if " (trees)" in name or " × " in name)
    edited = model.edit("age", [(20.0, -1.0), (80.0, 2.0)], who="ann", why="as agreed").remove(name, who="ben")
    opauc.save(edited, tmp_path / "model")
    loaded = opauc.load(tmp_path / "model")
    loaded._policy = POLICY
    opauc.save(edited, tmp_path / "small", scoring_only=True)
    small = opauc.load(tmp_path / "small")
    assert np.array_equal(loaded.decision_function(TEST), edited.decision_function(TEST))
    for other in (loaded, small):  # leaf weights are float32 in a file for scoring only
        assert_allclose(other.decision_function(TEST), edited.decision_function(TEST), atol=1e-6, rtol=0)
        found, expected = other.explain(TEST), edited.explain(TEST)
        assert_allclose(found.contributions, expected.contributions, atol=1e-6, rtol=0)
        adds_up(other)
        for one, same in zip(other.edits_, edited.edits_, strict=True):
            assert (one.term, one.action, one.who, one.when, one.why) == (
                same.term, same.action, same.who, same.when, same.why,
            )  # fmt: skip
            assert one.at == same.at
            assert np.array_equal(one.before, same.before)
            assert np.array_equal(one.after, same.after)
    assert [edit.action for edit in edited.edits_] == ["edit", "remove"]
    assert [edit.who for edit in edited.edits_] == ["ann", "ben"]
    learned = [one.partial_fit(FRAME[7000:], LABELS[7000:]).decision_function(TEST) for one in (loaded, edited)]
    assert_allclose(*learned, atol=1e-12, rtol=0)


def test_removing_the_trees_of_a_feature_keeps_the_curves(with_trees):
    before, removed = with_trees, with_trees.remove("x (trees)")
    assert np.abs(contributions(before, "x (trees)")).max() > 0.1
    assert_allclose(contributions(removed, "x (trees)"), 0.0, atol=1e-12)
    for name in ("x", "y", "z", "age"):
        shift = (term_of(removed, name).value - term_of(before, name).value)[1:-1]  # at the knots
        assert_allclose(shift, shift[0], atol=1e-9)  # centered again
    was, now = (one.predict_proba(FRAME)[:, 1].mean() for one in (before, removed))
    assert abs(was - now) < 0.02
    adds_up(removed)


def test_a_score_does_not_depend_on_a_feature_without_terms(with_trees):
    """Trees too: other splits below one on the feature would depend on it."""
    removed = with_trees
    names = [name for name in removed.term_importances_ if "x" in name.removesuffix(" (trees)").split(" × ")]
    assert {"x", "x (trees)"} <= set(names)
    for name in names:
        removed = removed.remove(name)
    others = TEST.assign(x=TEST["x"].to_numpy()[::-1])
    assert_allclose(removed.decision_function(others), removed.decision_function(TEST), atol=1e-12)
    assert np.abs(with_trees.decision_function(others) - with_trees.decision_function(TEST)).max() > 1.0
    adds_up(removed)


def test_cut_trees_have_the_means_of_what_was_below(with_trees):
    """Literally: the mean leaf weight of kept rows that reach a split on the feature."""
    model = with_trees._fitted.current.model
    trees, j = with_trees._terms().numbers.trees, with_trees._input_names().index("x")
    found, ensemble = cut_trees(trees, [j]), trees.ensemble
    leaves_of = ensemble.leaves(model.blend.kept[:: max(1, -(-len(model.blend.kept) // 8192))])
    splits, n_splits = ensemble.splits, ensemble.splits.columns.size
    rows_in, weights = np.bincount(leaves_of.ravel(), minlength=ensemble.n_leaves), trees.values[n_splits:]

    def leaves_below(node):
        return [~node] if node < 0 else [leaf for child in splits.children[node] for leaf in leaves_below(child)]

    def check(node):
        if node < 0:
            assert found[~node] == weights[~node]
        elif ensemble.codes.sources[splits.columns[node]] == j:
            below = leaves_below(node)
            if rows_in[below].sum():
                mean = np.average(weights[below], weights=rows_in[below])
                assert_allclose(found[below], mean, atol=1e-12)
            assert np.ptp(found[below]) == 0.0
        else:
            for child in splits.children[node]:
                check(child)

    for root in splits.roots:
        check(root)


def test_calibration_survives_an_edit(model):
    """The mean score of the rows hardly moves when a curve is lifted by a constant: the intercept takes it."""
    term = term_of(model, "age")
    points, missing = points_of(replace(term, value=term.value + 5.0))
    lifted = model.edit("age", points, **missing)
    same = model.edit("age", *[points_of(term)[0]])
    assert_allclose(lifted.decision_function(TEST), same.decision_function(TEST), atol=1e-6)
    assert abs(same.predict_proba(FRAME)[:, 1].mean() - model.predict_proba(FRAME)[:, 1].mean()) < 0.01


def test_an_edit_fixes_the_basis_of_few_rows(tmp_path):
    model = OnePassGAM(trees=False).fit(FRAME[:600], LABELS[:600])
    assert model._fitted.fixed is None
    edited = model.edit("age", [(45.0, 0.0)])
    assert model._fitted.fixed is None
    assert model.edits_ == []
    assert edited._fitted.fixed is not None
    opauc.save(edited, tmp_path / "model")
    assert opauc.load(tmp_path / "model").partial_fit(FRAME[600:700], LABELS[600:700]).edits_[0].term == "age"


def test_missing_values_have_a_contribution_of_their_own(plain):
    edited = plain.edit("pay", [(0.0, 1.0), (5.0, -1.0)], missing=0.75)
    is_missing = TEST["pay"].isna()
    assert_allclose(contributions(edited, "pay")[is_missing], 0.75, atol=1e-12)
    kept = plain.edit("pay", [(0.0, 1.0), (5.0, -1.0)])
    assert_allclose(term_of(kept, "pay").value[-1], term_of(plain, "pay").value[-1], atol=1e-12)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (("edit", "agee", [(1, 2)]), UnknownNameError, "unknown term 'agee'; expected one of age,"),
        (("remove", "nothing"), UnknownNameError, "unknown term 'nothing'; expected one of "),
        (("edit", "age × member", [(1, 2)]), ParameterError, "is a pair and has no curve to set"),
        (("edit", "age", {"old": 1.0}), ParameterError, "is a curve: expected pairs of a value and a contribution"),
        (("edit", "age", []), ParameterError, "expected one point or more, got none; remove the term instead"),
        (("edit", "age", [(1, 2, 3)]), ParameterError, r"got \(1, 2, 3\)"),
        (("edit", "age", [(1, 2), (1, 3)]), ParameterError, "two points at 1; expected one for each value"),
        (("edit", "age", [(1, np.nan)]), ParameterError, "'age', 1: expected a finite number, got nan"),
        (("edit", "age", [(1, "much")]), ParameterError, "expected a finite number, got 'much'"),
        (("edit", "job", [(1, 2)]), ParameterError, "has levels: expected a contribution for each by its name"),
        (("edit", "job", {"cok": 1.0}), UnknownNameError, "unknown level 'cok'; expected one of cook,"),
        (("edit", "job", {"cook": np.inf}), ParameterError, "'job', cook: expected a finite number, got inf"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_nearest_right_thing(plain, change, error, message):
    verb, *arguments = change
    with pytest.raises(error, match=message) as caught:
        getattr(plain, verb)(*arguments)
    assert "\n" not in str(caught.value)


def test_a_contribution_of_missing_values_needs_missing_values(plain):
    with pytest.raises(ParameterError, match="no value was missing"):
        plain.edit("age", [(1, 2)], missing=1.0)


def test_a_model_that_only_scores_is_not_edited(plain, tmp_path):
    opauc.save(plain, tmp_path / "small", scoring_only=True)
    with pytest.raises(ValueError, match="saved for scoring only"):
        opauc.load(tmp_path / "small").remove("age")
    with pytest.raises(InputError, match="rows of both classes"):
        plain.empty_copy().remove("age")


def test_values_and_weights_of_main_effects_are_the_same_thing(plain):
    rng, basis = np.random.default_rng(0), plain.basis_
    for j in range(basis.n_inputs):
        if (j,) in basis.effects:
            values = rng.normal(size=main_grid(basis, j).size)
            once = MainWeights.of_values(basis, j, values)
            again = MainWeights.of_values(basis, j, once.values(basis, j))
            assert_allclose(once.columns, again.columns, atol=1e-9)
            assert_allclose(once.effects, again.effects, atol=1e-12)
            assert once.intercept == pytest.approx(again.intercept, abs=1e-12)


def test_the_key_of_a_term_does_not_depend_on_names(plain):
    renamed = plain.remove("age")._fitted.edits.in_force
    assert list(renamed) == [TermKey("main", (plain._input_names().index("age"),))]
