"""The online competitors against one epoch of scikit-learn's SGD over the same sparse rows."""

import numpy as np
from sklearn.linear_model import SGDClassifier

from benchmarks.stopwatch import race
from benchmarks.table import describe, heading, line
from benchmarks.workloads import Workload, workload
from opauc.baselines.solvers.ada_oam import AdaOAM
from opauc.baselines.solvers.oam import OAM
from opauc.baselines.solvers.solam import SOLAM
from opauc.baselines.solvers.spauc import SPAUC
from opauc.baselines.solvers.uni_exp import UniExp
from opauc.baselines.solvers.uni_squ import UniSqu

CONSTANT = {"eta0": 2.0**-9, "learning_rate": "constant", "average": False}


def learners(buffer_size):
    """Each method, those of the paper with the step that tuning chose on a9a."""
    return {
        "OAM_seq": OAM("sequential", buffer_size, 2.0**-12),
        "OAM_gra": OAM("gradient", buffer_size, 2.0**-12),
        "OAM_seq, default C": OAM("sequential", buffer_size),
        "OAM_gra, default C": OAM("gradient", buffer_size),
        "Uni-Exp": UniExp(**CONSTANT),
        "Uni-Squ": UniSqu(**CONSTANT),
        "SOLAM": SOLAM(),
        "SPAUC": SPAUC(),
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
    online_table(narrow, learners(100) | {"AdaOAM": AdaOAM()}, 100)
    dense = Workload(narrow.name, narrow.rows.toarray(), narrow.labels)
    online_table(dense, learners(100) | {"AdaOAM": AdaOAM()}, 100)
    wide = workload("news20", 16_000, 62_000, per_row=80)
    wide.rows.data[:] /= np.repeat(np.sqrt(wide.rows.multiply(wide.rows).sum(axis=1)), np.diff(wide.rows.indptr))
    online_table(wide, learners(50), 50)
