"""Fitted models of all kinds, each with rows to score: what every format of export is held to."""

from dataclasses import dataclass
from datetime import timedelta
from functools import cache

import numpy as np
import pandas as pd

import opauc
from opauc import OPAUC, OPAUCCV, OnePassGAM
from opauc.exports.make_portable import make_portable

# Names that would end a string, a comment or a script somewhere.
HOSTILE = (
    'it\'s "x"\\',
    "a*/b//c",
    "</script><b>",
    "new\nline\r\t",
    "nul\0byte",
    "ü€😀\u2028",
    "%s{}$`${1}`",
    "??/ ??'",
)


@dataclass(frozen=True, eq=False)
class Case:
    """A fitted model and rows as dicts of plain values, None where missing."""

    model: object
    rows: list
    frame: object  # the same rows as the model takes them

    @property
    def portable(self):
        return make_portable(self.model._to_model())

    @property
    def scores(self):
        return self.model.decision_function(self.frame)

    @property
    def probabilities(self):
        return self.model.predict_proba(self.frame)[:, 1]


def records(frame):
    """Return the rows of a frame as dicts: numbers, strings, dates, and None."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def mixed_frame(seed, n_rows):
    """Numbers, some missing, two-valued ones, hostile categories, dates, times, and many categories."""
    rng = np.random.default_rng(seed)
    start = pd.Timestamp("2023-03-01")
    frame = pd.DataFrame({
        "amount": rng.normal(size=n_rows) * 100.0,
        "whole": rng.integers(0, 40, n_rows).astype(float),
        "flag": rng.random(n_rows) < 0.4,
        HOSTILE[0]: rng.choice([*HOSTILE, "plain", "7"], n_rows),
        "when": start + pd.to_timedelta(rng.integers(-10**8, 10**8, n_rows), unit="s"),
        HOSTILE[1]: [(start + timedelta(days=int(day))).date() for day in rng.integers(0, 700, n_rows)],
        "shop": rng.integers(0, 300, n_rows).astype(str),
        "noise": rng.normal(size=n_rows),
    })  # fmt: skip
    effects = np.random.default_rng(5).normal(size=300)
    month = frame["when"].dt.month.to_numpy()
    truth = frame["amount"] / 100.0 * frame["noise"] + np.sin(frame["whole"]) + frame["flag"]
    truth = truth + effects[frame["shop"].astype(int)] + (month > 6) + 2.0 * (frame[HOSTILE[0]] == HOSTILE[2])
    labels = (truth + rng.normal(size=n_rows) > 1.0).astype(int)
    for name in ("amount", HOSTILE[0], "when", "shop"):
        frame.loc[rng.random(n_rows) < 0.07, name] = None
    return frame, np.where(labels == 1, "yes", "no")


@cache
def mixed():
    """An additive model of a frame with columns of every kind."""
    frame, labels = mixed_frame(0, 5000)
    rows = mixed_frame(1, 60)[0]
    rows.loc[:4, HOSTILE[0]] = ["unseen", "", "NA", "N/A", "PLAIN"]
    rows.loc[5:8, "amount"] = [1e300, -1e300, 0.0, -0.0]
    rows.loc[9, "shop"] = "301"
    return Case(OnePassGAM(random_state=0).fit(frame, labels), records(rows), rows)


def tree_frame(seed, n_rows, n_shops=200):
    """Steps and interactions, codes in a column of whole numbers, and effects of combinations."""
    rng, truth = np.random.default_rng(seed), np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    frame["shop"] = rng.integers(0, n_shops, n_rows)
    frame["kind"] = rng.choice(list("pqrstu"), n_rows)
    effects, of_pairs = truth.normal(size=n_shops), truth.normal(size=(n_shops, 6))
    kinds = frame["kind"].map({kind: at for at, kind in enumerate("pqrstu")})
    steps = np.where((frame.a > 0) & (frame.b > 0.5) & (frame.c < 0.3), 2.0, -1.0)
    score = steps * np.where(frame.c * frame.d > 0.2, 1.0, -1.0) + effects[frame.shop]
    score = score + 1.5 * of_pairs[frame.shop, kinds]
    labels = (score + rng.normal(size=n_rows) > 0).astype(int)
    frame.loc[rng.random(n_rows) < 0.1, "a"] = np.nan
    return frame, labels


@cache
def trees():
    """An additive model with trees, codes and crossed codes."""
    frame, labels = tree_frame(0, 16_000)
    rows = tree_frame(1, 60)[0]
    rows.loc[:2, "kind"] = ["unseen", None, "NULL"]
    rows["shop"] = rows["shop"].astype(float)
    rows.loc[3:6, "shop"] = [1e9, -3.0, 0.5, np.nan]
    return Case(OnePassGAM(random_state=0).fit(frame, labels), records(rows), rows)


@cache
def scoring_only(folder):
    """The file for scoring only of the model with trees."""
    case = trees()
    opauc.save(case.model, folder / "small.opauc", scoring_only=True)
    return Case(opauc.load(folder / "small.opauc"), case.rows, case.frame)


@cache
def edited():
    """An additive model with an edited term and a removed one."""
    rng = np.random.default_rng(3)
    rows = np.c_[rng.normal(size=(1500, 3)), rng.integers(0, 2, 1500)]
    rows[rng.random(1500) < 0.05, 0] = np.nan
    labels = (np.nan_to_num(rows[:, 0]) + rows[:, 1] * rows[:, 2] + rows[:, 3] + rng.normal(size=1500) > 0).astype(int)
    model = OnePassGAM(random_state=0, trees=False).fit(rows, labels)
    model = model.edit("x0", [(-1.0, -0.5), (0.0, 0.3), (1.5, 1.0)], missing=0.2, why="rounded").remove("x3")
    frame = pd.DataFrame(rows[:40], columns=["x0", "x1", "x2", "x3"])
    frame.iloc[::7, 1] = np.nan
    return Case(model, records(frame), frame.to_numpy())


NUMBERS = (
    "1,200",
    "$5",
    "45%",
    "(3.5)",
    " 7 ",
    "?",
    "",
    "NA",
    "1e3",
    "-.5",
    "12 345",
    "nonsense",
    "€ 12",
    "+4.",
    "0,123",
)
CLOCKS = ("1:30", "13:05:30", "2:00 pm", "12:15 a.m.", "1 day 02:00", "-2 days +03:00:00", "null", "25:00", "99:99")
COMMAS = ("1,5", "2.000,25", "0.25", "-3,0 €", "7", "NaN", "-")
UNITS = ("3 days", "1 day", "12 Days", "7 weeks", "none", "5", "1.5 days.")
DATES = ("31.12.2024", "2024-02-29", "2024-02-30", "2024-03-01T10:20:30.5Z", "5.6.2023", "29.02.2023", "NULL", "soon")
SHORT = ("12/31/24", "1/5/69", "02/29/2024", "", "7/4/68", "1/1/5")


def text_frame(seed, n_rows):
    """Text as CSV files have it: amounts, clock times, decimal commas, units, dates in several layouts."""
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 900, n_rows), unit="D")
    amounts, minutes = rng.integers(0, 5000, n_rows), rng.integers(0, 1440, n_rows)
    frame = pd.DataFrame({
        "amount": [f"${amount:,}.50" for amount in amounts],
        "clock": [f"{minute // 60}:{minute % 60:02}" for minute in minutes],
        "comma": [f"{number:.2f}".replace(".", ",") for number in rng.normal(size=n_rows)],
        "unit": [f"{number} days" for number in rng.integers(1, 60, n_rows)],
        "date": [f"{day:%d.%m.%Y}" if at % 2 else f"{day:%Y-%m-%d}" for at, day in enumerate(days)],
        "short": [f"{day:%m/%d/%y}" for day in days],
        "size": rng.choice(["1", "2.0", "3", "L"], n_rows),
    })  # fmt: skip
    score = amounts / 2500 - 1 + np.cos(minutes / 200) + (days.month > 6) + (frame["size"] == "L")
    labels = (score + rng.normal(size=n_rows) > 1).astype(int)
    frame.loc[rng.random(n_rows) < 0.05, "amount"] = "?"
    return frame, labels


def text_rows():
    """Rows of text, readable and not."""
    columns = {"amount": NUMBERS, "clock": CLOCKS, "comma": COMMAS, "unit": UNITS, "date": DATES, "short": SHORT}
    rows, _ = text_frame(1, 40)
    for name, values in columns.items():
        rows.loc[: len(values) - 1, name] = values
    rows.loc[:5, "size"] = ["2", "1.0", "1e+00", "4", "NULL", "L"]
    return rows


@cache
def text(folder):
    """An additive model of a CSV file."""
    frame, labels = text_frame(0, 2500)
    frame.assign(y=labels).to_csv(folder / "text.csv", index=False)
    opauc.train(folder / "text.csv", label="y", output=folder / "text.opauc")
    rows = text_rows()
    return Case(opauc.load(folder / "text.opauc"), records(rows), rows)


@cache
def linear_table(folder, missing):
    """A linear model of a CSV file with categories, booleans, text numbers and missing ones."""
    frame, labels = text_frame(0, 800)
    frame = frame[["amount", "clock", "size"]].assign(flag=np.where(np.arange(800) % 3, "True", "False"))
    frame["amount"] = frame["amount"].replace("?", "$7" if missing == "error" else "?")
    frame.assign(y=labels).to_csv(folder / f"{missing}.csv", index=False)
    output = folder / f"{missing}.opauc"
    opauc.train(
        folder / f"{missing}.csv",
        label="y",
        output=output,
        solver="exact",
        categorical=["size", "flag"],
        missing=missing,
    )
    rows = frame.head(30).copy()
    rows.loc[:3, "size"] = ["1.0", "9", "XL", "NULL"]
    rows.loc[:2, "amount"] = ["(1,200.5)", "7", "€ 3"]
    if missing != "error":
        rows.loc[4:6, "amount"], rows.loc[4:6, "size"] = ["", "NA", "?"], ["", "L", ""]
    return Case(opauc.load(output), records(rows), rows)


@cache
def arrays():
    """Linear models of an array: of pairs, cross-validated, of the logistic loss, and without sums."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 4)) + 3.0
    labels = np.where(rows[:, 0] + rng.normal(size=400) > 3.0, 1, -1)
    frame = pd.DataFrame(rows[:30], columns=["x0", "x1", "x2", "x3"])
    models = OPAUC(), OPAUCCV(), OPAUC(loss="logistic"), OPAUC(rank=2, random_state=0)
    return [Case(model.fit(rows, labels), records(frame), frame.to_numpy()) for model in models]
