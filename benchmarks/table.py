"""Markdown tables, a line at a time."""

from scipy import sparse


def heading(cells):
    line(cells)
    line(["---"] * len(cells))


def line(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def describe(load):
    """Name, shape and kind of a workload."""
    kind = "sparse" if sparse.issparse(load.rows) else "dense"
    shape = f"{load.rows.shape[0]:,} × {load.rows.shape[1]:,}"
    return f"{load.name.split(' ')[0]}, {shape} {kind} {load.rows.dtype}"
