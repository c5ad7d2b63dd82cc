"""Where OnePassGAM breaks, and where it does not: tables made up so that one thing is hard in each.

    python -m experiments.made_up_tables [NAME ...]

Each is learned three times with other random numbers; the peers are those of `experiments.tables`.
"""

import sys
import warnings
from collections.abc import Callable

import numpy as np
from scipy.special import expit

from experiments.tables import Table, trials_of
from opauc.types import Array, Floats, Labels

SEEDS = range(3)
PEERS = ("lightgbm", "logistic")
NO_WORDS = np.empty(0, np.int64)


def main() -> None:
    """Print a line a table."""
    warnings.simplefilter("ignore")
    print("| table | " + " | ".join(("OnePassGAM", *PEERS)) + " |\n" + "| --- " * (2 + len(PEERS)) + "|")
    for name in sys.argv[1:] or TABLES:
        found = [trial for seed in SEEDS for trial in _trial(TABLES[name], seed)]
        means = [np.mean([trial[method].auc for trial in found]) for method in ("gam", *PEERS)]
        print(f"| {name} | {means[0]:.4f} | " + " | ".join(f"{mean:.4f}" for mean in means[1:]) + " |", flush=True)


def _trial(make: Callable[[np.random.Generator], tuple[Table, Floats]], seed: int) -> list[dict]:
    random = np.random.default_rng(seed)
    table, score = make(random)
    labels: Labels = (random.random(score.size) < expit(score)).astype(np.int8)
    return list(trials_of(table, labels, ["gam", *PEERS], range(seed, seed + 1)))


def numbers(rows: Floats, score: Floats) -> tuple[Table, Floats]:
    """A table without words."""
    return Table(rows, NO_WORDS), score


def heavy_tails(random: np.random.Generator) -> tuple[Table, Floats]:
    """Log-normal features over ten powers of ten, two of which act together."""
    logs = 2.0 * random.normal(size=(20_000, 8))
    return numbers(np.exp(logs), logs[:, 0] - 0.7 * logs[:, 1] + logs[:, 2] * logs[:, 3] / 4 - 2)


def codes_and_gaps(random: np.random.Generator) -> tuple[Table, Floats]:
    """Counts with codes 96 and 98 among them, a Pareto tail, and a fifth of an income missing, as in credit tables."""
    n = 30_000
    rows = random.normal(size=(n, 8))
    rows[:, 0] = np.where(random.random(n) < 0.05, random.choice([96, 98], n), random.poisson(0.4, n))
    rows[:, 1] = np.where(random.random(n) < 0.02, 100 * random.pareto(0.5, n), random.random(n))
    income = random.normal(8, 1, n)
    rows[:, 2] = np.where(random.random(n) < 0.2, np.nan, np.exp(income))
    return numbers(rows, 1.2 * np.minimum(rows[:, 0], 3) + 2 * np.minimum(rows[:, 1], 1) - 0.3 * income - 0.5)


def rare_class(random: np.random.Generator) -> tuple[Table, Floats]:
    """About one row in two hundred is positive."""
    rows = random.normal(size=(50_000, 15))
    return numbers(rows, rows[:, 0] + 0.7 * rows[:, 1] ** 2 - 0.5 * rows[:, 2] - 6.5)


def few_rows(random: np.random.Generator) -> tuple[Table, Floats]:
    """150 rows of 40 features, three of which count."""
    rows = random.normal(size=(150, 40))
    return numbers(rows, rows[:, 0] + rows[:, 1] - rows[:, 2])


def many_features(random: np.random.Generator) -> tuple[Table, Floats]:
    """2,000 rows of 300 features, ten of which count, two of them together."""
    rows = random.normal(size=(2000, 300))
    return numbers(rows, 0.4 * rows[:, :10].sum(axis=1) + rows[:, 0] * rows[:, 1])


def thresholds(random: np.random.Generator) -> tuple[Table, Floats]:
    """Steps, not curves."""
    rows = random.random((20_000, 8))
    return numbers(rows, 2.0 * (rows[:, 0] > 0.613) + 2.0 * (10 * rows[:, 1] % 2 > 1) - 3.0 * (rows[:, 2] > 0.9) - 2)


def three_at_once(random: np.random.Generator) -> tuple[Table, Floats]:
    """The parity of three features, of which no two say anything: what curves and surfaces cannot know."""
    rows = random.random((20_000, 6))
    return numbers(rows, 3.0 * np.sign((rows[:, :3] - 0.5).prod(axis=1)))


def words(random: np.random.Generator, levels: Array, score: Floats) -> tuple[Table, Floats]:
    """A table of some categories, and three numbers of which the first counts."""
    rows = random.normal(size=(score.size, 3))
    return Table(np.hstack([levels, rows]), np.arange(levels.shape[1])), score + rows[:, 0]


def pair_of_categories(random: np.random.Generator) -> tuple[Table, Floats]:
    """Two categories of twenty levels that say nothing alone."""
    levels = random.integers(0, 20, (40_000, 2))
    return words(random, levels, 1.5 * random.normal(size=(20, 20))[levels[:, 0], levels[:, 1]])


def long_tail_of_levels(random: np.random.Generator) -> tuple[Table, Floats]:
    """A category of 2,000 levels, most of them rare."""
    levels = random.zipf(1.3, (30_000, 1)) % 2000
    return words(random, levels, random.normal(size=2000)[levels[:, 0]])


def thousands_of_levels(random: np.random.Generator) -> tuple[Table, Floats]:
    """A category of 3,000 levels, all as frequent."""
    levels = random.integers(0, 3000, (60_000, 1))
    return words(random, levels, random.normal(size=3000)[levels[:, 0]])


def access_rights(random: np.random.Generator) -> tuple[Table, Floats]:
    """Who may use what: categories of 7,000, 4,000, 400 and 300 levels, most of them rare, one within another."""
    n_rows, draw = 32_000, random.normal
    manager, role = random.zipf(1.15, n_rows) * 7919 % 4000, random.integers(0, 300, n_rows)
    department = random.integers(0, 400, 4000)[manager]
    resource = np.minimum(8 * random.pareto(0.6, n_rows), 7000).astype(np.int64)
    score = 2 + draw(size=7001)[resource] + 0.8 * draw(size=4000)[manager]
    score = score + 0.7 * draw(size=400)[department] + 0.5 * draw(size=300)[role]
    return words(random, np.stack([resource, manager, department, role], axis=1), score)


def rights_as_numbers(random: np.random.Generator) -> tuple[Table, Floats]:
    """The same, written as numbers that nothing says are names."""
    table, score = access_rights(random)
    return numbers(table.rows, score)


TABLES = {
    make.__name__: make
    for make in (
        heavy_tails, codes_and_gaps, rare_class, few_rows, many_features, thresholds, three_at_once,
        pair_of_categories, long_tail_of_levels, thousands_of_levels, access_rights,
        rights_as_numbers,
    )
}  # fmt: skip

if __name__ == "__main__":
    main()
