"""
Explaining a decision
=====================

A score is a sum. The waterfall of one row shows which terms raised and which lowered it; the curves show what the model
says about everybody.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from opauc import OnePassGAM

rng = np.random.default_rng(3)
n = 6000
X = pd.DataFrame(
    {
        "income": rng.lognormal(10.5, 0.5, n).round(-2),
        "age": rng.integers(18, 80, n),
        "debts": rng.poisson(1.2, n),
        "employment": rng.choice(["permanent", "temporary", "self-employed"], n, p=[0.6, 0.25, 0.15]),
    }
)
odds = (
    -1.2 * np.log(X["income"] / 36_000)
    + 0.7 * X["debts"]
    + 0.8 * (X["employment"] == "temporary")
    + 0.001 * (X["age"] - 45) ** 2
    - 3
)
default = rng.random(n) < 1 / (1 + np.exp(-odds))
model = OnePassGAM(trees=False, random_state=0).fit(X, default)

# %%
# One applicant: the baseline and the contributions add up to the score.

applicant = X.iloc[[int(np.argmax(model.decision_function(X)))]]
explained = model.explain(applicant)
contributions, names = explained.contributions[0], np.array(explained.names)
order = np.argsort(-np.abs(contributions))[:6]
print(applicant.to_string(index=False))
print(f"probability {model.predict_proba(applicant)[0, 1]:.2f}")

figure, axes = plt.subplots(figsize=(6.5, 3.5))
steps = np.concatenate([[explained.baseline], explained.baseline + np.cumsum(contributions[order])])
colors = np.where(contributions[order] > 0, "#b4552d", "#2a6f97")
axes.barh(names[order], contributions[order], left=steps[:-1], color=colors)
axes.axvline(explained.baseline, color="gray", linestyle=":")
axes.invert_yaxis()
axes.set_xlabel("log-odds of default, from the baseline on")
figure.tight_layout()

# %%
# What the model says about everybody: the four main terms with two standard errors.

figure, panels = plt.subplots(2, 2, figsize=(8, 5.5))
main = [term for term in model.terms_ if len(term.inputs) == 1][:4]
for axes, term in zip(panels.ravel(), main, strict=True):
    if any(isinstance(at, str) for at in term.at[0]):
        axes.errorbar(list(map(str, term.at[0])), term.value, yerr=2 * term.error, fmt="o", capsize=3)
    else:
        axes.fill_between(term.at[0], term.value - 2 * term.error, term.value + 2 * term.error, alpha=0.3)
        axes.plot(term.at[0], term.value)
    axes.set(title=term.name, ylabel="log-odds")
figure.tight_layout()
