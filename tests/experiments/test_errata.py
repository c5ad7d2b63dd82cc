"""Each erratum of docs/research/errata.md: the printed form fails a stream whose answer is known, ours does not."""

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
from experiments.paper.printed import printed_table
from numpy.testing import assert_allclose
from scipy import sparse, stats
from sklearn.metrics import roc_auc_score

from opauc.errors import DivergedError, DivergenceWarning
from opauc.linear import effective_rank, theorem_step_size
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


def proof_of_theorem_2(step_size, kappa, total_loss):
    """Last line of the proof, for weights of norm at most one: a bound on the regret of a constant step."""
    return (0.5 / step_size + kappa * step_size * total_loss) / (1 - kappa * step_size)


@pytest.mark.parametrize(("total_loss", "excess"), [(1e3, 0.015), (1e6, 0.059)])
def test_the_printed_step_of_theorem_2_does_not_give_its_bound(total_loss, excess):
    kappa = 4.0
    bound = 2 * kappa + np.sqrt(2 * kappa * total_loss)
    printed = 1 / (kappa + np.sqrt(kappa**2 + kappa * total_loss))
    corrected = theorem_step_size(1, total_loss, 1.0, 0.0)
    assert proof_of_theorem_2(printed, kappa, total_loss) == pytest.approx((1 + excess) * bound, rel=1e-3)
    assert proof_of_theorem_2(corrected, kappa, total_loss) <= bound
    others = corrected * np.linspace(0.5, 1.5, 101)
    assert (proof_of_theorem_2(others, kappa, total_loss) >= proof_of_theorem_2(corrected, kappa, total_loss)).all()


@pytest.mark.parametrize("alpha", [0.0, 2.0**-10, 1.0])
def test_the_best_loss_of_a_separable_distribution_is_not_zero(alpha):
    positive, negative = np.array([1.0, 2.0]), np.array([-1.0, -2.0])
    distances = np.subtract.outer(positive, negative).ravel()
    weight = distances.mean() / (alpha + np.mean(distances**2))
    assert (weight * distances > 0).all()
    loss = 0.5 * alpha * weight**2 + 0.5 * np.mean((1 - weight * distances) ** 2)
    assert loss >= 1 / 38 - 1e-12
    if alpha == 0.0:
        assert loss == pytest.approx(1 / 38)


def spectral_distance(covariance, mu, rank, random, exponent=0.5):
    """Spectral norm of I - K^(-1/2) K' K^(-1/2) for K = mu I + M, and K' with a sketch of M of some rank."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * values**exponent @ vectors.T
    whitening = vectors / np.sqrt(mu + values) @ vectors.T
    codes = random.normal(size=(len(covariance), rank)) / np.sqrt(rank)
    sketched = mu * np.eye(len(covariance)) + root @ codes @ codes.T @ root
    return np.linalg.norm(np.eye(len(covariance)) - whitening @ sketched @ whitening, 2)


def test_the_rank_of_theorem_3_is_too_small_by_a_factor_of_the_penalty():
    n_features, n_rows, alpha, error, delta = 10, 300_000, 1e-7, 0.5, 0.05
    covariance = np.eye(n_features) / n_features
    needed = 32 * effective_rank(covariance, alpha) / error**2
    printed = needed * alpha * np.log(2 * n_features * n_rows / delta)
    assert printed < 1
    random = np.random.default_rng(0)
    assert all(spectral_distance(covariance, alpha, 1, random) > error for _ in range(20))
    of_lemma = int(np.ceil(needed * np.log(2 * n_features / delta)))
    assert all(spectral_distance(covariance, alpha, of_lemma, random) <= error for _ in range(20))


def test_the_logarithm_of_theorem_4_asks_for_fewer_columns_the_more_matrices_there_are():
    n_features, delta = 10, 0.05
    n_matrices = np.array([1, 100, 400, 10_000])
    printed, corrected = np.log(2 * n_features / (delta * n_matrices)), np.log(2 * n_features * n_matrices / delta)
    assert (np.diff(printed) < 0).all()
    assert printed[-2] <= 1e-12
    assert (np.diff(corrected) > 0).all()
    # The union bound over the matrices: each fails with probability d exp(-x) on either side, x being the logarithm.
    assert_allclose(n_matrices * 2 * n_features * np.exp(-corrected), delta)


def test_the_mean_of_the_sketch_needs_the_square_root_of_the_covariance_not_its_inverse():
    covariance, mu = np.diag([4.0, 1.0, 0.25]), 0.1
    right = spectral_distance(covariance, mu, 200_000, np.random.default_rng(0))
    printed = spectral_distance(covariance, mu, 200_000, np.random.default_rng(0), exponent=-0.5)
    assert right < 0.02
    assert printed > 1


def test_two_printed_ties_cannot_be_ties():
    critical = stats.t.ppf(0.975, 24)
    impossible = {}
    for table, own in (("online", "OPAUC"), ("batch", "OPAUC"), ("high_dimension", "OPAUCr")):
        cells = printed_table(table)
        for (data, method), cell in cells.items():
            if cell.outcome == "tie":
                mine = cells[data, own]
                least = abs(mine.auc - cell.auc) / ((mine.deviation + cell.deviation) / np.sqrt(25))
                if least > critical:
                    impossible[data, method] = round(float(np.copysign(least, mine.auc - cell.auc)), 1)
    assert impossible == {("sector.lvr", "online Uni-Squ"): 5.4, ("rcv1v2", "online Uni-Squ"): -15.3}
