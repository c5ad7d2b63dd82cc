"""The exact line for each mistake: where, what, and the nearest right thing."""

import numpy as np
import pandas as pd
import pytest

import opauc as library
from tests.cli.commands import one_line

N_ROWS = 200
NAMES = [f"c{j}" for j in range(20)]
LISTED = ", ".join(NAMES[:19])


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(N_ROWS, 20)).round(3), columns=NAMES)
    return frame.assign(Churn=np.where(frame.c0 + random.normal(size=N_ROWS) > 0, "yes", "no"))


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    """A folder of files with one mistake each, and three models."""
    folder = tmp_path_factory.mktemp("mistakes")
    table.to_csv(folder / "t.csv", index=False)
    table.iloc[:100].to_csv(folder / "one.csv", index=False)
    table.iloc[100:].to_csv(folder / "two.csv", index=False)
    few, row = table[["c0", "c1"]], np.arange(N_ROWS)
    labels = {
        "large": np.where(table.Churn == "yes", 1234567, 7),
        "cased": np.where(row == 0, "no", np.where(table.Churn == "yes", "Yes", "No")),
        "three": row % 3,
        "real": np.linspace(-1.0, 1.0, N_ROWS).round(4),
        "counts": row,
        "gaps": table.Churn.where(row % 50 != 5),
    }
    for name, label in labels.items():
        few.assign(y=label).to_csv(folder / f"{name}.csv", index=False)
    (folder / "header.csv").write_text(f"{','.join(NAMES)},Churn\n")
    for name in ("one", "two"):
        library.train(folder / f"{name}.csv", label="Churn", output=folder / f"{name}.opauc")
    library.train(folder / "two.csv", label="Churn", solver="exact", output=folder / "linear.opauc")
    return folder


LINES = {
    "train t.csv --label churn": f"t.csv: no column churn; there are Churn, {LISTED} and 1 more",
    "train t.csv --label Churn --drop C19": (
        "t.csv: no column C19; there are c19, c9, c1, c0, "
        f"{', '.join(NAMES[2:9])}, {', '.join(NAMES[10:19])} and 1 more"
    ),
    "train t.csv --label Churn --solver foo": (
        "--solver: unknown solver 'foo'; expected one of gam, auto, exact, sgd, progressive_selection"
    ),
    "train t.csv --label Churn --solver exakt": (
        "--solver: unknown solver 'exakt'; expected one of exact, gam, auto, sgd, progressive_selection"
    ),
    "train t.csv --slover exact": "unknown option '--slover'; expected one of --solver, --scheduler, --sql",
    "train t.csv --format parqet": (
        "--format: unknown format 'parqet'; expected one of parquet, libsvm, csv, tsv, arrow, jsonl, numpy"
    ),
    "train t.csv --label Churn --engine sprak": "--engine: unknown engine 'sprak'; expected one of spark, dask, cuda",
    "predict one.opauc t.csv --response scores": (
        "--response: unknown response 'scores'; expected one of score, probability, label"
    ),
    "train large.csv --positive 1.23457e+06": (
        "training needs rows of two classes, got 200 rows, none with --positive 1.23457e+06; there are 1234567, 7"
    ),
    "train t.csv --label Churn --positive Yes": (
        "training needs rows of two classes, got 200 rows, none with --positive Yes; there are yes, no"
    ),
    "train cased.csv": (
        "cased.csv, line 4: label No besides Yes and no; no and No differ in case only: write them alike, or name the "
        "positive one to take all others as negative (--positive Yes)"
    ),
    "train real.csv": (
        "real.csv, line 4: label -0.9799 besides -1 and -0.9899: the label is continuous, 200 distinct numbers in 200 "
        "rows; two classes are needed: cut it at a threshold, or name another column (--label)"
    ),
    "train counts.csv": (
        "counts.csv, line 4: label 2 besides 0 and 1: the label is continuous, 200 distinct numbers in 200 "
        "rows; two classes are needed: cut it at a threshold, or name another column (--label)"
    ),
    "train gaps.csv": (
        "gaps.csv, line 7, column y: the label is missing, as in 3 more of 200 rows; leave such rows out "
        "(--drop-unlabeled)"
    ),
    "merge one.opauc two.opauc -o m": (
        "two.opauc: models of different bases do not merge; train each shard with the basis of the first model (opauc "
        "train --basis-from)"
    ),
    "merge one.opauc linear.opauc -o m": (
        "linear.opauc: cannot merge OnePassGAM and OPAUC: they are models of different kinds"
    ),
    "predict t.csv one.opauc": "t.csv: is no model, but one.opauc is; the model comes before the data",
    "evaluate t.csv one.opauc": "t.csv: is no model, but one.opauc is; the model comes before the data",
    "forget t.csv one.opauc -o m": "t.csv: is no model, but one.opauc is; the model comes before the data",
    "train one.opauc": "one.opauc: is a file of opauc, expected data",
    "predict one.opauc two.opauc": "two.opauc: is a file of opauc, expected data",
    "train header.csv --label Churn": "header.csv: there are no rows to train on",
    "train header.csv --label Churn --solver exact": "header.csv: there are no rows to train on",
    "evaluate one.opauc header.csv": "header.csv: there are no rows; AUC needs rows of both classes",
}


