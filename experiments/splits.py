"""Methods compared on splits of the same rows: AUCs, paired tests, and settings chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr
from sklearn.model_selection import StratifiedKFold

from opauc.errors import OpaucError
from opauc.metrics import Method, exact_auc
from opauc.metrics.runner import Clock, Collected, Trial, wall_clock
from opauc.types import Floats, Labels, Rows

# The AUC of a setting that fails on a fold: that of constant scores.
FAILED = 0.5


class Split(NamedTuple):
    """Indices of the training rows, in the order of training, and of the rows to score."""

    train: NDArray[np.intp]
    held_out: NDArray[np.intp]


def stratified_folds(labels: Labels, n_folds: int = 5, seed: int = 0) -> Iterator[Split]:
    """Yield the splits of scikit-learn's `StratifiedKFold(n_folds, shuffle=True, random_state=seed)`.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.splits import stratified_folds
    >>> [split.held_out.tolist() for split in stratified_folds(np.array([0, 0, 0, 0, 1, 1], np.int8), n_folds=2)]
    [[2, 3, 4], [0, 1, 5]]
    """
    counts = np.bincount(labels, minlength=2)
    if n_folds < 2 or counts.min() < n_folds:
        raise ValueError(
            f"n_folds must be at least 2 and at most the rows of the smaller class, got n_folds={n_folds} "
            f"for {counts[1]} positives and {counts[0]} negatives"
        )
    for train, held_out in StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(labels, labels):
        yield Split(train, held_out)


class PairedTest(NamedTuple):
    """Mean difference of two methods over the same splits, and the two-sided paired t-test of no difference."""

    difference: float
    t: float
    p_value: float

    def outcome(self, level: float = 0.05) -> str:
        """Return "win", "tie" or "loss" of the first method at a level of significance."""
        if not self.p_value < level:
            return "tie"
        return "win" if self.difference > 0 else "loss"


def paired_t_test(first: Floats, second: Floats) -> PairedTest:
    """Return Student's paired test of two vectors; equal ones have p = 1, a constant difference has p = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.splits import paired_t_test
    >>> test = paired_t_test(np.array([0.90, 0.92, 0.91, 0.93]), np.array([0.89, 0.90, 0.90, 0.90]))
    >>> round(test.difference, 4), round(test.p_value, 4), test.outcome()
    (0.0175, 0.0354, 'win')
    """
    differences = first - second
    if differences.size < 2:
        raise ValueError(f"a paired test needs at least two splits, got {differences.size}")
    mean, error = float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(differences.size))
    if error == 0.0:
        return PairedTest(mean, float(np.copysign(np.inf, mean)) if mean else 0.0, float(mean == 0.0))
    return PairedTest(mean, mean / error, float(2 * stdtr(differences.size - 1, -abs(mean / error))))


def corrected_t_test(first: Floats, second: Floats, n_folds: int = 5) -> PairedTest:
    """Return the paired test with the variance that repeated cross-validation has, of Nadeau and Bengio.

    Training rows overlap between splits, so the plain test finds too many
    differences. The variance of the mean is (1/n + rows held out / rows of
    training) times that of the differences, instead of 1/n times.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.splits import corrected_t_test
    >>> test = corrected_t_test(np.array([0.90, 0.92, 0.91, 0.93]), np.array([0.89, 0.90, 0.90, 0.90]))
    >>> round(test.difference, 4), round(test.p_value, 4), test.outcome()
    (0.0175, 0.0814, 'tie')
    """
    plain = paired_t_test(first, second)
    t = plain.t / float(np.sqrt(1.0 + first.size / (n_folds - 1.0)))
    if not np.isfinite(t) or t == 0.0:
        return plain
    return PairedTest(plain.difference, t, float(2 * stdtr(first.size - 1, -abs(t))))


@dataclass(frozen=True, slots=True, eq=False)
class SplitAucs:
    """AUC and seconds of each method (rows) on each split (columns); NaN, and the reason, where it failed."""

    names: tuple[str, ...]
    aucs: Floats
    seconds: Floats
    troubles: tuple[tuple[str, ...], ...]

    def of(self, name: str) -> Floats:
        """Return the AUCs of one method."""
        row: Floats = self.aucs[self.names.index(name)]
        return row

    def test(self, first: str, second: str) -> PairedTest:
        """Return the paired t-test of two methods over the splits on which neither failed."""
        aucs = np.array([self.of(first), self.of(second)])
        return paired_t_test(*aucs[:, np.isfinite(aucs).all(axis=0)])


def compare_on_splits(
    methods: Sequence[Method], rows: Rows, labels: Labels, splits: Iterable[Split], clock: Clock = wall_clock
) -> SplitAucs:
    """Return the AUC of every method on every split, and its training time in seconds of `clock`.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.splits import compare_on_splits, stratified_folds
    >>> from opauc.metrics import FittedMethod
    >>> rng = np.random.default_rng(0)
    >>> labels = (rng.random(500) < 0.5).astype(np.int8)
    >>> rows = np.stack([rng.normal(size=500) + labels, rng.normal(size=500)], axis=1)
    >>> methods = [FittedMethod(f"feature {j}", lambda rows, labels, j=j: lambda rows: rows[:, j]) for j in (0, 1)]
    >>> results = compare_on_splits(methods, rows, labels, stratified_folds(labels, n_folds=5))
    >>> results.aucs.shape, bool(results.test("feature 0", "feature 1").p_value < 0.05)
    ((2, 5), True)
    """
    columns = [[_evaluate(Trial(method, clock), rows, labels, split) for method in methods] for split in splits]
    aucs, seconds, troubles = (
        [[result[part] for result in by_method] for by_method in zip(*columns, strict=True)] for part in range(3)
    )
    names = tuple(method.name for method in methods)
    return SplitAucs(names, np.array(aucs), np.array(seconds), tuple(map(tuple, troubles)))


def _evaluate(trial: Trial, rows: Rows, labels: Labels, split: Split) -> tuple[float, float, str]:
    """Return the AUC of one method on one split, NaN where it failed, its training seconds and the reason."""
    trial.train(rows[split.train], labels[split.train])
    trial.finish()
    scores = trial.scores(rows[split.held_out])
    auc = float("nan") if scores is None else exact_auc(labels[split.held_out], scores)
    return auc, trial.seconds, trial.trouble


# Returns the AUC of each candidate on each split, as `compare_on_splits` does one candidate at a time.
Evaluator: TypeAlias = Callable[[Sequence[Method], Rows, Labels, Iterable[Split]], SplitAucs]


@dataclass(eq=False)
class TunedMethod:
    """The candidate with the highest mean AUC over folds of the training rows, then trained on all of them.

    The first of equal candidates wins and becomes `chosen`. `folds` splits the
    rows. `evaluate` may train all candidates together where that costs less.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.splits import TunedMethod
    >>> from opauc.metrics import FittedMethod
    >>> rng = np.random.default_rng(0)
    >>> labels = (rng.random(500) < 0.5).astype(np.int8)
    >>> rows = np.stack([rng.normal(size=500), rng.normal(size=500) + labels], axis=1)
    >>> settings = [FittedMethod(f"feature {j}", lambda rows, labels, j=j: lambda rows: rows[:, j]) for j in (0, 1)]
    >>> tuned = TunedMethod("one feature", settings)
    >>> tuned.train(rows, labels)
    >>> tuned.finish()
    >>> tuned.chosen.name
    'feature 1'
    """

    name: str
    candidates: Sequence[Method]
    folds: Callable[[Labels], Iterable[Split]] = stratified_folds
    evaluate: Evaluator = compare_on_splits
    collected: Collected = field(default_factory=Collected, repr=False)
    chosen: Method | None = None

    def fresh(self) -> Self:
        """Return the method before training."""
        return type(self)(self.name, self.candidates, self.folds, self.evaluate)

    def warm_up(self, rows: Rows) -> None:
        """Compile the kernels of the candidates."""
        for candidate in self.candidates:
            candidate.fresh().warm_up(rows)

    def train(self, rows: Rows, labels: Labels) -> None:
        """Collect training rows."""
        self.collected.add(rows, labels)

    def finish(self) -> None:
        """Choose a candidate and train it on all rows."""
        rows, labels = self.collected.whole()
        self.collected = Collected()
        self.chosen = self.candidates[self.best_candidate(rows, labels)].fresh()
        self.chosen.train(rows, labels)
        self.chosen.finish()

    def scores(self, rows: Rows) -> Floats:
        """Return the scores of the chosen candidate."""
        if self.chosen is None:
            raise ValueError(f"{self.name}: finish must be called before scores")
        return self.chosen.scores(rows)

    def best_candidate(self, rows: Rows, labels: Labels) -> int:
        """Return the index of the best candidate by cross-validation on these rows."""
        results = self.evaluate(self.candidates, rows, labels, self.folds(labels))
        if np.isnan(results.aucs).all():
            raise OpaucError(f"no setting works: {results.troubles[0][0]}")
        return int(np.argmax(np.nan_to_num(results.aucs, nan=FAILED).mean(axis=1)))
