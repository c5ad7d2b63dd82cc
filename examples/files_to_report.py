"""From a file to a page: train a model on a CSV file, evaluate it on another, write a report. Run it with `make run`.

The data are scikit-learn's bundled breast-cancer measurements, written to files first.
"""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

FOLDER = Path("run")


def main() -> None:
    """Write the data, run the commands, say where everything is."""
    FOLDER.mkdir(exist_ok=True)
    frame = load_breast_cancer(as_frame=True).frame.rename(columns={"target": "diagnosis"})
    frame["diagnosis"] = np.where(frame["diagnosis"] == 1, "benign", "malignant")
    learn, rest = train_test_split(frame, test_size=0.4, random_state=0, stratify=frame["diagnosis"])
    learn.to_csv(FOLDER / "learn.csv", index=False)
    rest.to_csv(FOLDER / "rest.csv", index=False)

    model, page = FOLDER / "cancer.opauc", FOLDER / "report.html"
    run("train", FOLDER / "learn.csv", "--label", "diagnosis", "-o", model)
    run("evaluate", model, FOLDER / "rest.csv", "--report", page)
    run("compare", FOLDER / "learn.csv", "--label", "diagnosis", "--learners", "exact,sgd,class_means,uni_squ,oam")
    print("data   ", (FOLDER / "learn.csv").resolve(), "and", (FOLDER / "rest.csv").resolve())
    print("model  ", model.resolve())
    print("report ", page.resolve())


def run(*arguments: str | Path) -> None:
    """Run the command as a user would, showing it first."""
    words = [str(word) for word in arguments]
    print("$ opauc", *words, flush=True)
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "opauc", *words], check=True)
    print(f"  ({time.perf_counter() - start:.1f} s, starting the program and, the first time, compiling included)\n")


if __name__ == "__main__":
    main()
