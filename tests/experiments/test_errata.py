"""Each erratum of docs/errata.md: the printed form fails a stream whose answer is known, ours does not."""

import warnings

import numpy as np
import pytest
from experiments.as_printed import (
    mean_sketch_covariance,
    printed_covariance,
    printed_descent,
    printed_linear_term,
    printed_sketch_covariance,
)
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics import roc_auc_score

from opauc.errors import DivergedError, DivergenceWarning
from opauc.linear.exact import Exact
from opauc.linear.moments.exact import ExactMoments
from opauc.linear.moments.sketch import ClassSketch, SignStream
from opauc.linear.sgd import SGD
from opauc.linear.sketch_sgd import SketchedSGD
from tests import literal
from tests.problems import problem


def test_the_printed_recursion_gives_a_constant_stream_a_variance():
    stream = np.full((3, 1), 2.0)
    assert_allclose(printed_covariance(stream), [[8 / 3]])
    assert ExactMoments.of(stream).covariance() == [[0.0]]


def test_the_printed_recursion_is_the_covariance_plus_the_mean_of_products_of_earlier_means():
    rows, _ = problem(0, 50, 3, offset=2.0)
    earlier = [rows[: t + 1].mean(0) for t in range(49)]
    excess = sum(np.outer(c, c) for c in earlier) / 50
    assert_allclose(printed_covariance(rows), literal.covariance(rows) + excess, rtol=1e-10)


def test_with_the_missing_term_the_recursion_is_the_covariance():
    rows, _ = problem(1, 50, 3, offset=2.0)
    mean, covariance = np.zeros(3), np.zeros((3, 3))
    for count, row in enumerate(rows, start=1):
        old, mean = mean, mean + (row - mean) / count
        missing = -np.outer(old, old) / count
        covariance += (np.outer(row, row) - covariance) / count + np.outer(old, old) - np.outer(mean, mean) + missing
    assert_allclose(covariance, literal.covariance(rows), atol=1e-10)
    assert_allclose(ExactMoments.of(rows).covariance(), literal.covariance(rows), rtol=1e-10)


def test_descent_as_printed_leaves_the_true_iterates_and_depends_on_the_origin():
    rows, labels = problem(2, 400, 3, scale=0.3)
    rows[:, 1] += 3.0
    true = SGD(0.0, 0.01, "constant", average=False)
    ours = true.weights(true.step(true.start(3), rows, labels))
    moved = true.weights(true.step(true.start(3), rows + 1.0, labels))
    assert_allclose(ours, literal.descent(rows, labels, 0.0, np.full(400, 0.01))[-1], rtol=1e-9)
    assert_allclose(moved, ours, rtol=1e-6)
    printed, printed_moved = (printed_descent(x, labels, 0.0, 0.01) for x in (rows, rows + 1.0))
    assert np.abs(printed - ours).max() > 0.05 * np.abs(ours).max()
    assert np.abs(printed_moved - printed).max() > 0.05 * np.abs(printed).max()


def test_the_appendix_turns_the_sign_of_negative_rows_and_of_the_minimizer():
    rows, labels = problem(3, 200, 2)
    signs = 2.0 * labels - 1
    losses, linear = [], []
    w = np.array([0.3, -0.2])
    quadratic = np.zeros((2, 2))
    for i in range(200):
        others = rows[:i][labels[:i] != labels[i]]
        if len(others):
            losses.append(np.mean((1 - signs[i] * (rows[i] - others) @ w) ** 2) / 2)
            linear.append(signs[i] * (others.mean(0) - rows[i]))
            quadratic += np.mean([np.outer(g, g) for g in rows[i] - others], axis=0)
    quadratic /= len(losses)
    a = np.mean(linear, axis=0)
    assert_allclose(np.mean(losses), 0.5 + w @ a + w @ quadratic @ w / 2)
    printed = printed_linear_term(rows, labels)
    assert abs(0.5 + w @ printed + w @ quadratic @ w / 2 - np.mean(losses)) > 0.01
    # The minimizer of 1/2 + w.a + w'Aw/2 is -A^-1 a; the appendix has +A^-1 a.
    best = -np.linalg.solve(quadratic, a)
    assert 0.5 + best @ a + best @ quadratic @ best / 2 < 0.5 < 0.5 - best @ a + best @ quadratic @ best / 2


