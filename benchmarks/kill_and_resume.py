"""Kill training at random moments, take it up again, and compare the model with that of a run left alone.

`python -m benchmarks.kill_and_resume [kills]`: 50 by default, shared out over exact and sgd, full and sketched,
plain and packed input. Prints a line a kill and fails if any model differs in a single bit.
"""

from __future__ import annotations

import gzip
import random
import signal
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np

KINDS = {
    "exact": ["--solver", "exact"],
    "exact, penalty chosen": ["--alpha", "auto"],
    "exact, forgetting chosen": ["--forgetting-factor", "auto", "--horizon", "200"],
    "exact, sketched": ["--solver", "exact", "--rank", "8"],
    "sgd": ["--solver", "sgd"],
    "sgd, sketched": ["--solver", "sgd", "--rank", "8"],
    "progressive selection": ["--solver", "progressive_selection"],
}


def write_rows(path, n_rows=150_000, n_features=60, seed=0):
    """Write LIBSVM rows whose last features turn up late; return the path."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(n_rows):
        label = rng.random() < 0.2
        width = n_features // 2 + n_features * i // (2 * n_rows)
        indices = np.flatnonzero(rng.random(width) < 0.2) + 1
        entries = " ".join(
            f"{j}:{value:.4f}" for j, value in zip(indices, rng.random(indices.size) + label, strict=True)
        )
        lines.append(f"{'+1' if label else '-1'} {entries}\n")
    content = "".join(lines).encode()
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
    return path


def train(data, output, options, *more):
    """Return the command that trains on `data`, with a checkpoint after every chunk."""
    return [
        sys.executable, "-m", "opauc", "train", str(data), "-o", str(output), "--quiet", "--checkpoint-every", "1",
        *options, *more,
    ]  # fmt: skip


def started(data, output, options):
    """Start training afresh and return the process once its first checkpoint is there, or it is done."""
    checkpoint = output.with_name(output.name + ".checkpoint")
    for old in (output, checkpoint):
        old.unlink(missing_ok=True)
    running = subprocess.Popen(train(data, output, options))
    while running.poll() is None and not checkpoint.exists():
        time.sleep(0.001)
    return running


def left_alone(data, output, options):
    """Return the model of a run left alone, and how long it went on after its first checkpoint."""
    running, began = started(data, output, options), time.perf_counter()
    if running.wait():
        raise RuntimeError("training failed")
    return output.read_bytes(), time.perf_counter() - began


def kill(data, output, options, delay):
    """Kill a run `delay` seconds after its first checkpoint; return whether it had not come to its end."""
    running = started(data, output, options)
    time.sleep(delay)
    running.send_signal(signal.SIGKILL)
    return running.wait() == -signal.SIGKILL


def kill_and_resume(data, folder, options, wanted, delay):
    """Kill a run, take it up; return whether it was killed, and ended in the model wanted."""
    output = folder / "killed.opauc"
    killed = kill(data, output, options, delay)
    subprocess.run(train(data, output, options, "--resume"), check=True)
    return killed, output.read_bytes() == wanted


def main():
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs = {"plain": write_rows(folder / "rows.svm"), "packed": write_rows(folder / "rows.svm.gz")}
        cases = list(product(KINDS, inputs))
        wanted, length = {}, {}
        for kind, form in cases:
            left_alone(inputs[form], folder / "whole.opauc", KINDS[kind])  # compiles
            wanted[kind, form], length[kind, form] = left_alone(inputs[form], folder / "whole.opauc", KINDS[kind])
        done = differing = 0
        while done < kills:
            kind, form = cases[done % len(cases)]
            delay = rng.random() * length[kind, form]
            killed, same = kill_and_resume(inputs[form], folder, KINDS[kind], wanted[kind, form], delay)
            if not killed:
                continue  # it was done before the signal came
            done += 1
            differing += not same
            print(f"{done:3d} {kind:16} {form:7} killed {delay:.3f} s after its first checkpoint: "
                  f"{'the same bits' if same else 'DIFFERENT'}", flush=True)  # fmt: skip
    print(f"{done} kills, {differing} models differ")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
