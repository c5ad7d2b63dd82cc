"""
Hospitals that merge models, not rows
=====================================

Five hospitals may not share rows. They agree on a basis, fitted to simulated or public rows; each trains on its own
patients and sends the model, which holds sums. The merged model is that of all patients together.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from opauc import OnePassGAM
from opauc.metrics import auc_interval


def patients(seed, n, age=60):
    """Return patients of a hospital, and who was readmitted."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.normal(age, 15, n).clip(18, 100).round(),
            "ward": rng.choice(["surgery", "internal", "emergency"], n),
            "stays_before": rng.poisson(0.8, n),
            "lab": rng.normal(5, 2, n).round(1),
        }
    )
    odds = 0.04 * (table["age"] - 60) + 0.6 * table["stays_before"] + 0.15 * (table["lab"] - 5) ** 2 - 2.2
    return table, rng.random(n) < 1 / (1 + np.exp(-odds + 0.5 * (table["ward"] == "surgery")))


# %%
# The basis comes from 3,000 rows that anybody may see; its own rows are subtracted by `empty_copy`.

basis = OnePassGAM(init_size=3000, trees=False, random_state=0).partial_fit(*patients(99, 4000))
sites = [basis.empty_copy().partial_fit(*patients(site, 600 + 300 * site, 58 + site)) for site in range(5)]

merged = basis.empty_copy()
for site in sites:
    merged.merge(site)

together = basis.empty_copy()
for site in range(5):
    together.partial_fit(*patients(site, 600 + 300 * site, 58 + site))

X, y = patients(100, 4000)
difference = np.abs(merged.decision_function(X) - together.decision_function(X)).max()
print(f"largest difference between merged and trained together: {difference:.0e} log-odds")

# %%
# What each hospital would have alone, and what all have together.

names = [f"hospital {site + 1}" for site in range(5)] + ["merged"]
intervals = [auc_interval(y, model.decision_function(X)) for model in [*sites, merged]]
figure, axes = plt.subplots(figsize=(6, 3.5))
axes.errorbar(
    [one.auc for one in intervals],
    names,
    xerr=np.array([[one.auc - one.low, one.high - one.auc] for one in intervals]).T,
    fmt="o",
    capsize=3,
)
axes.invert_yaxis()
axes.set_xlabel("AUC on 4,000 other patients, 95% interval")
figure.tight_layout()