def test_one_pass_is_enough_for_the_closed_form():
    """Section 3 says the closed form needs several passes; the sums of one pass give it."""
    rows, labels = problem(4, 300, 4)
    learner = Exact(alpha=0.01)
    state = learner.start(4)
    for i in range(300):
        state = learner.step(state, rows[i : i + 1], labels[i : i + 1])
    assert_allclose(learner.weights(state), literal.minimizer(rows, labels, 0.01), rtol=1e-9)


@pytest.mark.parametrize("name", ["a9a"])
def test_on_real_data_the_printed_recursion_costs_auc(real_data, name):
    data = real_data(name)
    rows = np.zeros(data["shape"])
    rows[np.repeat(np.arange(rows.shape[0]), np.diff(data["indptr"])), data["indices"]] = 1.0
    labels = (data["y"] > 0).astype(np.int8)
    order = np.random.default_rng(0).permutation(len(rows))[:4000]
    train, held = order[:3000], order[3000:]
    true = SGD(2.0**-10, 2.0**-6, "constant", average=False)
    ours = true.weights(true.step(true.start(rows.shape[1]), rows[train], labels[train]))
    printed = printed_descent(rows[train], labels[train], 2.0**-10, 2.0**-6)
    auc = [roc_auc_score(labels[held], rows[held] @ w) for w in (ours, printed)]
    assert auc[0] > auc[1]


def draw_signs(n_rows, rank, key):
    return SignStream(rank, key).sign_rows(np.arange(n_rows))[:, :rank]


def test_the_printed_sketch_subtracts_next_to_nothing():
    """On average over the signs it estimates S + c c^T (1 - 1/T), the raw second moment, instead of S."""
    rows, _ = problem(5, 60, 3, offset=2.0)
    mean = rows.mean(0)
    average = np.mean([printed_sketch_covariance(rows, draw_signs(60, 8, key)) for key in range(3000)], axis=0)
    expected = literal.covariance(rows) + np.outer(mean, mean) * (1 - 1 / 60)
    assert_allclose(average, expected, rtol=0.05)


def test_subtracting_the_whole_mean_is_unbiased_but_not_positive():
    rows, _ = problem(6, 60, 3, offset=2.0)
    parts = [mean_sketch_covariance(rows, draw_signs(60, 8, key)) for key in range(3000)]
    assert_allclose(np.mean(parts, axis=0), literal.covariance(rows), atol=0.1 * np.abs(rows).max() ** 2)
    assert min(np.linalg.eigvalsh(part)[0] for part in parts) < -1.0


def test_the_centered_sketch_of_a_constant_stream_is_zero():
    rows, labels = np.full((50, 2), 3.0), np.zeros(50, np.int8)
    moments = ClassSketch.empty(2, SignStream(4, 0)).update(rows, labels)
    part = moments.sums[:, 0, :-1] - np.outer(moments.means[0], moments.sign_sums[0, :-1])
    assert_allclose(part, 0.0, atol=1e-12)
    printed = [printed_sketch_covariance(rows, draw_signs(50, 4, key))[0, 0] for key in range(500)]
    assert_allclose(np.mean(printed), 9 * (1 - 1 / 50), rtol=0.2)


def test_signs_need_one_over_root_rank_for_the_identity():
    """E[R R^T] = I holds for entries of size 1/sqrt(rank); 1/rank, as one line has it, gives I/rank."""
    signs = draw_signs(40, 16, 0)
    assert_allclose(np.diagonal(signs @ signs.T), 1.0)
    assert_allclose(np.diagonal((signs / 4) @ (signs / 4).T), 1 / 16)


def test_on_real_data_the_centered_sketch_is_the_better_one(real_data):
    data = real_data("a9a")
    rows = sparse.csr_array((data["data"].astype(float), data["indices"], data["indptr"]), shape=tuple(data["shape"]))
    labels = (data["y"] > 0).astype(np.int8)
    order = np.random.default_rng(0).permutation(len(labels))[:12_000]
    train, held = order[:10_000], order[10_000:]
    auc = {}
    for centering in ("centered", "printed", "mean"):
        best = 0.0
        for eta0 in (2.0**-4, 2.0**-6, 2.0**-8, 2.0**-10):
            learner = SketchedSGD(2.0**-10, eta0, "constant", average=False, rank=50, centering=centering)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DivergenceWarning)
                try:
                    state = learner.step(learner.start(rows.shape[1]), rows[train], labels[train])
                except DivergedError:
                    continue
            best = max(best, roc_auc_score(labels[held], rows[held] @ learner.weights(state)))
        auc[centering] = best
    assert auc["centered"] >= auc["printed"] - 0.002
    assert auc["centered"] > auc["mean"] + 0.01
