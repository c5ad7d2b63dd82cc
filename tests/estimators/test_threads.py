"""Threads that share a model: one changes it at a time, and none sees it half changed."""

import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import opauc
from opauc import OPAUC
from opauc.baselines import OAM
from tests.problems import problem

THREADS, CHUNKS, SIZE, WIDTH = 4, 40, 30, 40
ROWS, LABELS = problem(0, THREADS * CHUNKS * SIZE, WIDTH)
MODELS = {
    "exact": OPAUC(solver="exact"),
    "sgd": OPAUC(solver="sgd"),
    "sketched": OPAUC(solver="exact", rank=3, random_state=0),
    "sketched sgd": OPAUC(solver="sgd", rank=3, random_state=0),
    "means": OPAUC(rank=0),
    "selection": OPAUC(solver="progressive_selection"),
    "OAM": OAM(random_state=0),
}
everyone = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))


@pytest.fixture(autouse=True)
def _eager_switches():
    """Let threads take turns as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(*works):
    """Run the works in threads that begin together; raise what any of them raises."""
    begin = Barrier(len(works))

    def run(work):
        begin.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def parts_of(thread):
    begin = thread * CHUNKS * SIZE
    return [slice(begin + i * SIZE, begin + (i + 1) * SIZE) for i in range(CHUNKS)]


def learning(model, thread):
    def work():
        for part in parts_of(thread):
            model.partial_fit(ROWS[part], LABELS[part], classes=[0, 1])

    return work


@everyone
def test_no_row_is_lost_however_many_threads_learn(model):
    model = clone(model)
    at_once(*(learning(model, thread) for thread in range(THREADS)))
    assert_allclose(model._fitted.counts, np.bincount(LABELS))


def test_rows_processed_by_threads_give_the_weights_of_fit():
    model = OPAUC(solver="exact")
    at_once(*(learning(model, thread) for thread in range(THREADS)))
    assert_allclose(model.coef_, OPAUC(solver="exact").fit(ROWS, LABELS).coef_, rtol=1e-9)


@everyone
def test_rows_are_scored_by_the_weights_before_or_after_a_chunk_and_never_between(model):
    model, asked = clone(model), ROWS[:5]
    model.partial_fit(ROWS[:SIZE], LABELS[:SIZE], classes=[0, 1])
    alone, allowed = clone(model).partial_fit(ROWS[:SIZE], LABELS[:SIZE], classes=[0, 1]), set()
    allowed.add(alone.decision_function(asked).tobytes())
    for part in parts_of(1):
        alone.partial_fit(ROWS[part], LABELS[part])
        allowed.add(alone.decision_function(asked).tobytes())

    def scoring():
        return {model.decision_function(asked).tobytes() for _ in range(300)}

    _, *seen = at_once(learning(model, 1), scoring, scoring)
    assert set().union(*seen) <= allowed


def test_a_chunk_that_fails_is_never_seen_and_hinders_no_other_thread():
    model = OPAUC(solver="exact").fit(ROWS[:SIZE], LABELS[:SIZE])

    def failing():
        for _ in range(CHUNKS):
            with pytest.raises(ValueError, match="contains NaN"):
                model.partial_fit(np.full((3, WIDTH), np.nan), [0, 1, 0])

    def scoring():
        for _ in range(300):
            assert np.isfinite(model.decision_function(ROWS[:2])).all()

    at_once(learning(model, 1), failing, failing, scoring)
    expected = np.bincount(LABELS[:SIZE], minlength=2) + np.bincount(LABELS[CHUNKS * SIZE : 2 * CHUNKS * SIZE])
    assert_allclose(model._fitted.counts, expected)


@pytest.mark.parametrize("settings", [{}, {"rank": 3}], ids=["exact", "sketched"])
def test_models_merged_into_each_other_while_they_learn_wait_for_no_one_for_ever(settings):
    shards = [OPAUC(solver="exact", random_state=seed, **settings) for seed in (0, 1)]
    for shard, part in zip(shards, (slice(0, 30), slice(30, 60)), strict=True):
        shard.fit(ROWS[part], LABELS[part])
    target = [copy.deepcopy(shard) for shard in shards]

    def merging(mine, other):
        def work():
            for _ in range(50):
                # A sketch that holds the codes of the other already refuses them.
                try:
                    mine.merge(other)
                except opauc.IncompatibleMomentsError:
                    return

        return work

    at_once(merging(target[0], shards[1]), merging(shards[1], shards[0]), merging(shards[0], target[1]))
    assert target[0]._fitted.counts.both


def test_forgetting_and_learning_at_once_leaves_the_rows_that_were_not_forgotten():
    model, half = OPAUC(solver="exact").fit(ROWS[: SIZE * CHUNKS], LABELS[: SIZE * CHUNKS]), parts_of(0)[: CHUNKS // 2]

    def forgetting():
        for part in half:
            model.forget(ROWS[part], LABELS[part])

    at_once(learning(model, 1), forgetting)
    kept = slice(SIZE * CHUNKS // 2, 2 * SIZE * CHUNKS)
    assert_allclose(model.coef_, OPAUC(solver="exact").fit(ROWS[kept], LABELS[kept]).coef_, rtol=1e-8)


def test_files_saved_during_training_hold_whole_batches(tmp_path):
    model = OPAUC(rank=0).fit(ROWS[:SIZE], LABELS[:SIZE])

    def saving():
        sums = set()
        for i in range(20):
            opauc.save(model, tmp_path / str(i))
            loaded = opauc.load(tmp_path / str(i))
            sums.add(sum(loaded._fitted.counts) % SIZE)
        return sums

    assert at_once(learning(model, 1), saving)[1] == {0.0}


@everyone
def test_copies_pickles_and_clones_have_locks_of_their_own(model):
    fitted = clone(model).fit(ROWS[:60], LABELS[:60])
    again = [copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted)), clone(fitted).fit(ROWS[:60], LABELS[:60])]
    for one in again:
        assert_array_equal(one.coef_, fitted.coef_)
        one.partial_fit(ROWS[60:90], LABELS[60:90])
    assert sum(fitted._fitted.counts) == 60
