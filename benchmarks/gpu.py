"""The exact model on a CUDA device: `python -m benchmarks.gpu [choose]`; needs torch and numpy alone.

With `choose` it prints instead how the time depends on the size of blocks and pieces.
"""

import statistics
import sys
import time

import numpy as np
import torch

from opauc.engines.torch import sums as torch_sums
from opauc.engines.torch.minimizer import minimizer
from opauc.engines.torch.sums import sums_of

ALPHA = 1e-4
# Rows and features: the first two are what is promised of an H200.
SHAPES = ((400_000, 2_000), (100_000, 8_000), (4_000_000, 200), (1_000_000, 500))


def simulate(n_rows, width, dtype=torch.float32, seed=0):
    """Return random rows on the device, correlated, with labels of two classes, a third of them positive."""
    draw = torch.Generator("cuda").manual_seed(seed)
    labels = (torch.rand(n_rows, generator=draw, device="cuda") < 1 / 3).to(torch.int64)
    rows = torch.randn((n_rows, width), generator=draw, device="cuda", dtype=dtype)
    rows += 0.5 * torch.randn((n_rows, 1), generator=draw, device="cuda", dtype=dtype)
    rows += 0.05 * labels[:, None] * torch.linspace(-1, 1, width, device="cuda", dtype=dtype)
    return rows, labels


def timed(work, turns=7):
    """Return the median seconds of some turns, the first two left out."""
    found = []
    for _ in range(turns + 2):
        torch.cuda.synchronize()
        began = time.perf_counter()
        work()
        torch.cuda.synchronize()
        found.append(time.perf_counter() - began)
    return statistics.median(found[2:])


def reference(rows, labels, alpha):
    """Return the minimizer by NumPy in float64 on the host."""
    host, which = rows.double().cpu().numpy(), labels.cpu().numpy()
    covariances = [np.cov(host[which == k].T, bias=True) for k in (0, 1)]
    difference = host[which == 1].mean(0) - host[which == 0].mean(0)
    matrix = sum(covariances) + np.outer(difference, difference) + alpha * np.eye(host.shape[1])
    return np.linalg.solve(matrix, difference)


def model(rows, labels, piece=torch_sums.PIECE_BYTES):
    return minimizer(sums_of(rows, labels, None, 2, "cuda", piece), ALPHA)


def placed(rows, labels):
    """Return the rows where they may lie: on the device, and in memory of the host that is pinned or is not."""
    return {
        "on the device": (rows, labels),
        "pinned host memory": (rows.cpu().pin_memory(), labels.cpu()),
        "host memory": (rows.cpu(), labels.cpu()),
    }


def operations(n_rows, width, block):
    """Return the multiplications and additions of the blocks of the lower triangle."""
    return sum(2 * n_rows * min(block, width - first) * min(first + block, width) for first in range(0, width, block))


def row(*cells):
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def header(*names):
    row(*names)
    row(*["---"] * len(names))


def check():
    rows, labels = simulate(20_000, 500)
    right = reference(rows, labels, ALPHA)
    for where, given in placed(rows, labels).items():
        error = np.abs(model(*given).cpu().numpy() - right).max() / np.abs(right).max()
        print(f"20,000 x 500, {where}: weights differ from NumPy's in float64 by {error:.1e}, relatively")


def table():
    header("rows", "features", "rows lie", "model, ms", "sums alone, ms", "TFLOP/s done")
    for n_rows, width in SHAPES:
        for where, given in placed(*simulate(n_rows, width)).items():
            whole, sums = timed(lambda: model(*given)), timed(lambda: sums_of(*given, None, 2, "cuda"))  # noqa: B023
            rate = operations(n_rows, width, torch_sums.BLOCK) / sums / 1e12
            row(f"{n_rows:,}", f"{width:,}", where, f"{1e3 * whole:.1f}", f"{1e3 * sums:.1f}", f"{rate:.1f}")


def choose():
    header("rows", "features", "rows lie", "block", "MiB a piece", "model, ms")
    for n_rows, width in SHAPES[:2]:
        for where, given in list(placed(*simulate(n_rows, width)).items())[:2]:
            for block in (256, 512, 1024, 2048):
                torch_sums.BLOCK = block
                for piece in (2**27, 2**29, 2**31):
                    whole = timed(lambda: model(*given, piece), 5)  # noqa: B023
                    row(f"{n_rows:,}", f"{width:,}", where, block, piece >> 20, f"{1e3 * whole:.1f}")


def main():
    square = torch.randn((8192, 8192), device="cuda", dtype=torch.float64)
    product = timed(lambda: square @ square)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Python {sys.version.split()[0]}; ")
    print(f"a float64 product of 8,192 x 8,192 runs at {2 * 8192**3 / product / 1e12:.1f} TFLOP/s")
    check()
    choose() if sys.argv[1:] == ["choose"] else table()


if __name__ == "__main__":
    main()
