"""What learning all settings of a grid together saves against each alone.

Run `python -m experiments.paper.sharing [SET ...]`.
"""

import sys
import time
import warnings

import numpy as np

from experiments.paper.catalogue import Catalogue
from experiments.paper.column import Column, Context, settings_of
from experiments.paper.data_folder import load_task
from experiments.paper.data_set import DataSet, Task
from opauc.errors import OpaucError

SETS = ("ijcnn1", "a9a", "usps", "mnist", "webkb", "news20", "nsmc")
COLUMNS = ("OPAUC", "OPAUCr", "OAM_seq", "OAM_gra", "online Uni-Exp", "online Uni-Squ", "SOLAM")
MOST_ENTRIES = 1_000_000
# Alone, every so many settings are timed; those left out are like their neighbors.
STRIDE = 5


def main() -> None:
    """Print a line for each method on each set."""
    catalogue, names = Catalogue(), sys.argv[1:] or SETS
    warnings.simplefilter("ignore")
    print("| set | rows | features | method | settings | together | alone | alone / together |\n" + "| --- " * 8 + "|")
    for name in names:
        data = catalogue.sets()[name]
        task = some_rows(data)
        for column in (catalogue.columns()[one] for one in COLUMNS):
            if data.suite in column.suites:
                print(line(data, task, column), flush=True)


def some_rows(data: DataSet) -> Task:
    """Rows of a set in a random order, not more than take seconds."""
    task = load_task(data)
    drawn = np.random.default_rng(0).permutation(task.labels.size)[: int(MOST_ENTRIES / data.shape.entries)]
    return Task(task.rows[drawn], task.labels[drawn])


def line(data: DataSet, task: Task, column: Column) -> str:
    """Microseconds a row and setting, both ways."""
    settings, context = settings_of(column.grid), Context(data.suite, 0)
    few = Task(task.rows[:50], task.labels[:50])
    assert column.family is not None, "only such columns are named above"
    learned_together(column, settings, context, few)
    learned_alone(column, settings[:1], context, few)
    unit = 1e6 / task.labels.size
    together = unit * learned_together(column, settings, context, task) / len(settings)
    some = settings[::STRIDE]
    alone = unit * learned_alone(column, some, context, task) / len(some)
    shape = f"{task.labels.size:,} | {data.shape.n_features:,}"
    return (
        f"| {data.name} | {shape} | {column.name} | {len(settings)} "
        f"| {together:.2f} µs | {alone:.2f} µs | {alone / together:.1f} |"
    )


def learned_together(column: Column, settings: list[dict[str, float]], context: Context, task: Task) -> float:
    """Seconds of processor time of all settings in one pass."""
    assert column.family is not None
    began = time.process_time()
    for _ in column.family(settings, *task, context):
        pass
    return time.process_time() - began


def learned_alone(column: Column, settings: list[dict[str, float]], context: Context, task: Task) -> float:
    """Seconds of processor time of one setting after the other."""
    began = time.process_time()
    for setting in settings:
        method = column.made(setting, context)
        try:
            method.train(*task)
            method.finish()
        except OpaucError:  # a step too large costs what it costs
            continue
    return time.process_time() - began


if __name__ == "__main__":
    main()
