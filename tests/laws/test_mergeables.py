"""Laws of every class that merges: sums over rows form a commutative group, and their arrays bring them back."""

import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

import opauc
from opauc.additive.crossed.sums import CrossedSums
from opauc.additive.drift import BinCounts
from opauc.additive.model import AdditiveLogistic
from opauc.additive.random_effects import RandomEffectSums
from opauc.additive.row_groups.tally import GroupTally
from opauc.additive.selection import CandidateModels
from opauc.additive.settings import AdditiveSettings
from opauc.additive.state import AdditiveFit
from opauc.additive.sums import LabeledRows, LinearizedSums
from opauc.core.mergeable import Mergeable
from opauc.linear.moments.classes import ClassMoments, GroupMoments
from opauc.linear.moments.exact import ExactMoments
from opauc.linear.moments.features import FeatureMoments
from opauc.linear.moments.folds import FoldMoments, MulticlassFoldMoments
from opauc.linear.moments.held_out_scores import HeldOutScores
from opauc.linear.moments.linearized import Expansion, LinearizedMoments
from opauc.linear.moments.multiclass import MulticlassMoments
from opauc.linear.moments.sketch import ClassSketch, SignStream
from opauc.linear.moments.within_groups import WithinGroupMoments
from opauc.metrics import CalibrationBins, StreamingAuc, StreamingGroupAuc, StreamingMulticlassAuc
from tests.problems import problem

# Subtracting loses the digits that both operands share.
SUBTRACTED = 1e-7


@dataclass(frozen=True)
class Case:
    """How to build three states of disjoint rows of one class, and how that class differs from the others.

    `left_out` are arrays that say in which order states were merged, or what subtracting them may have lost.
    """

    shards: Callable[[int], list]
    empty: Callable = lambda state: state.empty_copy()
    restore: Callable = lambda state, arrays: type(state).from_arrays(arrays)
    no_subtract: str = ""  # why rows cannot be subtracted, where they cannot
    left_out: tuple[str, ...] = ("rounding",)


def parts_of(seed, n_features=3):
    rows, labels = problem(seed, 90, n_features, offset=2.0)
    return [(rows[i::3], labels[i::3]) for i in range(3)]


def updated(start):
    """Build shards of a class whose `update` takes rows and labels, from a function of the number of features."""
    return lambda seed: [start(3).update(rows, labels) for rows, labels in parts_of(seed)]


def several_shards(start):
    """Build shards of three classes."""
    return lambda seed: [
        start(3).update(rows, ((rows[:, 1] > 2.0) + labels).astype(np.int8)) for rows, labels in parts_of(seed)
    ]


def with_intercept(rows):
    return csr_array(np.column_stack([np.ones(len(rows)), rows]))


def exact_shards(seed):
    return [ExactMoments.of(rows) for rows, _ in parts_of(seed)]


def group_shards(seed):
    start = GroupMoments.empty(3, n_groups=3)
    return [start.update(rows, (np.arange(30) % 3).astype(np.int8)) for rows, _ in parts_of(seed)]


def sketch_shards(seed):
    # Every shard needs random codes of its own.
    starts = [ClassSketch.empty(3, SignStream.seeded(4, random_state=3 * seed + i)) for i in range(3)]
    return [start.update(*part) for start, part in zip(starts, parts_of(seed), strict=True)]


def device_shards(seed):
    from opauc.engines.torch.moments import DeviceMoments

    return updated(DeviceMoments.empty)(seed)


def linearized_shards(seed):
    start = LinearizedSums.at(np.random.default_rng(seed).normal(size=3))
    return [start.update(rows, labels) for rows, labels in parts_of(seed)]


def logistic_shards(seed):
    random = np.random.default_rng(seed)
    row_weights = np.array([[1.0, 1.0, 0.0, 0.0, 1.0], [1.0, 0.5, 2.0, 0.3, 0.1]])
    expansion = Expansion(random.normal(size=3), random.normal(size=(2, 3)), random.normal(size=2), row_weights)
    scores = HeldOutScores.of(random.normal(size=(2, 5, 3)), np.zeros((2, 5)), random.normal(size=(9, 3)), np.arange(9))
    start = LinearizedMoments.empty(3, n_losses=2).with_expansion(expansion, scores=scores)
    return [start.update(rows, labels) for rows, labels in parts_of(seed)]


