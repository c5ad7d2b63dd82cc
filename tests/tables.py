"""Rows and tables in every format that the package reads, and the means to read them back."""

import csv
import gzip
import json
import os
from contextlib import contextmanager
from threading import Thread

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from scipy import sparse
from scipy.special import expit
from sklearn.datasets import dump_svmlight_file

from tests.problems import problem

FORMATS = ["svm", "svm.gz", "csv", "tsv", "parquet", "feather", "jsonl", "ndjson.gz", "npz", "sparse.npz"]


def raw_table(n_rows, seed=0):
    """Return columns of strings: an identifier, missing values, dates, names, useless columns, and labels."""
    random = np.random.default_rng(seed)
    age, income = random.normal(45, 12, n_rows), random.lognormal(10, 1, n_rows)
    city = random.choice(["Bern", "Chur", "Genf", "Zug"], n_rows, p=[0.5, 0.3, 0.195, 0.005])
    city[np.flatnonzero(city == "Zug")[4:]] = "Bern"  # too few for a level
    paid, days = random.random(n_rows) < 0.4, random.integers(0, 700, n_rows)
    score = np.sin(age / 8) * 1.5 + (city == "Bern") - 1.5 * paid + 0.6 * (np.log(income) - 10) + (days % 7 == 3)
    label = np.where(random.random(n_rows) < expit(score), "yes", "no")
    return pd.DataFrame(
        {
            "id": np.arange(n_rows) + 1000,
            "age": np.where(random.random(n_rows) < 0.1, "?", np.char.mod("%.1f", age)),
            "income": np.where(random.random(n_rows) < 0.1, "NULL", np.char.mod("%.2f", income)),
            "city": city,
            "paid": np.where(paid, "True", "False"),
            "since": np.datetime_as_string(np.datetime64("2020-01-01") + days),
            "name": [
                f"{first} {second}" for first, second in zip(random.bytes(n_rows).hex(), range(n_rows), strict=False)
            ],
            "grade": random.integers(1, 4, n_rows),
            "empty": "",
            "always": "x",
            "bought": label,
        }
    )


def write_csv(path, frame, **options):
    """Write a table; return the path."""
    frame.to_csv(path, index=False, quoting=csv.QUOTE_MINIMAL, **options)
    return path


@contextmanager
def piped(name, frame):
    """Write rows into a pipe of that name, which has to be read to its end meanwhile."""
    os.mkfifo(name)
    writer = Thread(target=write_csv, args=(name, frame), daemon=True)
    writer.start()
    yield
    writer.join(timeout=10)
    assert not writer.is_alive(), f"nobody read {name} to its end"


def rows_and_labels(seed=0, n_rows=400, n_features=5):
    rows, labels = problem(seed, n_rows, n_features)
    return rows, np.where(labels == 1, 1, -1)


def write_rows(folder, form, rows, labels, name="rows"):
    """Write the rows to a file whose name ends in `form`; return its path."""
    path = folder / f"{name}.{form}"
    frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(rows.shape[1])]).assign(label=labels)
    if form.startswith("svm"):
        dump_svmlight_file(rows, labels, str(path), zero_based=False)
        if form.endswith(".gz"):
            path.write_bytes(gzip.compress(path.read_bytes()))
    elif form in ("csv", "tsv"):
        frame.to_csv(path, index=False, sep="\t" if form == "tsv" else ",", float_format="%.17g")
    elif form == "parquet":
        pa.parquet.write_table(pa.Table.from_pandas(frame), path, row_group_size=150)
    elif form in ("jsonl", "ndjson.gz"):
        text = "".join(json.dumps(row) + "\n" for row in frame.to_dict("records"))
        path.write_bytes(gzip.compress(text.encode()) if form.endswith(".gz") else text.encode())
    elif form == "feather":
        pa.feather.write_feather(frame, path, compression="uncompressed", chunksize=150)
    elif form == "npz":
        np.savez_compressed(path, X=rows, y=labels)
    else:
        csr = sparse.csr_array(rows)
        np.savez(path, data=csr.data, indices=csr.indices, indptr=csr.indptr, shape=csr.shape, y=labels)
    return path


def dense(rows):
    return rows.toarray() if sparse.issparse(rows) else rows


def gathered(stream):
    """Return all rows, labels and batches of a stream, whose row numbers must follow on."""
    chunks = list(stream.batches())
    assert [chunk.first_row for chunk in chunks] == np.cumsum([0, *(c.rows.shape[0] for c in chunks)])[:-1].tolist()
    width = max(chunk.rows.shape[1] for chunk in chunks)
    rows = [np.pad(dense(chunk.rows), ((0, 0), (0, width - chunk.rows.shape[1]))) for chunk in chunks]
    return np.vstack(rows), np.concatenate([chunk.labels for chunk in chunks]), chunks
