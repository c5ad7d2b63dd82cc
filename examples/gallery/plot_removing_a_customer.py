"""
Removing a customer
===================

A customer asks to be removed. `forget` subtracts the rows from the sums of the model; it equals the model that never
saw them, with the same basis.
"""

import matplotlib.pyplot as plt
import numpy as np

from opauc import OnePassGAM

rng = np.random.default_rng(0)
n = 6000
X = np.column_stack([rng.uniform(0, 10, n), rng.normal(size=n)])
odds = np.sin(X[:, 0]) * 2 + X[:, 1]
customer = np.arange(n) >= n - 300  # who behaves the other way round
y = rng.random(n) < 1 / (1 + np.exp(np.where(customer, odds, -odds)))

# %%
# The first 3,000 rows fix the basis; the customer came later.

with_customer = OnePassGAM(init_size=3000, trees=False, random_state=0).partial_fit(X[:3000], y[:3000])
never_seen = with_customer.empty_copy().merge(with_customer)
with_customer.partial_fit(X[3000:], y[3000:])
never_seen.partial_fit(X[3000:-300], y[3000:-300])


def curve(model):
    """Return the term of the first feature."""
    term = next(term for term in model.terms_ if term.name == "x0")
    return np.array(term.at[0], float), term.value


before = curve(with_customer)
with_customer.forget(X[-300:], y[-300:])
print(with_customer.forget_report_)
gap = np.abs(with_customer.decision_function(X) - never_seen.decision_function(X)).max()
print(f"largest difference from a model that never saw the rows: {gap:.0e} log-odds")

# %%
# The curve of the first feature before and after; the dotted one never saw the customer.

figure, axes = plt.subplots(figsize=(6, 3.5))
axes.plot(*before, label="with the customer")
axes.plot(*curve(with_customer), label="after forget", linewidth=3, alpha=0.6)
axes.plot(*curve(never_seen), label="never seen", linestyle=":", color="black")
axes.set(xlabel="first feature", ylabel="log-odds")
axes.legend()
figure.tight_layout()
