"""The input types of the report: plain values that no model family needs to know.

`opauc.api.evaluate.report_of` fills a `Report`; `opauc.api.describe` fills the parts that come from a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from opauc.metrics.calibration import CalibrationBins
from opauc.metrics.group_auc import GroupAucInterval
from opauc.metrics.groups import GroupEvaluation
from opauc.metrics.influence import MetricInterval
from opauc.metrics.progressive import ProgressPoint
from opauc.metrics.ranking import Ranking
from opauc.types import Floats

# Kinds of terms.
CURVE, LEVELS, PAIR, TREES, ALL_FEATURES = "curve", "levels", "pair", "trees", "all features"
# Label of the grid point for missing values.
MISSING = "missing"
# A feature with fewer numeric grid points is drawn as levels.
MIN_CURVE_POINTS = 3


class ShownTerm(NamedTuple):
    """One term of an additive model, in log-odds.

    `grid` has one sequence of numbers or category names for a main effect and two
    for a pair; it is empty for a feature's share of the tree ensemble and for all
    features together. `values` and `standard_errors` have an entry for each grid point,
    and so has `row_shares`, the share of the training rows there, where it is known.
    A pair that is weak has too little evidence to be called an interaction.
    """

    name: str
    features: tuple[str, ...]
    grid: tuple[tuple[float | str, ...], ...]
    values: Floats
    standard_errors: Floats
    importance: float
    row_shares: Floats | None = None
    is_weak: bool = False

    @property
    def kind(self) -> str:
        """How the term is drawn.

        >>> import numpy as np
        >>> from opauc.report import ShownTerm
        >>> ShownTerm("sex", ("sex",), (("f", "m"),), np.zeros(2), np.zeros(2), 0.1).kind
        'levels'
        """
        if not self.grid:
            return TREES if len(self.features) == 1 else ALL_FEATURES
        if len(self.grid) > 1:
            return PAIR
        return CURVE if self.n_numbers >= MIN_CURVE_POINTS else LEVELS

    @property
    def n_numbers(self) -> int:
        """Count of numeric grid points of a main effect; they come first."""
        return sum(not isinstance(point, str) for point in self.grid[0])

    def range(self) -> tuple[float, float] | None:
        """Return the lowest and the highest value; None for a term without a grid."""
        return (float(self.values.min()), float(self.values.max())) if self.values.size else None


class Contribution(NamedTuple):
    """What one term adds to the score of a row.

    `feature_value` is empty where there is no single one. `suffix` ends the name of the
    term where a feature has several terms.

    >>> from opauc.report import Contribution
    >>> str(Contribution("age", "39", 0.5)), str(Contribution("age", "39", 0.5, " (trees)"))
    ('age = 39', 'age = 39 (trees)')
    """

    name: str
    feature_value: str
    value: float
    suffix: str = ""

    def __str__(self) -> str:
        return (f"{self.name} = {self.feature_value}" if self.feature_value else self.name) + self.suffix


class ExplainedRow(NamedTuple):
    """The score of a row as the sum of the baseline and the contributions of the terms."""

    title: str
    note: str
    baseline: float
    contributions: Sequence[Contribution]

    def score(self) -> float:
        """Return the sum."""
        return self.baseline + float(np.sum([contribution.value for contribution in self.contributions]))


class CandidateRow(NamedTuple):
    """A candidate model of the model selection, with its progressive AUC."""

    name: str
    auc: float
    selected: bool


class EditRow(NamedTuple):
    """An edit of a term: what was done, by whom, when and why, and the range of its values before and after."""

    term: str
    action: str
    who: str
    when: str
    why: str
    before: tuple[float, float] | None
    after: tuple[float, float] | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TermsSection:
    """The part of the page about an additive model.

    `terms` are the `n_terms` terms or the most important of them, by decreasing
    importance. `selection` says which candidate model was selected and why. `drift`
    lists the features whose later values differ from the initial sample, with their
    population stability index; `drift_checked` says whether any were compared. `leaks`
    lists the features that alone rank nearly all rows rightly, with their AUC, `edits`
    the terms that users have set or removed, the oldest edit first.
    """

    terms: Sequence[ShownTerm]
    n_terms: int
    explained_rows: Sequence[ExplainedRow] = ()
    selection: str = ""
    candidates: Sequence[CandidateRow] = ()
    drift: Sequence[tuple[str, float]] = ()
    drift_checked: bool = False
    leaks: Sequence[tuple[str, float]] = ()
    edits: Sequence[EditRow] = ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PenaltyChoice:
    """The cross-validation of the penalty, and the regularization path.

    `means` and `errors` are the mean over the folds of the `criterion` ("pair_loss",
    "log_loss" or "auc") of each penalty, and its standard error. `chosen` is the index of the penalty in
    use, `one_standard_error` that of the largest penalty within one standard error of the
    best. `standardized_weights` has a row per penalty and a column per feature in `names`:
    weight × standard deviation. `n_folds` is 0 if no fold had both classes, and `names` is
    empty if all weights are zero.
    """

    alphas: Floats
    criterion: str
    means: Floats
    errors: Floats
    chosen: int
    one_standard_error: int
    n_folds: int
    names: Sequence[str]
    standardized_weights: Floats

    @property
    def can_be_drawn(self) -> bool:
        """Whether there are at least two different penalties."""
        return np.unique(self.alphas).size > 1

    @property
    def positions(self) -> Floats:
        """Position of each penalty on a logarithmic axis: a penalty of zero is a little left of the others."""
        return np.where(self.alphas > 0.0, self.alphas, self.alphas[self.alphas > 0.0].min(initial=np.inf) / 10.0)


class DecisionPoint(NamedTuple):
    """A threshold of the score, and how many rows of each class are above it.

    >>> from opauc.report import DecisionPoint
    >>> point = DecisionPoint("Default", 0.0, 0.5, 100, 80)
    >>> point.per_thousand(900, 100)
    (80.0, 100.0, 800.0, 20.0)
    """

    name: str
    threshold: float
    probability: float | None
    negatives_above: float
    positives_above: float

    def per_thousand(self, n_negatives: int, n_positives: int) -> tuple[float, float, float, float]:
        """Return the true positives, false positives, true negatives and false negatives in 1,000 rows."""
        unit = 1000.0 / (n_negatives + n_positives)
        true, false = unit * self.positives_above, unit * self.negatives_above
        return true, false, unit * n_negatives - false, unit * n_positives - true


class FileRow(NamedTuple):
    """A file that a model was trained on: its name, rows and bytes, and its hash."""

    path: str
    rows: int
    bytes: int
    sha256: str


class WeightRow(NamedTuple):
    """A feature, its weight, and weight × standard deviation (None where the deviation is unknown)."""

    name: str
    weight: float
    standardized_weight: float | None = None

    @property
    def size(self) -> float:
        """The number that orders the rows: the standardized weight if there is one, else the weight."""
        return self.weight if self.standardized_weight is None else self.standardized_weight


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Report:
    """Everything the page shows; parts that are absent are left out.

    `weights` may be all weights or the largest, in any order: the page shows the
    twenty largest, and `weight_order` describes the order. `data`, `settings` and
    `provenance` are rows of tables; `timings` are in seconds. `metrics` are by their
    titles, `within` has the mean AUC within groups by how groups count. `groups` are rows
    by the values or bands of `group_column`. `training_files` are the evaluation files that
    the model was trained on, with their rows. `decision` is the threshold at which the model
    itself decides, `threshold_probabilities` are those of the operating points of the ranking.
    `training_data` are the files that the model was trained on, `about` says when and by what
    the page was made.
    """

    title: str
    ranking: Ranking
    model: str = ""
    n_features: int | None = None
    calibration: CalibrationBins | None = None
    learning_curve: Sequence[ProgressPoint] = ()
    metrics: Mapping[str, MetricInterval] = field(default_factory=dict)
    within: Mapping[str, GroupAucInterval] = field(default_factory=dict)
    penalty: PenaltyChoice | None = None
    additive: TermsSection | None = None
    weights: Sequence[WeightRow] = ()
    weight_order: str = "by size"
    groups: Sequence[GroupEvaluation] = ()
    group_column: str = ""
    training_files: Mapping[str, int] = field(default_factory=dict)
    data: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, object] = field(default_factory=dict)
    training_data: Sequence[FileRow] = ()
    decision: DecisionPoint | None = None
    threshold_probabilities: Sequence[float] = ()
    about: Mapping[str, object] = field(default_factory=dict)
