"""CPU seconds of each stage of OnePassGAM's fit, as one table, on the sets of `experiments.tables`.

python -m benchmarks.additive_stages [SET ...] [--seed 0]
"""

import argparse
import importlib
import time
import warnings
from collections import Counter
from functools import wraps

import numpy as np
from experiments.tables import WARM_UP, gam, named_table

from opauc.metrics import exact_auc

USUAL = ("w8a", "nomao", "letter", "ijcnn1", "magic04", "a9a", "covtype", "adult", "amazon_access", "connect-4")
# Where each stage is done: module, owner (a class or nothing), function. What one does in another counts there.
STAGES = {
    "main effects": [("opauc.additive.initial_fit", "", "choose_main_effects")],
    "encoding": [("opauc.additive.basis.basis", "Basis", "rows")],
    "pair search": [("opauc.additive.search", "InteractionSearch", "find_candidates")],
    "pair columns": [("opauc.additive.search", "InteractionSearch", "add_pairs")],
    "part fits": [("opauc.additive.fit", "", "_iterate")],
    "full fits": [("opauc.additive.search", "", "finish_fit")],
    "REML": [
        ("opauc.additive.fit", "", "smooth"),
        ("opauc.additive.model", "", "smooth"),
        ("opauc.additive.random_effects", "", "smooth"),
    ],
    "Grams": [("opauc.additive.sums", "LinearizedSums", "update_all")],
    "crossed codes": [("opauc.additive.initial_fit", "", "find_crossed_codes")],
    "bin codes": [("opauc.additive.basis.bins", "ValueCodes", "of_rows")],
    "trees": [("opauc.additive.initial_trees", "", "grow_ensemble"), ("opauc.additive.initial_trees", "", "cross_fit")],
    "blend": [
        ("opauc.additive.initial_trees", "", "average_ensembles"),
        ("opauc.additive.trees.blend", "", "fit_blend"),
    ],
    "model selection": [
        ("opauc.additive.model", "AdditiveLogistic", "with_candidates"),
        ("opauc.additive.selection", "CandidateModels", "update"),
    ],
    "final": [("opauc.additive.model", "AdditiveLogistic", "solve")],
}


class StageClock:
    """CPU seconds by stage, each without the stages inside it."""

    def __init__(self):
        self.spent, self.running = Counter(), []

    def timed(self, stage, function):
        """Return the function, its time counted."""

        @wraps(function)
        def call(*given, **named):
            began = time.process_time()
            self.running.append(0.0)
            try:
                return function(*given, **named)
            finally:
                whole = time.process_time() - began
                self.spent[stage] += whole - self.running.pop()
                if self.running:
                    self.running[-1] += whole

        return call

    def watch(self):
        """Count the time of every stage from now on."""
        for stage, places in STAGES.items():
            for module, owner, name in places:
                found = importlib.import_module(module)
                found = getattr(found, owner) if owner else found
                setattr(found, name, self.timed(stage, getattr(found, name)))


def main():
    """Print a line a set."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=USUAL)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    clock = StageClock()
    clock.watch()
    print("set | columns | AUC | CPU s | " + " | ".join([*STAGES, "rest"]))
    for name in given.sets:
        table, labels = named_table(name)
        order = np.random.default_rng(given.seed).permutation(labels.size)
        learn, test = np.split(order, [int(0.8 * labels.size)])
        gam(table.take(learn[: WARM_UP["gam"]]), labels[learn[: WARM_UP["gam"]]])
        clock.spent.clear()
        began = time.process_time()
        scores_of = gam(table.take(learn), labels[learn])
        whole = time.process_time() - began
        spent = [clock.spent[stage] for stage in STAGES]
        auc = exact_auc(labels[test], scores_of(table.take(test)))
        cells = [f"{seconds:.2f}" for seconds in (whole, *spent, whole - sum(spent))]
        print(f"{name} | {_columns(scores_of)} | {auc:.4f} | {' | '.join(cells)}", flush=True)


def _columns(scores_of):
    """Return how many columns the model has, and how many of them are main effects and leaves."""
    [model] = [cell.cell_contents for cell in scores_of.__closure__]
    basis = model.basis_
    return f"{basis.n_columns} ({basis.main_columns()}, {basis.trees.n_leaves if basis.trees else 0})"


if __name__ == "__main__":
    main()
