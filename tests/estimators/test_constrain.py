"""Constraints of additive models: what they promise, what survives, what they cost, and what is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from opauc import InputError, OnePassGAM, ParameterError, load, save
from opauc.additive.sums import linearize
from opauc.metrics import exact_auc

# Scores of flat stretches differ by rounding.
ROUNDING = 1e-11
ALL = {
    "increasing": "age", "decreasing": "fare", "without": "noise", "equal_mean": "sex", "fixed": "when",
    "bounds": {"age": {40: (None, 0.25)}},
}  # fmt: skip


def table(n_rows=5000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_rows).astype(float),
            "fare": rng.exponential(20.0, n_rows).round(1),
            "sex": rng.choice(["f", "m"], n_rows),
            "port": rng.choice(list("abcd"), n_rows),
            "noise": rng.normal(size=n_rows).round(3),
            "when": rng.integers(0, 2, n_rows).astype(float),
        }
    )
    score = np.sin(frame.age / 8) * (frame.port == "a") + 0.02 * frame.age - 0.1 * np.sqrt(frame.fare)
    score += (
        0.8 * (frame.sex == "f") * np.cos(frame.fare / 10) + 0.3 * frame.when + 0.01 * frame.age * (frame.fare > 15)
    )
    labels = (rng.logistic(size=n_rows) < score - score.mean()).astype(int)
    for name in ("age", "fare", "sex"):
        frame.loc[rng.random(n_rows) < 0.05, name] = None
    return frame, labels.to_numpy()


@pytest.fixture(scope="module")
def fitted():
    return OnePassGAM(random_state=0, init_size=3000, trees=False).partial_fit(*table())


@pytest.fixture(scope="module")
def with_trees():
    """A model with trees, and rows after its initial sample."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(9000, 3)).round(2)
    rows[rng.random(rows.shape) < 0.05] = np.nan
    filled = np.nan_to_num(rows)
    score = np.sign(filled[:, 0] * filled[:, 1] * filled[:, 2]) * 2 + 0.6 * filled[:, 0] + np.sin(4 * filled[:, 0])
    labels = (rng.logistic(size=9000) < score).astype(int)
    model = OnePassGAM(random_state=0, init_size=6000).partial_fit(rows, labels)
    assert model.basis_.trees is not None
    return model, rows, labels


def moved(model, frame, name, n_points=20_000, seed=1):
    """Return the change of scores when one column of random rows rises."""
    rng = np.random.default_rng(seed)
    rows = frame.iloc[rng.integers(0, len(frame), n_points)].reset_index(drop=True)
    low, high = frame[name].min(), frame[name].max()
    values = np.sort(rng.uniform(low - 5.0, high + 5.0, (2, n_points)), axis=0)
    before, after = (model.decision_function(rows.assign(**{name: value})) for value in values)
    return after - before


def test_scores_rise_and_fall_as_asked_for_all_values_of_the_other_columns(fitted):
    frame, _ = table()
    assert moved(fitted, frame, "age").min() < -0.1
    assert moved(fitted, frame, "fare").max() > 0.1
    model = fitted.constrain(increasing="age", decreasing=["fare"])
    assert moved(model, frame, "age").min() >= -ROUNDING
    assert moved(model, frame, "fare").max() <= ROUNDING
    assert moved(fitted, frame, "age").min() < -0.1  # as it was


def test_trees_are_put_in_order_and_stay_so_with_later_rows(with_trees):
    model, rows, labels = with_trees
    rising = model.constrain(increasing=0)
    assert rising._fitted.final.weights[rising.basis_.n_additive :].any()
    frame = pd.DataFrame(rows)

    def fall(one):
        rng = np.random.default_rng(2)
        start = frame.iloc[rng.integers(0, len(frame), 5000)].to_numpy(copy=True)
        values = np.sort(rng.uniform(-4.0, 4.0, (2, 5000)), axis=0)
        changed = [start.copy(), start.copy()]
        for part, value in zip(changed, values, strict=True):
            part[:, 0] = value
        return float((one.decision_function(changed[0]) - one.decision_function(changed[1])).max())

    assert fall(model) > 0.1
    assert fall(rising) <= ROUNDING
    assert fall(rising.partial_fit(rows[:3000] + 0.01, labels[:3000])) <= ROUNDING
    explained = rising.explain(rows[:500])
    assert_allclose(explained.scores(), rising.decision_function(rows[:500]), atol=1e-9)
    convex = model.constrain(convex=0)  # steps are not convex
    assert not convex._fitted.final.weights[convex.basis_.n_additive :].any()
    assert convex.selection_.model == "pairs"


