"""The online competitors against one epoch of scikit-learn's SGD over the same sparse rows."""

import numpy as np
from sklearn.linear_model import SGDClassifier

from benchmarks.stopwatch import race
from benchmarks.table import describe, heading, line
from benchmarks.workloads import Workload, workload
from opauc.baselines.ada_oam import AdaOAMSolver
from opauc.baselines.oam import OAMSolver
from opauc.baselines.solam import SOLAMSolver
from opauc.baselines.spauc import SPAUCSolver
from opauc.baselines.uni_exp import UniExpSolver
from opauc.baselines.uni_squ import UniSquSolver

CONSTANT = {"eta0": 2.0**-9, "learning_rate": "constant", "average": False}


def learners(buffer_size):
    """Each method, those of the paper with the step that tuning chose on a9a."""
    return {
        "OAM_seq": OAMSolver("sequential", buffer_size, 2.0**-12),
        "OAM_gra": OAMSolver("gradient", buffer_size, 2.0**-12),
        "OAM_seq, default C": OAMSolver("sequential", buffer_size),
        "OAM_gra, default C": OAMSolver("gradient", buffer_size),
        "Uni-Exp": UniExpSolver(**CONSTANT),
        "Uni-Squ": UniSquSolver(**CONSTANT),
        "SOLAM": SOLAMSolver(),
        "SPAUC": SPAUCSolver(),
    }


def one_pass(learner, load):
    coded = (load.labels > 0).astype(np.int8)
    return lambda: learner.step(learner.start(load.rows.shape[1]), load.rows, coded)


def online_table(load, contestants, buffer_size):
    print(f"\n### Online competitors on {describe(load)}, buffers of {buffer_size}: time per row\n")
    heading(["method", "method / SGDClassifier epoch", "method µs", "SGDClassifier µs"])
    for name, learner in contestants.items():
        best = race({
            "method": one_pass(learner, load),
            "epoch": lambda: SGDClassifier(loss="hinge", max_iter=1, tol=None).fit(load.rows, load.labels),
        })  # fmt: skip
        per_row = {key: seconds / len(load.labels) * 1e6 for key, seconds in best.items()}
        line([
            name, f"{best['method'] / best['epoch']:.2f}", f"{per_row['method']:.3f}", f"{per_row['epoch']:.3f}",
        ])  # fmt: skip


def main():
    narrow = workload("a9a", 32_561, 123, per_row=14)
    online_table(narrow, learners(100) | {"AdaOAM": AdaOAMSolver()}, 100)
    dense = Workload(narrow.name, narrow.rows.toarray(), narrow.labels)
    online_table(dense, learners(100) | {"AdaOAM": AdaOAMSolver()}, 100)
    wide = workload("news20", 16_000, 62_000, per_row=80)
    wide.rows.data[:] /= np.repeat(np.sqrt(wide.rows.multiply(wide.rows).sum(axis=1)), np.diff(wide.rows.indptr))
    online_table(wide, learners(50), 50)
