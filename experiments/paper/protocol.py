"""The protocol as data: trials and folds, grids, budgets, and the rules by which a grid is thinned to fit one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from experiments.paper.column import STUDY, Column, Grid, settings_of
from experiments.paper.data_set import Shape

# Raised whenever cells of an older protocol may no longer stand beside new ones.
VERSION = 1
FOLDS = 5
INNER_FOLDS = 5
# Microseconds of ranking one held-out row by one setting.
RANKING = 0.12


# A step size chosen on few rows is too large for many (docs/research/paper.md): that is the last thing to save on.
RELUCTANT = 2.5


@dataclass(frozen=True)
class Thinning:
    """How much of the printed protocol a method is given on a set."""

    trials: int
    once_a_trial: bool = False
    ridge_stride: int = 1
    step_stride: int = 1
    selection_rows: int | None = None
    set_rows: int | None = None
    rules: tuple[str, ...] = ()

    def grid(self, column: Column) -> Grid:
        """The values to choose from; the ends of an axis are always among them."""
        strides = {"alpha": self.ridge_stride, "eta0": self.step_stride, "C": self.step_stride}
        return {name: values[:: strides.get(name, 1)] for name, values in column.grid.items()}


@dataclass(frozen=True)
class Rule:
    """One way to spend less: its name on the page, when it changes anything, and what it changes.

    A rule is taken where more than the budget times its `reluctance` would be spent.
    """

    name: str
    matters: Callable[[Column, Shape], bool]
    apply: Callable[[Thinning], Thinning]
    reluctance: float = 1.0


def _chooses(column: Column, shape: Shape) -> bool:  # noqa: ARG001
    return bool(column.grid)


def _selection_rows(limit: int) -> Rule:
    return Rule(
        f"setting chosen on {limit:,} rows",
        lambda column, shape: bool(column.grid) and learned_rows(column, shape) > limit,
        lambda thinning: replace(thinning, selection_rows=limit),
        RELUCTANT,
    )


RULES = (
    Rule("setting chosen once a trial", _chooses, lambda thinning: replace(thinning, once_a_trial=True)),
    Rule("every second λ", lambda column, shape: "alpha" in column.grid, lambda t: replace(t, ridge_stride=2)),  # noqa: ARG005
    _selection_rows(20_000),
    Rule(
        "every second step size",
        lambda column, shape: bool({"eta0", "C"} & set(column.grid)),  # noqa: ARG005
        lambda thinning: replace(thinning, step_stride=2),
        RELUCTANT,
    ),
    _selection_rows(5_000),
    Rule("one trial", lambda column, shape: True, lambda thinning: replace(thinning, trials=1), RELUCTANT),  # noqa: ARG005
)


@dataclass(frozen=True)
class Profile:
    """How much is spent: trials, seconds of one core for a method on a set, and of one line of the store at most.

    `budget` is what the model of costs may say; a line that takes longer than `line_limit` is not available. Of a
    larger set, `set_rows` rows drawn at random are all there is. What costs more than `dearest` seconds however it is
    thinned is left out.
    """

    name: str
    trials: int
    budget: float
    line_limit: float
    set_rows: int | None = None
    dearest: float = float("inf")


PROFILES = {
    "quick": Profile("quick", trials=1, budget=1.5, line_limit=120.0, set_rows=5000, dearest=30.0),
    "paper": Profile("paper", trials=5, budget=160.0, line_limit=900.0),
}


def learned_rows(column: Column, shape: Shape) -> int:
    """How many rows a method learns from in a fold."""
    rows = shape.n_rows * (FOLDS - 1) // FOLDS
    return rows if column.most_rows is None else min(rows, column.most_rows)


def estimated_seconds(column: Column, shape: Shape, thinning: Thinning) -> float:
    """What the model of costs says for a method on a set, all trials."""
    if thinning.set_rows is not None:
        shape = shape._replace(n_rows=min(shape.n_rows, thinning.set_rows))
    rows = learned_rows(column, shape)
    held_out = shape.n_rows / FOLDS
    fits = FOLDS * thinning.trials
    seconds = fits * (column.cost.alone(shape, rows) + 1e-6 * RANKING * held_out + 2e-3)
    if column.grid:
        selected = rows if thinning.selection_rows is None else min(rows, thinning.selection_rows)
        n_settings = len(settings_of(thinning.grid(column)))
        choices = thinning.trials * (1 if thinning.once_a_trial else FOLDS)
        inner = selected * (INNER_FOLDS - 1) / INNER_FOLDS
        judging = 1e-6 * RANKING * n_settings * column.cost.passes * selected / INNER_FOLDS
        seconds += choices * INNER_FOLDS * (column.cost.together(shape, inner, n_settings) + judging)
    return seconds


def thinned(column: Column, shape: Shape, profile: Profile) -> Thinning:
    """The least thinning that fits the budget: rules are taken in their order until it does.

    >>> from experiments.paper.catalogue import Catalogue
    >>> thinned(Catalogue().columns()["OPAUC"], Shape(1000, 24, 24), PROFILES["paper"]).rules
    ()
    """
    thinning = Thinning(1 if column.kind == STUDY else profile.trials)
    if profile.set_rows is not None and shape.n_rows > profile.set_rows:
        shape = shape._replace(n_rows=profile.set_rows)
        thinning = replace(thinning, set_rows=profile.set_rows, rules=(f"{profile.set_rows:,} rows of the set",))
    for rule in RULES:
        if estimated_seconds(column, shape, thinning) <= column.worth * rule.reluctance * profile.budget:
            continue
        if rule.matters(column, shape) and rule.apply(thinning) != thinning:
            thinning = replace(rule.apply(thinning), rules=(*thinning.rules, rule.name))
    return thinning
