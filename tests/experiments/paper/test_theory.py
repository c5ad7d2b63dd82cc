"""The theory, measured on small problems, against formulas written out and the definitions of the paper."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from experiments.paper.catalogue import Catalogue
from experiments.paper.data_set import Task
from experiments.paper.theory import __main__ as command
from experiments.paper.theory import consistency, low_rank, ranks, regret, unbiasedness
from experiments.paper.theory.figures import low_rank_figure, regret_figure
from experiments.paper.theory.page import Measurements, render_page
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.sparse import csr_array

from opauc.linear import effective_rank, theorem_step_size
from tests import literal
from tests.problems import problem

ALPHAS = (2.0**-10, 2.0**-4)


def loss_of_scores(scores, distribution, loss):
    """The expected loss of pairs, term by term."""
    p, share, n = distribution.probabilities, distribution.shares, scores.size
    return sum(
        p[i] * p[j] * share[i] * (1 - share[j]) * loss(scores[i] - scores[j])
        for i in range(n) for j in range(n) if i != j
    )  # fmt: skip


def test_the_minimizers_of_both_losses_are_minimizers():
    random = np.random.default_rng(0)
    kinds = (
        (consistency.minimize_square, lambda gap: (1 - gap) ** 2),
        (consistency.minimize_hinge, lambda gap: max(0.0, 1 - gap)),
    )
    for distribution in consistency.draw(5, (3, 5), seed=2):
        for minimizer, loss in kinds:
            scores = minimizer(distribution)
            least = loss_of_scores(scores, distribution, loss)
            for size in (1e-3, 0.1, 1.0):
                other = scores + size * random.normal(size=scores.size)
                assert loss_of_scores(other, distribution, loss) >= least - 1e-10


def test_theorem_1_the_square_loss_orders_every_distribution_and_the_hinge_loss_does_not():
    assert consistency.count_square(300, seed=5) == (300, 0)
    n_distributions, n_wrong = consistency.count_hinge(40, seed=5)
    assert n_distributions == 40
    assert n_wrong > 10


def test_two_points_are_one_apart_whatever_their_shares():
    """The paper's first case: f(x1) - f(x2) is the sign of the difference for shares of zero and one."""
    scores = consistency.minimize_square(consistency.Distribution(np.array([0.3, 0.7]), np.array([1.0, 0.0])))
    assert scores[0] - scores[1] == pytest.approx(1.0)


def test_the_loss_of_a_row_is_the_mean_over_the_rows_of_the_other_class_before_it():
    rows, labels = problem(1, 30, 3)
    weights = np.array([0.3, -0.2, 0.1])
    losses = unbiasedness.row_losses(rows @ weights, labels)
    for t in range(30):
        others = rows[:t][labels[:t] != labels[t]]
        if not len(others):
            assert np.isnan(losses[t])
        else:
            gaps = (2.0 * labels[t] - 1) * (rows[t] - others) @ weights
            assert losses[t] == pytest.approx(np.mean((1 - gaps) ** 2) / 2)
    assert unbiasedness.whole_loss(rows @ weights, labels) == pytest.approx(
        literal.objective(weights, rows, labels, 0.0)
    )


def test_the_loss_of_a_row_is_unbiased_at_every_place_and_for_both_classes():
    bias = unbiasedness.bias_of_all_orders(np.array([0.1, 0.5, -0.3, 0.9, 2.0]), np.array([0, 1, 1, 0, 1], np.int8))
    assert set(bias) == {(place, label) for place in range(1, 5) for label in (0, 1)}
    assert max(map(abs, bias.values())) < 1e-12
    found = unbiasedness.measure(Task(*problem(2, 200, 3)), 2.0**-10, n_orders=200)
    assert abs(found.errors_apart) < 4
    assert found.n_zero >= 1


def literal_total(weights, rows, labels, alpha):
    """The sum of the paper's L_t, all rows kept."""
    moments = literal.opposite_moments(rows, labels, np.ones(len(labels)))
    total = 0.0
    for x, k, opposite in zip(rows, labels, moments, strict=True):
        if opposite:
            gap = (2.0 * k - 1) * (x - opposite[0])
            total += ((1 - gap @ weights) ** 2 + weights @ opposite[1] @ weights + alpha * weights @ weights) / 2
    return total


