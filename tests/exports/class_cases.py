"""Fitted models of several classes, each with rows to score: what the formats that take them are held to."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

import opauc
from opauc import OPAUC, OPAUCCV, OnePassGAM
from opauc.exports.make_portable import make_portable_classes
from tests.exports.cases import HOSTILE, mixed_frame, records, text_frame


@dataclass(frozen=True, eq=False)
class ClassCase:
    """A fitted model and rows as dicts of plain values, None where missing; classes without rows are left out."""

    model: object
    rows: list
    frame: object

    @property
    def portable(self):
        return make_portable_classes(self.model._to_model())

    @property
    def seen(self):
        return np.isin(self.model.classes_, self.portable.labels)

    @property
    def scores(self):
        return self.model.decision_function(self.frame)[:, self.seen]

    @property
    def probabilities(self):
        return self.model.predict_proba(self.frame)[:, self.seen]

    @property
    def labels(self):
        return self.model.predict(self.frame).tolist()


@cache
def mixed():
    """An additive model of a frame with columns of every kind and hostile labels."""
    frame, labels = mixed_frame(0, 4000)
    names = np.array([*HOSTILE[:2], "plain"])
    kinds = np.where(labels == "yes", names[0], np.where(frame["whole"] > 20, names[1], names[2]))
    rows = mixed_frame(1, 60)[0]
    rows.loc[:4, HOSTILE[0]] = ["unseen", "", "NA", "N/A", "PLAIN"]
    rows.loc[5:8, "amount"] = [1e300, -1e300, 0.0, -0.0]
    return ClassCase(OnePassGAM(random_state=0).fit(frame, kinds), records(rows), rows)


@cache
def trees():
    """An additive model with trees: of the classes that depend on several inputs at once."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(12_000, 4))
    steps = (rows[:, 0] > 0) & (rows[:, 1] > 0.3) & (rows[:, 2] < 0.2)
    labels = np.where(
        steps ^ (rows[:, 2] * rows[:, 3] > 0.4), 2, (rows[:, 1] + rng.normal(size=12_000) > 0).astype(int)
    )
    frame = pd.DataFrame(rows[:50], columns=["x0", "x1", "x2", "x3"])
    frame.iloc[:9, 2] = np.nan
    model = OnePassGAM(random_state=0).fit(rows, labels + 10)
    return ClassCase(model, records(frame), frame.to_numpy())


@cache
def linear_table(folder):
    """A linear model of a CSV file with categories, text numbers and missing ones."""
    frame, labels = text_frame(0, 900)
    frame = frame[["amount", "clock", "size"]]
    kinds = np.where(labels == 1, "high", np.where(frame["size"] == "L", "large", "low"))
    frame.assign(y=kinds).to_csv(folder / "classes.csv", index=False)
    output = folder / "classes.opauc"
    opauc.train(folder / "classes.csv", label="y", output=output, solver="exact", categorical=["size"], missing="mean")
    rows = frame.head(30).copy()
    rows.loc[:3, "size"] = ["1.0", "9", "XL", "NULL"]
    rows.loc[:4, "amount"] = ["(1,200.5)", "7", "€ 3", "", "?"]
    return ClassCase(opauc.load(output), records(rows), rows)


@cache
def arrays():
    """Linear models of arrays: exact, cross-validated, and with a class that has no rows."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 3)) + 3.0
    labels = (rows[:, 0] > 3.2).astype(int) + 2 * (rows[:, 1] + rng.normal(size=500) > 4.0)
    frame = pd.DataFrame(rows[:30], columns=["x0", "x1", "x2"])
    models = [OPAUC().fit(rows, labels), OPAUCCV().fit(rows, labels.astype(float) + 0.0)]
    models.append(OPAUC().partial_fit(rows, labels, classes=[-5, 0, 1, 2, 3]))
    return [ClassCase(model, records(frame), frame.to_numpy()) for model in models]
