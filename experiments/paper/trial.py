"""One trial of a column on a set: choose settings, learn from four fifths, judge by the rest, a line at a time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from experiments.paper.column import STUDY, Column, Context, Setting, settings_of
from experiments.paper.data_set import Task
from experiments.paper.plan import Work
from experiments.paper.protocol import FOLDS, INNER_FOLDS
from experiments.paper.store import Key, Line
from experiments.splits import Split, TunedMethod, compare_on_splits, stratified_folds
from opauc.errors import OpaucError
from opauc.types import Labels

# The number of the line that says which setting was chosen for all folds of a trial.
CHOICE = -1
# Rows of a class that leave every fold of every fold some.
FEWEST = 2 * FOLDS * INNER_FOLDS


def keys_of(work: Work, profile: str) -> list[Key]:
    """The lines a trial gives, in the order they are computed."""
    numbers = [CHOICE, *range(FOLDS)] if work.column.grid and work.thinning.once_a_trial else [*range(FOLDS)]
    return [Key(profile, work.data.name, work.column.name, work.trial, number) for number in numbers]


def missing_lines(
    work: Work, task: Task, done: Mapping[Key, Line], profile: str, begin: Callable[[Key], None]
) -> Iterator[Line]:
    """Compute the lines of a trial that are not yet there; `begin` is told of each before."""
    warnings.simplefilter("ignore")  # steps that are too large warn; they are not chosen
    keys = keys_of(work, profile)
    task = part_of(task, work.thinning.set_rows)
    splits = list(stratified_folds(task.labels, FOLDS, seed=work.trial))
    context = Context(work.data.suite, work.trial)
    chosen = done[keys[0]].setting if keys[0] in done and keys[0].fold == CHOICE else None
    for key in keys:
        if key in done:
            continue
        begin(key)
        line = partial(Line, *key, rules=work.thinning.rules)
        if key.fold == CHOICE:
            chosen, seconds = chosen_setting(work, context, task, ordered(splits[0], work, 0))
            yield line(setting=chosen, tuning_seconds=seconds)
            continue
        split, tuning = ordered(splits[key.fold], work, key.fold), None
        setting: Setting = {} if chosen is None else chosen
        if work.column.grid and not work.thinning.once_a_trial:
            setting, tuning = chosen_setting(work, context, task, split)
        parts = [Task(task.rows[part], task.labels[part]) for part in split]
        curve = work.column.trace(setting, context, *parts) if work.column.trace and work.trial == 0 else []
        if work.column.kind == STUDY:
            yield line(curve=curve)
            continue
        found = compare_on_splits([work.column.made(setting, context)], *task, [split], clock=time.thread_time)
        auc = float(found.aucs[0, 0])
        yield line(
            auc=None if np.isnan(auc) else auc,
            seconds=_rounded(found.seconds[0, 0]),
            tuning_seconds=tuning,
            setting=setting or None,
            trouble=found.troubles[0][0],
            curve=curve,
        )


def part_of(task: Task, most: int | None) -> Task:
    """The rows there are, or so many of them drawn at random, with rows of both classes enough for folds of folds."""
    if most is None or task.labels.size <= most:
        return task
    rows = np.sort(selection_rows(task.labels, np.random.default_rng(0).permutation(task.labels.size), most))
    return Task(task.rows[rows], task.labels[rows])


def ordered(split: Split, work: Work, fold: int) -> Split:
    """The split with the rows to learn from in a random order, cut to what the method may see."""
    random = np.random.default_rng([work.trial, fold])
    train = random.permutation(split.train)
    return Split(train[: work.column.most_rows], split.held_out)


def chosen_setting(work: Work, context: Context, task: Task, split: Split) -> tuple[Setting, float]:
    """The best setting by cross-validation within the rows to learn from, and the seconds it took to find."""
    began = time.thread_time()
    rows = selection_rows(task.labels, split.train, work.thinning.selection_rows)
    settings = settings_of(work.thinning.grid(work.column))
    tuned = tuned_method(work.column, settings, context)
    best = settings[tuned.best_candidate(task.rows[rows], task.labels[rows])]
    return best, _rounded(time.thread_time() - began)


def tuned_method(column: Column, settings: list[Setting], context: Context) -> TunedMethod:
    """The column as a method that chooses among settings."""
    candidates = [column.made(setting, context) for setting in settings]
    folds = partial(stratified_folds, n_folds=INNER_FOLDS, seed=context.trial)
    return TunedMethod(column.name, candidates, folds, column.evaluator(settings, context))


def selection_rows(labels: Labels, learned: NDArray[np.intp], most: int | None) -> NDArray[np.intp]:
    """The rows a setting is chosen on: the first of those learned, and enough of a rare class for folds of folds."""
    part = learned if most is None else learned[:most]
    for label in (0, 1):
        if np.count_nonzero(labels[part] == label) < FEWEST:
            others = learned[labels[learned] == label][:FEWEST]
            if others.size < INNER_FOLDS:
                raise OpaucError(f"a choice needs {INNER_FOLDS} rows of each class, got {others.size}")
            part = np.concatenate([part[labels[part] != label], others])
    return part


def _rounded(seconds: float) -> float:
    return round(float(seconds), 6)
