"""What OPAUC reaches on other readings of a printed task: which class is positive, and how 0/1 features are scaled.

Run `python -m experiments.paper.task_readings [SET ...]`: one trial of OPAUC
on the paper's grid, its setting chosen once, for every class of connect-4 as
the positive one, and for 0/1 features as distributed and mapped to [-1, 1].
"""

import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from experiments.paper.catalogue import Catalogue
from experiments.paper.data_folder import arrays_of, load_task
from experiments.paper.data_set import DataSet, Task, to_unit_box
from experiments.paper.printed import printed_table
from experiments.paper.selection_rows import chosen_on

SETS = ("a9a", "connect-4")


class Reading(NamedTuple):
    """A task and what it is called."""

    about: str
    task: Task


def readings(data: DataSet) -> Iterator[Reading]:
    """The tasks a printed set may have been."""
    task, arrays = load_task(data), arrays_of(data)
    labels = {"": task.labels}
    if data.labelling is not None:
        classes = arrays[data.label_array]
        labels = {f"class {one} positive, ": (classes == one).astype(np.int8) for one in np.unique(classes)}
    rows = task.rows.toarray() if sparse.issparse(task.rows) else task.rows
    for name, these in labels.items():
        yield Reading(f"{name}0/1 features", Task(task.rows, these))
        yield Reading(f"{name}features in [−1, 1]", Task(to_unit_box(rows), these))


def main() -> None:
    """Print a line a reading."""
    print("| set | read as | η | λ | AUC, mean of five folds | ± over folds | printed |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in sys.argv[1:] or SETS:
        data = Catalogue().sets()[name]
        printed = printed_table("online")[name, "OPAUC"]
        for reading in readings(data):
            choice, *folds = chosen_on(data, reading.task, None)
            eta, ridge = (f"2^{np.log2(value):g}" for value in (choice.setting or {}).values())
            aucs = np.array([line.auc for line in folds])
            print(
                f"| {name} | {reading.about} | {eta} | {ridge} | {aucs.mean():.4f} | {aucs.std(ddof=1):.4f} "
                f"| {printed.auc:.4f} ± {printed.deviation:.4f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
