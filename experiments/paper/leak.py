"""What rule a is worth: a setting chosen once a trial has seen rows that four of the five folds hold out.

Run `python -m experiments.paper.leak [SET ...]`: the folds other than the
first, with the setting chosen on the training rows of the first fold, against
the store, where it is chosen on each fold's own training rows.
"""

import sys
from typing import NamedTuple

import numpy as np

from experiments.paper.catalogue import Catalogue
from experiments.paper.column import Column
from experiments.paper.data_folder import load_task
from experiments.paper.data_set import HIGH_DIMENSION, DataSet
from experiments.paper.evidence import Evidence
from experiments.paper.plan import Work
from experiments.paper.protocol import PROFILES, Thinning
from experiments.paper.store import Store
from experiments.paper.trial import CHOICE, missing_lines
from experiments.splits import PairedTest, paired_t_test

SETS = (
    "diabetes", "fourclass", "german", "splice", "letter", "magic04", "a9a", "ijcnn1", "sector_part", "news20",
)  # fmt: skip


class Leak(NamedTuple):
    """AUCs of the same folds with the setting chosen once a trial and once a fold, and how often both are the same."""

    once_a_trial: list[float]
    once_a_fold: list[float]
    same_settings: int

    def test(self) -> PairedTest:
        """The paired test of the first against the second."""
        return paired_t_test(np.array(self.once_a_trial), np.array(self.once_a_fold))


def measure(data: DataSet, column: Column, evidence: Evidence) -> Leak:
    """Choose once a trial, and set the folds that rule a leaks to next to those of the store."""
    cell, task = evidence.cell(data.name, column.name), load_task(data)
    if cell is None or cell.rules:
        raise ValueError(f"{column.name} on {data.name} must be in the store, its setting chosen once a fold")
    by_fold = {(line.trial, line.fold): line for line in cell.lines}
    once, each, same = [], [], 0
    trials = PROFILES[evidence.profile].trials
    for trial in range(trials):
        work = Work(data, column, Thinning(trials, once_a_trial=True), trial)
        for line in missing_lines(work, task, {}, "leak", lambda key: None):  # noqa: ARG005
            other = by_fold.get((line.trial, line.fold))
            if line.fold in (CHOICE, 0) or other is None or line.auc is None or other.auc is None:
                continue
            once.append(line.auc)
            each.append(other.auc)
            same += line.setting == other.setting
    return Leak(once, each, same)


def main() -> None:
    """Print a line a set."""
    evidence = Evidence(Store(), "paper", Catalogue())
    print("| set | method | once a trial | once a fold | difference | p | same setting |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in sys.argv[1:] or SETS:
        data = evidence.sets[name]
        column = evidence.catalogue.columns()["OPAUCr" if data.suite == HIGH_DIMENSION else "OPAUC"]
        leak = measure(data, column, evidence)
        test, n_folds = leak.test(), len(leak.once_a_trial)
        print(
            f"| {name} | {column.name} | {np.mean(leak.once_a_trial):.4f} | {np.mean(leak.once_a_fold):.4f} "
            f"| {test.difference:+.5f} | {test.p_value:.2f} | {leak.same_settings} of {n_folds} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
