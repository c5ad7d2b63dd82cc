"""Whatever happens in the middle of a batch, the model is as it was before it."""

import signal
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from opauc.core.loop import Trainer
from opauc.core.registry import SOLVERS
from opauc.core.transaction import Transaction
from opauc.data.open_stream import stream_of_memory
from opauc.errors import DivergedError
from opauc.linear.resolve import fixed_factory, opauc_factory
from opauc.metrics.progressive import ProgressiveValidation
from tests.problems import problem

everyone = pytest.mark.parametrize("solver", [make() for make in SOLVERS.values()], ids=list(SOLVERS))
ROWS, LABELS = problem(0, 600, 40)
ROWS[np.random.default_rng(1).random(ROWS.shape) < 0.8] = 0.0
SPARSE = sparse.csr_array(ROWS)


class Interrupted(BaseException):
    """Stands for Ctrl-C at a place of our choice."""


def arrays(trainer):
    fit = trainer.fit
    return {name: array.copy() for name, array in fit.solver.to_arrays(fit.state).items()}


def assert_same(found, before):
    assert found.keys() == before.keys()
    for name, array in before.items():
        assert_array_equal(found[name], array, err_msg=name)


@everyone
@pytest.mark.parametrize("rows", [ROWS, SPARSE], ids=["dense", "sparse"])
def test_an_interrupt_before_the_new_state_is_kept_leaves_the_state_to_the_bit(solver, rows, monkeypatch):
    trainer = Trainer(fixed_factory(solver))
    trainer.train_rows(rows[:300], LABELS[:300])
    weights, before = trainer.fit.scorer.weights.copy(), arrays(trainer)

    step = type(solver).step

    def interrupted(self, *batch):
        step(self, *batch)
        raise Interrupted

    monkeypatch.setattr(type(solver), "step", interrupted)
    with pytest.raises(Interrupted):
        trainer.train_rows(rows[300:], LABELS[300:])
    monkeypatch.undo()
    assert_same(arrays(trainer), before)
    assert_array_equal(trainer.fit.solver.weights(trainer.fit.state), weights)


@everyone
def test_a_batch_trained_again_after_an_interrupt_gives_what_an_undisturbed_run_gives(solver, monkeypatch):
    calm, disturbed = Trainer(fixed_factory(solver)), Trainer(fixed_factory(solver))
    step = type(solver).step

    def interrupted(self, *batch):
        step(self, *batch)
        raise Interrupted

    for start in range(0, 600, 100):
        part = slice(start, start + 100)
        calm.train_rows(SPARSE[part], LABELS[part])
        with monkeypatch.context() as patch:
            patch.setattr(type(solver), "step", interrupted)
            with pytest.raises(Interrupted):
                disturbed.train_rows(SPARSE[part], LABELS[part])
        disturbed.train_rows(SPARSE[part], LABELS[part])
    assert_same(arrays(disturbed), arrays(calm))


@pytest.mark.parametrize("settings", [{"rank": 0}, {"rank": 3, "random_state": 0}])
def test_parameters_of_now_decide_what_is_kept(settings):
    """A penalty that makes the kernel go over all features, where the one before it did not."""
    wide = sparse.csr_array((SPARSE.data, SPARSE.indices, SPARSE.indptr), shape=(600, 5000))
    trainer = Trainer(opauc_factory({"solver": "sgd", "alpha": 0.0, **settings}))
    trainer.train_rows(wide[:300], LABELS[:300])
    before = arrays(trainer)
    trainer.factory = opauc_factory(
        {"solver": "sgd", "alpha": 3.0, "learning_rate": "constant", "eta0": 0.333, "average": False, **settings}
    )
    other = sparse.csr_array((1e3 * SPARSE.data, SPARSE.indices + 100, SPARSE.indptr), shape=(600, 5000))[300:]
    with pytest.raises(DivergedError):
        trainer.train_rows(other, LABELS[300:])
    assert_same(arrays(trainer), before)


def test_a_real_ctrl_c_leaves_every_count_and_sum_as_before_or_after_a_batch():
    """Signals at random moments: the rows counted are always whole batches."""
    rows, labels = sparse.random_array((4000, 3000), density=0.02, format="csr", rng=np.random.default_rng(0)), None
    labels = (np.random.default_rng(1).random(4000) < 0.5).astype(np.int8)
    trainer = Trainer(fixed_factory(SOLVERS["uni_squ"]()))
    trainer.train_rows(rows[:100], labels[:100])
    calm = Trainer(fixed_factory(SOLVERS["uni_squ"]()))
    calm.train_rows(rows[:100], labels[:100])
    stops = 0
    for start in range(100, 4000, 100):
        part = slice(start, start + 100)
        timer = threading.Timer(0.0004, signal.raise_signal, [signal.SIGINT])
        try:
            timer.start()
            trainer.train_rows(rows[part], labels[part])
            timer.join()
        except KeyboardInterrupt:
            stops += 1
        seen = sum(trainer.fit.counts)
        assert seen % 100 == 0
        if seen == start:
            trainer.train_rows(rows[part], labels[part])
        calm.train_rows(rows[part], labels[part])
        assert_same(arrays(trainer), arrays(calm))


def test_a_trainer_of_a_stream_is_as_before_the_batch_whatever_fails(monkeypatch):
    batches = [
        batch
        for part in (slice(0, 250), slice(250, 600))
        for batch in stream_of_memory(ROWS[part], labels=LABELS[part]).batches()
    ]
    trainer = Trainer(opauc_factory({"solver": "sgd", "rank": 3, "random_state": 0}), monitor=ProgressiveValidation())
    trainer.train(batches[0])
    header, before = trainer.parts()
    with monkeypatch.context() as patch:
        patch.setattr(
            "opauc.metrics.progressive.ProgressiveValidation.after", lambda *_: (_ for _ in ()).throw(Interrupted)
        )
        with pytest.raises(Interrupted):
            trainer.train(batches[1])
    again, found = trainer.parts()
    assert again == header
    assert_same(found, before)
    assert trainer.pending.rows == 0


def test_attributes_that_came_or_went_are_rolled_back():
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
