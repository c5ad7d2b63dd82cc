"""A penalized logistic model of the columns of a basis, from plain sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse import csr_array

from opauc.additive.basis.groups import GroupKind
from opauc.additive.drift import BinCounts
from opauc.additive.fit import PenalizedFit
from opauc.additive.penalties import Penalties
from opauc.additive.random_effects import BorderedSystem, LevelAdding, LevelFit, LevelSums, smoothed_with_levels
from opauc.additive.selection import FULL, SAMPLE, CandidateModels, ModelSelection, rung_columns, rung_weights
from opauc.additive.smoothing import factored, smoothed, solved
from opauc.additive.sums import LabelledRows, LinearizedSums
from opauc.types import Arrays, ClassCounts, Floats, Labels, NamedArrays

NO_LEVELS = np.empty(0, np.int64)


class BasisRows(NamedTuple):
    """The columns of rows, their labels, their weights, and which of them the basis was not made of: all unless said.

    `levels` are their finer levels, where the basis has such.
    """

    columns: csr_array
    labels: Labels
    weight: Floats | None = None
    fresh: NDArray[np.bool_] | None = None
    levels: csr_array | None = None

    @property
    def labeled(self) -> LabelledRows:
        """All rows, as sums take them."""
        return self.columns, self.labels, self.weight

    def only_fresh(self) -> BasisRows:
        """Return the rows that the basis was not made of."""
        if self.fresh is None or self.fresh.all():
            return self
        weight = None if self.weight is None else self.weight[self.fresh]
        return BasisRows(self.columns[self.fresh], self.labels[self.fresh], weight)


class BasisColumns(NamedTuple):
    """The columns of a basis: their penalties, how many are main effects, and how many come before doubtful pairs.

    `owners` has the input of each finer level, the first that has such being zero. `leaves_stay` says whether leaves
    keep the values they were grown with until there are enough rows.
    """

    penalties: Penalties
    main: int
    certain: int
    owners: NDArray[np.int64] = NO_LEVELS
    leaves_stay: bool = False

    @property
    def n_columns(self) -> int:
        """Columns in all."""
        return self.penalties.groups.n_columns

    @property
    def first_leaf(self) -> int:
        """How many columns come before the leaves of trees; all where there are none."""
        groups = self.penalties.groups
        leaves = groups.starts[groups.kinds == GroupKind.LEAVES]
        return int(leaves[0]) if leaves.size else self.n_columns

    def rungs(self) -> dict[str, NDArray[np.int64]]:
        """Return the columns of each rung of the ladder."""
        return rung_columns(self.penalties.groups, self.main, self.certain)


LAST_STEPS = 4
# Where the log-odds of the classes have moved farther since the basis, one step from its point leads astray:
# the fit to the basis's sample serves, its intercept moved as far.
FARTHEST_PRIOR = 1.5
# Leaves get weights of their own when there are so many times the rows of the basis, however their weights are rounded.
ENOUGH_FOR_LEAVES = 2.0 - 1e-9
# What rows are summed up in.
STATES = ("sums", "levels", "ladder", "bin_counts")
STATES_WITHOUT_LEVELS = ("sums", "ladder", "bin_counts")


class FinalWeights(NamedTuple):
    """The weights, of columns and then of finer levels, the strengths of their penalties, and the guard's selection."""

    weights: Floats
    strengths: Floats
    selection: ModelSelection
    level_strengths: Floats  # one for each input that has finer levels


