"""From the parameters of an estimator to the learner they ask for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from opauc.estimators.parameter_checks import check_n_jobs, check_number, check_option
from opauc.learners import find_learners
from opauc.learners.sgd import LEARNING_RATES

# The two covariance matrices of "full" may take this much memory.
FULL_COVARIANCE_BYTES = 2 * 2**30


def make_learner(owner: str, solver: str, given: Mapping[str, Any], n_features: int) -> Any:
    """Check every parameter of `owner` and return the learner for rows of `n_features`."""
    check_option(owner, "solver", given["solver"], ("auto", "exact", "sgd"))
    check_option(owner, "learning_rate", given["learning_rate"], tuple(LEARNING_RATES))
    check_option(owner, "average", given["average"], (True, False))
    rank = given["rank"]
    if rank is not None and rank != "auto":
        raise ValueError(f"The 'rank' parameter of {owner} must be None or 'auto' so far. Got {rank!r} instead.")
    if 16 * n_features**2 > FULL_COVARIANCE_BYTES:
        raise ValueError(
            f"two covariance matrices of {n_features} features take {16 * n_features**2 / 2**30:.1f} GiB; "
            f"at most {FULL_COVARIANCE_BYTES / 2**30:g} GiB are used"
        )
    checked = dict(given) | {
        "alpha": check_number(owner, "alpha", given["alpha"], 0.0),
        "eta0": check_number(owner, "eta0", given["eta0"], 0.0, closed="neither"),
        "forgetting": check_number(owner, "forgetting", given["forgetting"], 0.0, 1.0, closed="right"),
        "n_jobs": check_n_jobs(owner, given["n_jobs"], os.cpu_count() or 1),
    }
    learner = find_learners()[solver]
    return learner(**{field.name: checked[field.name] for field in fields(learner)})