@pytest.mark.parametrize(("arguments", "line"), LINES.items())
def test_a_mistake_is_this_line(folder, monkeypatch, opauc, arguments, line):
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    output = ["-o", "m"] if arguments.startswith("train") else []
    ran = opauc(*arguments.split(), *output, *(["-q"] if arguments.startswith("train") else []))
    assert one_line(ran) == line
    assert sorted(folder.iterdir()) == before


def test_the_label_that_inspect_shows_is_one_that_positive_takes(folder, monkeypatch, opauc):
    monkeypatch.chdir(folder)
    shown = opauc("train", "large.csv", "-o", folder / "large.opauc").err
    assert "(positive: 1234567)" in shown
    assert opauc("train", "large.csv", "--positive", "1234567", "-o", folder / "large.opauc").code == 0


def swapped_calls(table, folder):
    """Yield calls with exchanged arguments, and the message of each."""
    model, linear = library.load(folder / "one.opauc"), library.OPAUC()
    X, y = table[["c0", "c1"]].to_numpy(), (table.Churn == "yes").to_numpy()
    first = "the model comes before the data"
    yield lambda: library.predict(table, model), f"DataFrame: is no model, but OnePassGAM is; {first}"
    yield (
        lambda: library.predict(folder / "t.csv", model),
        f"{folder / 't.csv'}: is no model, but OnePassGAM is; {first}",
    )
    yield lambda: library.evaluate(table, model, label="Churn"), f"DataFrame: is no model, but OnePassGAM is; {first}"
    yield lambda: library.predict(table, table), "expected a fitted estimator of opauc or its file, got DataFrame"
    exchanged = "X and y are exchanged: X has one dimension and y has two, of shape (200, 2); rows come before labels"
    for estimator in (library.OPAUC(), library.OPAUCCV(), library.OnePassGAM()):
        yield lambda estimator=estimator: estimator.fit(y, X), exchanged
        yield (
            lambda estimator=estimator: estimator.partial_fit(table.Churn, table[["c0", "c1"]], classes=[0, 1]),
            exchanged,
        )
    yield (
        lambda: model.merge(linear.fit(X, table.Churn)),
        ("cannot merge OnePassGAM and OPAUC: they are models of different kinds"),
    )
    yield (
        lambda: linear.fit(X, table.Churn).merge(model),
        ("cannot merge OPAUC and OnePassGAM: they are models of different kinds"),
    )
    yield (
        lambda: linear.fit(np.where(X > 2, np.nan, X), y),
        ("Input X contains NaN. OPAUC takes finite numbers; OnePassGAM also takes missing values."),
    )
    yield (
        lambda: linear.fit(table[["c0", "Churn"]], y),
        ("could not convert string to float: 'yes'. OPAUC takes finite numbers; OnePassGAM also takes strings."),
    )
    renamed, absent = (
        table.rename(columns={"c7": "C7"}),
        "no column c7, which the model was fitted with; there are C7, c17",
    )
    others = ", ".join(name for name in NAMES if name not in ("c7", "c17"))
    yield lambda: model.predict(renamed), f"memory: {absent}, {others} and 1 more"
    yield (
        lambda: library.train(table, label="churn"),
        f"data in memory: no column churn; there are Churn, {LISTED} and 1 more",
    )
    yield (
        lambda: library.train(table, label="Churn", solver="exakt"),
        ("solver: unknown solver 'exakt'; expected one of exact, gam, auto, sgd, progressive_selection"),
    )


def test_a_mistake_in_python_is_this_message(table, folder):
    for call, message in swapped_calls(table, folder):
        with pytest.raises(ValueError) as error:  # noqa: PT011
            call()
        assert str(error.value) == message
