"""299 step sizes and penalties row by row on a CUDA device: `python -m benchmarks.gpu_grid`; torch and numpy alone.

`python -m benchmarks.gpu_grid here` prints what the kernel of this library takes for the same rows on one core.
"""

import statistics
import sys
import time

import numpy as np
import torch

from benchmarks.gpu import header, row
from opauc.engines.torch.grid_pass import GridTensors, TorchGrid
from opauc.engines.torch.grid_plan import GridProgress, planned

KEPT, PAIRS = 256, 16
ETAS, ALPHAS = (2.0 ** np.arange(-12, 11), 2.0 ** np.arange(-10, 3))
# Features, rows that are timed on a device, and on a core of this machine.
SHAPES = ((54, 8_192, 4_000), (500, 8_192, 200), (2_000, 4_096, 10))


def simulate(n_rows, width, seed=0):
    """Return rows of length one or so, as the paper's step sizes want them, and labels, a third of them positive."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n_rows) < 1 / 3).astype(np.int8)
    return (rng.standard_normal((n_rows, width)) + 0.3 * labels[:, None]) / np.sqrt(width), labels


def pairs():
    return np.repeat(ETAS, ALPHAS.size), np.tile(ALPHAS, ETAS.size)


def blank(width, n_pairs):
    shapes = ((2, width), (2, width, width), (width, n_pairs), (width, n_pairs), (2, KEPT, n_pairs), (n_pairs,))
    return GridTensors(*map(np.zeros, shapes))


def start():
    return GridProgress(np.zeros(2), np.zeros(2), 0.0, 0.0, np.ones((2, KEPT)))


def literal(rows, labels, eta, alpha):
    """Return the last weights of one pair: Algorithm 1 in NumPy."""
    weights, seen = np.zeros(rows.shape[1]), ([], [])
    for one, k in zip(rows, labels, strict=True):
        seen[k].append(one)
        if not seen[1 - k]:
            continue
        others = np.array(seen[1 - k])
        gap = one - others.mean(0)
        gradient = (gap @ weights - (2 * k - 1)) * gap + np.cov(others.T, bias=True) @ weights
        weights = (1 - eta * alpha) * weights - eta * gradient
    return weights


def check(device):
    rows, labels = simulate(300, 20)
    (etas, alphas), plan = pairs(), planned(labels, np.ones(300), start(), PAIRS)[0]
    grid = TorchGrid(blank(20, etas.size), etas, alphas, False, device)
    grid.train(torch.from_numpy(rows), plan)
    found = grid.given_back()[0].weights
    for pair in (0, 100, 150):
        right = literal(rows, labels, etas[pair], alphas[pair])
        error = np.abs(found[:, pair] - right).max() / np.abs(right).max()
        print(f"300 x 20, pair {pair}: weights differ from NumPy's by {error:.1e}, relatively")


def seconds_a_row(width, n_rows, device, graphs=True):
    """Return the median seconds a row of three passes after one that records the graphs."""
    rows, labels = simulate(n_rows, width)
    (etas, alphas), progress = pairs(), start()
    grid = TorchGrid(blank(width, etas.size), etas, alphas, True, device)
    if not graphs:
        grid._run = lambda kind: grid._row(*kind)
    found, there = [], torch.from_numpy(rows).to(device)
    for _ in range(4):
        plan, progress = planned(labels, np.ones(n_rows), progress, PAIRS)
        torch.cuda.synchronize()
        began = time.perf_counter()
        grid.train(there, plan)
        torch.cuda.synchronize()
        found.append(time.perf_counter() - began)
    return statistics.median(found[1:]) / n_rows


def product_alone(width, turns=200):
    """Return the seconds of one product of a covariance with the weights of all pairs."""
    one, other = (torch.randn((width, n), dtype=torch.float64, device="cuda") for n in (width, 304))
    for _ in range(3):
        one @ other
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(turns):
        one @ other
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / turns


def on_device():
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    check("cuda")
    header("features", "µs a row", "without graphs", "one product of matrices alone")
    for width, n_rows, _ in SHAPES:
        found = [seconds_a_row(width, n_rows, "cuda", graphs) for graphs in (True, False)]
        row(f"{width:,}", *(f"{1e6 * one:.1f}" for one in (*found, product_alone(width))))


def here():
    from opauc.linear.grid import GridSGD

    learner = GridSGD()
    header("features", "µs a row", "pairs left")
    for width, _, n_rows in SHAPES:
        rows, labels = simulate(2 * n_rows, width)
        state = learner.step(learner.start(width), rows[:n_rows], labels[:n_rows])
        began = time.perf_counter()
        state = learner.step(state, rows[n_rows:], labels[n_rows:])
        seconds = time.perf_counter() - began
        row(f"{width:,}", f"{1e6 * seconds / n_rows:,.0f}", state.race.active[0])


if __name__ == "__main__":
    here() if sys.argv[1:] == ["here"] else on_device()
