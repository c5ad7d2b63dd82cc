"""How much the pairs of OnePassGAM depend on the rows: those it takes of random subsamples of a raw table.

    python -m experiments.pair_stability [SET ...] [--subsamples 10] [--share 0.8]

The overlap of two subsamples is the number of pairs that both take over the number that either takes, and 1 where
neither takes any; the table has the mean over all couples of subsamples. `kept` counts the pairs that at least four
fifths of the subsamples take.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

import numpy as np

from experiments.tables import named_table
from opauc import OnePassGAM

SETS = ("compas", "adult", "support2")
STABLE_SHARE = 0.8


def main() -> None:
    """Print a line per table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--subsamples", type=int, default=10)
    parser.add_argument("--share", type=float, default=0.8)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| table | pairs of each subsample | mean overlap | different pairs | kept | with trees |")
    print("| --- " * 6 + "|")
    for name in chosen.sets:
        found = list(subsample_pairs(name, chosen.subsamples, chosen.share))
        pairs = [pairs for pairs, _ in found]
        counts = Counter(pair for of_one in pairs for pair in of_one)
        kept = sum(count >= STABLE_SHARE * len(pairs) for count in counts.values())
        sizes, trees = ", ".join(str(len(of_one)) for of_one in pairs), sum(with_trees for _, with_trees in found)
        print(f"| {name} | {sizes} | {mean_overlap(pairs):.2f} | {len(counts)} | {kept} | {trees} |", flush=True)


def subsample_pairs(name: str, n_subsamples: int, share: float) -> Iterator[tuple[set[tuple[str, ...]], bool]]:
    """Yield the pairs of each random subsample of a table, and whether it takes trees."""
    table, labels = named_table(name)
    for seed in range(n_subsamples):
        rows = np.random.default_rng(seed).permutation(labels.size)[: int(share * labels.size)]
        model = OnePassGAM(random_state=0).fit(table.take(rows).frame, labels[rows])
        yield {term.inputs for term in model.terms_ if len(term.inputs) == 2}, model.basis_.trees is not None


def mean_overlap(sets: Sequence[Collection[object]]) -> float:
    """Return the mean over all couples of sets of the share of their members that both have.

    >>> from experiments.pair_stability import mean_overlap
    >>> mean_overlap([{1, 2}, {2, 3}, set()]), mean_overlap([set(), set()])
    (0.1111111111111111, 1.0)
    """
    shares = [
        len(set(one) & set(other)) / len(set(one) | set(other)) if one or other else 1.0
        for one, other in combinations(sets, 2)
    ]
    return float(np.mean(shares))


if __name__ == "__main__":
    main()
