"""A table as people have them, and small bases, so that a small file is sampled."""

import csv
import os
from contextlib import contextmanager
from threading import Thread

import numpy as np
import pandas as pd
from scipy.special import expit


def raw_table(n_rows, seed=0):
    """Return columns of text: an identifier, missing marks, dates, names, columns that say nothing, and labels."""
    random = np.random.default_rng(seed)
    age, income = random.normal(45, 12, n_rows), random.lognormal(10, 1, n_rows)
    city = random.choice(["Bern", "Chur", "Genf", "Zug"], n_rows, p=[0.5, 0.3, 0.195, 0.005])
    city[np.flatnonzero(city == "Zug")[4:]] = "Bern"  # too few to be a level of its own
    paid, days = random.random(n_rows) < 0.4, random.integers(0, 700, n_rows)
    score = np.sin(age / 8) * 1.5 + (city == "Bern") - 1.5 * paid + 0.6 * (np.log(income) - 10) + (days % 7 == 3)
    label = np.where(random.random(n_rows) < expit(score), "yes", "no")
    return pd.DataFrame(
        {
            "id": np.arange(n_rows) + 1000,
            "age": np.where(random.random(n_rows) < 0.1, "?", np.char.mod("%.1f", age)),
            "income": np.where(random.random(n_rows) < 0.1, "NULL", np.char.mod("%.2f", income)),
            "city": city,
            "paid": np.where(paid, "True", "False"),
            "since": np.datetime_as_string(np.datetime64("2020-01-01") + days),
            "name": [
                f"{first} {second}" for first, second in zip(random.bytes(n_rows).hex(), range(n_rows), strict=False)
            ],
            "grade": random.integers(1, 4, n_rows),
            "empty": "",
            "always": "x",
            "bought": label,
        }
    )


def write_csv(path, frame, **options):
    """Write a table as it is; return the path."""
    frame.to_csv(path, index=False, quoting=csv.QUOTE_MINIMAL, **options)
    return path


def small_cards(monkeypatch, rows=1500):
    """Let bases be made of few rows, and small files be sampled."""
    monkeypatch.setattr("opauc.additive.settings.USUAL_CARD", rows)
    monkeypatch.setattr("opauc.additive.initial_sample.ENOUGH_OF_BOTH", 100)


@contextmanager
def piped(name, frame):
    """Write rows into a pipe of that name, which has to be read to its end meanwhile."""
    os.mkfifo(name)
    writer = Thread(target=write_csv, args=(name, frame), daemon=True)
    writer.start()
    yield
    writer.join(timeout=10)
    assert not writer.is_alive(), f"nobody read {name} to its end"
