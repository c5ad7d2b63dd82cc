"""What `opauc train` learns with, from its options."""

from __future__ import annotations

from collections.abc import Collection

from opauc.errors import InputError
from opauc.linear.resolve import SELECTION, LinearRecipe, recipe_of
from opauc.types import Json, Settings

AUTO = "auto"
# Options that only a penalty to be chosen takes notice of, and what they are unless given.
FOLD_OPTIONS: Json = {"cv": 5, "criterion": "pair_loss", "one_standard_error": False, "groups": None}
# What the choice leaves no room for, by what there may be instead.
SETTLED: Json = {"solver": (AUTO, "exact", "sgd"), "forgetting_factor": (1.0,)}


def train_recipe(given: Settings) -> LinearRecipe:
    """Return how to learn, by the names of the options.

    Examples
    --------
    >>> from opauc.cli.train_recipe import FOLD_OPTIONS, train_recipe
    >>> options = {"solver": "auto", "alpha": "0.5", "rank": "none", "eta0": 1e4, "learning_rate": "theorem"}
    >>> options |= {"average": True, "standardize": True, "forgetting_factor": "1", "horizon": 9, "seed": 0, "n_jobs": 1}
    >>> options |= FOLD_OPTIONS
    >>> recipe = train_recipe(options)
    >>> recipe.owner, recipe.parameters["alpha"], recipe.parameters["rank"]
    ('OPAUC', 0.5, None)
    >>> train_recipe({**options, "alpha": "auto", "rank": "auto"}).owner
    'OPAUCCV'
    """
    alpha, forgetting_factor = (
        number_or_auto("alpha", given["alpha"]),
        number_or_auto("forgetting_factor", given["forgetting_factor"]),
    )
    settled = {**given, "rank": _rank(given["rank"]), "forgetting_factor": forgetting_factor}
    if alpha == AUTO:
        return _choosing(settled)
    _refuse_fold_options(given, "a penalty to be chosen; add --alpha auto")
    names = ["solver", "rank", "eta0", "learning_rate", "average", "standardize", "forgetting_factor", "n_jobs"]
    if forgetting_factor == AUTO:
        names.append("horizon")
    return recipe_of(
        "OPAUC", {"alpha": alpha, **{name: settled[name] for name in names}, "random_state": given["seed"]}
    )


def refuse_idle(asked: Collection[str], given: Settings) -> None:
    """Raise where an option was asked for that plays no part beside the others."""
    if "standardize" in asked and (given["rank"] not in (AUTO, "none", "None") or given["solver"] == SELECTION):
        rank = "" if given["solver"] == SELECTION else f" of rank {given['rank']}"
        raise InputError(f"--standardize is for full covariance; a scorer{rank} learns in the units of the data")


def _choosing(given: Settings) -> LinearRecipe:
    """Return how to learn with the penalty chosen on the way, and the step size too where there is one."""
    for name, allowed in SETTLED.items():
        if given[name] not in allowed:
            raise InputError(f"--alpha auto is for solver exact or sgd, and forgets nothing; leave --{name} out")
    names, solver, rank = ["n_jobs"], "sgd" if given["solver"] == "sgd" else "exact", given["rank"]
    if solver == "exact":
        names += ["cv", "criterion", "one_standard_error", "standardize"]
        if rank not in (AUTO, None):
            raise InputError("--alpha auto with a --rank needs --solver sgd")
    else:
        names += ["average"]
        _refuse_fold_options(given, "solver exact")
    settings = {name: given[name] for name in names}
    chosen = {"solver": solver, "alphas": None, "rank": None if rank == AUTO else rank, **settings}
    return recipe_of("OPAUCCV", {**chosen, "random_state": given["seed"]})


def _refuse_fold_options(given: Settings, needed: str) -> None:
    for name, usual in FOLD_OPTIONS.items():
        if given[name] != usual:
            raise InputError(f"--{name.replace('_', '-')} is for {needed}")


def number_or_auto(name: str, text: str) -> float | str:
    """Return a number, or the word auto."""
    if text == AUTO:
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--{name.replace('_', '-')} must be a number or auto, got {text!r}") from None


def _rank(text: str) -> str | int | None:
    if text in ("none", "None"):
        return None
    return text if text == AUTO or not text.lstrip("-").isdigit() else int(text)
