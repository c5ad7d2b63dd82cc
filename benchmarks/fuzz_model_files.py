"""Damage model and statistics files at random, or spoil what they say under a right checksum, and load them.

Each must be refused with its name; one that is spoilt may also be harmless.
`python -m benchmarks.fuzz_model_files [files]`: 12,000 damaged ones by default, and as many spoilt ones as there are.
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from tests.core.hostile_files import hostile, mutate, write_hostile
from tests.problems import problem

import opauc
from opauc import OPAUC, UnreadableFileError
from opauc.core.checksummed_file import read_checksummed

KINDS = [
    {"solver": "exact"}, {"solver": "sgd"}, {"solver": "sgd", "rank": 3}, {"solver": "exact", "rank": 3},
    {"solver": "sgd", "rank": 0}, {"solver": "progressive_selection"},
]  # fmt: skip


def main():
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 12_000
    rng, outcomes = np.random.default_rng(0), Counter()
    rows, labels = problem(0, 60, 4)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        wholes = []
        for settings in KINDS:
            model = OPAUC(random_state=0, **settings).fit(rows, labels)
            opauc.save(model, path)
            wholes.append(path.read_bytes())
        opauc.save(OPAUC().fit(rows, labels).moments_, path)
        wholes.append(path.read_bytes())
        for i in range(wanted):
            whole = wholes[i % len(wholes)]
            damaged = mutate(rng, whole)
            while rng.random() < 0.3:
                damaged = mutate(rng, damaged) if damaged else b""
            path.write_bytes(damaged)
            try:
                opauc.load(path)
                outcomes["read, as nothing had changed" if damaged == whole else "READ THOUGH DAMAGED"] += 1
            except UnreadableFileError as error:
                outcomes["refused" if str(error).startswith(f"{path}: ") else "REFUSED WITHOUT ITS NAME"] += 1
        for whole in wholes:
            path.write_bytes(whole)
            for _, described, arrays in hostile(*read_checksummed(path)):
                write_hostile(path, described, arrays)
                try:
                    opauc.load(path)
                    outcomes["spoilt, and harmless"] += 1
                except UnreadableFileError as error:
                    outcomes["refused" if str(error).startswith(f"{path}: ") else "REFUSED WITHOUT ITS NAME"] += 1
    for outcome, count in outcomes.items():
        print(f"{count:7,} {outcome}")
    sys.exit(any(outcome.isupper() for outcome in outcomes))


if __name__ == "__main__":
    main()
