"""What every scorer promises, found by looking in the folder."""

from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc import scorers
from opauc.statistics.score_summary import ScoreSummary
from tests.problems import problem

KINDS = [
    thing
    for module in iter_modules(scorers.__path__)
    for thing in vars(import_module(f"opauc.scorers.{module.name}")).values()
    if isinstance(thing, type) and thing.__module__.startswith("opauc.scorers.")
]
everyone = pytest.mark.parametrize("kind", KINDS)
ROWS, LABELS = problem(0, 20_000, 4)
WEIGHTS = np.array([1.0, -0.5, 0.25, 0.0])


def scorer_of(kind):
    return kind.of_scores(WEIGHTS, ROWS @ WEIGHTS, LABELS)


def test_there_are_scorers():
    assert KINDS


@everyone
def test_the_score_of_a_row_does_not_depend_on_the_rows_beside_it(kind):
    scorer = scorer_of(kind)
    whole = scorer.scores(ROWS)
    assert_allclose(np.concatenate([scorer.scores(part) for part in np.array_split(ROWS, 7)]), whole, rtol=1e-12)
    assert_allclose(scorer.scores(sparse.csr_array(ROWS)), whole, rtol=1e-9, atol=1e-12)
    assert_allclose(scorer.scores(ROWS.astype(np.float32)), whole, rtol=1e-4, atol=1e-4)


@everyone
def test_zero_is_midway_between_the_class_means(kind):
    scores = scorer_of(kind).scores(ROWS)
    assert_allclose(scores[LABELS == 1].mean(), -scores[LABELS == 0].mean(), rtol=1e-9)


@everyone
def test_probabilities_rise_with_scores_and_average_to_the_share_of_positives(kind):
    scorer = scorer_of(kind)
    scores, chances = scorer.scores(ROWS), scorer.probabilities(ROWS)
    assert (np.diff(chances[np.argsort(scores)]) >= 0).all()
    assert_array_equal(scorer.chances(scores), chances)
    assert_allclose(chances.mean(), LABELS.mean(), atol=0.02)


@everyone
def test_one_class_alone_gives_its_label_and_the_prior(kind):
    for seen, counts in ((1.0, (0.0, 5.0)), (-1.0, (5.0, 0.0))):
        scorer = kind.of(WEIGHTS * 0, ScoreSummary(counts, (0.0, 0.0), (0.0, 0.0)))
        assert_array_equal(scorer.scores(ROWS[:3]), np.full(3, seen))
        assert_array_equal(scorer.probabilities(ROWS[:3]), np.full(3, float(seen > 0)))


@everyone
def test_what_a_file_keeps_makes_the_same_scorer(kind):
    scorer = scorer_of(kind)
    again = kind.of_arrays(scorer.weights, scorer.numbers())
    assert_array_equal(again.probabilities(ROWS[:50]), scorer.probabilities(ROWS[:50]))
