"""Compile kernels ahead of the first use, for images of containers and for services."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from opauc.api.evaluate import evaluate
from opauc.api.predict import predict
from opauc.api.saving import load, save
from opauc.api.train import train
from opauc.core.kernels.compile import compile_notice
from opauc.core.registry import ESTIMATORS

N_ROWS = 600
LABEL = "outcome"


class WarmUp(NamedTuple):
    """What a warm-up took.

    Attributes
    ----------
    seconds : float
        Seconds of compiling; zero if everything was compiled already.
    message : str
        Where the machine code is kept; empty if nothing was compiled.

    Examples
    --------
    >>> from opauc.api.warmup import WarmUp
    >>> WarmUp(0.0, "").seconds
    0.0
    """

    seconds: float
    message: str


def warmup() -> WarmUp:
    """Compile the kernels of the estimators, the readers and the metrics, once per machine.

    Every kernel is compiled when it is first called, and kept on disk. This function does the usual work on small
    simulated data, so that your program need not wait for that: run it while the image of a container is built, with
    `NUMBA_CACHE_DIR` set to a folder that stays. Kernels of `opauc.baselines` are not among them.

    Returns
    -------
    warm_up : WarmUp
        The seconds of compiling, and where the machine code is kept.

    Examples
    --------
    >>> import opauc
    >>> opauc.warmup().seconds >= 0.0  # doctest: +SKIP
    True
    """
    messages: list[str] = []
    with compile_notice(messages.append) as notice, warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        table, labels = _simulate()
        _use_additive(table, labels)
        _use_linear()
        _use_files(table.append_column(LABEL, pa.array(labels)), Path(folder))
    return WarmUp(notice.seconds, messages[0] if messages else "")


def _simulate() -> tuple[pa.Table, np.ndarray[tuple[int], np.dtype[np.int8]]]:
    """Return rows with columns of every type, and labels that depend on them."""
    rng = np.random.default_rng(0)
    number, other = rng.normal(size=(2, N_ROWS))
    shop, city = rng.integers(100, 160, N_ROWS), rng.integers(0, 12, N_ROWS)
    day = np.datetime64("2026-01-01", "s") + rng.integers(0, 90 * 86_400, N_ROWS).astype("timedelta64[s]")
    odds = 2 * number * (other > 0) + rng.normal(size=160)[shop] + (city < 6)
    labels = (rng.random(N_ROWS) < 1 / (1 + np.exp(-odds))).astype(np.int8)
    columns = {
        "number": pa.array(number, mask=rng.random(N_ROWS) < 0.1), "other": other, "shop": shop,
        "city": pa.array([f"city {one}" for one in city]), "day": day, "flag": other > 1,
    }  # fmt: skip
    return pa.table(columns), labels


def _use_additive(table: pa.Table, labels: np.ndarray[tuple[int], np.dtype[np.int8]]) -> None:
    half = N_ROWS // 2
    for trees in (True, False):
        model = ESTIMATORS["OnePassGAM"](trees=trees, random_state=0).fit(table, labels)
        model.predict_proba(table), model.explain(table), model.terms_, model.feature_importances_
        model.partial_fit(table, labels).explain(table)
        model.scorer().score({"number": 1.0})
    streamed = ESTIMATORS["OnePassGAM"](init_size=half, interactions=[("number", "other")], random_state=0)
    streamed.partial_fit(table, labels)
    more = streamed.empty_copy().partial_fit(table[:half], labels[:half])
    streamed.merge(more).forget(table[:half], labels[:half]).decision_function(table)


def _use_linear() -> None:
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(N_ROWS, 8))
    labels = (dense[:, 0] + rng.normal(size=N_ROWS) > 0).astype(int)
    settings: list[tuple[str, dict[str, object]]] = [
        ("OPAUC", {"solver": "exact"}),
        ("OPAUC", {"solver": "sgd"}),
        ("OPAUC", {"solver": "sgd", "rank": 4}),
        ("OPAUC", {"solver": "exact", "rank": 4}),
        ("OPAUC", {"rank": 0, "solver": "sgd"}),
        ("OPAUC", {"solver": "progressive_selection"}),
        ("OPAUC", {"forgetting_factor": "auto", "horizon": 200}),
        ("OPAUCCV", {}),
        ("OPAUCCV", {"solver": "sgd", "etas": [0.1, 0.01], "alphas": [0.1, 0.01]}),
    ]
    for name, parameters in settings:
        for rows in (dense, dense.astype(np.float32), csr_array(dense)):
            model = ESTIMATORS[name](**parameters).fit(rows, labels)
            model.predict_proba(rows)


def _use_files(table: pa.Table, folder: Path) -> None:
    """Train, evaluate and predict from text and from Parquet."""
    import pyarrow.csv
    import pyarrow.parquet

    text, columnar, sparse = folder / "rows.csv", folder / "rows.parquet", folder / "rows.svm"
    pyarrow.csv.write_csv(table, text)
    pyarrow.parquet.write_table(table, columnar)
    sparse.write_text("".join(f"{i % 2} {1 + i % 5}:1 {6 + i % 7}:0.5\n" for i in range(N_ROWS)))
    model = folder / "model.opauc"
    for path in (text, columnar):
        save(train(path, label=LABEL), model)
        evaluate(load(model), path, label=LABEL)
        predict(model, path)
        train(path, label=LABEL, solver="exact", categorical=["city"], missing="mean", drop=["day"])
    save(train(sparse), model)
    evaluate(model, sparse)
