"""Reading LIBSVM text: the streaming reader against scikit-learn's loader."""

import gzip
import hashlib
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks.stopwatch import race
from benchmarks.table import heading, line
from opauc.core.batch import BEGINNING
from opauc.data.bad_rows import BadRows
from opauc.data.formats.libsvm import LibsvmReader
from opauc.data.sources import ByteSource


def categories(rng, n_rows=200_000, n_features=123, per_row=14):
    """Ones at 14 of 123 features, as in a9a."""
    picks = np.sort(np.argsort(rng.random((n_rows, n_features)), axis=1)[:, :per_row], axis=1) + 1
    words = np.array([f"{index}:1" for index in range(n_features + 1)], dtype=object)
    return _lines(rng, words[picks])


def real_values(rng, n_rows=15_000, n_features=50_000, per_row=100):
    """Values of seven digits at some hundred features as frequent as words."""
    picks = [np.unique((n_features ** rng.random(per_row)).astype(int)) for _ in range(n_rows)]
    values = [rng.random(row.size) for row in picks]
    pairs = (zip(row, numbers, strict=True) for row, numbers in zip(picks, values, strict=True))
    return _lines(rng, [[f"{index}:{value:.7f}" for index, value in row] for row in pairs])


def _lines(rng, rows):
    labels = np.where(rng.random(len(rows)) < 0.25, "+1", "-1")
    return "".join(f"{label} {' '.join(row)}\n" for label, row in zip(labels, rows, strict=True)).encode()


def stream(path):
    """Read all rows and keep none, as a learner does."""
    return sum(part.labels.size for part in LibsvmReader().batches(ByteSource(str(path)), BEGINNING, BadRows()))


def libsvm_table(folder):
    print("\n### LIBSVM text: megabytes of text a second, with every row checked\n")
    heading([
        "text", "MB", "opauc / load_svmlight_file", "opauc MB/s", "load_svmlight_file MB/s",
        "share of SHA-256 in opauc's time",
    ])  # fmt: skip
    texts = {"a9a-like, 14 ones a row": categories, "text-like, 100 real values a row": real_values}
    for name, make in texts.items():
        text = make(np.random.default_rng(0))
        for packing, content in (("plain", text), ("gz", gzip.compress(text, 6))):
            path = Path(folder) / ("data.txt" if packing == "plain" else "data.txt.gz")
            path.write_bytes(content)
            best = race({
                "opauc": lambda path=path: stream(path),
                "scikit-learn": lambda path=path: load_svmlight_file(str(path), zero_based=False),
                "hash": lambda text=text: hashlib.sha256(text).hexdigest(),
            }, turns=5, budget=30.0)  # fmt: skip
            size = len(text) / 1e6
            line([
                f"{name}, {packing}", f"{size:.0f}", f"{best['scikit-learn'] / best['opauc']:.1f}",
                *(f"{size / best[reader]:.0f}" for reader in ("opauc", "scikit-learn")),
                f"{best['hash'] / best['opauc']:.0%}",
            ])  # fmt: skip


def main():
    with tempfile.TemporaryDirectory() as folder:
        libsvm_table(folder)


if __name__ == "__main__":
    main()
