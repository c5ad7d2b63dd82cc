"""The same rows in every format the command reads."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from tests.problems import problem

FORMATS = ["svm", "svm.gz", "csv", "tsv", "parquet", "feather", "npz", "sparse.npz"]


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
    elif form == "feather":
        pa.feather.write_feather(frame, path, compression="uncompressed", chunksize=150)
    elif form == "npz":
        np.savez_compressed(path, X=rows, y=labels)
    else:
        thin = sparse.csr_array(rows)
        np.savez(path, data=thin.data, indices=thin.indices, indptr=thin.indptr, shape=thin.shape, y=labels)
    return path