def within_group_shards(seed):
    groups = (np.arange(30) // 4).astype(np.uint64)
    return [WithinGroupMoments.empty(3).update(*part, groups=groups) for part in parts_of(seed)]


def random_effect_shards(seed):
    random = np.random.default_rng(seed)
    expansion_point, start = random.normal(size=4), RandomEffectSums.empty(5, 4)
    return [
        start.update_all(
            [(LabeledRows(with_intercept(rows), labels), csr_array(random.integers(0, 2, (30, 5)).astype(float)))],
            expansion_point,
        )
        for rows, labels in parts_of(seed)
    ]


def crossed_shards(seed):
    random, start = np.random.default_rng(seed), CrossedSums.empty(6)
    return [start.update(random.integers(0, 6, (30, 2)), rows[:, 0], np.ones(30)) for rows, _ in parts_of(seed)]


def tally_shards(seed):
    random, start = np.random.default_rng(seed), GroupTally.empty(6)
    return [start.update(random.integers(-1, 6, 30), labels, np.ones(30)) for _, labels in parts_of(seed)]


def candidate_shards(seed):
    start = CandidateModels.of(np.random.default_rng(seed).normal(size=(4, 4)))
    return [start.update(with_intercept(rows), labels) for rows, labels in parts_of(seed)]


def blend_shards(seed):
    """Sums of rows at the blend of a fit with trees."""
    return [shard.blend.sums for shard in tree_shards(seed)]


def bin_shards(seed):
    start = BinCounts.of(with_intercept(problem(seed + 1, 50, 3)[0]))
    return [start.update(with_intercept(rows)) for rows, _ in parts_of(seed)]


@cache
def additive_shards(seed):
    rows, labels = problem(seed, 400, 3)
    start = AdditiveFit.start(AdditiveSettings(interactions=0, n_knots=5), np.zeros(3, bool), seed)
    fitted = start.update(rows, labels).empty_copy()
    return [fitted.update(rows[i::3], labels[i::3]).fixed.model for i in range(3)]


@cache
def tree_shards(seed):
    """Models with a basis of trees: three inputs act together."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(3000, 5))
    labels = (rows[:, :3].prod(axis=1) > 0).astype(np.int8)
    start = AdditiveFit.start(AdditiveSettings(init_size=2500, n_knots=5), np.zeros(5, bool), seed)
    fitted = start.update(rows, labels).empty_copy()
    models = [fitted.update(rows[i::3], labels[i::3]).fixed.model for i in range(3)]
    assert models[0].blend is not None
    return models


def auc_shards(seed):
    return [StreamingAuc.of(labels, rows[:, 0]) for rows, labels in parts_of(seed)]


def multiclass_shards(seed):
    return [StreamingMulticlassAuc.of((rows[:, 1] > rows[:, 0]) + labels, rows) for rows, labels in parts_of(seed)]


def group_auc_shards(seed):
    """Groups that do not all fit."""
    return [StreamingGroupAuc.of(labels, rows[:, 0], (7 * rows[:, 1]).round(), 40) for rows, labels in parts_of(seed)]


def calibration_shards(seed):
    return [CalibrationBins.of(labels, 1 / (1 + np.exp(-rows[:, 0]))) for rows, labels in parts_of(seed)]


CASES = {
    "ExactMoments": Case(exact_shards),
    "GroupMoments": Case(group_shards),
    "ClassMoments": Case(updated(ClassMoments.empty)),
    "FoldMoments": Case(updated(FoldMoments.empty)),
    "MulticlassMoments": Case(several_shards(MulticlassMoments.empty)),
    "MulticlassFoldMoments": Case(several_shards(MulticlassFoldMoments.empty)),
    "FeatureMoments": Case(updated(FeatureMoments.empty)),
    # The stream to which later rows are added is that of the left operand.
    "ClassSketch": Case(sketch_shards, left_out=("keys", "stream")),
    "LinearizedSums": Case(linearized_shards),
    "HeldOutScores": Case(lambda seed: [state.scores for state in logistic_shards(seed)]),
    "WithinGroupMoments": Case(within_group_shards, left_out=("rounding", "rows", "labels", "weights", "keys", "ages")),
    "LinearizedMoments": Case(logistic_shards),
    "LossSums": Case(lambda seed: [state.losses[1] for state in logistic_shards(seed)]),
    "LinearizedMoments with first rows": Case(
        updated(LinearizedMoments.empty), left_out=("rounding", "rows", "weights", "numbers")
    ),
    "RandomEffectSums": Case(random_effect_shards),
    "CrossedSums": Case(crossed_shards),
    "GroupTally": Case(tally_shards),
    "CandidateModels": Case(candidate_shards),
    "BinCounts": Case(bin_shards),
    "AdditiveLogistic": Case(
        additive_shards,
        restore=lambda state, arrays: AdditiveLogistic.from_arrays(state.columns, arrays),
        no_subtract="it subtracts rows, not a state: tests/laws/test_estimators.py covers forget",
    ),
    "AdditiveLogistic with trees": Case(
        tree_shards,
        restore=lambda state, arrays: AdditiveLogistic.from_arrays(state.columns, arrays),
        no_subtract="it subtracts rows, not a state: tests/estimators/test_one_pass_gam_trees.py covers forget",
    ),
    "BlendSums": Case(blend_shards),
    "StreamingAuc": Case(
        auc_shards,
        empty=lambda state: StreamingAuc.empty(state.size),
        no_subtract="intervals that were joined cannot be taken apart",
    ),
    "StreamingMulticlassAuc": Case(
        multiclass_shards,
        no_subtract="intervals that were joined cannot be taken apart",
    ),
    "StreamingGroupAuc": Case(
        group_auc_shards,
        no_subtract="groups that have left are not known",
    ),
    "CalibrationBins": Case(
        calibration_shards,
        empty=lambda _: CalibrationBins.empty(),
        no_subtract="nothing forgets scored rows",
    ),
    "DeviceMoments": Case(device_shards),
}
# Classes with a `merge` that is not the sum of two states, and why these laws are not theirs.
OTHERS = {
    "OnePassGAM": "an estimator: tests/laws/test_estimators.py",
    "OPAUCCV": "an estimator: tests/laws/test_estimators.py",
    "ScoreIntervals": "the base class of StreamingAuc, and the columns of StreamingMulticlassAuc, which are in CASES",
    "SumsClassifier": "a base class of estimators",
    "GAMAlgebra": "the base class of OnePassGAM that adds and subtracts: tests/estimators/test_algebra.py",
    "SumsAlgebra": "the base class of estimators that add and subtract: tests/estimators/test_algebra.py",
    "Segment": "a file of sums, with a sample of its rows: tests/api/cube covers it",
    "MergeableSolver": "merges states that it is given, which are in CASES",
    "SketchedExact": "merges states that it is given, which are in CASES",
    "ClassSums": "AdditiveLogistic for each class, which is in CASES: tests/additive/multiclass/test_sums.py",
    "Fit": "the abstract class of fits",
    "ClassFolds": "the base class of FoldMoments and MulticlassFoldMoments, which are in CASES",
    "LinearFit": "merges the states of its solver, which are in CASES",
    "AdditiveFit": "merges AdditiveLogistic, which is in CASES, if the bases are the same",
    "Blend": "merges BlendSums, which is in CASES, if the ensembles are the same: tests/additive/trees/test_blend.py",
    "InitialRows": "a multiset of hashes: tests/additive/test_forget.py covers it",
    "ForgetReport": "two counts: tests/additive/test_forget.py covers them",
    "BatchFit": "refuses to merge",
    "ScoringOnlyFit": "refuses to merge",
    "Model": "merges fits",
    "RowReading": "a protocol",
    "OneHotReading": "merges the columns of two tables, in the order of their operands: tests/data covers it",
    "OrdinalReading": "merges the columns of two tables, in the order of their operands: tests/data covers it",
    "DaskScheduler": "merges the results of tasks, each of which is in CASES or OTHERS",
    "TrainedShards": "a model with its provenance: shards have an order",
    "ScoredShards": "a StreamingAuc and CalibrationBins with their provenance: shards have an order",
    "Gathered": "a protocol of the engines",
    "Mergeable": "the abstract class",
}
# Statistics of scores that do not merge.
UNMERGED = {
    "ProgressiveAuc": "its windows are numbered by the rows of one stream",
    "ScoreHistogram": "it is computed from a StreamingAuc, which merges",
}
NEEDS = {"DeviceMoments": "torch"}


def parameters(names):
    return [
        pytest.param(CASES[name], id=name, marks=pytest.mark.slow if name in NEEDS else ())
        for name in names
        if importlib.util.find_spec(NEEDS.get(name, "numpy"))
    ]


every_case = pytest.mark.parametrize("case", parameters(CASES))
every_group = pytest.mark.parametrize("case", parameters(name for name in CASES if not CASES[name].no_subtract))
seeds = pytest.mark.parametrize("seed", range(3))


def values(case, state):
    """Return what two equal states have in common: their arrays, those of sparse matrices as dense ones."""
    arrays = {name: part for name, part in state.to_arrays().items() if name.rpartition(".")[-1] not in case.left_out}
    for name in [name for name in arrays if name.endswith(".indptr")]:
        prefix = name.removesuffix("indptr")
        parts = [arrays.pop(f"{prefix}{key}") for key in ("data", "indices", "indptr")]
        size = parts[2].size - 1
        arrays[prefix] = csr_array(tuple(parts), shape=(size, size)).toarray()
    return arrays


def assert_same(case, one, other, rtol=1e-9):
    """Assert that two states are equal; exact scatter also up to the rounding error that the state itself states."""
    stated = one.to_arrays()
    mine, theirs = values(case, one), values(case, other)
    assert mine.keys() == theirs.keys()
    for name, part in theirs.items():
        if part.dtype.kind != "f":
            assert_array_equal(mine[name], part, err_msg=name)
            continue
        atol = rtol * np.abs(part).max(initial=1e-300)
        rounding = stated.get(f"{name.removesuffix('scatter')}rounding") if name.endswith("scatter") else None
        if rounding is not None:
            atol = np.maximum(atol, np.sqrt(np.outer(rounding, rounding)))
        assert (np.abs(mine[name] - part) <= atol + rtol * np.abs(part)).all(), name


@every_case
@seeds
def test_merge_is_associative_and_commutative(case, seed):
    one, two, three = case.shards(seed)
    assert_same(case, one.merge(two).merge(three), one.merge(two.merge(three)))
    assert_same(case, one.merge(two), two.merge(one))


@every_case
@seeds
def test_an_empty_state_is_the_identity_of_merge(case, seed):
    one = case.shards(seed)[0]
    assert_same(case, one.merge(case.empty(one)), one)
    assert_same(case, case.empty(one).merge(one), one)
    assert_same(case, case.empty(one).merge(case.empty(one)), case.empty(one))


@every_group
@seeds
def test_subtract_is_the_inverse_of_merge(case, seed):
    one, two, three = case.shards(seed)
    assert_same(case, one.subtract(case.empty(one)), one)
    assert_same(case, one.merge(two).subtract(two), one, SUBTRACTED)
    assert_same(case, one.merge(two).subtract(one), two, SUBTRACTED)
    assert_same(case, one.merge(two).merge(three).subtract(two.merge(three)), one, SUBTRACTED)
    assert_same(case, one.merge(two).subtract(two).merge(two), one.merge(two), SUBTRACTED)
    assert_same(case, one.subtract(one), case.empty(one))


@every_case
def test_merge_leaves_its_operands_unchanged(case):
    one, two, _ = case.shards(0)
    before = [state.to_arrays() for state in (one, two)]
    one.merge(two)
    if not case.no_subtract:
        one.merge(two).subtract(two)
    for state, arrays in zip((one, two), before, strict=True):
        for name, part in state.to_arrays().items():
            assert_array_equal(part, arrays[name], err_msg=name)


@every_case
def test_arrays_bring_back_the_same_state_and_are_copies(case):
    one, two, three = case.shards(1)
    state = one.merge(two)
    arrays = state.to_arrays()
    restored = case.restore(state, state.to_arrays())
    assert type(restored) is type(state)
    for part in state.to_arrays().values():
        part[...] = 0
    for name, part in restored.to_arrays().items():
        assert_array_equal(part, arrays[name], err_msg=name)
    assert restored.to_arrays().keys() == arrays.keys() == state.to_arrays().keys()
    assert_same(case, restored.merge(three), state.merge(three))
    empty = case.empty(one)
    assert_same(case, case.restore(empty, empty.to_arrays()), empty)


def mutilations(arrays):
    """Yield a description and the arrays with one of them missing, of another shape, or with a NaN."""
    for name, part in arrays.items():
        yield f"no {name}", {key: array for key, array in arrays.items() if key != name}
        yield f"{name} with one more axis", arrays | {name: np.stack([part, part], axis=-1)}
        if part.dtype.kind == "f" and part.size:
            spoiled = part.copy()
            spoiled.flat[0] = np.nan
            yield f"{name} with a NaN", arrays | {name: spoiled}


@every_case
def test_mutilated_arrays_are_refused(case):
    state = case.shards(2)[0]
    for what, arrays in mutilations(state.to_arrays()):
        try:
            case.restore(state, arrays)
        except (ValueError, KeyError):
            continue
        pytest.fail(f"{type(state).__name__}.from_arrays accepts {what}")


def package_classes():
    """Yield every class of the package; modules of engines that are not installed are left out."""
    for module in pkgutil.walk_packages(opauc.__path__, "opauc."):
        if module.name == "opauc.__main__":
            continue
        try:
            imported = importlib.import_module(module.name)
        except opauc.OpaucError:
            continue
        yield from (
            kind for kind in vars(imported).values() if inspect.isclass(kind) and kind.__module__ == module.name
        )


@pytest.mark.slow  # imports the engines
def test_every_class_that_merges_is_held_to_these_laws():
    kinds = set(package_classes())
    merging = {kind.__name__ for kind in kinds if issubclass(kind, Mergeable) and not inspect.isabstract(kind)}
    assert merging <= CASES.keys()
    defining = {kind.__name__ for kind in kinds if "merge" in vars(kind)} - merging
    assert defining <= CASES.keys() | OTHERS.keys()
    names = {kind.__name__ for kind in kinds}
    cases = {name.partition(" with ")[0] for name in CASES}
    assert (cases | OTHERS.keys() | UNMERGED.keys()) - names <= NEEDS.keys()
    assert not any(hasattr(kind, "merge") for kind in kinds if kind.__name__ in UNMERGED)
