"""
A folder larger than memory
===========================

Files are read once, batch by batch. Here the folder is small, so that the example is quick; the memory that training
takes does not depend on its size.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import opauc

folder = Path(tempfile.mkdtemp()) / "days"
folder.mkdir()


def write_day(day, rows=4000):
    """Write a day of visits to a Parquet file."""
    rng = np.random.default_rng(day)
    hour, pages = rng.integers(0, 24, rows), rng.poisson(4, rows)
    source = rng.choice(["search", "mail", "direct"], rows)
    odds = 0.3 * (pages - 4) + (source == "mail") + 0.8 * np.sin(2 * np.pi * hour / 24) - 2.5
    bought = rng.random(rows) < 1 / (1 + np.exp(-odds))
    table = pa.table({"hour": hour, "pages": pages, "source": source, "bought": bought.astype(int)})
    pq.write_table(table, folder / f"{day:03d}.parquet")


for day in range(10):
    write_day(day)

# %%
# `train` draws the initial sample from all files and then reads them in order. `on_progress` is told how far it is.

progress = []
model = opauc.train(
    f"{folder}/00[0-7].parquet", label="bought", init_size=8000, on_progress=lambda one: progress.append(one)
)
result = opauc.evaluate(model, [f"{folder}/008.parquet", f"{folder}/009.parquet"], label="bought")
print(f"{len(progress)} batches; AUC on the last two days {result.auc:.3f}")
print(f"95% interval {result.interval.low:.3f} to {result.interval.high:.3f}")

# %%
# The curve of the hour that the model found.

term = next(term for term in model.terms_ if term.name == "hour")
at, value, error = np.array(term.at[0], float), term.value, term.error
figure, axes = plt.subplots(figsize=(6, 3.5))
axes.fill_between(at, value - 2 * error, value + 2 * error, alpha=0.3)
axes.plot(at, value, label="estimated, with two standard errors")
axes.plot(at, 0.8 * np.sin(2 * np.pi * at / 24), linestyle=":", color="black", label="simulated")
axes.set(xlabel="hour", ylabel="log-odds")
axes.legend()
figure.tight_layout()
