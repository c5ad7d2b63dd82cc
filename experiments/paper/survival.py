"""Whether a store survives kill -9: a run killed ten times at random against one that nobody disturbed.

Run `python -m experiments.paper.survival [SET ...]`: the profile "quick" on
these sets, once undisturbed and once with its whole process group killed at
random times and started again. The two stores have to be equal, times aside.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from experiments.paper.store import Key, Line, Store

SETS = ("diabetes", "fourclass", "german", "splice")
KILLS = 10


class Life(NamedTuple):
    """How long a run lived, whether it was killed, and how many lines the store had then."""

    seconds: float
    killed: bool
    n_lines: int


def command(sets: Sequence[str], store: Path) -> list[str]:
    """The command that computes the profile "quick" on these sets into a store."""
    asked = ["--profile", "quick", "--store", str(store), "--sets", *sets]
    return [sys.executable, "-m", "experiments.paper", "run", *asked]


def lived(sets: Sequence[str], store: Path, n_lines: int | None = None, delay: float = 0.0) -> Life:
    """Start a run and kill it, workers and all, so many seconds after the store has so many lines; None never does."""
    began = time.monotonic()
    process = subprocess.Popen(command(sets, store), start_new_session=True, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        if n_lines is not None and written(store) >= n_lines:
            time.sleep(delay)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        time.sleep(0.01)
    if process.returncode not in (0, -signal.SIGKILL):
        raise RuntimeError(f"the run ended with exit code {process.returncode}")
    return Life(time.monotonic() - began, process.returncode != 0, len(timeless(store)))


def written(folder: Path) -> int:
    """How many lines a store has on the disk, a last one cut off included."""
    return sum(path.read_bytes().count(b'{"profile') for path in folder.glob("*.jsonl"))


def timeless(folder: Path) -> dict[Key, Line]:
    """The lines of a store without the times they took."""
    lines = Store(folder).lines("quick")
    return {line.key: replace(line, seconds=None, tuning_seconds=None) for line in lines}


def killed_again_and_again(sets: Sequence[str], store: Path, whole: Life, seed: int = 0) -> Iterator[Life]:
    """The lives of a run that is killed `KILLS` times at random, and then left to end."""
    chance, n_lines = random.Random(seed), 0
    for kill in range(KILLS):
        more = chance.randint(1, 2 * (whole.n_lines - n_lines) // (KILLS - kill + 1))
        life = lived(sets, store, min(n_lines + more, whole.n_lines - KILLS + kill), chance.uniform(0.0, 0.2))
        n_lines = life.n_lines
        yield life
    yield lived(sets, store)


def main() -> int:
    """Print a line a life; exit code 1 where the stores differ."""
    sets = sys.argv[1:] or SETS
    with tempfile.TemporaryDirectory() as folder:
        whole, broken = Path(folder) / "whole", Path(folder) / "broken"
        undisturbed = lived(sets, whole)
        print(f"undisturbed: {undisturbed.n_lines} lines in {undisturbed.seconds:.0f} s", flush=True)
        for life in killed_again_and_again(sets, broken, undisturbed):
            print(
                f"{'killed' if life.killed else 'ended'} after {life.seconds:.1f} s: {life.n_lines} lines", flush=True
            )
        same = timeless(whole) == timeless(broken) and not Store(broken).faults
    print("the stores are equal, times aside" if same else "the stores differ")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
