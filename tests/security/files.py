"""One small file of every kind that the library writes, and random changes of it under a valid checksum."""

import copy
import math
import sys
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import opauc
from opauc import OPAUC, OPAUCCV, OnePassGAM
from opauc.additive.basis.crossed_codes import CrossedCode, CrossedCodes, Member
from opauc.additive.basis.random_effects import RandomEffects
from opauc.additive.basis_columns import basis_columns
from opauc.additive.basis_model import BasisModel
from opauc.additive.editing.edit import edit_term, remove_term
from opauc.additive.fit import PenalizedFit
from opauc.additive.labeled_sample import encode_rows
from opauc.additive.model import AdditiveLogistic
from opauc.additive.settings import AdditiveSettings
from opauc.additive.state import AdditiveFit
from opauc.additive.terms.explain import Terms
from opauc.additive.trees.blend import Blend, ValidationRows
from opauc.additive.trees.grow import CodedRows
from opauc.baselines import OAM, OPAUCf, OPAUCrp, UniLog
from opauc.core.checksummed_file import read_checksummed
from opauc.core.loop import Trainer
from opauc.core.model import Model, save_model
from opauc.errors import OpaucError
from tests.additive.basis.test_basis import CATEGORICAL, basis_of, sample
from tests.additive.basis.test_ensemble import GAIN, ensemble_of
from tests.core.hostile_files import (
    DELETED,
    VALUES,
    StopError,
    changed,
    places,
    run_command,
    spoiled_arrays,
    stop_after_one_batch,
)
from tests.problems import problem

ESTIMATORS = {
    "exact": OPAUC(solver="exact"),
    "sgd": OPAUC(solver="sgd"),
    "drifting": OPAUC(solver="exact", forgetting_factor="auto"),
    "sketched-exact": OPAUC(solver="exact", rank=2, random_state=1),
    "sketched-sgd": OPAUC(solver="sgd", rank=2, random_state=1),
    "means": OPAUC(solver="sgd", rank=0),
    "selection": OPAUC(solver="progressive_selection"),
    "folds": OPAUCCV(),
    "subset": OPAUCf(random_state=0),
    "projection": OPAUCrp(random_state=0),
    "buffers": OAM(buffer_size=4, random_state=0),
    "batch": UniLog(),
}
CHECKPOINTS = {
    "linear": ["--solver", "exact", "--categorical", "color", "--missing", "mean"],
    "sketched": ["--solver", "sgd", "--rank", "2", "--categorical", "color", "--missing", "mean"],
    "additive": [],
}
NAMES = [
    *ESTIMATORS, "moments", "sketch", "fold-moments", "sums",
    "additive-full", "additive-effects", "additive-waiting", "additive-scoring-effects",
    "additive-scoring-trees", "command",
    *(f"{name}.checkpoint" for name in CHECKPOINTS), "additive-classes", "additive-classes-trees",
]  # fmt: skip