def test_the_best_weights_minimize_the_sum_of_the_losses():
    rows, labels = problem(3, 60, 3, scale=0.3)
    best = regret.Totals.of(rows, labels, (30, 60)).best(1, 0.1)
    found = minimize(literal_total, np.zeros(3), (rows, labels, 0.1))
    assert_allclose(best.weights, found.x, atol=1e-4)
    assert best.total_loss == pytest.approx(literal_total(best.weights, rows, labels, 0.1))
    half = regret.Totals.of(rows[:30], labels[:30], (30,)).best(0, 0.1)
    assert_allclose(regret.Totals.of(rows, labels, (30, 60)).best(0, 0.1).weights, half.weights)


def test_the_losses_of_many_learners_in_one_pass_are_those_of_each_alone():
    rows, labels = problem(4, 50, 3, scale=0.3)
    learners = [
        regret.Learner(0.1, "constant", 50, regret.constant(0.05)),
        regret.Learner(0.5, "falling", 50, regret.falling(0.5), 0.4),
        regret.Learner(0.1, "constant", 20, regret.constant(0.05)),
    ]
    found = regret.total_losses(rows, labels, learners)
    iterates = np.vstack([np.zeros(3), literal.descent(rows, labels, 0.1, np.full(50, 0.05))])
    moments = list(literal.opposite_moments(rows, labels, np.ones(50)))

    def loss(t, weights, alpha):
        if not moments[t]:
            return 0.0
        mean, covariance = moments[t]
        gap = (2.0 * labels[t] - 1) * (rows[t] - mean)
        return ((1 - gap @ weights) ** 2 + weights @ covariance @ weights + alpha * weights @ weights) / 2

    assert found[0] == pytest.approx(sum(loss(t, iterates[t], 0.1) for t in range(50)))
    assert found[2] == pytest.approx(sum(loss(t, iterates[t], 0.1) for t in range(20)))
    weights, taken, total = np.zeros(3), 0, 0.0
    for t in range(50):
        total += loss(t, weights, 0.5)
        if moments[t]:
            taken += 1
            gap = rows[t] - moments[t][0]
            slope = (weights @ gap - (2.0 * labels[t] - 1)) * gap + moments[t][1] @ weights
            weights = weights - (0.5 * weights + slope) / (0.5 * taken)
            weights *= min(1.0, 0.4 / np.linalg.norm(weights))
    assert found[1] == pytest.approx(total)


@pytest.mark.parametrize("seed", range(4))
def test_theorem_2_bounds_the_regret_at_every_end_with_either_step(seed):
    found = regret.measure(Task(*problem(seed, 400, 4)), ALPHAS, n_ends=3)
    assert {one.end for one in found} == {100, 200, 400}
    of_theorem = [one for one in found if one.steps != regret.REMARK]
    assert len(of_theorem) == 12
    for one in of_theorem:
        assert 0 < one.regret <= one.bound
        if one.steps == regret.CORRECTED:
            assert one.proof <= one.bound * (1 + 1e-12)
            assert one.step_size == pytest.approx(theorem_step_size(one.end, one.best_loss, one.best_norm, one.alpha))
    for one in found:
        assert one.best_norm <= one.alpha**-0.5
        if one.steps == regret.REMARK:
            assert one.regret <= one.bound


def test_rows_of_a_stream_have_norm_at_most_one_and_come_from_all_over_the_file():
    rows, labels = problem(5, 300, 3, scale=50.0)
    order = np.argsort(labels, kind="stable")
    stream, classes = regret.stream_of(Task(csr_array(rows[order]), labels[order]), most_rows=60)
    assert stream.shape == (60, 3)
    assert np.linalg.norm(stream, axis=1).max() == pytest.approx(1.0)
    assert 0 < classes[:20].sum() < 20


def test_the_estimated_rank_is_the_effective_numerical_rank():
    random = np.random.default_rng(0)
    rows = random.normal(size=(80, 40)) * np.linspace(0.01, 0.3, 40)
    covariance = np.cov(rows.T, bias=True)
    for alpha in ALPHAS:
        exact = effective_rank(covariance, alpha)
        found = ranks.estimate_rank(csr_array(rows), alpha, n_probes=200)
        assert found == pytest.approx(exact, abs=4 * np.sqrt(2 * exact / 200))
        assert ranks.ranks_of(3.0 * rows, 3.0, ALPHAS)[alpha] == pytest.approx(exact)


def test_the_rank_that_theorem_3_asks_for_is_the_formula_with_and_without_the_penalty():
    found = ranks.SetRank("made", 1000, 20, {0.25: 7.0})
    expected = 32 * 7.0 / 0.25 * np.log(2 * 20 * 1000 / 0.05)
    assert found.needed(0.25, with_alpha=False) == pytest.approx(expected)
    assert found.needed(0.25, with_alpha=True) == pytest.approx(0.25 * expected)
    assert ranks.promised_error(7.0, 20, 1000, expected) == pytest.approx(0.5)


