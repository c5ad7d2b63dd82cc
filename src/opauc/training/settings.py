"""From the parameters of an estimator to the learner they ask for."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import fields
from numbers import Integral
from typing import Any

from opauc.estimators.parameter_checks import check_n_jobs, check_number, check_option
from opauc.learners import find_learners
from opauc.learners.sgd import LEARNING_RATES

# The two covariance matrices of "full" may take this much memory.
FULL_COVARIANCE_BYTES = 2 * 2**30
# Rank of the sketch where rank="auto" has to have one.
SKETCH_RANK = 50


def make_learner(owner: str, given: Mapping[str, Any], n_features: int, dtype: str) -> tuple[Any, str, int | None]:
    """Check every parameter of `owner`; return the learner for rows of `n_features`, its solver and its rank."""
    check_option(owner, "solver", given["solver"], ("auto", "exact", "sgd", "contest"))
    check_option(owner, "learning_rate", given["learning_rate"], tuple(LEARNING_RATES))
    check_option(owner, "average", given["average"], (True, False))
    rank = _rank(owner, given["rank"], given["solver"], n_features)
    solver = _solver(given["solver"], given["rank"], rank)
    checked = dict(given) | {
        "alpha": check_number(owner, "alpha", given["alpha"], 0.0),
        "eta0": check_number(owner, "eta0", given["eta0"], 0.0, closed="neither"),
        "forgetting": check_number(owner, "forgetting", given["forgetting"], 0.0, 1.0, closed="right"),
        "n_jobs": check_n_jobs(owner, given["n_jobs"], os.cpu_count() or 1),
        "rank": rank,
        "dtype": dtype,
    }
    if rank is not None and checked["forgetting"] != 1.0:
        raise ValueError(f"forgetting={given['forgetting']} needs full covariance, rank=None; here the rank is {rank}")
    learner = find_learners()[_name(solver, rank)]
    settings = {field.name: checked[field.name] for field in fields(learner) if field.name in checked}
    return learner(**settings), solver, rank


def _solver(asked: str, asked_rank: Any, rank: int | None) -> str:
    """Return the solver meant: "contest" is what serves best where nothing was asked for and nothing full fits."""
    if asked != "auto":
        return asked
    if rank is None:
        return "exact"
    return "contest" if asked_rank == "auto" else "sgd"


def _name(solver: str, rank: int | None) -> str:
    """Return the file name of the learner."""
    if rank is None or solver == "contest":
        return solver
    return "class_means" if rank == 0 and solver == "sgd" else f"sketched_{solver}"


def _rank(owner: str, rank: Any, solver: str, n_features: int) -> int | None:
    """Return the rank meant: None for full covariance matrices, which must fit their budget."""
    is_int = isinstance(rank, Integral) and not isinstance(rank, bool)
    if not (rank is None or rank == "auto" or (is_int and rank >= 0)):
        raise ValueError(
            f"The 'rank' parameter of {owner} must be None, 'auto' or an int in the range [0, inf). "
            f"Got {rank!r} instead."
        )
    if solver == "contest":
        if rank not in ("auto", 0):
            raise ValueError(f"solver='contest' keeps no covariance: rank must be 'auto' or 0, got {rank!r}")
        return 0
    if is_int:
        if rank > n_features:
            warnings.warn(
                f"rank={rank} is more than n_features={n_features}: full covariance, rank=None, is smaller and exact",
                UserWarning,
                stacklevel=5,
            )
        return int(rank)
    size = 16 * n_features**2
    if size <= FULL_COVARIANCE_BYTES:
        return None
    if rank == "auto":
        return SKETCH_RANK if solver == "exact" else 0
    raise ValueError(
        f"two covariance matrices of {n_features} features take {size / 2**30:.1f} GiB; rank=None uses at most "
        f"{FULL_COVARIANCE_BYTES / 2**30:g} GiB. Set rank to 0 or a small int, or to 'auto'."
    )