def write_files(folder):
    """Write a file of each of `NAMES`."""
    rows, labels = problem(1, 90, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = {name: estimator.fit(rows, labels) for name, estimator in ESTIMATORS.items()}
    models["moments"] = models["exact"].moments_
    models["sketch"] = models["sketched-exact"].moments_
    models["fold-moments"] = models["folds"].moments_
    fixed = additive_fit(effects=False).fixed
    models["sums"] = fixed.model.sums
    frame, classes = table(1)
    models["additive-waiting"] = OnePassGAM(interactions=0, random_state=0).partial_fit(frame, classes)
    models["additive-classes"] = OnePassGAM(interactions=0, random_state=0).partial_fit(frame, classes_of(frame))
    numbers = np.random.default_rng(5).normal(size=(900, 3))
    three = np.where(numbers[:, 0] > 1.0, 2, numbers.prod(axis=1) > 0.0)
    several = models["additive-classes-trees"] = OnePassGAM(init_size=800, random_state=0).partial_fit(numbers, three)
    assert any(fit.current.basis.trees is not None for fit in several._fitted.class_fits)
    for name, model in models.items():
        opauc.save(model, folder / name)
    for name, effects in {"additive-full": False, "additive-effects": True}.items():
        fit = additive_fit(effects)
        model = Model("OnePassGAM", {}, fit, np.array(["no", "yes"]), fit.n_features)
        save_model(model, folder / name)
        save_model(model.scoring_only(), folder / f"additive-scoring-{'effects' if effects else 'trees'}")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for part in (1, 2):
            both = table(part)
            both[0].assign(label=both[1]).to_csv(f"table-{part}.csv", index=False)
        run_command(patch, "train", "table-1.csv", "table-2.csv", "--label", "label", "-o", "command", "-q")
        stop_after_one_batch(patch)
        for name, options in CHECKPOINTS.items():
            given = ["table-1.csv", "table-2.csv", "--label", "label", "-o", name, "-q", "--checkpoint-every", "1"]
            with suppress(StopError):
                run_command(patch, "train", *given, *options)


def table(seed):
    """Return a table with numbers, categories and missing values, and its labels."""
    rows, labels = problem(20 + seed, 90, 3)
    color = np.random.default_rng(seed).choice(["red", "green", "blue"][: 1 + seed], 90)
    frame = pd.DataFrame({"size": rows[:, 0].round(3), "color": color, "age": rows[:, 1].round(3)})
    frame.loc[rows[:, 2] > 2, "age"] = np.nan
    return frame, np.array(["no", "yes"])[labels]


def classes_of(frame):
    """Return three classes of the rows of a table."""
    return np.array(["big", "middle", "small"])[np.searchsorted([-1.0, 1.0], frame["size"])]


def additive_fit(effects):
    """Return a fit with curves, categories and pairs, and trees or random effects and a crossed code."""
    rows, later, basis = sample(3), sample(4), basis_of(3)
    if effects:
        members = Member(2, np.empty(0), np.array([1, 5])), Member(0, np.array([-0.5, 0.5]), np.empty(0, np.int64))
        crossed = CrossedCodes((CrossedCode(members, 64, 0.3, 0.5, np.array([[1.0, 0.5], [5.0, np.nan]])),))
        effects = RandomEffects(np.array([2, 2, 3]), np.array([5, 7, 9]))
        basis = replace(basis, random_effects=effects, crossed=crossed)
    else:
        basis = basis.with_trees(ensemble_of(3)[0], GAIN)
    columns, labels, later_labels = basis_columns(basis), draw_labels(basis, rows), draw_labels(basis, later)
    start = PenalizedFit(np.zeros(basis.n_columns), np.ones(basis.groups.kinds.size), np.zeros(len(rows)))
    model = AdditiveLogistic.start(columns, start).update_initial(encode_rows(basis, rows, labels, None))
    if not effects:
        model = replace(model, blend=blend_of(basis.trees, basis.n_additive, rows, labels))
    model = model.with_candidates().update(encode_rows(basis, later, later_labels, None, blend=model.blend))
    fit = replace(AdditiveFit.start(AdditiveSettings(), CATEGORICAL, 0), fixed=BasisModel(basis, model))
    assert effects or fit.final.weights[-basis.trees.n_leaves :].any()  # trees are used
    return edited(fit)


def edited(fit):
    """Return a fit with a curve that is set, and a term of each other kind that is removed."""
    names = [f"x{j}" for j in range(fit.n_features)]
    fit = edit_term(Terms(fit, names, [{}] * len(names)), "x0", [(0.0, 0.5)], None, "ann", "why")
    kinds = {}
    for term in Terms(fit, names, [{}] * len(names)).term_columns:
        kinds.setdefault(term.key.kind, term.name)
    for kind, name in kinds.items():
        if kind != "main":
            fit = remove_term(Terms(fit, names, [{}] * len(names)), name)
    assert len(fit.edits.entries) > 1
    return fit


def draw_labels(basis, rows):
    """Return labels that depend on the first input, or on the trees."""
    rng = np.random.default_rng(3)
    score = rows[:, 0] / 10 if basis.trees is None else 1.5 * basis.trees.scores(rows)
    return (score + rng.logistic(size=len(rows)) > 0).astype(np.int8)


def blend_of(ensemble, n_additive, rows, labels):
    """Return a blend before any later row; half of the rows validate it."""
    coded = CodedRows(ensemble.codes.of_rows(rows[:150]), labels[:150], np.ones(150))
    validation = ValidationRows(coded, rows[:150, 0] / 10, ensemble.products(coded.codes, ensemble.values))
    return Blend.start(ensemble, np.linspace(-1.0, 1.0, n_additive), validation, ensemble.codes.of_rows(rows[150:]))


def scores_of(content):
    """Return the probabilities or scores that a loaded model or checkpoint gives to rows; none of statistics."""
    if isinstance(content, Trainer):
        scorer = content.fit.scorer
        return scorer.probabilities(scorer.scores(rows_for(content.fit.n_features)))
    if not hasattr(content, "predict_proba"):
        return np.empty(0)
    reading = getattr(content, "_reading", None)
    of_table = reading is not None and reading.feature_names() is not None
    rows = table(2)[0] if of_table else rows_for(content.n_features_in_)
    probabilities = content.predict_proba(rows)
    if content.classes_.size > 2:
        return probabilities
    scorer = content.scorer()
    records = rows.to_dict("records") if of_table else rows
    with suppress(OpaucError):  # linear models take no missing values
        for row, expected in zip(records, probabilities[:, 1], strict=True):
            assert np.isclose(scorer.probability(row), expected, equal_nan=True)  # by tables that are packed otherwise
    return probabilities


def rows_for(width):
    """Return rows of zeros, of missing values and of large and of small numbers."""
    return np.stack([np.zeros(width), np.full(width, 5.0), np.full(width, -1.0), np.full(width, 1e6)])


def mutations(seed, kind, header, arrays):
    """Yield name, description and arrays of endless random changes, one to three at a time."""
    rng, spots = np.random.default_rng(seed), list(places(header))
    whole = {"format": "opauc", "version": 1, "kind": kind, "header": header}
    while True:
        described, spoiled, how = whole, dict(arrays), []
        for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
            if spots and rng.random() < 0.35:
                with suppress(KeyError, IndexError, TypeError):  # a place that the change before took away
                    described, what = mutate_header(rng, described, spots)
                    how.append(what)
            elif spoiled:
                how.append(mutate_array(rng, spoiled))
        yield "; ".join(how), described, spoiled


def mutate_header(rng, described, spots):
    """Return the description with one place of its header changed, deleted or moved."""
    place = ("header", *spots[rng.integers(len(spots))])
    value = value_at(described, place)
    near = [value + 1, value - 1, -value, 2 * value] if isinstance(value, int | float) else []
    other = value_at(described, ("header", *spots[rng.integers(len(spots))]))
    candidates = [DELETED, copy.deepcopy(other), *near, 10**400, *VALUES]
    chosen = candidates[rng.integers(len(candidates))]
    return changed(described, place, chosen), f"{'.'.join(map(str, place))} = {str(chosen)[:40]!r}"


def value_at(described, place):
    for key in place:
        described = described[key]
    return described


def mutate_array(rng, arrays):
    """Change one of the arrays: an element mostly; return what was done."""
    name = str(rng.choice(sorted(arrays)))
    array = arrays[name]
    if array.size and rng.random() < 0.75:
        arrays[name] = array = array.copy()
        at = int(rng.integers(array.size))
        number = new_number(rng, array)
        with np.errstate(all="ignore"), suppress(OverflowError):
            array.reshape(-1)[at] = number
        return f"{name}[{at}] = {number}"
    other = str(rng.choice(sorted(arrays)))
    changes = [("deleted", None), (f"replaced by {other}", arrays[other]), *spoiled_arrays(array)]
    what, changed_array = changes[rng.integers(len(changes))]
    if changed_array is None:
        del arrays[name]
    else:
        arrays[name] = changed_array
    return f"{name}: {what}"


def new_number(rng, array):
    """Return a number that the type of an array can hold, or nearly."""
    if array.dtype.kind == "b":
        return bool(rng.integers(2))
    near = array.reshape(-1)[rng.integers(array.size)]
    size = int(rng.choice([array.size, *array.shape]))
    whole = [-1, -2, 0, 1, 2, 3, size - 1, size, size + 1, 127, 2**31 - 1, 2**31 - 2, -(2**31), 2**62, 10**9, near]
    if array.dtype.kind in "iu":
        info = np.iinfo(array.dtype)
        return int(np.clip(int(rng.choice(np.array(whole, object))), int(info.min), int(info.max)))
    special = [math.nan, math.inf, -math.inf, 1e300, -1e300, 1e-300, 0.5, -float(near)]
    return float(rng.choice([*map(float, whole), *special]))


def read(folder, name):
    """Return kind, header and arrays of one of the files."""
    return read_checksummed(folder / name)


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True)
    write_files(Path(sys.argv[1]))