def test_each_constraint_holds(fitted):
    frame, _ = table()
    model = fitted.constrain(**ALL)
    assert moved(model, frame, "age").min() >= -ROUNDING
    assert moved(model, frame, "fare").max() <= ROUNDING
    assert np.abs(moved(model, frame, "noise")).max() <= ROUNDING
    terms = {term.name: term for term in model.terms_}
    assert np.interp(40.0, terms["age"].at[0][:-1], terms["age"].value[:-1]) <= 0.25 + 1e-9
    assert terms["noise"].importance == 0.0
    assert not terms["noise"].error.any()
    before = {term.name: term for term in fitted.terms_}
    assert_allclose(weights_of(model, "when"), weights_of(fitted, "when"), rtol=1e-12)
    assert (terms["age"].error <= before["age"].error + 1e-9).mean() > 0.9
    fit = model._fitted
    sums = fit.current.model.sums
    rows = fit.current.basis.rows(model._columns.read(pa_table(frame)).rows)
    groups = frame.sex.fillna("").to_numpy()
    # The sums weight rows with their curvature at the expansion point.
    curvature, _ = linearize(rows @ sums.expansion_point, table()[1].astype(np.int8))
    scores = model.decision_function(frame)
    means = [np.average(scores[groups == group], weights=curvature[groups == group]) for group in ("f", "m")]
    assert_allclose(*means, atol=1e-8)


