"""
Text with a million features
============================

Rows of hashed words: a million features, some of which say something. `OPAUC` has nothing to set here; the time of a
row depends on the words in it, not on the number of features.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse

from opauc import OPAUC
from opauc.metrics import exact_auc

rng = np.random.default_rng(0)


def messages(n_rows, n_features=1_000_000, words=80):
    """Return rows of words, the frequent ones first, and whether a message is spam."""
    y = rng.random(n_rows) < 0.2
    columns = np.minimum(rng.zipf(1.3, size=(n_rows, words)) - 1, n_features - 1)
    # Two of a hundred words of spam come from a list of its own.
    spam_words = 1000 + 37 * rng.integers(0, 200, size=(n_rows, words))
    columns = np.where(y[:, None] & (rng.random((n_rows, words)) < 0.02), spam_words, columns)
    ends = np.arange(0, n_rows * words + 1, words)
    X = scipy.sparse.csr_array((np.ones(n_rows * words), columns.ravel(), ends), shape=(n_rows, n_features))
    X.sum_duplicates()
    return X, y


X, y = messages(8000)
X_test, y_test = messages(4000)
model = OPAUC().fit(X[:100], y[:100])  # loads the kernels, which should not count below

# %%
# The learning curve, each batch read once.

model, rows, aucs = OPAUC(), [], []
began = time.perf_counter()
for start in range(0, 8000, 1000):
    model.partial_fit(X[start : start + 1000], y[start : start + 1000], classes=[False, True])
    rows.append(start + 1000)
    aucs.append(exact_auc(y_test, model.decision_function(X_test)))
seconds = time.perf_counter() - began
print(f"{model.solver_}, {X.shape[1]:,} features: AUC {aucs[-1]:.3f}")
print(f"training and scoring together {seconds:.1f} s")

figure, axes = plt.subplots(figsize=(6, 3.5))
axes.plot(rows, aucs, marker="o")
axes.set(xlabel="training rows", ylabel="AUC on 4,000 other rows")
axes.grid(alpha=0.3)
figure.tight_layout()
