"""Whatever happens in the middle of a chunk, the model is as it was before it."""

import signal
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from opauc.linear.choice import SameLearner
from opauc.linear.training import Training
from scipy import sparse

from opauc.core.loop import Trainer
from opauc.core.registry import SOLVERS
from opauc.core.transaction import Transaction
from opauc.data.open_stream import stream_of_memory
from opauc.errors import DivergedError
from opauc.linear.resolve import opauc_factory
from tests.problems import problem

LEARNERS = SOLVERS
everyone = pytest.mark.parametrize("learner", [make() for make in LEARNERS.values()], ids=list(LEARNERS))
ROWS, LABELS = problem(0, 600, 40)
ROWS[np.random.default_rng(1).random(ROWS.shape) < 0.8] = 0.0
SPARSE = sparse.csr_array(ROWS)


class Interrupted(BaseException):
    """Stands for Ctrl-C at a place of our choice."""


def arrays(training):
    solution = training.solution
    return {name: array.copy() for name, array in solution.learner.to_arrays(solution.state).items()}


def assert_same(found, before):
    assert found.keys() == before.keys()
    for name, array in before.items():
        assert_array_equal(found[name], array, err_msg=name)


@everyone
@pytest.mark.parametrize("rows", [ROWS, SPARSE], ids=["dense", "sparse"])
def test_an_interrupt_between_learning_and_keeping_it_leaves_the_state_to_the_bit(learner, rows, monkeypatch):
    training = Training(SameLearner(learner))
    training.learn(rows[:300], LABELS[:300])
    weights, before = training.solution.scorer.weights.copy(), arrays(training)

    step = type(learner).step

    def interrupted(self, *chunk):
        step(self, *chunk)
        raise Interrupted

    monkeypatch.setattr(type(learner), "step", interrupted)
    with pytest.raises(Interrupted):
        training.learn(rows[300:], LABELS[300:])
    monkeypatch.undo()
    assert_same(arrays(training), before)
    assert_array_equal(training.solution.learner.weights(training.solution.state), weights)


@everyone
def test_a_chunk_learnt_again_after_an_interrupt_gives_what_an_undisturbed_run_gives(learner, monkeypatch):
    calm, disturbed = Training(SameLearner(learner)), Training(SameLearner(learner))
    step = type(learner).step

    def interrupted(self, *chunk):
        step(self, *chunk)
        raise Interrupted

    for start in range(0, 600, 100):
        part = slice(start, start + 100)
        calm.learn(SPARSE[part], LABELS[part])
        with monkeypatch.context() as patch:
            patch.setattr(type(learner), "step", interrupted)
            with pytest.raises(Interrupted):
                disturbed.learn(SPARSE[part], LABELS[part])
        disturbed.learn(SPARSE[part], LABELS[part])
    assert_same(arrays(disturbed), arrays(calm))


@pytest.mark.parametrize("settings", [{"rank": 0}, {"rank": 3, "random_state": 0}])
def test_settings_of_now_decide_what_is_kept(settings):
    """A penalty that makes the kernel remove_stale_files over all features, where the one before it did not."""
    wide = sparse.csr_array((SPARSE.data, SPARSE.indices, SPARSE.indptr), shape=(600, 5000))
    training = Training(opauc_factory({"solver": "sgd", "alpha": 0.0, **settings}))
    training.learn(wide[:300], LABELS[:300])
    before = arrays(training)
    training.recipe = opauc_factory(
        {"solver": "sgd", "alpha": 3.0, "learning_rate": "constant", "eta0": 0.333, "average": False, **settings}
    )
    other = sparse.csr_array((1e3 * SPARSE.data, SPARSE.indices + 100, SPARSE.indptr), shape=(600, 5000))[300:]
    with pytest.raises(DivergedError):
        training.learn(other, LABELS[300:])
    assert_same(arrays(training), before)


def test_a_real_ctrl_c_leaves_every_count_and_sum_as_before_or_after_a_chunk():
    """Signals at random moments: the rows counted are always whole chunks."""
    rows, labels = sparse.random_array((4000, 3000), density=0.02, format="csr", rng=np.random.default_rng(0)), None
    labels = (np.random.default_rng(1).random(4000) < 0.5).astype(np.int8)
    training = Training(SameLearner(LEARNERS["uni_squ"]()))
    training.learn(rows[:100], labels[:100])
    calm = Training(SameLearner(LEARNERS["uni_squ"]()))
    calm.learn(rows[:100], labels[:100])
    stops = 0
    for start in range(100, 4000, 100):
        part = slice(start, start + 100)
        timer = threading.Timer(0.0004, signal.raise_signal, [signal.SIGINT])
        try:
            timer.start()
            training.learn(rows[part], labels[part])
            timer.join()
        except KeyboardInterrupt:
            stops += 1
        seen = sum(training.solution.counts)
        assert seen % 100 == 0
        if seen == start:
            training.learn(rows[part], labels[part])
        calm.learn(rows[part], labels[part])
        assert_same(arrays(training), arrays(calm))


def test_a_stream_in_training_is_as_before_the_chunk_whatever_fails(monkeypatch):
    chunks = [
        chunk
        for part in (slice(0, 250), slice(250, 600))
        for chunk in stream_of_memory(ROWS[part], labels=LABELS[part]).chunks()
    ]
    training = Trainer(opauc_factory({"solver": "sgd", "rank": 3, "random_state": 0}))
    training.learn(chunks[0])
    header, before = training.parts()
    with monkeypatch.context() as patch:
        patch.setattr(
            "opauc.metrics.progressive.ProgressiveValidation.after", lambda *_: (_ for _ in ()).throw(Interrupted)
        )
        with pytest.raises(Interrupted):
            training.learn(chunks[1])
    again, found = training.parts()
    assert again == header
    assert_same(found, before)
    assert training.queue.rows == 0


def test_attributes_that_came_or_went_are_put_back():
    class Thing:
        pass

    thing = Thing()
    thing.kept, thing.lost = 1, 2

    def change():
        with Transaction(thing):
            thing.kept, thing.new = 5, 6
            del thing.lost
            raise Interrupted

    with pytest.raises(Interrupted):
        change()
    assert thing.__dict__ == {"kept": 1, "lost": 2}
