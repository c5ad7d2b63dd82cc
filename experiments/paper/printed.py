"""What the paper printed: AUC, its deviation, and whether OPAUC is significantly better or worse there."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "printed"


class Printed(NamedTuple):
    """One printed cell; no AUC where the paper has N/A, no outcome in the column of OPAUC itself."""

    auc: float | None
    deviation: float | None
    outcome: str


@cache
def printed_table(name: str) -> dict[tuple[str, str], Printed]:
    """The cells of a printed table by data set and method: "online", "batch" or "high_dimension".

    >>> printed_table("online")["a9a", "OPAUC"]
    Printed(auc=0.9002, deviation=0.0047, outcome='')
    >>> printed_table("high_dimension")["ecml2012", "OAM_seq"].auc is None
    True
    """
    with open(FOLDER / f"{name}.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["dataset"], row["method"]): _cell(row) for row in rows}


def _cell(row: dict[str, str]) -> Printed:
    if row["auc_mean"] == "N/A":
        return Printed(None, None, "")
    outcome = {"better": "win", "worse": "loss", "tie": "tie", "": ""}[row["opauc_is"]]
    return Printed(float(row["auc_mean"]), float(row["auc_std"]), outcome)
