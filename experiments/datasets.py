"""Real data sets, read from a folder beside the project: where it is absent, `available` is empty."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opauc.types import Arrays, DenseRows, Floats, Labels, Rows

if TYPE_CHECKING:
    import pandas as pd

SHARED = Path(os.environ.get("OPAUC_SHARED", Path(__file__).parents[2] / "shared"))
FOLDER = Path(os.environ.get("OPAUC_DATA", SHARED / "data"))

DENSE = (
    "diabetes", "fourclass", "german", "splice", "usps", "letter", "magic04", "a9a", "w8a", "connect-4", "ijcnn1",
    "kddcup04_bio", "nomao", "rialto", "covtype", "mnist",
)  # fmt: skip


def available(names: tuple[str, ...] = DENSE) -> list[str]:
    """Those of the named sets that are here."""
    return [name for name in names if (FOLDER / f"{name}.npz").exists()]


def load(name: str, dtype: type = np.float64, seed: int = 0) -> tuple[Rows, Labels]:
    """Rows as distributed and labels 0/1; classes of a multi-class set are split at random into two equal groups."""
    with np.load(FOLDER / f"{name}.npz") as archive:
        parts = {key: archive[key] for key in archive.files}
    return sparse_or_dense(parts, dtype), _labels(parts, seed)


def scaled(rows: DenseRows) -> DenseRows:
    """Dense rows with every feature mapped onto [-1, 1], as in the paper."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    return (2 * (rows - low) / np.where(high > low, high - low, 1) - 1).astype(rows.dtype)


def sparse_or_dense(parts: Arrays, dtype: type) -> Rows:
    """The rows of an archive: dense where it has `X`, else CSR; entries without `data` have their row's scale."""
    if "indptr" not in parts:
        return np.ascontiguousarray(parts["X"], dtype=dtype)
    lengths = np.diff(parts["indptr"])
    values = parts["data"] if "data" in parts else np.repeat(parts["row_scale"], lengths)
    shape = tuple(int(side) for side in parts["shape"])
    return sparse.csr_array(
        (values.astype(dtype), parts["indices"].astype(np.int32), parts["indptr"].astype(np.int32)), shape=shape
    )


def _labels(parts: Arrays, seed: int) -> Labels:
    if "y" in parts:
        return (parts["y"] > 0).astype(np.int8)
    classes = np.random.default_rng(seed).permutation(np.unique(parts["y_multiclass"]))
    return np.isin(parts["y_multiclass"], classes[: classes.size // 2]).astype(np.int8)


class RawTable(NamedTuple):
    """The label of a raw table and its positive value, what leaks, and numbers that are codes."""

    label: str
    positive: str
    drop: tuple[str, ...]
    codes: tuple[str, ...] = ()


RAW = {
    "adult": RawTable("income", ">50K", ()),
    "titanic": RawTable("Survived", "1", ("PassengerId", "Name", "Ticket")),
    "hotel_bookings": RawTable(
        "is_canceled", "1", ("reservation_status", "reservation_status_date"), ("agent", "company")
    ),
}
MISSING_MARKS = ["?", "NULL", "NA", ""]


def raw_available() -> list[str]:
    """Those of the raw tables that are here."""
    return [name for name in RAW if (FOLDER / "raw" / f"{name}.csv.gz").exists()]


def raw_table(name: str) -> tuple[Floats, NDArray[np.int64], Labels]:
    """Numbers with the categories of words numbered and nan where missing, which columns are words, and labels."""
    import pandas as pd

    about = RAW[name]
    frame = pd.read_csv(FOLDER / "raw" / f"{name}.csv.gz", na_values=MISSING_MARKS)
    labels = (frame.pop(about.label).astype(str) == about.positive).to_numpy().astype(np.int8)
    frame = frame.drop(columns=list(about.drop))
    return *numbered(frame, about.codes), labels


def numbered(frame: "pd.DataFrame", codes: tuple[str, ...] = ()) -> tuple[Floats, NDArray[np.int64]]:
    """Numbers with the categories of words, and of numbers that are codes, numbered; and which columns these are."""
    import pandas as pd

    frame = frame.copy()
    words = [column for column in frame if column in codes or frame[column].dtype.kind not in "biuf"]
    for column in words:
        numbers, _ = pd.factorize(frame[column])
        frame[column] = np.where(numbers < 0, np.nan, numbers)
    places = np.array([frame.columns.get_loc(column) for column in words], np.int64)
    return frame.to_numpy(np.float64), places
