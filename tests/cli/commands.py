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


def assert_killed_and_taken_up(data, folder, options, delay):
    """Check that a run killed at most so long after its first checkpoint resumes to the model of an undisturbed run."""
    whole, model = folder / "whole", folder / "model"
    # A run that compiles may round otherwise than those that read machine code from the disk.
    compiled = True
    while compiled:
        ran = subprocess.run(train(data, whole, options, "--json"), check=True, capture_output=True, text=True)
        compiled = '"compiling"' in ran.stdout
    # The later the signal, the sooner the run may be done before it.
    assert any(kill(data, model, options, each) for each in (delay, delay / 2, 0.0))
    subprocess.run(train(data, model, options, "--resume"), check=True)
    assert model.read_bytes() == whole.read_bytes()
