"""
The path of penalties
=====================

`OPAUCCV` collects sums once, and validates every penalty with them. The path of weights comes with it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from opauc import OPAUCCV

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = OPAUCCV().fit(X, y)
results = model.cv_results_
print(f"chosen: alpha {model.alpha_:.2g} of {len(results['alpha'])}, each by 5 folds, in one pass")

# %%
# Left: the validated pair loss (lower is better) with its standard error. Right: the ten largest weights, for features
# of unit variance.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
folds = np.array([results[f"split{fold}_test_score"] for fold in range(5)])
error = folds.std(axis=0, ddof=1) / np.sqrt(5)
left.errorbar(results["alpha"], -results["mean_test_score"], yerr=error, fmt="o-", capsize=3)
left.axvline(model.alpha_, color="gray", linestyle=":")
left.set(xscale="log", xlabel="penalty", ylabel="pair loss of the folds left out")
weights = model.coef_path_ * X.to_numpy().std(axis=0)
for feature in np.argsort(-np.abs(weights).max(axis=0))[:10]:
    right.plot(results["alpha"], weights[:, feature], label=X.columns[feature])
right.axvline(model.alpha_, color="gray", linestyle=":")
right.set(xscale="log", xlabel="penalty", ylabel="weight")
right.legend(fontsize=6)
figure.tight_layout()
