"""A table of days and regions whose basis has curves, categories, combinations, random effects and trees."""

import numpy as np
import pandas as pd
from scipy.special import expit

DAYS = [f"2026-11-{day:02d}" for day in range(1, 5)]
COUNTRIES = ["BE", "DE", "NL"]
KEYS = ("day", "country")
N_ROWS, INIT_SIZE = 12_000, 6000


def simulate(seed=0, n_rows=N_ROWS, intricate=True):
    """Return a table; an intricate one has effects of combinations, of persons, and of three numbers together."""
    truth, random = np.random.default_rng(99), np.random.default_rng(seed)
    shop, hour, person = (random.integers(0, size, n_rows) for size in (40, 24, 900))
    numbers = random.normal(size=(n_rows, 3))
    score = 0.8 * numbers[:, 0]
    if intricate:
        score = score + 1.5 * truth.normal(size=(40, 24))[shop, hour] + truth.normal(size=900)[person]
        score += 3.0 * np.sign(numbers.prod(axis=1))
    return pd.DataFrame(
        {
            "day": random.choice(DAYS, n_rows),
            "country": random.choice(COUNTRIES, n_rows, p=[0.2, 0.3, 0.5]),
            "age": np.where(random.random(n_rows) < 0.05, np.nan, numbers[:, 0]),
            "income": numbers[:, 1],
            "distance": numbers[:, 2],
            "shop": np.char.add("shop ", shop.astype(str)),
            "hour": hour,
            "person": np.char.add("p", person.astype(str)),
            "bought": np.where(random.random(n_rows) < expit(score), "yes", "no"),
        }
    )


def features(table):
    """Return a table without keys and label."""
    return table.drop(columns=[*KEYS, "bought"])


def rows_of(table, **chosen):
    """Return the rows of a slice by plain comparison."""
    kept = np.ones(len(table), bool)
    for key, values in chosen.items():
        kept &= table[key].isin([values] if isinstance(values, str) else values).to_numpy()
    return table[kept]