@pytest.mark.parametrize(("name", "rank", "needed"), [("diabetes", 7.4, 11_800), ("splice", 54.4, 110_361)])
def test_ranks_of_published_sets(real_data, name, rank, needed):
    data = Catalogue().sets()[name]
    found = ranks.measure(name, data.task(real_data(name)), (2.0**-10,))
    assert found.rank[2.0**-10] == pytest.approx(rank, abs=0.05)
    assert found.needed(2.0**-10, with_alpha=False) == pytest.approx(needed, rel=1e-3)


def test_the_sketch_steps_as_written_out():
    rows, labels = problem(6, 40, 3, scale=0.3)
    sketch = low_rank.Sketch(3, 4, seed=9)
    low_rank.run(rows, labels, 0.1, 0.05, [sketch])
    codes = np.random.default_rng([9, 4]).normal(size=(40, 4)) / 2.0
    iterates = literal.sketched_descent(rows, labels, codes, 0.1, np.full(40, 0.05))
    assert_allclose(sketch.weights, iterates[-1], rtol=1e-9)
    before = np.vstack([np.zeros(3), iterates[:-1]])
    moments = literal.opposite_moments(rows, labels, np.ones(40))
    total = 0.0
    for x, k, w, opposite in zip(rows, labels, before, moments, strict=True):
        if opposite:
            gap = (2.0 * k - 1) * (x - opposite[0])
            total += ((1 - gap @ w) ** 2 + w @ opposite[1] @ w + 0.1 * w @ w) / 2
    assert sketch.loss == pytest.approx(total)


def test_the_regret_of_a_sketch_nears_that_of_the_whole_covariance_and_the_bounds_hold():
    task = Task(*problem(7, 300, 3))
    found = {one.rank: one for one in low_rank.measure(task, 2.0**-4, (1, 20_000), seeds=(0,))}
    whole = [one for one in regret.measure(task, (2.0**-4,), n_ends=1) if one.steps == regret.PRINTED]
    assert found[20_000].regret == pytest.approx(whole[0].regret, rel=0.05)
    assert found[1].bound is None
    assert found[20_000].distance <= found[20_000].bound
    assert found[20_000].printed_bound < found[20_000].bound


def test_the_printed_condition_of_theorem_3_has_a_counterexample():
    found = low_rank.counterexample(n_rows=40_000, n_draws=2)
    assert found.needed < 1
    assert found.rank == 1
    assert found.of_lemma > 1e6
    assert found.n_broken == 2


@pytest.fixture(scope="module")
def measured():
    task = Task(*problem(8, 200, 3))
    regrets, sketched = regret.measure(task, ALPHAS, n_ends=2), low_rank.measure(task, 2.0**-10, (1, 50))
    return Measurements(
        consistency.count_square(20), consistency.count_hinge(20), 1e-16,
        {"made": unbiasedness.measure(task, 2.0**-10, 20)}, {"made": regrets, "again": regrets},
        [ranks.measure("made", task, ALPHAS)], {"made": sketched, "again": sketched}, 2.0**-10,
        low_rank.counterexample(n_rows=2000, n_draws=2), "2026-11-18",
    )  # fmt: skip


def test_the_page_says_what_was_measured(measured):
    page = render_page(measured)
    for part in ("Theorem 1", "unbiased", "Theorem 2", "The Remark", "effective numerical rank", "counterexample"):
        assert part in page
    assert "the bound is broken **0** times" in " ".join(page.split())
    assert all(line.count("|") > 2 for line in page.splitlines() if line.startswith("|"))
    for drawing in (regret_figure(measured.regrets, ALPHAS[0]), low_rank_figure(measured.low_rank)):
        text = "".join(ElementTree.fromstring(drawing).itertext())
        assert "made" in text
        assert "again" in text
        assert "nan" not in drawing


def test_the_command_writes_the_page_and_every_figure_it_shows(tmp_path, measured, monkeypatch, capsys):
    monkeypatch.setattr(command, "measure", lambda: measured)
    monkeypatch.setattr("sys.argv", ["theory", str(tmp_path / "research")])
    command.main()
    written = {path.name for path in (tmp_path / "research").iterdir()}
    shown = set(re.findall(r"\]\((\S+\.svg)\)", (tmp_path / "research" / "theory.md").read_text(encoding="utf-8")))
    assert written == shown | {"theory.md"}
    assert len(shown) == 3
    assert len(capsys.readouterr().out.splitlines()) == 4
