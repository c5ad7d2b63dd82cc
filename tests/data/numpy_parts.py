"""Arrays to be saved, and files of them read back part by part."""

import numpy as np
from scipy import sparse

from opauc.core.batch import BEGINNING
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.formats.numpy import NumpyReader
from opauc.data.sources import ByteSource

N = 300


def numbers(dtype=np.float64, seed=0):
    return (np.random.default_rng(seed).normal(size=(N, 5)) * 9).astype(dtype)


LABELS = {"numbers": np.arange(N) % 3, "words": np.where(np.arange(N) % 2, "yes", "no"), "bools": np.arange(N) % 2 == 0}


def parts_of(path, columns=None, place=BEGINNING):
    return list(NumpyReader(columns or TableColumns()).batches(ByteSource(str(path)), place, BadRows()))


def joined(parts):
    stack = sparse.vstack if sparse.issparse(parts[0].rows) else np.concatenate
    labels = None if parts[0].labels is None else np.concatenate([part.labels for part in parts])
    return stack([part.rows for part in parts]), labels


def sparse_rows(density=0.2, seed=0):
    rows = sparse.random_array((N, 40), density=density, rng=seed, format="csr")
    rows.data[:] = np.random.default_rng(seed).normal(size=rows.nnz)
    return rows
