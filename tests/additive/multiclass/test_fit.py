"""Fits of several classes: laws of sums, files, and what they refuse."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc.additive.multiclass.fit import MulticlassFit
from opauc.additive.policy import ADDITIVE_POLICY
from opauc.additive.settings import AdditiveSettings
from opauc.errors import IncompatibleMomentsError, UnsupportedOperationError
from tests.additive.multiclass.data import simulate

N_INITIAL = 400
SMALL = replace(ADDITIVE_POLICY, sample=replace(ADDITIVE_POLICY.sample, rare_rows=20))
ROWS, LABELS = simulate(seed=5, n_rows=1300)
GRID = np.random.default_rng(9).normal(size=(40, 3))


def begin(n_classes=3, **more):
    parameters = AdditiveSettings(**{"init_size": N_INITIAL, "trees": False, **more})
    return MulticlassFit.start_of(n_classes, parameters, np.zeros(3, bool), 0, SMALL)


def scores(fit):
    return fit.scorer.scores(GRID)


@pytest.fixture(scope="module")
def whole():
    return begin().update(ROWS, LABELS)


@pytest.fixture(scope="module")
def with_trees():
    fit = begin(trees=True).update(ROWS, LABELS)
    assert any(one.current.basis.trees is not None for one in fit.class_fits)
    return fit


@settings(max_examples=5, deadline=None)
@given(cuts=st.lists(st.integers(1, len(ROWS) - 1), max_size=4))
def test_any_cut_of_the_rows_gives_the_same_model(whole, cuts):
    fit = begin()
    for rows, labels in zip(np.split(ROWS, sorted(cuts)), np.split(LABELS, sorted(cuts)), strict=True):
        fit = fit.update(rows, labels)
    assert_allclose(scores(fit), scores(whole), atol=1e-9)
    assert fit.counts == whole.counts


def test_merging_is_associative_and_gives_the_model_of_all_rows(with_trees):
    empty = with_trees.empty_copy()
    one, two, three = (empty.update(ROWS[k::3], LABELS[k::3]) for k in range(3))
    left, right, all_rows = one.merge(two).merge(three), one.merge(two.merge(three)), empty.update(ROWS, LABELS)
    assert_allclose(scores(left), scores(right), atol=1e-9)
    assert_allclose(scores(left), scores(all_rows), atol=1e-9)


def test_forgotten_rows_were_never_seen(with_trees):
    before = begin(trees=True).update(ROWS[:900], LABELS[:900])
    after = with_trees.subtract(ROWS[900:], LABELS[900:])
    assert_allclose(scores(after), scores(before), atol=1e-8)
    assert after.removed == (400, 0)
    day = with_trees.empty_copy().update(ROWS[900:], LABELS[900:])
    assert_allclose(scores(with_trees.without(day)), scores(before), atol=1e-8)


def test_rows_of_the_warm_up_buffer_are_taken_out_of_it():
    few = begin().update(ROWS[:300], LABELS[:300])
    assert few.fixed is None
    left = few.subtract(ROWS[200:300], LABELS[200:300])
    assert_array_equal(scores(left), scores(begin().update(ROWS[:200], LABELS[:200])))


def test_rows_that_were_never_added_are_refused(whole):
    other = whole.empty_copy().update(ROWS[:200] + 9.0, LABELS[:200])
    with pytest.raises(IncompatibleMomentsError):
        whole.without(other)
    with pytest.raises(IncompatibleMomentsError, match="never seen"):
        begin().update(ROWS[:50], LABELS[:50]).subtract(ROWS[60:61], LABELS[60:61])


def test_weights_are_rows_counted_so_often(whole):
    empty, weight = whole.empty_copy(), np.random.default_rng(0).integers(1, 4, LABELS.size)
    weighted = empty.update(ROWS, LABELS, weight.astype(float))
    repeated = empty.update(np.repeat(ROWS, weight, axis=0), np.repeat(LABELS, weight))
    assert_allclose(scores(weighted), scores(repeated), atol=1e-9)
    assert_allclose(weighted.counts, np.bincount(LABELS, weight))


@pytest.mark.parametrize("n_rows", [200, 1300])
def test_files_give_the_same_scores(n_rows, with_trees):
    fit = with_trees if n_rows == 1300 else begin(trees=True).update(ROWS[:n_rows], LABELS[:n_rows])
    header, arrays = fit.to_parts()
    again = MulticlassFit.from_parts(header, arrays, 3)
    assert_array_equal(scores(again), scores(fit))
    assert again.counts == fit.counts
    # A file has no policy: the buffer of a fit that waits is complete later.
    again = replace(again, policy=SMALL)
    more = simulate(seed=8, n_rows=500)
    assert_array_equal(scores(again.update(*more)), scores(fit.update(*more)))
    stored = fit.scorer.to_arrays()
    assert_array_equal(fit.scorer_of(stored).scores(GRID), scores(fit))
    with pytest.raises(ValueError, match="weights of 3 classes"):
        fit.scorer_of({"weights0": stored["weights0"]})


HOSTILE_HEADERS = [
    ({"n_classes": 2}, "n_classes: expected 3 to 100, got 2"),
    ({"n_classes": 101}, "n_classes: expected 3 to 100, got 101"),
    ({"n_classes": "3"}, "n_classes"),
    ({"n_classes": 4}, "expected"),
    ({"edits": [{}]}, "edits"),
    ({"constraints": 1}, "constraints"),
    ({"more": 1}, "more"),
]


@pytest.mark.parametrize(("change", "message"), HOSTILE_HEADERS, ids=[str(change) for change, _ in HOSTILE_HEADERS])
def test_headers_that_no_fit_has_are_refused(with_trees, change, message):
    header, arrays = with_trees.to_parts()
    with pytest.raises(ValueError, match=message):
        MulticlassFit.from_parts({**header, **change}, arrays, 3)


def test_every_array_is_checked(with_trees):
    header, arrays = with_trees.to_parts()
    for name, array in arrays.items():
        lacking = {other: part for other, part in arrays.items() if other != name}
        with pytest.raises(ValueError):  # noqa: PT011  each has its own message
            MulticlassFit.from_parts(header, lacking, 3)
        if array.dtype.kind != "f":
            continue
        with pytest.raises(ValueError):  # noqa: PT011
            MulticlassFit.from_parts(header, arrays | {name: array.astype(np.float32)}, 3)
    waiting = {"waiting.rows": np.zeros((1, 3)), "waiting.labels": np.full(1, 3, np.int8)}
    with pytest.raises(ValueError, match="labels: expected numbers from 0 to 2"):
        MulticlassFit.from_parts(header, arrays | waiting | {"waiting.weights": np.ones(1)}, 3)


def test_a_class_that_comes_after_the_initial_sample_has_its_share_as_score():
    fit = begin(n_classes=4).update(ROWS, LABELS)
    fit = fit if fit.fixed is not None else fit.with_basis()
    assert fit.counts[3] == 0.0
    assert (fit.scorer.scores(GRID).argmax(axis=1) < 3).all()
    later = fit.update(GRID, np.full(len(GRID), 3, np.int8))
    assert later.counts[3] == len(GRID)
    additive = later.scorer.additive_scores(GRID)[:, 3]
    assert_allclose(additive, np.log((len(GRID) + 0.5) / (len(ROWS) + 0.5)))


@pytest.mark.parametrize(
    "ask",
    [
        lambda fit: fit.final,
        lambda fit: fit.scoring_only(),
        lambda fit: fit.segment_sums(),
        lambda fit: fit.segment_sizes(3),
        lambda fit: fit.sum_segments([]),
        lambda fit: fit.basis_key(),
        lambda fit: fit.with_constraints(fit.constraints),
        lambda fit: fit.with_edit(None),
    ],
)
def test_what_has_one_score_per_row_says_what_is_possible(whole, ask):
    with pytest.raises(
        UnsupportedOperationError, match=r"^(Only binary|[a-z ]+ two classes).* 3( classes)?; .*expla"
    ) as raised:
        ask(whole)
    assert "\n" not in str(raised.value)


def test_monotone_constraints_name_their_parameter():
    with pytest.raises(ValueError, match=r"^monotone_constraints are for two classes, and there are 3; "):
        begin(monotone_constraints=((0, 1),))
    with pytest.raises(ValueError, match=r"^monotone_constraints"):
        begin().with_settings(AdditiveSettings(monotone_constraints=((0, 1),)))


def test_the_partial_auc_is_for_two_classes():
    with pytest.raises(UnsupportedOperationError, match=r"by objective='pauc', .* 3 classes; set objective='auc'"):
        begin(objective="pauc")


def test_earlier_scores_are_those_of_the_initial_sample(whole):
    assert begin().look(10) is None
    first = whole.empty_copy().update(ROWS[:50], LABELS[:50])
    assert_array_equal(first.look(50).scores(GRID), whole.look(50).scores(GRID))
    assert_array_equal(whole.look(len(ROWS)).scores(GRID), scores(whole))
