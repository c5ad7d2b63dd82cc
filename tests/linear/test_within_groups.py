"""The pair loss within groups, against a loop over all pairs."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

import opauc
from opauc import OPAUC, OPAUCCV
from opauc.errors import IncompatibleMomentsError, ParameterError, UnsupportedOperationError
from opauc.linear.resolve import opauc_factory
from tests.problems import cuts


def simulated(n_rows=300, n_groups=30, seed=0, offset=0.0):
    """Return rows, labels and groups whose share of positives and whose features differ."""
    random = np.random.default_rng(seed)
    groups = random.integers(0, n_groups, n_rows)
    level = random.normal(size=n_groups)[groups]
    rows = random.normal(size=(n_rows, 3)) + np.outer(level, [2.0, 0.0, 0.0]) + offset
    score = 2.0 * level + rows[:, 1] - offset
    return rows, (random.random(n_rows) < 1 / (1 + np.exp(-score))).astype(np.int8), groups


def over_all_pairs(rows, labels, groups, alpha, group_weight="equal", weight=None):
    """Return the minimizer from a loop over every pair of every group."""
    weight = np.ones(labels.size) if weight is None else weight
    size = rows.shape[1]
    matrix, right, total = np.zeros((size, size)), np.zeros(size), 0.0
    for group in np.unique(groups):
        positives, negatives = (np.flatnonzero((groups == group) & (labels == k)) for k in (1, 0))
        pairs = [(weight[i] * weight[j], rows[i] - rows[j]) for i, j in itertools.product(positives, negatives)]
        n_pairs = sum(w for w, _ in pairs)
        if not pairs:
            continue
        factor = {"equal": 1.0, "pairs": n_pairs, "rows": weight[groups == group].sum()}[group_weight]
        total += factor
        for w, gap in pairs:
            matrix += factor * w / n_pairs * np.outer(gap, gap)
            right += factor * w / n_pairs * gap
    return np.linalg.solve(matrix / total + alpha * np.eye(size), right / total)


@pytest.mark.parametrize("group_weight", ["equal", "pairs", "rows"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_weights_are_those_of_a_loop_over_all_pairs(group_weight, weighted, offset):
    rows, labels, groups = simulated(offset=offset)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, labels.size) if weighted else None
    model = OPAUC(pairs="within_groups", group_weight=group_weight, alpha=0.01, standardize=False)
    model.fit(rows, labels, sample_weight=weight, groups=groups)
    expected = over_all_pairs(rows, labels, groups, 0.01, group_weight, weight)
    assert_allclose(model.coef_[0], expected, rtol=1e-9, atol=1e-9)
    both = sum(len(set(labels[groups == g])) == 2 for g in np.unique(groups))
    assert model.group_counts_ == (both, np.unique(groups).size - both)


@given(seed=st.integers(0, 2**32 - 1), at=cuts(300), max_gap=st.sampled_from([0, 3, 1000]))
def test_any_cut_of_rows_sorted_by_group_gives_what_fit_gives(seed, at, max_gap):
    rows, labels, groups = simulated(seed=seed)
    order = np.argsort(groups, kind="stable")
    rows, labels, groups = rows[order], labels[order], groups[order]
    model = OPAUC(pairs="within_groups", max_gap=max_gap, alpha=0.01)
    for part in np.split(np.arange(300), at):
        model.partial_fit(rows[part], labels[part], classes=[0, 1], groups=groups[part])
    shuffled = np.random.default_rng(seed).permutation(300)
    whole = OPAUC(pairs="within_groups", alpha=0.01).fit(rows[shuffled], labels[shuffled], groups=groups[shuffled])
    assert_allclose(model.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    assert model.group_counts_ == whole.group_counts_


@given(seed=st.integers(0, 2**32 - 1), at=cuts(200), max_gap=st.integers(0, 40))
def test_a_group_that_returns_after_max_gap_rows_is_another_group(seed, at, max_gap):
    rows, labels, groups = simulated(200, 12, seed)
    instances, last, number = np.zeros(200, int), {}, 0
    for row, group in enumerate(groups.tolist()):
        if group not in last or row - last[group][0] - 1 > max_gap:
            number += 1
            last[group] = row, number
        last[group] = row, last[group][1]
        instances[row] = last[group][1]
    model = OPAUC(pairs="within_groups", max_gap=max_gap, alpha=0.01, standardize=False)
    for part in np.split(np.arange(200), at):
        model.partial_fit(rows[part], labels[part], classes=[0, 1], groups=groups[part])
    both = sum(len(set(labels[instances == g])) == 2 for g in np.unique(instances))
    assert model.group_counts_ == (both, number - both)
    if both:
        assert_allclose(model.coef_[0], over_all_pairs(rows, labels, instances, 0.01), rtol=1e-8, atol=1e-9)


def test_memory_is_for_one_group_where_rows_are_sorted_and_for_few_rows_of_a_large_group():
    rows, labels, _ = simulated(4000)
    groups = np.repeat(np.arange(40), 100)
    model = OPAUC(pairs="within_groups", max_gap=0, alpha=0.01, standardize=False)
    for part in np.split(np.arange(4000), 40):
        model.partial_fit(rows[part], labels[part], classes=[0, 1], groups=groups[part])
        kept = model._fitted.state.open
        assert np.unique(kept.keys).size == 1
        assert kept.keys.size <= 2 * 4 * 3 < 100
    assert_allclose(model.coef_[0], over_all_pairs(rows, labels, groups, 0.01), rtol=1e-9)


def test_sparse_and_float32_rows_give_the_weights_of_dense_ones():
    rows, labels, groups = simulated()
    rows[np.random.default_rng(0).random(rows.shape) < 0.5] = 0.0
    dense = OPAUC(pairs="within_groups").fit(rows, labels, groups=groups).coef_
    found = OPAUC(pairs="within_groups").fit(sparse.csr_array(rows), labels, groups=groups).coef_
    assert_allclose(found, dense, rtol=1e-9)
    narrow = OPAUC(pairs="within_groups").fit(rows.astype(np.float32), labels, groups=groups).coef_
    assert_allclose(narrow, dense, rtol=1e-4)


def test_what_differs_between_groups_only_has_no_weight():
    rows, labels, groups = simulated(3000, 100)
    rows[:, 0] = groups % 7
    within = OPAUC(pairs="within_groups").fit(rows, labels, groups=groups)
    assert abs(within.coef_[0, 0]) < 1e-9


def group_auc(labels, scores, groups):
    """Return the mean AUC of the groups with both classes, by a loop."""
    aucs = []
    for group in np.unique(groups):
        positives, negatives = (scores[(groups == group) & (labels == k)] for k in (1, 0))
        if positives.size and negatives.size:
            above = (positives[:, None] > negatives).mean() + 0.5 * (positives[:, None] == negatives).mean()
            aucs.append(above)
    return np.array(aucs)


def test_it_ranks_within_groups_above_the_global_minimizer_where_base_rates_differ():
    rows, labels, groups = simulated(20_000, 400)
    train = groups < 200
    within = OPAUC(pairs="within_groups").fit(rows[train], labels[train], groups=groups[train])
    every = OPAUC().fit(rows[train], labels[train])
    mine, its = (
        group_auc(labels[~train], model.decision_function(rows[~train]), groups[~train]) for model in (within, every)
    )
    gain = mine - its
    assert gain.mean() > 4 * gain.std(ddof=1) / np.sqrt(gain.size)


def test_groups_are_forgotten_whole_or_while_they_are_open():
    rows, labels, groups = simulated()
    order = np.argsort(groups, kind="stable")
    rows, labels, groups = rows[order], labels[order], groups[order]
    gone = np.isin(groups, [3, 7, 29])  # the last one is still open
    model = OPAUC(pairs="within_groups", max_gap=0).partial_fit(rows, labels, groups=groups)
    model.forget(rows[gone], labels[gone], groups=groups[gone])
    rest = OPAUC(pairs="within_groups").fit(rows[~gone], labels[~gone], groups=groups[~gone])
    assert_allclose(model.coef_, rest.coef_, rtol=1e-9)
    assert model.group_counts_ == rest.group_counts_
    part = np.flatnonzero(groups == 28)[:2]
    still = OPAUC(pairs="within_groups").partial_fit(rows, labels, groups=groups)  # all open
    still.forget(rows[part], labels[part], groups=groups[part])
    kept = np.delete(np.arange(300), part)
    rest = OPAUC(pairs="within_groups").fit(rows[kept], labels[kept], groups=groups[kept])
    assert_allclose(still.coef_, rest.coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="needs the groups of the rows"):
        model.forget(rows[:1], labels[:1])


def test_more_groups_than_were_seen_cannot_be_taken_out():
    rows, labels, groups = simulated(60, 6)
    model = OPAUC(pairs="within_groups", max_gap=0).fit(rows, labels, groups=groups)
    before = model.coef_.copy()
    with pytest.raises(IncompatibleMomentsError):
        model.forget(np.tile(rows, (3, 1)), np.tile(labels, 3), groups=np.arange(180) // 2 + 100)
    assert_allclose(model.coef_, before, rtol=0)


def test_models_of_whole_groups_merge_and_are_saved(tmp_path):
    rows, labels, groups = simulated()
    first = groups < 15
    one, other = (OPAUC(pairs="within_groups").fit(rows[at], labels[at], groups=groups[at]) for at in (first, ~first))
    opauc.save(one, tmp_path / "one.opauc")
    sums = one.moments_
    opauc.save(sums, tmp_path / "sums.opauc")
    assert opauc.load(tmp_path / "sums.opauc").max_gap == sums.max_gap == 10_000
    merged = opauc.load(tmp_path / "one.opauc").merge(other)
    whole = OPAUC(pairs="within_groups").fit(rows, labels, groups=groups)
    assert_allclose(merged.coef_, whole.coef_, rtol=1e-9)
    assert merged.group_counts_ == whole.group_counts_
    cut = OPAUC(pairs="within_groups").partial_fit(rows[:130], labels[:130], groups=groups[:130])
    cut.merge(OPAUC(pairs="within_groups").partial_fit(rows[130:], labels[130:], groups=groups[130:]))
    assert_allclose(cut.coef_, whole.coef_, rtol=1e-9)  # open groups are joined
    with pytest.raises(ValueError, match="group_weight was 'equal' at the start, now it is 'rows'"):
        whole.set_params(group_weight="rows").partial_fit(rows, labels, groups=groups)


def test_groups_of_one_class_are_counted_and_have_no_pairs():
    model = OPAUC(pairs="within_groups", alpha=0.0, standardize=False)
    model.fit([[0.0], [2.0], [50.0], [-50.0]], [0, 1, 0, 1], groups=["a", "a", "b", "c"])
    assert model.group_counts_ == (1, 2)
    assert_allclose(model.coef_, [[0.5]])
    none = OPAUC(pairs="within_groups").fit([[0.0], [1.0]], [0, 1], groups=["a", "b"])
    assert none.group_counts_ == (0, 2)
    assert not none.coef_.any()


@pytest.mark.parametrize(
    ("parameters", "groups", "message"),
    [
        ({"pairs": "within"}, None, r"'pairs' parameter of OPAUC must be one of \{'all', 'within_groups'\}"),
        ({"pairs": "within_groups"}, None, "needs the groups of the rows; give groups, or set pairs='all'"),
        ({}, [1, 1], "groups are for pairs='within_groups', or for the folds of OPAUCCV"),
        ({"pairs": "within_groups"}, [1, None], "groups must have no missing values, got one for row 1"),
        ({"pairs": "within_groups"}, [1], "groups must hold one value for each of the 2 rows"),
        ({"pairs": "within_groups", "group_weight": "size"}, [1, 1], "'group_weight' parameter of OPAUC must be one"),
        ({"pairs": "within_groups", "max_gap": -1}, [1, 1], r"'max_gap' parameter of OPAUC must be an int in the ra"),
        ({"pairs": "within_groups", "loss": "logistic"}, [1, 1], "needs loss='square', here it is 'logistic'"),
        ({"pairs": "within_groups", "solver": "sgd"}, [1, 1], "needs solver='exact', here it is 'sgd'"),
    ],
)
def test_what_does_not_fit_says_what_would(parameters, groups, message):
    with pytest.raises(ValueError, match=message):
        OPAUC(**parameters).fit([[0.0], [1.0]], [0, 1], groups=groups)


def test_other_models_do_not_have_groups_to_count():
    with pytest.raises(AttributeError, match="group_counts_ needs pairs='within_groups'"):
        _ = OPAUC().fit([[0.0], [1.0]], [0, 1]).group_counts_
    assert OPAUCCV(cv=2).fit([[0.0], [1.0]] * 4, [0, 1] * 4, groups=[1, 1, 2, 2] * 2).alpha_ > 0.0


def test_files_are_trained_within_groups(tmp_path):
    rows, labels, groups = simulated()
    table = tmp_path / "table.csv"
    columns = np.column_stack([rows, groups, labels])
    np.savetxt(table, columns, delimiter=",", header="a,b,c,query,y", comments="", fmt="%.17g")
    trained = opauc.train(table, label="y", groups="query", pairs="within_groups", alpha=0.01)
    expected = OPAUC(pairs="within_groups", alpha=0.01).fit(rows, labels, groups=groups)
    assert_allclose(trained.coef_, expected.coef_, rtol=1e-9)
    assert trained.group_counts_ == expected.group_counts_
    with pytest.raises(ParameterError, match=r"pairs='within_groups' needs the column of groups: groups=\.\.\."):
        opauc.train(table, label="y", pairs="within_groups")
    with pytest.raises(ParameterError, match="max_gap is for pairs='within_groups'"):
        opauc.train(table, label="y", solver="exact", max_gap=3)
    with pytest.raises(ParameterError, match="pairs='within_groups' takes a number as alpha"):
        opauc.train(table, label="y", groups="query", pairs="within_groups", alpha="auto")
    with pytest.raises(UnsupportedOperationError, match="rows of one group may lie in two shards"):
        opauc_factory({"pairs": "within_groups"}).sharding(rows)
