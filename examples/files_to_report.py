"""From files to a model and a page about it, as a user would meet the command. Run it with `make run`.

First a table as it was published: incomes of 48,842 adults where the folder of shared data has them (set OPAUC_SHARED),
else scikit-learn's bundled breast-cancer measurements as a messy CSV file (`messy_table.py` says what was done to
them). It is trained on with no options and compared with logistic regression. Then a million simulated purchases in a
folder of Parquet files (`million_rows.py`), trained on in constant memory.
"""

import csv
import gzip
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from logistic_by_hand import logistic_auc
from messy_table import LABEL, write_messy_table
from million_rows import N_FILES, purchases, write_million_rows
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from opauc.metrics import exact_auc

FOLDER = Path("run")
SHOWN_LINES, SHOWN_LETTERS = 4, 110
ADULT = Path(os.environ.get("OPAUC_SHARED", "../shared")) / "data" / "raw" / "adult.csv.gz"
ADULT_CATEGORIES = [
    "workclass", "education", "marital-status", "occupation", "relationship", "race", "gender", "native-country",
]  # fmt: skip
console = Console(highlight=False)


def main() -> None:
    """Write the data, run the commands, say where everything is."""
    FOLDER.mkdir(exist_ok=True)
    page = a_table()
    a_million_rows()
    console.print(f"\n[bold]The page about the first model:[/bold] {page.resolve().as_uri()}", soft_wrap=True)


def a_table() -> Path:
    """Train on a real table, evaluate, compare with logistic regression; return the report page."""
    console.rule("[bold]A real table")
    learn, rest, model, page = (FOLDER / name for name in ("learn.csv", "rest.csv", "model.opauc", "report.html"))
    if ADULT.exists():
        label, categorical, drop = split_adult(learn, rest), ADULT_CATEGORIES, ()
        console.print(f"{learn}: 34,189 adults, six numbers, eight columns of strings, '?' where missing\n")
    else:
        write_messy_table(learn, rest)
        label, categorical, drop = LABEL, ["texture"], ("patient",)
        console.print(f"{learn}: measurements, an id column, a categorical column, missing values and '?'\n")
    for line in learn.read_text(encoding="utf-8").splitlines()[:SHOWN_LINES]:
        console.print(f"  {line[:SHOWN_LETTERS]}…", style="dim", markup=False, soft_wrap=True)
    console.print()
    opauc("train", learn, "--label", label, "-o", model, "--quiet")
    opauc("evaluate", model, rest, "--report", page)
    table = Table(
        "model", "work by hand", "held-out AUC", title="The same rows, side by side", title_justify="left", box=SIMPLE
    )
    table.add_row("opauc train", "none", f"{auc_of(model, rest):.4f}")
    steps = "missing values imputed and marked, columns scaled, categories one-hot"
    by_hand = logistic_auc(learn, rest, label, categorical, drop)
    table.add_row("LogisticRegression", steps, f"{by_hand:.4f}")
    console.print(table)
    console.print("The interval above says how much of such a difference may be chance.\n")
    return page


def split_adult(learn: Path, rest: Path) -> str:
    """Write seven in ten adults to one file and the others to another; return the name of the label."""
    with gzip.open(ADULT, "rt", encoding="utf-8", newline="") as lines:
        header, *rows = csv.reader(lines)
    random.Random(0).shuffle(rows)
    cut = int(0.7 * len(rows))
    for path, some in ((learn, rows[:cut]), (rest, rows[cut:])):
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header, *some])
    return "income"


def a_million_rows() -> None:
    """Train on the folder of purchases, and print how much memory that took."""
    console.rule("[bold]A million rows")
    folder, held_out, model = FOLDER / "purchases", FOLDER / "held-out.parquet", FOLDER / "purchases.opauc"
    size = write_million_rows(folder, held_out)
    console.print(
        f"{folder}: {N_FILES} Parquet files, {size / 1e6:.0f} MB; simulated: the best possible AUC is known\n"
    )
    peak = opauc("train", folder, "--label", "fraud", "-o", model, "--quiet")
    few = [folder / f"part-{number:02d}.parquet" for number in range(N_FILES // 10)]
    peak_of_few = opauc("train", *few, "--label", "fraud", "-o", FOLDER / "few.opauc", "--quiet")
    console.print(
        f"[bold]Peak memory:[/bold] {peak / 1024:.0f} MB for a million rows, "
        f"{peak_of_few / 1024:.0f} MB for a tenth of them\n"
    )
    rows = purchases(N_FILES, with_log_odds=True)
    best = exact_auc(rows["fraud"].to_numpy() == "yes", rows["log_odds"].to_numpy())
    console.print(
        f"Held-out AUC {auc_of(model, held_out):.4f}; the odds that the purchases were drawn by reach {best:.4f}, "
        "and no model can do better."
    )


def opauc(*arguments: str | Path) -> int:
    """Run the command as a user would, showing it first; return its peak memory in kilobytes."""
    command = [str(argument) for argument in arguments]
    console.print(f"[bold cyan]$ opauc {' '.join(command)}", soft_wrap=True)
    began = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-m", "opauc", *command])
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(child.returncode)
    seconds = time.perf_counter() - began
    console.print(f"  ({seconds:.1f} s, starting the program and, the first time, compiling included)\n", style="dim")
    return used.ru_maxrss


def auc_of(model: Path, rows: Path) -> float:
    """Return the AUC that `opauc evaluate` finds."""
    command = [sys.executable, "-m", "opauc", "evaluate", str(model), str(rows), "--json"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(json.loads(printed.splitlines()[-1])["auc"])


if __name__ == "__main__":
    main()
