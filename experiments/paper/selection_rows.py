"""What it costs to choose step size and penalty on fewer rows than are learned.

Run `python -m experiments.paper.selection_rows [SET ...]`: one trial of OPAUC,
its setting chosen once, on all rows learned and on parts of them.
"""

import sys

import numpy as np

from experiments.paper.catalogue import Catalogue
from experiments.paper.data_folder import load_task
from experiments.paper.data_set import DataSet, Task
from experiments.paper.plan import Work
from experiments.paper.protocol import Thinning
from experiments.paper.store import Line
from experiments.paper.trial import missing_lines

SETS = ("ijcnn1", "a9a", "connect-4")
ROWS = (None, 20_000, 5_000)


def chosen_on(data: DataSet, task: Task, rows: int | None) -> list[Line]:
    """The choice, and the five folds of the first trial."""
    work = Work(data, Catalogue().columns()["OPAUC"], Thinning(1, once_a_trial=True, selection_rows=rows), 0)
    return list(missing_lines(work, task, {}, "quick", lambda key: None))  # noqa: ARG005


def main() -> None:
    """Print a line a set and number of rows."""
    print("| set | chosen on | η | λ | AUC, mean of five folds |")
    print("| --- | --- | --- | --- | --- |")
    for name in sys.argv[1:] or SETS:
        data = Catalogue().sets()[name]
        task = load_task(data)
        for rows in ROWS:
            choice, *folds = chosen_on(data, task, rows)
            exponents = (int(np.log2(value)) for value in (choice.setting or {}).values())
            setting = " | ".join(f"2^{exponent}" for exponent in exponents)
            auc = np.mean([line.auc for line in folds if line.auc is not None])
            print(f"| {name} | {'all rows learned' if rows is None else f'{rows:,} rows'} | {setting} | {auc:.4f} |")


if __name__ == "__main__":
    main()
