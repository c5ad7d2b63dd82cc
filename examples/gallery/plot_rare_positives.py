"""
Rare positives
==============

One row in a hundred is positive. Both classes weigh the same in the pair loss, so nothing is resampled and no class
weights are set; the interval of the AUC shows how much the few positive rows leave open.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from opauc import OPAUCCV, OnePassGAM
from opauc.metrics import auc_interval, precision_recall_curve

X, y = make_classification(
    20_000, n_features=12, n_informative=5, weights=[0.99], flip_y=0, class_sep=0.7, random_state=2
)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
print(f"{y_train.sum()} of {y_train.size} training rows are positive")

# %%
# Three models on the same rows: the additive model, the linear one, and a logistic regression.

models = {
    "OnePassGAM": OnePassGAM(random_state=0),
    "OPAUCCV": OPAUCCV(),
    "LogisticRegression": make_pipeline(StandardScaler(), LogisticRegression()),
}
scores = {name: model.fit(X_train, y_train).decision_function(X_test) for name, model in models.items()}
for name, score in scores.items():
    interval = auc_interval(y_test, score)
    print(f"{name:20} AUC {interval.auc:.3f} ({interval.low:.3f} to {interval.high:.3f})")

# %%
# With rare positives the precision-recall curve says what the AUC does not: which share of the flagged is positive.

figure, axes = plt.subplots(figsize=(6, 4))
for name, score in scores.items():
    curve = precision_recall_curve(y_test, score)
    axes.step(curve.recall, curve.precision, where="post", label=name)
axes.axhline(y_test.mean(), color="gray", linestyle=":", label="chance")
axes.set(xlabel="share of the positives found", ylabel="share of the flagged that are positive", ylim=(0, 1))
axes.legend()
figure.tight_layout()
