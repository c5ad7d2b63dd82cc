"""Full covariance: the exact fit and Algorithm 1 against their peers."""

import numpy as np
from scipy import sparse
from scipy.linalg import blas
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from benchmarks.peers import epochs, literal_descent, univariate, welford_descent
from benchmarks.stopwatch import race
from benchmarks.table import describe, heading, line
from benchmarks.workloads import workload
from opauc import OPAUC
from opauc.linear.moments.classes import ClassMoments

ALPHAS = 2.0 ** np.arange(-10, 3)


def exact_table(loads):
    print("\n### Exact fit: one pass and the minimizer\n")
    print("Each number is opauc's time divided by the other's; below 1 opauc is faster.\n")
    header = [
        "data", "SGDClassifier epoch", "same, with a 13-alpha path", "epoch, shuffle=False",
        "LogisticRegression", "LDA(lsqr)", "opauc s",
    ]  # fmt: skip
    heading(header)
    for load in loads:
        rows, labels = load.rows, load.labels

        def with_path(rows=rows, labels=labels):
            OPAUC().fit(rows, labels).path(ALPHAS)

        contestants = {
            "opauc": lambda rows=rows, labels=labels: OPAUC().fit(rows, labels).coef_,
            "path": with_path,
            **epochs(rows, labels),
            "logistic": lambda rows=rows, labels=labels: LogisticRegression().fit(rows, labels),
        }
        if not sparse.issparse(rows):
            contestants["lda"] = lambda rows=rows, labels=labels: LinearDiscriminantAnalysis(solver="lsqr").fit(
                rows, labels
            )
        best = race(contestants)
        ratio = {name: best["opauc"] / seconds for name, seconds in best.items()}
        cells = [
            describe(load), f"{ratio['epoch']:.2f}", f"{best['path'] / best['epoch']:.2f}", f"{ratio['in order']:.2f}",
            f"{ratio['logistic']:.3f}", f"{ratio['lda']:.2f}" if "lda" in ratio else "dense only",
            f"{best['opauc']:.4f}",
        ]  # fmt: skip
        line(cells)


def statistics_table(loads):
    print("\n### Statistics against a bare BLAS syrk of the same rows; threads; float32\n")
    heading(
        [
            "data",
            "statistics / syrk",
            "one thread / two threads (fit)",
            "float32 / float64 (fit)",
            "statistics s",
        ]
    )
    for load in loads:
        rows, coded = load.rows, (load.labels > 0).astype(np.int8)
        syrk = blas.dsyrk if rows.dtype == np.float64 else blas.ssyrk
        best = race({
            "statistics": lambda rows=rows, coded=coded: ClassMoments.of(rows, coded),
            "syrk": lambda rows=rows, syrk=syrk: syrk(1.0, rows.T),
        })  # fmt: skip
        small, large = rows.astype(np.float32), rows.astype(np.float64)
        fits = race({
            "one": lambda x=large, y=coded: OPAUC().fit(x, y).coef_,
            "two": lambda x=large, y=coded: OPAUC(n_jobs=2).fit(x, y).coef_,
            "float32": lambda x=small, y=coded: OPAUC().fit(x, y).coef_,
        })  # fmt: skip
        line([
            describe(load), f"{best['statistics'] / best['syrk']:.2f}", f"{fits['one'] / fits['two']:.2f}",
            f"{fits['float32'] / fits['one']:.2f}", f"{best['statistics']:.4f}",
        ])  # fmt: skip


def descent_table(loads):
    print("\n### SGD, standardize=False unless said otherwise: time per row\n")
    header = [
        "data", "opauc / SGDClassifier", "opauc / same, shuffle=False", "opauc / numba univariate SGD",
        "NumPy as in the paper / opauc", "NumPy Welford / opauc", "opauc µs", "standardized / opauc",
    ]  # fmt: skip
    heading(header)
    for load, n_rows in loads:
        rows, labels = load.rows[:n_rows], load.labels[:n_rows]
        few = min(len(labels), max(100, 200_000 // rows.shape[1]))
        dense = rows[:few].toarray() if sparse.issparse(rows) else rows[:few].astype(float)
        best = race({
            "opauc": lambda r=rows, y=labels: OPAUC(solver="sgd", standardize=False).fit(r, y).coef_,
            "scaled": lambda r=rows, y=labels: OPAUC(solver="sgd").fit(r, y).coef_,
            **epochs(rows, labels),
            "cheapest": univariate(rows, labels.astype(float)),
        })  # fmt: skip
        slow = race({
            "literal": lambda r=dense, y=labels[:few]: literal_descent(r, y, 1e-4, 1e-3),
            "welford": lambda r=dense, y=labels[:few]: welford_descent(r, y, 1e-4, 1e-3),
        }, turns=3)  # fmt: skip
        per_row = {name: seconds / len(labels) for name, seconds in best.items()}
        line([
            describe(load), f"{best['opauc'] / best['epoch']:.2f}", f"{best['opauc'] / best['in order']:.2f}",
            f"{best['opauc'] / best['cheapest']:.1f}",
            f"{slow['literal'] / few / per_row['opauc']:.1f}", f"{slow['welford'] / few / per_row['opauc']:.1f}",
            f"{per_row['opauc'] * 1e6:.2f}", f"{best['scaled'] / best['opauc']:.2f}",
        ])  # fmt: skip


def main():
    narrow = workload("none of this width", 500_000, 8)
    covtype = workload("covtype", 581_012, 54)
    a9a, w8a = workload("a9a", 32_561, 123, per_row=14), workload("w8a", 49_749, 300, per_row=12)
    w8a_dense = w8a._replace(name=f"{w8a.name.split(' ')[0]}-as-dense", rows=w8a.rows.toarray())
    mnist = workload("mnist", 60_000, 780, np.float32)
    wide = workload("none of this width", 20_000, 2000)
    exact_table([narrow, covtype, a9a, w8a, mnist, wide])
    statistics_table([covtype, w8a_dense, mnist, wide])
    descent_table([
        (narrow, 500_000), (covtype, 581_012), (a9a, 32_561), (w8a, 49_749), (w8a_dense, 49_749),
        (mnist, 6_000), (wide, 1_000),
    ])  # fmt: skip