def pa_table(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def weights_of(model, name):
    j = model._input_names().index(name)
    return model._fitted.final.weights[model.basis_.effects[(j,)]]


def test_convex_and_concave_effects_bend_one_way(fitted):
    frame, _ = table()
    for shape, sign in (("convex", 1.0), ("concave", -1.0)):
        model = fitted.constrain(**{shape: "age"})
        values = np.linspace(18, 79, 200)
        rows = pd.concat([frame.iloc[[17]]] * 200, ignore_index=True).assign(age=values)
        assert (sign * np.diff(model.decision_function(rows), 2)).min() >= -1e-9


def test_pairs_are_those_that_are_named(fitted):
    one, two = fitted.basis_.tables.pairs[0].tolist()
    names = fitted._input_names()

    def used(model):
        return {name for name, importance in model.term_importances_.items() if " × " in name and importance > 1e-9}

    assert len(used(fitted)) > 1
    assert used(fitted.constrain(pairs=[(names[two], names[one])])) == {f"{names[one]} × {names[two]}"}
    assert used(fitted.constrain(no_pairs=True)) == set()
    additive = fitted.constrain(no_pairs=True).constrain(increasing="age")
    assert additive.constraints_ == ["age increasing", "no pairs"]
    assert used(additive) == set()


def test_constraints_survive_files_later_rows_merging_and_forgetting(fitted, tmp_path):
    model, (frame, _), (more, more_labels) = fitted.constrain(**ALL), table(), table(1500, seed=3)
    expected = model.decision_function(frame)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.constraints_ == model.constraints_
    assert_allclose(loaded.decision_function(frame), expected, atol=1e-12)
    save(model, tmp_path / "small", scoring_only=True)
    small = load(tmp_path / "small")
    assert_allclose(small.decision_function(frame), expected, atol=1e-12)
    assert small.constraints_ == model.constraints_
    longer = loaded.partial_fit(more, more_labels)
    assert moved(longer, frame, "age").min() >= -ROUNDING
    shard = model.empty_copy().partial_fit(more, more_labels)
    merged = model.constrain().merge(shard)
    assert_allclose(merged.decision_function(frame), longer.decision_function(frame), atol=1e-8)
    constrained_last = load_of(fitted, tmp_path).partial_fit(more, more_labels).constrain(**{**ALL, "fixed": ()})
    without_fixed = fitted.constrain(**{**ALL, "fixed": ()}).partial_fit(more, more_labels)
    assert_allclose(without_fixed.decision_function(frame), constrained_last.decision_function(frame), atol=1e-8)
    back = longer.forget(more, more_labels)
    assert_allclose(back.decision_function(frame), expected, atol=1e-7)
    with pytest.raises(ValueError, match="models under different constraints do not merge; merge the models before"):
        model.constrain(increasing="when").merge(shard)


def load_of(model, folder):
    save(model, folder / "copy")
    return load(folder / "copy")


def test_the_fit_to_the_initial_sample_satisfies_them_where_the_classes_have_shifted(fitted, tmp_path):
    """One Newton step would mislead there: the model falls back to the fit to the initial sample."""
    frame, labels = table()
    positive = np.tile(np.flatnonzero(labels == 1), 12)
    shifted = load_of(fitted, tmp_path).partial_fit(frame.iloc[positive], labels[positive])
    model = shifted.constrain(increasing="age", without="noise")
    assert model.selection_.model == "sample"
    assert moved(shifted, frame, "age").min() < -0.1
    assert moved(model, frame, "age").min() >= -ROUNDING
    assert np.abs(moved(model, frame, "noise")).max() <= ROUNDING


def test_a_simpler_candidate_satisfies_them_too(fitted):
    model = fitted.constrain(increasing="age")
    fit = model._fitted
    for name in ("linear", "additive", "certain pairs"):
        at = fit.current.model.candidates.names.index(name)
        counts = np.zeros_like(fit.current.model.candidates.counts)
        counts[:, :, 2048] = 100.0
        counts[at, 0, 2048], counts[at, 0, 100] = 0.0, 100.0  # this one ranks all rows rightly
        candidates = replace(fit.current.model.candidates, counts=counts)
        chosen = fitted.constrain(increasing="age")
        fixed = fit.fixed._replace(model=replace(fit.fixed.model, candidates=candidates))
        chosen._fitted = replace(fit, fixed=fixed)
        assert chosen.selection_.model == name
        assert moved(chosen, table()[0], "age", 2000).min() >= -ROUNDING


def test_the_price_is_what_the_loss_and_the_auc_change_by(fitted):
    frame, labels = table(4000, seed=9)
    price = fitted.price_of(frame, labels, increasing="age", without="port")
    assert [part.constraint for part in price.each] == ["age increasing", "without port"]
    assert price.together.constraint == "age increasing, without port"
    assert price.auc == pytest.approx(fitted.score(frame, labels))
    model = fitted.constrain(increasing="age", without="port")
    assert price.together.auc == pytest.approx(model.score(frame, labels))
    assert price.together.auc_change == pytest.approx(price.together.auc - price.auc)
    rows, classes = table()

    def loss(one):
        scores = one.decision_function(rows)
        return float(np.logaddexp(0.0, np.where(classes == 1, -scores, scores)).mean())

    # The quadratic approximation at the fit to the initial sample comes close.
    assert price.together.log_loss == pytest.approx(loss(model) - loss(fitted), rel=0.3)
    assert max(part.log_loss for part in price.each) < price.together.log_loss
    assert fitted.price_of(increasing="age").together.auc is None


def test_the_price_of_trees_is_measured_on_their_validation_rows(with_trees):
    model, rows, labels = with_trees
    price = model.price_of(increasing=0, no_pairs=True)
    assert price.each[0].log_loss > 0.001
    before, after = (exact_auc(labels, one.decision_function(rows)) for one in (model, model.constrain(no_pairs=True)))
    assert before > after + 0.05
    assert price.each[1].log_loss > 0.05


class TestAtFit:
    """`monotone_constraints` and `interaction_constraints`."""

    def test_a_model_fitted_under_constraints_is_monotone(self):
        frame, labels = table()
        model = OnePassGAM(random_state=0, monotone_constraints={"age": 1, "fare": -1, "noise": 0}).fit(frame, labels)
        assert model.constraints_ == ["age increasing", "fare decreasing"]
        assert moved(model, frame, "age").min() >= -ROUNDING
        assert moved(model, frame, "fare").max() <= ROUNDING
        model.partial_fit(*table(1000, seed=4))
        assert moved(model, frame, "age").min() >= -ROUNDING

    def test_trees_grow_under_the_constraints(self, with_trees):
        _, rows, labels = with_trees
        model = OnePassGAM(random_state=0, monotone_constraints=[1, 0, 0], init_size=6000).partial_fit(rows, labels)
        assert model.basis_.trees is not None
        ensemble, values = model.basis_.trees, np.linspace(-4.0, 4.0, 60)
        scores = [ensemble.scores(np.column_stack([np.full(300, value), rows[:300, 1:]])) for value in values]
        assert np.diff(scores, axis=0).min() >= -ROUNDING

    def test_only_columns_of_one_group_interact(self):
        frame, labels = table()
        groups = [["age", "fare"], ["sex"]]
        model = OnePassGAM(random_state=0, interaction_constraints=groups).fit(frame, labels)
        names = model._input_names()
        pairs = {tuple(sorted((names[one], names[two]))) for one, two in model.basis_.tables.pairs.tolist()}
        assert pairs <= {("age", "fare"), ("noise", "port"), ("port", "when"), ("noise", "when")}
        assert ("age", "fare") in pairs

    def test_positions_are_those_of_the_columns_of_the_table(self):
        frame, labels = table()
        frame.insert(0, "constant", 1.0)
        by_position = OnePassGAM(random_state=0, trees=False, monotone_constraints=[0, 1, 0, 0, 0, 0, 0])
        assert by_position.fit(frame, labels).constraints_ == ["age increasing"]
        by_name = OnePassGAM(random_state=0, trees=False, monotone_constraints={"age": 1, "constant": 1})
        assert by_name.fit(frame, labels).constraints_ == ["age increasing"]

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"monotone_constraints": {"agee": 1}}, "monotone_constraints: unknown column 'agee'; expected one of age"),
            ({"monotone_constraints": {"sex": 1}}, "'sex' is categorical, and categories have no order"),
            ({"monotone_constraints": {"age": 2}}, "must be None, a dict of columns with 1"),
            ({"monotone_constraints": [1, 0]}, "monotone_constraints: expected 6 numbers, one per column, got 2"),
            ({"interaction_constraints": [["age", "far"]]}, "interaction_constraints: unknown column 'far'"),
            ({"interaction_constraints": ["age"]}, "must be None or a list of groups"),
        ],
    )
    def test_bad_parameters_are_refused(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            OnePassGAM(**parameters).fit(*table(300))


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ({"increasing": "agee"}, "increasing: unknown column 'agee'; expected one of age, "),
        (
            {"increasing": "sex"},
            "increasing: 'sex' is categorical, and categories have no order; take a numeric column",
        ),
        ({"convex": 17}, "convex: unknown column 17"),
        (
            {"increasing": "age", "decreasing": "age"},
            "'age' cannot be both increasing and decreasing; take one of them",
        ),
        ({"convex": "age", "concave": "age"}, "'age' cannot be both convex and concave"),
        ({"increasing": "age", "without": "age"}, "'age' has a shape and is in without; drop one of the two"),
        ({"equal_mean": "age"}, "equal_mean: 'age' is numeric; take a column of categories or of two values"),
        ({"pairs": ["x"]}, "pairs: expected pairs of columns, got 'x'"),
        ({"pairs": [("sex", "port")]}, "pairs: the model has no pair sex × port; it has "),
        ({"pairs": [("age", "fare")], "no_pairs": True}, "no_pairs and pairs contradict each other; take one"),
        ({"fixed": "agee"}, "fixed: unknown term 'agee'; expected one of age"),
        ({"bounds": {"age": {30: (1.0, 0.0)}}}, "bounds: age at 30 cannot be at least 1 and at most 0"),
        ({"bounds": {"age": {30: 1.0}}}, r"bounds: age: expected \(low, high\) in log-odds, None where open, got 1.0"),
        ({"bounds": {"age": {"x": (0, 1)}}}, "bounds: age: expected a number, got 'x'"),
        ({"bounds": {"port": {"z": (0, 1)}}}, "bounds: port: unknown category 'z'; expected one of d, a, b, c"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(fitted, constraints, message):
    with pytest.raises(ParameterError, match=message) as caught:
        fitted.constrain(**constraints)
    assert "\n" not in str(caught.value)


def test_constraints_that_no_weights_satisfy_are_refused(fitted):
    with pytest.raises(
        InputError, match=r"no weights satisfy .*increasing age and bounds age at 70 .*: drop one of them"
    ):
        fitted.constrain(increasing="age", no_pairs=True, bounds={"age": {30: (0.5, None), 70: (None, 0.0)}})
    assert fitted.constraints_ == []


def test_a_column_that_the_model_does_not_use_is_named():
    frame, labels = table(1000)
    frame["constant"] = 1.0
    with pytest.raises(ParameterError, match="increasing: the model does not use 'constant'"):
        OnePassGAM(trees=False).fit(frame, labels).constrain(increasing="constant")


def test_a_model_for_scoring_only_cannot_be_constrained(fitted, tmp_path):
    save(fitted, tmp_path / "small", scoring_only=True)
    with pytest.raises(ValueError, match="saved for scoring only"):
        load(tmp_path / "small").constrain(increasing="age")


def test_edits_and_constraints_exclude_each_other(fitted):
    with pytest.raises(ValueError, match="cannot be constrained; constrain it as it was before the edits"):
        fitted.remove("noise").constrain(increasing="age")
    with pytest.raises(
        ValueError, match="terms of a model under constraints cannot be edited; edit it as it was before"
    ):
        fitted.constrain(increasing="age").remove("noise")
