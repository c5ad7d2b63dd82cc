"""Real data sets, read from a folder beside the project: where it is absent, `available` is empty."""

import json
import os
import warnings
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
    """The label of a raw table and its positive value, columns to drop, and numbers that are categories."""

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
MISSING_MARKERS = ["?", "NULL", "NA", ""]
# Share of the values of a string column that must be dates for the column to be one, and how many are looked at.
DATE_SHARE, DATE_ROWS = 0.95, 1000


def raw_available() -> list[str]:
    """Names of the raw tables that are here: those of `raw/`, then those of `raw2/`, which describe themselves."""
    described = sorted(path.stem for path in (FOLDER / "raw2").glob("*.json"))
    return [name for name in RAW if (FOLDER / "raw" / f"{name}.csv.gz").exists()] + described


def raw_frame(name: str) -> tuple["pd.DataFrame", Labels]:
    """Return a raw table as published, without its label and the columns to drop, and its labels.

    Numbers that are categories are strings.
    """
    import pandas as pd

    if name in RAW:
        about, folder = RAW[name], FOLDER / "raw"
    else:
        folder = FOLDER / "raw2"
        described = json.loads((folder / f"{name}.json").read_text())
        about = RawTable(described["label"], str(described["positive"]), tuple(described["drop"]))
    frame = pd.read_csv(folder / f"{name}.csv.gz", na_values=MISSING_MARKERS, low_memory=False)
    labels = (frame.pop(about.label).astype(str) == about.positive).to_numpy().astype(np.int8)
    frame = frame.drop(columns=list(about.drop))
    for column in about.codes:
        frame[column] = frame[column].astype("Int64").astype("string")
    return frame, labels


def numbered(frame: "pd.DataFrame") -> tuple[Floats, NDArray[np.int64]]:
    """Return a table as numbers, for methods that take no strings, and which columns are numbers of categories.

    Dates become their year, month, day, weekday and hour.
    """
    import pandas as pd

    parts: dict[str, Floats] = {}
    categorical = []
    for name, column in frame.items():
        dates = None if column.dtype.kind in "biuf" else _dates(column)
        if column.dtype.kind in "biuf":
            parts[str(name)] = column.to_numpy(np.float64)
        elif dates is None:
            codes, _ = pd.factorize(column)
            categorical.append(len(parts))
            parts[str(name)] = np.where(codes < 0, np.nan, codes)
        else:
            for part in ("year", "month", "day", "day_of_week", "hour"):
                parts[f"{name} {part}"] = getattr(dates.dt, part).to_numpy(np.float64)
    return np.column_stack(list(parts.values())), np.array(categorical, np.int64)


def _dates(column: "pd.Series") -> "pd.Series | None":
    """Return a column of strings as dates if nearly all of its first values are dates."""
    import pandas as pd

    if column.dtype.kind == "M":
        return column
    strings = column.dropna().astype(str)
    first = strings.iloc[:DATE_ROWS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pd.to_datetime(first, errors="coerce", format="mixed", utc=True).notna()
        # Names of months are no dates, nor are plain numbers.
        found &= first.str.contains(r"\d") & ~first.str.fullmatch(r"[\d.]+")
        if not len(first) or found.mean() < DATE_SHARE:
            return None
        return pd.to_datetime(column, errors="coerce", format="mixed", utc=True)
