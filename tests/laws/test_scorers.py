"""Laws of the scorers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.additive.basis.basis import Basis
from opauc.additive.scorer import MappedScorer
from opauc.core.mergeable import ScoreSummary
from opauc.linear.scorer import LinearScorer
from tests.problems import problem

KINDS, MAPPED = [LinearScorer], [MappedScorer]
everyone = pytest.mark.parametrize("kind", KINDS)
lengths = pytest.mark.parametrize("unit_rows", [False, True])
ROWS, LABELS = problem(0, 20_000, 4)
WEIGHTS = np.array([1.0, -0.5, 0.25, 0.0])


def scorer_of(kind, unit_rows):
    sizes = np.linalg.norm(ROWS, axis=1) if unit_rows else 1.0
    return kind.of_scores(WEIGHTS, ROWS @ WEIGHTS / sizes, LABELS, unit_rows)


def test_there_are_scorers():
    assert KINDS
    assert MAPPED


@pytest.mark.parametrize("kind", MAPPED)
def test_a_mapped_score_depends_on_its_row_alone_and_is_the_log_odds(kind):
    basis = Basis.of(ROWS, np.ones(len(ROWS)), np.zeros(ROWS.shape[1], bool), n_knots=5)
    scorer = kind(basis, np.random.default_rng(0).normal(size=basis.n_columns))
    whole = scorer.scores(ROWS)
    assert_allclose(np.concatenate([scorer.scores(part) for part in np.array_split(ROWS, 7)]), whole, rtol=1e-12)
    probabilities = scorer.probabilities(whole)
    assert_allclose(np.log(probabilities / (1.0 - probabilities)), whole, rtol=1e-9, atol=1e-9)


@lengths
@everyone
def test_the_score_of_a_row_does_not_depend_on_other_rows(kind, unit_rows):
    scorer = scorer_of(kind, unit_rows)
    whole = scorer.scores(ROWS)
    assert_allclose(np.concatenate([scorer.scores(part) for part in np.array_split(ROWS, 7)]), whole, rtol=1e-12)
    assert_allclose(scorer.scores(sparse.csr_array(ROWS)), whole, rtol=1e-9, atol=1e-12)
    assert_allclose(scorer.scores(ROWS.astype(np.float32)), whole, rtol=1e-4, atol=1e-4)


@lengths
@everyone
def test_zero_is_midway_between_the_class_means(kind, unit_rows):
    scores = scorer_of(kind, unit_rows).scores(ROWS)
    assert_allclose(scores[LABELS == 1].mean(), -scores[LABELS == 0].mean(), rtol=1e-9)


@lengths
@everyone
def test_probabilities_rise_with_scores_and_average_to_the_share_of_positives(kind, unit_rows):
    scorer = scorer_of(kind, unit_rows)
    scores = scorer.scores(ROWS)
    probabilities = scorer.probabilities(scores)
    assert (np.diff(probabilities[np.argsort(scores)]) >= 0).all()
    assert_array_equal(scorer.probabilities(scores), probabilities)
    assert_allclose(probabilities.mean(), LABELS.mean(), atol=0.02)


@everyone
def test_one_class_alone_gives_its_label_and_the_prior(kind):
    for seen, counts in ((1.0, (0.0, 5.0)), (-1.0, (5.0, 0.0))):
        scorer = kind.of(WEIGHTS * 0, ScoreSummary(counts, (0.0, 0.0), (0.0, 0.0)))
        assert_array_equal(scorer.scores(ROWS[:3]), np.full(3, seen))
        assert_array_equal(scorer.probabilities(scorer.scores(ROWS[:3])), np.full(3, float(seen > 0)))


@lengths
@everyone
def test_arrays_restore_the_same_scorer(kind, unit_rows):
    scorer = scorer_of(kind, unit_rows)
    again = kind.of_arrays(scorer.weights, scorer.numbers())
    assert_array_equal(again.probabilities(again.scores(ROWS[:50])), scorer.probabilities(scorer.scores(ROWS[:50])))


@everyone
def test_the_score_of_unit_rows_is_that_of_the_row_at_any_length_and_none_has_the_intercept(kind):
    scorer, rows = scorer_of(kind, True), ROWS[:40]
    assert_allclose(scorer.scores(rows), rows @ WEIGHTS / np.linalg.norm(rows, axis=1) + scorer.intercept, rtol=1e-12)
    for factor in (1e-130, 1e-3, 7.0, 1e140):
        assert_allclose(scorer.scores(rows * factor), scorer.scores(rows), rtol=1e-9, atol=1e-12)
    for none in (np.zeros((2, 4)), sparse.csr_array((2, 4)), np.full((2, 4), 1e-150)):
        assert_array_equal(scorer.scores(none), np.full(2, scorer.intercept))


@everyone
@pytest.mark.parametrize("numbers", [np.zeros(2), np.zeros(5), np.array([0.0, 1.0, 0.0, 2.0])])
def test_impossible_numbers_are_refused(kind, numbers):
    with pytest.raises(ValueError, match="number"):
        kind.of_arrays(WEIGHTS.copy(), numbers)
