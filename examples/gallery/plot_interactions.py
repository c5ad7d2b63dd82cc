"""
Two features that act together
==============================

Fraud at night, but only in some countries: neither feature says this alone. A surface of the pair shows it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from opauc import OnePassGAM

rng = np.random.default_rng(0)
n = 12_000
X = pd.DataFrame(
    {"hour": rng.integers(0, 24, n), "amount": rng.lognormal(3, 1, n).round(2), "age": rng.integers(18, 80, n)}
)
night = ((X["hour"] < 6) | (X["hour"] > 21)).astype(float)
odds = 1.5 * night * (np.log(X["amount"]) - 3) + 0.3 * (np.log(X["amount"]) - 3) - 2
fraud = rng.random(n) < 1 / (1 + np.exp(-odds))

# %%
# With `interactions=0` each feature has a curve; naming the pair adds its surface.

half = n // 2
for name, interactions in ("curves only", 0), ("with the pair", [("hour", "amount")]):
    model = OnePassGAM(interactions=interactions, trees=False, random_state=0).fit(X[:half], fraud[:half])
    print(f"{name:14} AUC {model.score(X[half:], fraud[half:]):.3f}")

# %%
# The surface, in log-odds on top of the two curves.

pair = next(term for term in model.terms_ if len(term.inputs) == 2)
hours, amounts = (np.array([at for at in grid if not isinstance(at, str)], float) for grid in pair.at)
surface = pair.value[: hours.size, : amounts.size]
limit = np.abs(surface).max()
figure, axes = plt.subplots(figsize=(6.5, 4))
shown = axes.pcolormesh(hours, amounts, surface.T, cmap="RdBu_r", vmin=-limit, vmax=limit, shading="nearest")
axes.set(xlabel=pair.inputs[0], ylabel=pair.inputs[1], yscale="log")
figure.colorbar(shown, label="log-odds")
figure.tight_layout()
