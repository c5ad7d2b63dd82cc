"""What an additive model has learned: rows that wait for a basis, or a basis and sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, TypedDict, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.group_levels import group_column
from opauc.additive.basis_model import BasisModel
from opauc.additive.basis_rows import BasisRows
from opauc.additive.constraints.constraints import NO_CONSTRAINTS, Constraints, SavedConstraints, Shape
from opauc.additive.constraints.shape_rows import DECREASING, INCREASING
from opauc.additive.editing.fixed_terms import FixedTerms
from opauc.additive.editing.ledger import NO_EDITS, Edits, LedgerEntry, SavedEdit
from opauc.additive.initial_fit import fit_basis
from opauc.additive.initial_rows import InitialRows, RowFingerprints
from opauc.additive.initial_sample import WarmUpBuffer, pool_rare_categories
from opauc.additive.labeled_sample import encode_rows
from opauc.additive.model import AdditiveLogistic, FinalWeights
from opauc.additive.objective import AUC
from opauc.additive.policy import ADDITIVE_POLICY, AdditivePolicy
from opauc.additive.row_groups.tally import GroupCounts
from opauc.additive.row_shards import sum_shards
from opauc.additive.scorer import MappedScorer
from opauc.additive.segment_sums import add_segments, pack_sums, sum_sizes
from opauc.additive.settings import AdditiveSettings, with_init_size
from opauc.additive.terms.terms import SavedTerms
from opauc.core.array_schema import ArrayRule, add_prefix, check_arrays, with_prefix
from opauc.core.blas import one_blas_thread
from opauc.core.fit import Fit
from opauc.core.json_schema import json_as
from opauc.core.model import RowReading, different_bases, plain
from opauc.core.packed_sums import SegmentSums, hash_arrays
from opauc.core.parameters import from_saved
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.schema.table import UNSEEN, TableSchema
from opauc.errors import IncompatibleMomentsError, Parameter, ParameterError, UnsupportedOperationError
from opauc.types import Arrays, Floats, GroupKeys, Json, Labels, NamedArrays, RowCounts, Rows, Settings

SCHEMA = {
    "categorical": ArrayRule("bool", "inputs"),
    "seed": ArrayRule("uint64"),
    "sampled": ArrayRule("uint64", "keys", rising=True, optional=True),
    "initial": ArrayRule("uint64", "initial_rows"),
}
# The arrays of edits begin with this name.
EDITS = "edits."


class AdditiveHeader(TypedDict):
    """An additive fit in the header of a file."""

    removed_rows: int
    removed_initial_rows: int
    edits: list[SavedEdit]
    settings: dict[str, bool | int | float | str | list[list[int | str]] | list[int | str] | None]
    constraints: SavedConstraints


class ForgetReport(NamedTuple):
    """How many rows `forget` has removed, and how many of them are in the structure, which stays.

    Of a row that the basis was not fitted to, nothing stays but the column types and
    categories it was read with. Of a row of the initial sample, what it contributed
    to the structure stays too: to knots, pairs, trees, candidate models and the fit
    that the sums are expanded at. While the basis is not fixed, no row is in it.

    Attributes
    ----------
    rows : int
        Rows removed.
    initial_rows : int
        How many of them were in the initial sample.

    Examples
    --------
    >>> from opauc import OnePassGAM
    >>> rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30
    >>> OnePassGAM(init_size=100).partial_fit(rows, labels).forget(rows[98:], labels[98:]).forget_report_
    ForgetReport(rows=22, initial_rows=22)
    """

    rows: int = 0
    initial_rows: int = 0

    def merge(self, other: ForgetReport) -> ForgetReport:
        """Return the sum of both counts.

        Parameters
        ----------
        other : ForgetReport
            The report of another model.

        Returns
        -------
        report : ForgetReport
            The sum.
        """
        return ForgetReport(self.rows + other.rows, self.initial_rows + other.initial_rows)

    def without(self, other: ForgetReport) -> ForgetReport:
        """Return the counts without those of `other`."""
        return ForgetReport(max(0, self.rows - other.rows), max(0, self.initial_rows - other.initial_rows))


@dataclass(frozen=True, eq=False)
class AdditiveFit(Fit):
    """An additive model after the rows so far: a warm-up buffer of rows, or a basis and sums. A value.

    The first rows are kept in the warm-up buffer until there are enough of them
    to fix a basis; before that the model is fitted to the buffer. From then on
    all rows are sums. Any cut of the rows gives the same.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.settings import AdditiveSettings, with_init_size
    >>> from opauc.additive.state import AdditiveFit
    >>> rows = np.random.default_rng(0).normal(size=(400, 2))
    >>> labels = (rows[:, 0] ** 2 > 1).astype(np.int8)
    >>> fit = AdditiveFit.start(AdditiveSettings(), np.zeros(2, bool), 0).update(rows, labels)
    >>> fit.scorer.scores(np.array([[0.0, 0.0], [2.0, 0.0]])) > 0
    array([False,  True])
    """

    family: ClassVar[str] = "additive"
    has_basis: ClassVar[bool] = True
    # A solve costs as much as very many rows.
    look_growth: ClassVar[float] = 4.0

    settings: AdditiveSettings
    categorical: NDArray[np.bool_]
    seed: int
    waiting: WarmUpBuffer
    fixed: BasisModel | None = None
    sampled: RowFingerprints | None = None  # of the initial sample, whose rows are processed again with all others
    # The rows that the basis was fitted to, less those removed since. Without `sampled` they were in the warm-up
    # buffer: they are in the sums, and no candidate model has scored them.
    initial: InitialRows = field(default_factory=InitialRows.empty)
    removed: ForgetReport = field(default_factory=ForgetReport)
    constraints: Constraints = NO_CONSTRAINTS  # that weights satisfy; a fixed basis has them too
    policy: AdditivePolicy = ADDITIVE_POLICY
    edits: Edits = NO_EDITS  # of a fixed basis

    @classmethod
    def start(
        cls,
        settings: AdditiveSettings,
        categorical: NDArray[np.bool_],
        seed: int,
        policy: AdditivePolicy = ADDITIVE_POLICY,
        has_groups: bool = False,
    ) -> AdditiveFit:
        """Return what is known before any row: which inputs are numbers of categories, and whether rows have groups."""
        settings = with_init_size(settings, 0, policy.sample)
        if has_groups:
            check_takes_groups(settings)
        waiting = WarmUpBuffer.empty(categorical.size + has_groups)
        return cls(settings, categorical, seed, waiting, constraints=_monotone(settings), policy=policy)

    @property
    def removed_initial_rows(self) -> int:
        """Rows removed from the sums that had helped to fix the basis, which stays."""
        return self.removed.initial_rows

    @property
    def n_features(self) -> int:
        """Inputs."""
        return self.categorical.size

    @property
    def has_groups(self) -> bool:
        """Whether rows are ranked within groups, whose number is then the last of each row that is kept."""
        return self.waiting.n_features > self.n_features

    @property
    def group_counts(self) -> GroupCounts | None:
        """How many groups have rows of both classes, and of one; None where rows have no groups."""
        tally = self.current.model.tally if self.has_groups else None
        return None if tally is None else tally.summary

    @property
    def counts(self) -> RowCounts:
        """Rows learned of each class, each counted with its weight."""
        return self.waiting.counts if self.fixed is None else self.fixed.model.counts

    @property
    def input_aucs(self) -> Floats | None:
        """AUC of each input by itself on rows of the initial sample; None where these are too few."""
        return None if self.fixed is None and not self.counts.all_seen else self.current.basis.input_aucs

    def look(self, n_rows: int) -> MappedScorer | None:
        """Return what scores the rows to come; None before the basis, when all rows would have to be fitted anew.

        As long as more rows were drawn for the basis than have been learned, the fit to those serves better.
        """
        if self.fixed is None:
            return None
        basis, model = self.fixed
        return MappedScorer(basis, model.initial_weights()) if n_rows < model.first_counts.sum() else self.scorer

    def new_rows(self, rows: Rows) -> NDArray[np.bool_] | None:
        """Tell which rows are none of those that the basis was made of; None where all are new."""
        return None if self.sampled is None else self.sampled.fresh(np.asarray(rows, np.float64)[:, : self.n_features])

    def scorer_of(self, arrays: NamedArrays) -> MappedScorer:
        """Return the scorer of the basis with these weights."""
        basis, weights = self.current.basis, arrays["weights"]
        known = weights.shape in ((basis.n_columns,), (basis.n_weights,))
        if not known or weights.dtype != np.float64 or not np.isfinite(weights).all():
            raise ValueError(f"expected {basis.n_weights} weights, got shape {weights.shape}")
        return MappedScorer(basis, weights)

    @cached_property
    def current(self) -> BasisModel:
        """The basis and the model of its columns; until the basis is fixed, those of the rows that wait."""
        return self._fitted() if self.fixed is None else self.fixed

    @cached_property
    def final(self) -> FinalWeights:
        """The weights of the columns."""
        with one_blas_thread():
            return self.current.model.solve(self.policy) if self.fixed_terms is None else self.fixed_terms.final

    @cached_property
    def fixed_terms(self) -> FixedTerms | None:
        """The terms that users have set or removed, and the weights given these; None where there are none."""
        return FixedTerms(self.current, self.edits.in_force, self.policy) if self.edits.entries else None

    def covariance(self) -> Floats:
        """Return the covariance matrix of the column weights, with both triangles."""
        fixed = self.fixed_terms
        return self.current.model.covariance(self.final) if fixed is None else fixed.covariance()

    def random_effect_variances(self) -> Floats:
        """Return the variance of each random effect, given all other weights."""
        fixed = self.fixed_terms
        return (
            self.current.model.random_effect_variances(self.final) if fixed is None else fixed.random_effect_variances()
        )

    @cached_property
    def scorer(self) -> MappedScorer:
        """What scores rows."""
        return MappedScorer(self.current.basis, self.final.weights)

    @property
    def class_fits(self) -> tuple[AdditiveFit, ...]:
        """What explains the additive score of each class: of two classes itself, whose score is of the second one."""
        return (self,)

    @property
    def saved_terms(self) -> SavedTerms | None:
        """The numbers of the terms, where they were saved without the sums that give them."""
        return None

    def align(self, rows: Rows) -> Floats:
        """Return the rows as float64; they must have as many numbers as the model has inputs."""
        if not isinstance(rows, np.ndarray) or rows.shape[1] != self.n_features:
            raise IncompatibleMomentsError(f"expected rows of {self.n_features} numbers, got {rows.shape[1]}")
        return np.asarray(rows, np.float64)

    def update(
        self, rows: Rows, labels: Labels, weight: Floats | None = None, groups: GroupKeys | None = None
    ) -> AdditiveFit:
        """Return the fit after more rows."""
        return self._after(self._with_groups(self.align(rows), groups), labels, weight)

    def _with_groups(self, rows: Floats, groups: GroupKeys | None) -> Floats:
        """Return the rows as they are kept: where there are groups, with the number of the group of each."""
        if (groups is not None) != self.has_groups:
            began = "began with groups; give those of these rows" if self.has_groups else "began without groups"
            raise ParameterError(Parameter("groups"), f": the model {began}")
        return rows if groups is None else np.column_stack([rows, group_column(groups)])

    def finish(self, reading: RowReading) -> tuple[AdditiveFit, RowReading]:
        """Return the fit with its basis fixed, and the reading without the categories that have no level."""
        fit = self.with_basis()
        return fit, fit.trim_reading(reading)

    @overload
    def trim_reading(self, reading: OrdinalReading) -> OrdinalReading: ...

    @overload
    def trim_reading(self, reading: RowReading) -> RowReading: ...

    def trim_reading(self, reading: RowReading) -> RowReading:
        """Return the reading without the categories that have no level of their own, once the basis is fixed."""
        if self.fixed is None or not isinstance(reading, OrdinalReading) or reading.columns is None:
            return reading
        if reading.columns.frozen:
            return reading
        return replace(reading, columns=reading.columns.keep_categories(self.fixed.basis.kept_numbers()))

    def check_reading(self, reading: RowReading | None) -> None:
        """Raise ValueError unless the columns of the reading become the inputs of the basis."""
        if reading is not None and not isinstance(reading, OrdinalReading):
            raise ValueError("reading: expected that of a table of numbers and categories")
        self.check_schema(None if reading is None else reading.columns)

    def check_schema(self, schema: TableSchema | None) -> None:
        """Raise ValueError unless tables of a schema, or arrays where that is None, become rows of this fit."""
        categories = [] if schema is None else schema.category_names()
        if schema is not None and not np.array_equal(schema.categorical, self.categorical):
            raise ValueError(f"expected a table of {self.n_features} inputs, with the same categories as in the fit")
        for j in np.flatnonzero(self.categorical).tolist() if self.waiting.n_rows else ():
            values, n_categories = self.waiting.all_rows()[:, j], len(categories[j]) if categories else 0
            numbers = values[~np.isnan(values)]
            if not ((numbers >= UNSEEN) & (numbers < n_categories) & (numbers == np.floor(numbers))).all():
                raise ValueError(f"waiting.rows: expected numbers of {n_categories} categories in column {j}")

    def _after(self, rows: Floats, labels: Labels, weight: Floats | None = None) -> AdditiveFit:
        if self.fixed is not None:
            return self._with_later(self.fixed, rows, labels, weight)
        wanted = self.waiting.missing_rows(labels, int(self.settings.init_size), self.policy.sample)
        first, rest = slice(None, wanted), slice(wanted, None)
        first_weight = None if weight is None else weight[first]
        waiting = self.waiting.with_rows(rows[first], labels[first], first_weight, copied=wanted is None)
        now = replace(self, waiting=waiting)
        if wanted is None:
            return now
        now = now.with_basis()
        return (
            now._after(rows[rest], labels[rest], None if weight is None else weight[rest])
            if wanted < labels.size
            else now
        )

    def with_settings(self, settings: AdditiveSettings) -> AdditiveFit:
        """Return the same with other settings, which matter until the basis is fixed."""
        rows = settings.init_size if isinstance(settings.init_size, int) else self.settings.init_size
        constraints = _monotone(settings) if self.fixed is None else self.constraints
        return replace(self, settings=replace(settings, init_size=rows), constraints=constraints)

    def with_constraints(self, constraints: Constraints, names: tuple[str, ...] = ()) -> AdditiveFit:
        """Return the same rows on the same basis, which is fixed now, with weights under these constraints.

        Messages name inputs.
        """
        if self.has_groups and constraints:
            raise no_groups("constraints")
        if self.edits.entries:
            raise UnsupportedOperationError(
                "a model whose terms were edited cannot be constrained; constrain it as it was before the edits"
            )
        now = self.with_basis()
        assert now.fixed is not None, "just fixed"
        return replace(now, fixed=now.fixed.with_constraints(constraints, names), constraints=constraints)

    def with_edit(self, entry: LedgerEntry) -> AdditiveFit:
        """Return the fit with one more edit; its basis must be fixed."""
        if self.has_groups:
            raise no_groups("edits")
        if self.constraints:
            raise UnsupportedOperationError(
                "terms of a model under constraints cannot be edited; edit it as it was before, or give bounds"
            )
        return replace(self, edits=self.edits.after(entry))

    def with_basis(self) -> AdditiveFit:
        """Return what is known with the basis fixed now, whatever waits."""
        if self.fixed is not None:
            return self
        rows, labels, kept = self.waiting.all_rows(), self.waiting.all_labels(), self.current.basis.kept_numbers()
        initial = InitialRows.of(pool_rare_categories(rows, self.categorical, kept), labels)
        return replace(self, waiting=self.waiting.empty_copy(), fixed=self.current, initial=initial)

    def of_sample(self, rows: Floats, labels: Labels, weight: Floats | None = None) -> AdditiveFit:
        """Return the basis fitted to an initial sample of all rows, with no row processed: all rows come next."""
        start = replace(self, waiting=self.waiting.with_rows(rows, labels, weight)).empty_copy()
        pooled = pool_rare_categories(rows, self.categorical, start.current.basis.kept_numbers())
        fingerprints = RowFingerprints.of(pooled[:, : self.n_features])
        return replace(start, sampled=fingerprints, initial=InitialRows.of(pooled, labels))

    def of_first_rows(
        self, rows: Floats, labels: Labels, weight: Floats | None = None, copied: bool = True
    ) -> AdditiveFit:
        """Return the fit with all these rows in the warm-up buffer, however many rows the basis needs."""
        return replace(self, waiting=self.waiting.with_rows(rows, labels, weight, copied))

    def empty_copy(self) -> AdditiveFit:
        """Return the same basis with no row learned: shards that begin with it merge."""
        basis, model = self.current
        initial = InitialRows.empty() if self.sampled is None else self.initial
        return replace(
            self, waiting=self.waiting.empty_copy(), fixed=BasisModel(basis, model.empty_copy()), initial=initial,
            removed=ForgetReport(),
        )  # fmt: skip

    def subtract(
        self,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        row_numbers: ArrayLike | None = None,  # noqa: ARG002
        groups: GroupKeys | None = None,
    ) -> AdditiveFit:
        """Return the fit without these rows; a basis that is fixed stays.

        `removed` counts the rows, and those of them that the basis was fitted to.
        """
        numbers = self._with_groups(self.align(rows), groups)
        if self.fixed is None:
            removed = self.removed.merge(ForgetReport(labels.size))
            return replace(self, waiting=self.waiting.without_rows(numbers, labels, weight), removed=removed)
        basis, model = self.fixed
        pooled = pool_rare_categories(numbers, self.categorical, basis.kept_numbers())
        is_initial, initial = self.initial.take(pooled, labels)
        unscored = is_initial if self.sampled is None else np.zeros_like(is_initial)
        later, first = (
            self._encoded(numbers[part], labels[part], None if weight is None else weight[part])
            for part in (~unscored, unscored)
        )
        removed = self.removed.merge(ForgetReport(labels.size, int(np.count_nonzero(is_initial))))
        fixed = BasisModel(basis, model.subtract(later, first))
        return replace(self, fixed=fixed, initial=initial, removed=removed)

    def merge(self, other: AdditiveFit, positions: NDArray[np.int64] | None = None) -> AdditiveFit:  # noqa: ARG002
        """Return the fit of the rows of both: they must have the same basis, or one of them none yet."""
        self._check_same_groups(other)
        if other.fixed is None:
            return self.merge(other.with_basis()) if other.has_basis_of(self) else self._with_waiting(other)
        if self.fixed is None:
            if self.has_basis_of(other):
                return self.with_basis().merge(other)
            return replace(other, settings=self.settings)._with_waiting(self)
        if not same_basis(self.fixed.basis, other.fixed.basis):
            raise different_bases()
        if self.constraints != other.constraints:
            raise IncompatibleMomentsError(
                "models under different constraints do not merge; merge the models before they are constrained, or "
                "constrain both alike"
            )
        self.edits.check_same(other.edits)
        fixed = BasisModel(self.fixed.basis, self.fixed.model.merge(other.fixed.model))
        initial = self.initial.merge(other.initial) if self.sampled is None else self.initial
        return replace(self, fixed=fixed, initial=initial, removed=self.removed.merge(other.removed))

    def without(self, other: AdditiveFit, positions: NDArray[np.int64] | None = None) -> AdditiveFit:  # noqa: ARG002
        """Return the fit of the rows that are not in `other`, which must have the same basis, or none yet."""
        self._check_same_groups(other)
        removed = self.removed.without(other.removed)
        if other.fixed is None and other.has_basis_of(self):
            other = other.with_basis()
        if other.fixed is None:  # its rows are still there
            rows = other.waiting
            left = self.subtract(rows.all_rows(), rows.all_labels(), rows.all_weights()) if rows.n_rows else self
            return replace(left, removed=removed)
        now = self.with_basis() if self.has_basis_of(other) else self
        if now.fixed is None or not same_basis(now.fixed.basis, other.fixed.basis):
            raise different_bases()
        now.fixed.model.check_part(other.fixed.model)
        fixed = BasisModel(now.fixed.basis, now.fixed.model.without(other.fixed.model))
        initial = now.initial.without(other.initial) if now.sampled is None else now.initial
        return replace(now, fixed=fixed, initial=initial, removed=removed)

    def _check_same_groups(self, other: AdditiveFit) -> None:
        if self.has_groups != other.has_groups:
            raise IncompatibleMomentsError("a model with groups and one without do not merge")

    def basis_key(self) -> str:
        """Return a hash of the basis, the expansion point, the candidate models and the blend."""
        basis, model = self.current
        return hash_arrays({**basis.to_arrays(), **add_prefix("model.", model.empty_copy().to_arrays())})

    def segment_sums(self) -> SegmentSums:
        """Return the sums of the rows, without the basis, which must be fixed."""
        assert self.fixed is not None, "segments begin with a basis"
        return SegmentSums(self.n_features, pack_sums(self.fixed.model))

    def segment_sizes(self, n_features: int) -> Mapping[str, int]:
        """Return the size of each array of the sums."""
        self.align(np.empty((0, n_features)))
        return sum_sizes(self.current.model)

    def sum_segments(self, segments: Iterable[tuple[SegmentSums, float]]) -> AdditiveFit:
        """Return the fit of the rows of segments with this basis."""
        basis, model = self.current
        return replace(self.empty_copy(), fixed=BasisModel(basis, add_segments(model, segments)))

    def has_basis_of(self, other: AdditiveFit) -> bool:
        """Tell whether the basis of `other` is the one that the rows of this warm-up buffer give."""
        if self.fixed is not None or other.fixed is None or not self.counts.all_seen:
            return False
        if not np.array_equal(
            other.fixed.model.first_counts, self.counts
        ):  # other rows: their basis need not be fitted
            return False
        return same_basis(self.current.basis, other.fixed.basis)

    def scoring_only(self) -> Fit:
        """Return the basis with its weights and the numbers of its terms."""
        from opauc.additive.scoring_only import ScoringOnlyFit  # which is one of these fits

        return ScoringOnlyFit.of(self)

    def to_parts(self) -> tuple[Json, Arrays]:
        """Return the settings, and all arrays under flat names."""
        arrays: Arrays = {"categorical": self.categorical.copy(), "seed": np.array(self.seed, np.uint64)}
        arrays["initial"] = self.initial.keys.copy()
        arrays |= {f"waiting.{name}": array for name, array in self.waiting.to_arrays().items()}
        if self.sampled is not None:
            arrays["sampled"] = self.sampled.keys.copy()
        if self.fixed is not None:
            arrays |= {f"basis.{name}": array for name, array in self.fixed.basis.to_arrays().items()}
            arrays |= {f"model.{name}": array for name, array in self.fixed.model.to_arrays().items()}
        arrays |= add_prefix(EDITS, self.edits.to_arrays())
        header = {
            "settings": settings_to_json(self.settings),
            "edits": self.edits.to_json(),
            "removed_rows": self.removed.rows,
            "removed_initial_rows": self.removed.initial_rows,
            "constraints": self.constraints.to_json(),
        }
        return header, arrays

    @classmethod
    def from_parts(
        cls,
        header: Settings,
        arrays: NamedArrays,
        n_features: int,  # noqa: ARG003
    ) -> AdditiveFit:
        """Return the fit that gave these parts; raise ValueError unless one can have."""
        checked = json_as(AdditiveHeader, header, "fit")
        settings = from_saved("OnePassGAM", AdditiveSettings, checked["settings"])
        if isinstance(settings.init_size, str):
            raise ValueError(f"init_size: expected a number of rows, got {settings.init_size!r}")
        own = {name: array for name, array in arrays.items() if name in SCHEMA}
        n_inputs = check_arrays(SCHEMA, own)["inputs"]
        constraints = Constraints.from_json(checked["constraints"])
        waiting, fixed = WarmUpBuffer.from_arrays(with_prefix("waiting.", arrays)), None
        if basis_arrays := with_prefix("basis.", arrays):
            basis = Basis.from_arrays(basis_arrays)
            constraints.check_basis(basis)
            fixed = BasisModel.of_parts(basis, with_prefix("model.", arrays), constraints)
        has_groups = waiting.n_features > n_inputs
        widths = {waiting.n_features - has_groups, n_inputs if fixed is None else fixed.basis.n_inputs}
        if widths != {n_inputs} or (fixed is not None and (fixed.basis.group_levels is not None) != has_groups):
            raise ValueError(f"expected a basis and rows of {n_inputs} inputs")
        sampled = RowFingerprints(own["sampled"]) if "sampled" in own else None
        initial = InitialRows(np.sort(own["initial"]))
        edited = with_prefix(EDITS, arrays)
        edits = Edits.from_parts(None if fixed is None else fixed.basis, checked["edits"], edited)
        return cls(
            settings, own["categorical"], int(own["seed"]), waiting, fixed, sampled, initial,
            ForgetReport(checked["removed_rows"], checked["removed_initial_rows"]), constraints, edits=edits,
        )  # fmt: skip

    def _fitted(self) -> BasisModel:
        with one_blas_thread():
            return fit_basis(self.waiting, self.settings, self.categorical, self.seed, self.policy, self.constraints)

    def _with_later(self, fixed: BasisModel, rows: Floats, labels: Labels, weight: Floats | None) -> AdditiveFit:
        basis, model = fixed

        def add(shard: slice, first: bool) -> AdditiveLogistic:
            part = rows[shard], labels[shard], None if weight is None else weight[shard]
            return (model if first else model.empty_copy()).update(self._encoded(*part))

        total = sum_shards(labels.size, basis.n_columns, add, AdditiveLogistic.merge)
        return replace(self, fixed=BasisModel(basis, total))

    def _encoded(self, rows: Floats, labels: Labels, weight: Floats | None) -> Iterator[BasisRows]:
        """Yield the columns of labeled rows, and which of them the basis was not made of."""
        basis, model = self.current
        return encode_rows(basis, rows, labels, weight, self.new_rows(rows), model.blend)

    def _with_waiting(self, other: AdditiveFit) -> AdditiveFit:
        rows, now = other.waiting, replace(self, removed=self.removed.merge(other.removed))
        return now._after(rows.all_rows(), rows.all_labels(), rows.all_weights()) if rows.n_rows else now


def check_takes_groups(settings: AdditiveSettings) -> None:
    """Raise ParameterError where settings ask for what a model with groups has not."""
    for name, value, default in (
        ("objective", settings.objective, AUC), ("monotone_constraints", settings.monotone_constraints, ())
    ):  # fmt: skip
        if value != default:
            raise ParameterError(Parameter("groups"), ": a model with groups takes no ", Parameter(name))


def no_groups(what: str) -> UnsupportedOperationError:
    """Return the error of what a model with groups has not."""
    return UnsupportedOperationError(f"a model with groups takes no {what}; train one without groups")


def _monotone(settings: AdditiveSettings) -> Constraints:
    """Return the constraints that settings ask for, whose inputs are positions."""
    shapes = ((j, INCREASING if sign > 0 else DECREASING) for j, sign in settings.monotone_constraints)
    return Constraints(shapes=tuple(Shape(int(j), shape) for j, shape in shapes))


def same_basis(one: Basis, other: Basis) -> bool:
    """Tell whether two bases make the same columns."""
    mine, theirs = one.to_arrays(), other.to_arrays()
    return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)


def settings_to_json(settings: AdditiveSettings) -> Json:
    """Return the settings as the header of a file has them."""
    return {name: plain(getattr(settings, name)) for name in AdditiveSettings.__dataclass_fields__}