@dataclass(frozen=True, eq=False)
class AdditiveLogistic:
    """Sums over rows of a basis's columns: any order of rows, merging and forgetting come free.

    Unlike the learners beside it this one is no `Solver`: its weights are
    those of columns that a basis makes of the rows, and it cannot know the
    variances of the scores.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
    >>> from opauc.additive.fit import beginning
    >>> from opauc.additive.penalties import Penalties
    >>> from opauc.additive.model import BasisColumns, BasisRows
    >>> from opauc.additive.model import AdditiveLogistic
    >>> rows, labels = csr_array([[1.0, 0.0], [1.0, 1.0]] * 50), np.array([0, 1] * 48 + [1, 0] * 2, np.int8)
    >>> groups = ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.BINARY, 1, 1)])
    >>> point = beginning(labels, np.ones(100))._replace(weights=np.zeros(2), strengths=np.array([0.0, 1.0]))
    >>> columns = BasisColumns(Penalties(groups, (None, None)), 2, 2)
    >>> model = AdditiveLogistic.begin(columns, point).earlier([BasisRows(rows, labels)]).with_ladder()
    >>> model.later([BasisRows(rows, labels)]).counts
    ClassCounts(negative=100.0, positive=100.0)
    """

    columns: BasisColumns
    strengths: Floats
    first_counts: Floats  # (2,): of the rows that waited for the basis
    sums: LinearizedSums
    levels: LevelSums
    ladder: CandidateModels
    bin_counts: BinCounts

    @classmethod
    def begin(cls, columns: BasisColumns, fit: PenalizedFit) -> Self:
        """Return the model before any row, to be linearized at the fit to a sample."""
        sums, nothing = LinearizedSums.at(fit.weights), np.zeros(columns.n_columns)
        levels = LevelSums.empty(columns.owners.size, columns.n_columns)
        ladder = CandidateModels.of(np.tile(fit.weights, (len(columns.rungs()), 1)))
        return cls(columns, fit.strengths, np.zeros(2), sums, levels, ladder, BinCounts(nothing, nothing))

    def earlier(self, parts: Iterable[BasisRows]) -> Self:
        """Return the model after rows that waited for the basis."""
        bin_counts, adding = self.bin_counts, LevelAdding(self.levels, self.sums.point)

        def met() -> Iterator[LabelledRows]:
            nonlocal bin_counts
            for part in parts:
                bin_counts = bin_counts.with_first(part.columns, part.weight)
                if part.levels is not None:
                    adding.add(part.labeled, part.levels)
                yield part.labeled

        sums = self.sums.update_all(met())
        first = sums.class_counts
        return replace(self, sums=sums, levels=adding.finish(), first_counts=first, bin_counts=bin_counts)

    def with_ladder(self) -> Self:
        """Return the model with the rungs that its rows, all of which waited for the basis, give."""
        penalties, some, point = self.columns.penalties, self.columns.rungs(), self.sums.point
        del some[FULL]
        first = self.columns.first_leaf
        rungs = [
            # Trees were grown from a fit without them.
            np.where(np.arange(point.size) < first, point, 0.0)
            if columns.size == first < point.size
            else rung_weights(self.sums, penalties, self.strengths, columns)
            for columns in some.values()
        ]
        return replace(self, ladder=CandidateModels.of(np.stack([*rungs, point])))

    @property
    def counts(self) -> ClassCounts:
        """Rows of each class, each counted with its weight."""
        return self.sums.counts

    def empty_copy(self) -> Self:
        """Return the model of the same basis and point that has seen no row."""
        parts = {name: getattr(self, name).empty_copy() for name in STATES}
        return replace(self, **parts)

    def later(self, parts: Iterable[BasisRows]) -> Self:
        """Return the model after rows that came after the basis, each scored before it is learned if it is fresh."""
        ladder, bin_counts, adding = self.ladder, self.bin_counts, LevelAdding(self.levels, self.sums.point)

        def met() -> Iterator[LabelledRows]:
            nonlocal ladder, bin_counts
            for part in parts:
                ladder = ladder.update(*part.only_fresh().labeled)
                bin_counts = bin_counts.update(part.columns, part.weight)
                if part.levels is not None:
                    adding.add(part.labeled, part.levels)
                yield part.labeled

        sums = self.sums.update_all(met())
        return replace(self, sums=sums, levels=adding.finish(), ladder=ladder, bin_counts=bin_counts)

    def merge(self, other: AdditiveLogistic) -> Self:
        """Return the model of the rows of both, which must have the same basis."""
        return replace(self, **{name: getattr(self, name).merge(getattr(other, name)) for name in STATES})

    def subtract(self, parts: Iterable[BasisRows]) -> Self:
        """Return the model as if these rows, which came after the basis, had never been seen."""
        gone = self.empty_copy().later(parts)
        return replace(self, **{name: getattr(self, name).subtract(getattr(gone, name)) for name in STATES})

    def final(self) -> FinalWeights:
        """Return the weights: one step from the point, with strengths that suit all rows."""
        selection, nothing = self.ladder.selection(), np.zeros(self.columns.owners.size)
        held = np.ones(np.unique(self.columns.owners).size)
        if not self.counts.both:
            none = np.zeros(self.sums.n_features + nothing.size)
            return FinalWeights(none, self.strengths, selection, held)
        moved = self._moved_log_odds()
        if abs(moved) > FARTHEST_PRIOR:
            point = np.concatenate([self.sums.point, nothing])
            point[0] += moved
            return FinalWeights(point, self.strengths, selection._replace(rung=SAMPLE), held)
        weights, of_levels, strengths, held = self._fit_at_leaves() if self._leaves_stay else self._fit()
        if selection.rung != FULL and self.columns.first_leaf < self.columns.n_columns:
            # Sums at a point with trees say little of what is best without them: the rung that was judged serves.
            weights, of_levels = self.ladder.rungs[list(self.columns.rungs()).index(selection.rung)], nothing
        elif selection.rung != FULL:
            rest = replace(self.sums, moment=self.sums.moment - self.levels.products.T @ of_levels)
            some = self.columns.rungs()[selection.rung]
            weights = rung_weights(rest, self.columns.penalties, strengths, some)
        return FinalWeights(np.concatenate([weights, of_levels]), strengths, selection, held)

    @property
    def _leaves_stay(self) -> bool:
        """Whether leaves keep the values they were grown with: the rows they were grown on would flatter others."""
        few = self.sums.class_counts.sum() < ENOUGH_FOR_LEAVES * self.first_counts.sum()
        return self.columns.leaves_stay and bool(few)

    def _fit_at_leaves(self) -> LevelFit:
        """Return the weights of the full model with those of the leaves as they are at the point.

        Strengths stay too: to rows that leaves explain nearly whole, curves would seem to say nothing.
        """
        groups, point = self.columns.penalties.groups, self.sums.point
        first = self.columns.first_leaf
        others, values = np.arange(first), point[first:]
        moment = self.sums.moment - np.append(values @ self.sums.gram[first:, :first], np.zeros(values.size))
        sums = replace(self.sums, moment=moment).restrict(others)
        levels = replace(
            self.levels,
            products=self.levels.products[:, :first],
            moment=self.levels.moment - self.levels.products[:, first:] @ values,
        )
        penalties = self.columns.penalties.restricted(np.flatnonzero(groups.kinds != GroupKind.LEAVES))
        columns = self.columns._replace(penalties=penalties)
        rest = replace(self, columns=columns, strengths=self.strengths[:-1], sums=sums, levels=levels)
        fit = rest._fit(steps=0)
        strengths = np.append(fit.strengths, self.strengths[-1])
        return fit._replace(weights=np.concatenate([fit.weights, values]), strengths=strengths)

    def _fit(self, steps: int = LAST_STEPS) -> LevelFit:
        """Return the weights of the full model, and strengths that suit all rows after so many steps."""
        penalties, gram, moment = self.columns.penalties, self.sums.gram, self.sums.moment
        if self.levels.size:
            return smoothed_with_levels(self.sums, self.levels, self.columns.owners, penalties, self.strengths)
        strengths = smoothed(gram, moment, penalties, self.strengths, steps).strengths
        return LevelFit(solved(gram, moment, penalties, strengths), np.empty(0), strengths, np.empty(0))

    def _moved_log_odds(self) -> float:
        """Return by how much the log-odds of the classes are others now than when the basis was made."""
        now, then = self.sums.class_counts, self.first_counts
        return float(np.log(now[1] / now[0]) - np.log(then[1] / then[0])) if then.all() else 0.0

    def covariance(self, final: FinalWeights) -> Floats:
        """Return the covariance matrix of the weights of the columns, (gram + penalties)^-1; both triangles."""
        gram = self._system(final).eliminated[0] if self.levels.size else self.sums.gram
        upper = factored(self.columns.penalties.added_to(gram, final.strengths))
        inverse, _ = lapack.dpotri(upper, lower=0, overwrite_c=1)
        full: Floats = np.triu(inverse) + np.triu(inverse, 1).T
        return full

    def level_variances(self, final: FinalWeights) -> Floats:
        """Return the variance of the weight of each finer level, all other weights given."""
        variances: Floats = 1.0 / (self.levels.curvature + final.level_strengths[self.columns.owners])
        return variances

    def _system(self, final: FinalWeights) -> BorderedSystem:
        of_levels = final.level_strengths[self.columns.owners]
        penalties, n_inputs = self.columns.penalties, final.level_strengths.size
        return BorderedSystem(self.sums, self.levels, penalties, final.strengths, of_levels, n_inputs)

    def to_arrays(self) -> Arrays:
        """Return all there is but the basis, under flat names."""
        arrays = {name: getattr(self, name).copy() for name in ("strengths", "first_counts")}
        for part in STATES if self.levels.size else STATES_WITHOUT_LEVELS:
            arrays |= {f"{part}.{name}": array for name, array in getattr(self, part).to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, columns: BasisColumns, arrays: NamedArrays) -> Self:
        """Return the model of that basis that gave these arrays, refused unless one can have."""
        sums, levels, ladder, bin_counts = (
            {name.removeprefix(f"{part}."): array for name, array in arrays.items() if name.startswith(f"{part}.")}
            for part in STATES
        )
        model = cls(
            columns,
            arrays["strengths"],
            arrays["first_counts"],
            LinearizedSums.from_arrays(sums),
            LevelSums.from_arrays(levels) if levels else LevelSums.empty(0, columns.n_columns),
            CandidateModels.from_arrays(ladder),
            BinCounts.from_arrays(bin_counts),
        )
        widths = model.sums.n_features, model.ladder.rungs.shape[1], model.bin_counts.first.size
        if model.levels.products.shape != (columns.owners.size, columns.n_columns):
            raise ValueError(f"levels: expected {columns.owners.size} of them, got {model.levels.size}")
        if len(model.ladder.rungs) != len(columns.rungs()):
            raise ValueError(f"ladder: expected {len(columns.rungs())} rungs, got {len(model.ladder.rungs)}")
        if widths != (columns.n_columns,) * 3 or model.strengths.shape != columns.penalties.groups.kinds.shape:
            raise ValueError(f"expected sums of {columns.n_columns} columns, got {widths}")
        for name in ("strengths", "first_counts"):
            found = getattr(model, name)
            if not (np.isfinite(found).all() and (found >= 0).all() and (name == "strengths" or found.shape == (2,))):
                raise ValueError(f"{name}: expected finite numbers that are not negative")
        return model
