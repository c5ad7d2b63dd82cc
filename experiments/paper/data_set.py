"""A data set of the evaluation: where it comes from, how it is labeled and scaled, what it may be compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from experiments.datasets import scaled, sparse_or_dense
from experiments.paper.public_source import PublicSource
from opauc.types import Arrays, DenseRows, Labels, Rows

BENCHMARK, HIGH_DIMENSION = "benchmark", "high dimension"
OTHER_PARTITION = "the paper splits the classes at random into two groups and does not say which"
Scaling = Callable[[Rows], Rows]
Labelling = Callable[[Arrays], Labels]


class Task(NamedTuple):
    """Rows as every method sees them, and labels 0/1."""

    rows: Rows
    labels: Labels


class Shape(NamedTuple):
    """How large a set is: rows, features and entries a row that are not zero."""

    n_rows: int
    n_features: int
    entries: float


@dataclass(frozen=True)
class DataSet:
    """One set of the evaluation: an archive of arrays, or a function that gives them.

    `printed_as` names the paper's set if this is that set; substitutes have
    none. `differs` says why its AUCs cannot be compared with the published ones
    all the same; where it is empty, the task is the published one. `about` says
    what it is: published, a part, rebuilt or a substitute. `public` says where it
    is distributed, if it is there row for row. `columns` are the names of the
    columns computed on it; where it is empty, all of its suite. `variant_of` names
    the set whose rows these are, scaled otherwise: wins and losses are counted once.
    """

    name: str
    suite: str
    shape: Shape
    about: str
    archive: str = ""
    sha256: str = ""
    bundled: Callable[[], Arrays] | None = None
    labelling: Labelling | None = None
    scaling: Scaling | None = None
    first_rows: int | None = None
    printed_as: str | None = None
    differs: str = ""
    public: PublicSource | None = None
    columns: tuple[str, ...] = ()
    variant_of: str = ""

    @property
    def label_array(self) -> str:
        """The name of the array that holds the classes."""
        return "y" if self.labelling is None else "y_multiclass"

    @property
    def is_comparable(self) -> bool:
        """Whether AUCs may be compared with the published ones."""
        return self.printed_as is not None and not self.differs

    @property
    def is_dense(self) -> bool:
        """Whether rows have an entry for every feature."""
        return self.shape.entries == self.shape.n_features

    def task(self, arrays: Arrays) -> Task:
        """Return the rows, scaled, and their labels."""
        labels = (self.labelling or binary_labels)(arrays)
        rows = sparse_or_dense(arrays, np.float64)
        if self.first_rows is not None:
            rows, labels = rows[: self.first_rows], labels[: self.first_rows]
        return Task((self.scaling or as_distributed)(rows), labels)


def binary_labels(arrays: Arrays) -> Labels:
    """Labels 0/1 of a set of two classes.

    >>> binary_labels({"y": np.array([-1, 1])}).tolist()
    [0, 1]
    """
    return (arrays["y"] > 0).astype(np.int8)


def class_halves(arrays: Arrays, seed: int = 0) -> Labels:
    """Labels 0/1 of a multi-class set: a random half of its classes is positive, the smaller one if they are odd.

    >>> class_halves({"y_multiclass": np.array([1, 2, 3, 4])}).tolist()
    [1, 0, 1, 0]
    """
    return half_of(arrays["y_multiclass"], seed)


def half_of(classes: NDArray[np.integer], seed: int) -> Labels:
    """Labels 0/1 with the classes of a random half positive, the same for a seed wherever it is asked."""
    shuffled = np.random.default_rng(seed).permutation(np.unique(classes))
    return np.isin(classes, shuffled[: shuffled.size // 2]).astype(np.int8)


def largest_class(arrays: Arrays) -> Labels:
    """Labels 0/1 with the most frequent class positive: the paper's ".lvr".

    >>> largest_class({"y_multiclass": np.array([1, 2, 2])}).tolist()
    [0, 1, 1]
    """
    names, counts = np.unique(arrays["y_multiclass"], return_counts=True)
    return (arrays["y_multiclass"] == names[np.argmax(counts)]).astype(np.int8)


def class_against_rest(positive: int) -> Labelling:
    """Labels 0/1 with one class positive and all others negative.

    >>> class_against_rest(2)({"y_multiclass": np.array([1, 2, 3])}).tolist()
    [0, 1, 0]
    """

    def labels(arrays: Arrays) -> Labels:
        return (arrays["y_multiclass"] == positive).astype(np.int8)

    return labels


def as_distributed(rows: Rows) -> Rows:
    """Rows as they are."""
    return rows


def to_unit_box(rows: DenseRows) -> DenseRows:
    """Dense rows with every feature mapped onto [-1, 1]; constant features become -1."""
    return scaled(rows)


def columns_to_unit_box(rows: csr_array) -> csr_array:
    """Sparse rows with every feature divided by its largest absolute value, which keeps zeros.

    >>> columns_to_unit_box(csr_array([[2.0, 0.0], [4.0, -1.0]])).toarray().tolist()
    [[0.5, 0.0], [1.0, -1.0]]
    """
    largest = np.asarray(abs(rows).max(axis=0).todense()).ravel()
    out = rows.copy()
    out.data = rows.data / largest[rows.indices]
    return out


def unit_rows(rows: csr_array) -> csr_array:
    """Sparse rows scaled to length one.

    >>> from scipy import sparse
    >>> unit_rows(sparse.csr_array([[3.0, 4.0]])).toarray().tolist()
    [[0.6, 0.8]]
    """
    lengths = np.sqrt(np.add.reduceat(rows.data**2, rows.indptr[:-1]))
    out = rows.copy()
    out.data = rows.data / np.repeat(lengths, np.diff(rows.indptr))
    return out
