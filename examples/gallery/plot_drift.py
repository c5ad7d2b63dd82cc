"""
A stream that drifts
====================

What raises the risk changes over time. A model that counts all rows alike falls behind; forgetting factors, and the one
chosen inside the pass, follow.
"""

import matplotlib.pyplot as plt
import numpy as np

from opauc import OPAUC
from opauc.metrics import exact_auc

rng = np.random.default_rng(0)
n_batches, size = 60, 250
angles = np.linspace(0, np.pi, n_batches)


def batch(angle):
    """Return rows whose risk depends on two features, in a direction that turns with time."""
    X = rng.normal(size=(size, 6))
    odds = 2 * (np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1]) - 1
    return X, rng.random(size) < 1 / (1 + np.exp(-odds))


# %%
# Each batch is scored before the models are trained on it (progressive validation).

models = {
    "all rows alike": OPAUC(),
    "forgetting_factor=0.999": OPAUC(forgetting_factor=0.999),
    'forgetting_factor="auto"': OPAUC(forgetting_factor="auto", horizon=size),
}
aucs = {name: [] for name in models}
for number, angle in enumerate(angles):
    X, y = batch(angle)
    for name, model in models.items():
        if number:
            aucs[name].append(exact_auc(y, model.decision_function(X)))
        model.partial_fit(X, y, classes=[False, True])

figure, axes = plt.subplots(figsize=(6.5, 4))
for name, values in aucs.items():
    smooth = np.convolve(values, np.ones(8) / 8, mode="valid")
    axes.plot(np.arange(len(smooth)) * size, smooth, label=f"{name}: mean {np.mean(values):.3f}")
axes.set(xlabel="rows", ylabel="AUC of the next 250 rows (mean of 8 batches)")
axes.legend()
figure.tight_layout()
