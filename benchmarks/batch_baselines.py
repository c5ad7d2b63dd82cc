"""The batch competitors and OPAUC in fewer dimensions: seconds to fit, as ratios to their peers."""

import numpy as np
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import LinearSVC

from benchmarks.stopwatch import race
from benchmarks.table import describe, heading, line
from benchmarks.workloads import workload
from opauc import OPAUC
from opauc.baselines.batch_uni_squ import BatchUniSqu
from opauc.baselines.ls_svm import LSSVM
from opauc.baselines.mean_difference import MeanDifference
from opauc.baselines.opauc_f import OPAUCf
from opauc.baselines.opauc_pca import OPAUCpca
from opauc.baselines.opauc_rp import OPAUCrp
from opauc.baselines.svm_or import SVMOR
from opauc.baselines.svm_perf import SVMPerf
from opauc.baselines.uni_log import UniLog


def fits(models, load):
    """One fit of each model, weights worked out."""
    return {name: lambda model=model: model.fit(load.rows, load.labels).coef_ for name, model in models.items()}


def products(load):
    """Two products with the rows: what a cutting plane costs at the least."""
    weights, counts = np.ones(load.rows.shape[1]), np.ones(load.rows.shape[0])
    columns = load.rows.T
    return lambda: (load.rows @ weights, columns @ counts)


def hinge_table(loads):
    print("\n### Hinge loss over all pairs, gap 1e-3: SVMOR(C), and SVMPerf(C / 100)\n")
    heading([
        "data", "C", "SVMOR s", "planes", "gap", "a plane / two products with the rows", "SVMOR / LinearSVC",
        "SVMPerf s", "planes", "gap of the loss",
    ])  # fmt: skip
    for load in loads:
        for C in (1.0, 100.0):
            one, other = SVMOR(C=C), SVMPerf(C=C / 100)
            # The penalty of a row, in LinearSVC's sum over rows, that its mean has in SVMOR.
            peer = LinearSVC(C=C / load.labels.size, loss="hinge", class_weight="balanced", tol=1e-3)
            best = race(
                fits({"one": one, "other": other, "peer": peer}, load) | {"products": products(load)}, 2, budget=120.0
            )
            line([
                describe(load), f"{C:g}", f"{best['one']:.2f}", str(one.n_iter_), f"{one.gap_:.1e}",
                f"{best['one'] / one.n_iter_ / best['products']:.1f}", f"{best['one'] / best['peer']:.2f}",
                f"{best['other']:.2f}", str(other.n_iter_), f"{other.gap_:.1e}",
            ])  # fmt: skip


def smooth_table(loads):
    print("\n### Smooth losses, all rows at once\n")
    heading([
        "data", "LSSVM s", "UniLog s", "BatchUniSqu s", "MeanDifference s", "LSSVM / RidgeClassifier",
        "UniLog / LSSVM", "BatchUniSqu / LSSVM",
    ])  # fmt: skip
    for load in loads:
        models = {"ls": LSSVM(), "log": UniLog(alpha=0.01), "squ": BatchUniSqu(), "mean": MeanDifference()}
        peer = {"peer": RidgeClassifier(alpha=1e-4 * load.labels.size / 2, class_weight="balanced")}
        best = race(fits(models | peer, load), 2, budget=60.0)
        line([
            describe(load), *(f"{best[name]:.2f}" for name in models), f"{best['ls'] / best['peer']:.2f}",
            *(f"{best[name] / best['ls']:.2f}" for name in ("log", "squ")),
        ])  # fmt: skip


def projected_table(load, n_components):
    print(f"\n### OPAUC in {n_components:,} dimensions\n")
    heading(["data", "method", "seconds", "/ OPAUC as it comes", "µs a row"])
    models = {
        "OPAUC()": OPAUC(random_state=0),
        "OPAUCf": OPAUCf(n_components=n_components, random_state=0),
        "OPAUCrp": OPAUCrp(n_components=n_components, random_state=0),
        "OPAUCpca": OPAUCpca(n_components=n_components, random_state=0),
    }
    best = race(fits(models, load), 1, budget=240.0)
    for name, seconds in best.items():
        ratio, each = seconds / best["OPAUC()"], seconds / load.labels.size * 1e6
        line([describe(load), name, f"{seconds:.2f}", f"{ratio:.1f}", f"{each:.0f}"])


def main():
    mnist = workload("mnist", 60_000, 780)
    news = workload("news20", 16_000, 62_000, per_row=80)
    hinge_table([mnist, news])
    smooth_table([mnist])
    projected_table(news, 1000)


if __name__ == "__main__":
    main()
