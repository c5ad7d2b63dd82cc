"""How tests stop, kill and read the output of the command."""

import subprocess

from benchmarks.kill_and_resume import kill, train

from opauc.core.loop import Trainer


def without_notice(text):
    """Return the text without the notice that kernels are being compiled, which only a first run prints."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("opauc is compiling"))


def one_line(ran):
    """Return the message of a user's mistake, which must be one line."""
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("opauc: ")
    return ran.err.removeprefix("opauc: ").strip()


def with_init_size(opauc, rows):
    """Return the command with initial samples of so many rows."""

    def run(verb, *words):
        own_basis = verb == "train" and not {"--solver", "--basis-from", "--alpha", "rows.svm"} & set(words)
        return opauc(verb, *words, *(("--init-size", rows) if own_basis else ()))

    return run


class StopHereError(Exception):
    """Stands for a crash."""


def stop_after(monkeypatch, n_batches):
    """Make training fail after so many batches."""
    train_batch, seen = Trainer.train, []

    def failing(self, batch):
        if len(seen) == n_batches:
            raise StopHereError
        seen.append(batch)
        train_batch(self, batch)

    monkeypatch.setattr(Trainer, "train", failing)


def assert_killed_and_taken_up(data, folder, options, delays):
    """Check that runs killed so long after their first checkpoint resume to the model of an undisturbed run."""
    whole, model = folder / "whole", folder / "model"
    # The first run may compile: its machine code may round otherwise than that which is read from the disk.
    for _ in range(2):
        subprocess.run(train(data, whole, options), check=True)
    killed = []
    for delay in delays:
        killed.append(kill(data, model, options, delay))
        subprocess.run(train(data, model, options, "--resume"), check=True)
        assert model.read_bytes() == whole.read_bytes()
    assert any(killed)
