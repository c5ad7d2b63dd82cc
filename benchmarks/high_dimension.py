"""High dimension: OPAUCr, means only and the default against their peers, and what they take of memory."""

import json
import subprocess
import sys

import numpy as np

from benchmarks.peers import epochs, literal_sketched_descent, oam_gradient, univariate
from benchmarks.stopwatch import race
from benchmarks.table import describe, heading, line
from benchmarks.workloads import Workload, text_like, workload
from opauc.baselines.oam import OAMSolver
from opauc.linear.means import ClassMeans
from opauc.linear.moments.sketch import SignStream
from opauc.linear.progressive_selection import ProgressiveSelection
from opauc.linear.sketch_sgd import SketchedSGD

RANK = 50
ROWS = 20_000  # of the table against the dimension
# Resident memory of the state after one pass, in a process of its own.
MEMORY = """
import json, os, sys
import numpy as np
from benchmarks.workloads import workload
from opauc.linear.sketch_sgd import SketchedSGD
load = workload(sys.argv[1], 20_000, 1_400_000, per_row=380)
labels = (load.labels > 0).astype(np.int8)
learner = SketchedSGD(rank=50, dtype=sys.argv[2])
learner.step(learner.start(load.rows.shape[1]), load.rows[:2], labels[:2])
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
before = resident()
state = learner.step(learner.start(load.rows.shape[1]), load.rows, labels)
print(json.dumps([resident() - before, load.rows.shape[1], load.name]))
"""


def one_pass(learner, load):
    coded = (load.labels > 0).astype(np.int8)
    return lambda: learner.step(learner.start(load.rows.shape[1]), load.rows, coded)


def oam(load):
    rows, signs, weights = load.rows, load.labels.astype(float), np.zeros(load.rows.shape[1])
    random = np.random.default_rng(0)
    return lambda: oam_gradient(rows.data, rows.indices, rows.indptr, signs, 50, 0.01, random, weights)


def sketch_table(loads):
    print(f"\n### OPAUCr, rank {RANK}: time per row\n")
    heading([
        "data", "float64 / SGDClassifier epoch", "float32 / SGDClassifier epoch",
        "float64 / OAM_gra as usually written, buffers of 50", "float64 / opauc's OAM_gra",
        "NumPy as in the paper / float64", "float64 µs", "float32 µs",
    ])  # fmt: skip
    for load in loads:
        best = race({
            "float64": one_pass(SketchedSGD(rank=RANK), load),
            "float32": one_pass(SketchedSGD(rank=RANK, dtype="float32"), load),
            "epoch": epochs(load.rows, load.labels)["epoch"],
            "oam": oam(load),
            "own oam": one_pass(OAMSolver("gradient", 50, 0.01), load),
        }, turns=4)  # fmt: skip
        few = 12 if load.rows.shape[1] > 10**6 else 60
        signs = SignStream.seeded(RANK, 0).sign_rows(np.arange(few))[:, :RANK]
        slow = race({
            "literal": lambda load=load, signs=signs, few=few: literal_sketched_descent(
                load.rows, load.labels, signs, 1e-4, 0.01, few
            )
        }, turns=1, budget=60.0)  # fmt: skip
        count = len(load.labels)
        line([
            describe(load), *(f"{best[name] / best['epoch']:.1f}" for name in ("float64", "float32")),
            *(f"{best['float64'] / best[name]:.2f}" for name in ("oam", "own oam")),
            f"{slow['literal'] / few / (best['float64'] / count):,.0f}",
            *(f"{best[name] / count * 1e6:.2f}" for name in ("float64", "float32")),
        ])  # fmt: skip


def means_table(loads):
    print("\n### Means only (rank 0) and the default of high dimension: time per row\n")
    heading([
        "data", "means only / numba univariate SGD", "default / numba univariate SGD",
        "means only / SGDClassifier epoch", "default / SGDClassifier epoch", "means only µs", "default µs",
    ])  # fmt: skip
    for load in loads:
        best = race({
            "means": one_pass(ClassMeans(), load),
            "default": one_pass(ProgressiveSelection(), load),
            "univariate": univariate(load.rows, load.labels.astype(float)),
            "epoch": epochs(load.rows, load.labels)["epoch"],
        })  # fmt: skip
        cells = [f"{best[name] / best[peer]:.2f}" for peer in ("univariate", "epoch") for name in ("means", "default")]
        line([describe(load), *cells, *(f"{best[name] / len(load.labels) * 1e6:.2f}" for name in ("means", "default"))])


def dimension_table():
    print("\n### Cost per row against the dimension, 100 entries a row\n")
    heading(["features", "OPAUCr µs", "OPAUCr per entry / at 10,000", "means only / at 10,000", "default / at 10,000"])
    first = {}
    for width in (10**4, 10**5, 10**6):
        rng = np.random.default_rng(0)
        rows = text_like(rng, ROWS, width, 100)
        load = Workload("Zipf", rows, np.where(rng.random(ROWS) < 0.5, 1, -1))
        best = race({
            "sketch": one_pass(SketchedSGD(rank=RANK), load),
            "means": one_pass(ClassMeans(), load),
            "default": one_pass(ProgressiveSelection(), load),
        })  # fmt: skip
        per_entry = {name: seconds / rows.nnz for name, seconds in best.items()}
        first = first or per_entry
        cells = [f"{per_entry[name] / first[name]:.2f}" for name in ("sketch", "means", "default")]
        line([f"{width:,}", f"{best['sketch'] / ROWS * 1e6:.2f}", *cells])


def memory_table(name):
    print("\n### Memory of OPAUCr\n")
    heading(["data", "storage", "MiB", "share of two dense sketches in float64"])
    for dtype in ("float64", "float32"):
        done = subprocess.run([sys.executable, "-c", MEMORY, name, dtype], capture_output=True, text=True, check=True)
        size, width, told = json.loads(done.stdout)
        line([told, dtype, f"{size / 2**20:.0f}", f"{size / (2 * width * RANK * 8):.2f}"])


def main():
    wide = workload("news20_binary_rebuilt", 20_000, 1_400_000, per_row=380)
    news = workload("news20", 16_000, 62_000, per_row=80)
    news.rows.data[:] /= np.repeat(np.sqrt(news.rows.multiply(news.rows).sum(axis=1)), np.diff(news.rows.indptr))
    sketch_table([wide, news])
    means_table([wide, news])
    dimension_table()
    memory_table("news20_binary_rebuilt")
