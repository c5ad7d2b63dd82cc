"""What an additive model has learned: rows that wait for a basis, or a basis and sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.basis import Basis
from opauc.additive.initial_fit import BasisModel, encoded, fit_basis
from opauc.additive.initial_sample import RowFingerprints, WarmUpBuffer, pool_rare_categories
from opauc.additive.model import BasisRows, FinalWeights
from opauc.additive.scorer import MappedScorer
from opauc.additive.settings import AdditiveSettings, with_init_size
from opauc.errors import IncompatibleMomentsError, UnsupportedOperationError
from opauc.types import Arrays, ClassCounts, Floats, Labels, NamedArrays, Rows, Settings

# A solution costs as much as very many rows: it is looked at again when there are so many times the rows.
NEXT_LOOK = 4.0


@dataclass(frozen=True, eq=False)
class AdditiveSolution:
    """Rows of numbers learned by an additive model; weights are worked out when first asked for. A value.

    The first rows wait until there are enough of them for a basis; before that
    the model is that of the rows that wait. From then on all rows are sums.
    Any cut of the rows gives the same.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.settings import AdditiveSettings, with_init_size
    >>> from opauc.additive.state import AdditiveSolution
    >>> rows = np.random.default_rng(0).normal(size=(400, 2))
    >>> labels = (rows[:, 0] ** 2 > 1).astype(np.int8)
    >>> learned = AdditiveSolution.start(AdditiveSettings(), np.zeros(2, bool), 0).after(rows, labels)
    >>> learned.scorer.scores(np.array([[0.0, 0.0], [2.0, 0.0]])) > 0
    array([False,  True])
    """

    settings: AdditiveSettings
    categorical: NDArray[np.bool_]
    seed: int
    waiting: WarmUpBuffer
    fixed: BasisModel | None = None
    sampled: RowFingerprints | None = None  # of the initial sample, whose rows are processed again with all others

    @classmethod
    def start(cls, settings: AdditiveSettings, categorical: NDArray[np.bool_], seed: int) -> AdditiveSolution:
        """Return what is known before any row: which inputs are numbers of categories."""
        return cls(with_init_size(settings, 0), categorical, seed, WarmUpBuffer.empty(categorical.size))

    @property
    def n_features(self) -> int:
        """Inputs."""
        return self.categorical.size

    @property
    def counts(self) -> ClassCounts:
        """Rows learned of each class, each counted with its weight."""
        return self.waiting.counts if self.fixed is None else self.fixed.model.counts

    @property
    def published(self) -> Settings:
        """Nothing: whatever was chosen is on the basis."""
        return {}

    @property
    def look_growth(self) -> float:
        """By which factor the rows should have grown before the weights are looked at again."""
        return NEXT_LOOK

    def look(self, seen: int) -> MappedScorer | None:
        """Return what scores the rows to come; None before the basis, when all rows would have to be fitted anew.

        As long as more rows were drawn for the basis than have been learned, the fit to those serves better.
        """
        if self.fixed is None:
            return None
        basis, model = self.fixed
        return MappedScorer(basis, model.sums.point) if seen < model.first_counts.sum() else self.scorer

    def fresh(self, rows: Rows) -> NDArray[np.bool_] | None:
        """Tell which rows are none of those that the basis was made of; None where all are new."""
        return None if self.sampled is None else self.sampled.fresh(np.asarray(rows, np.float64))

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
        return self.current.model.final()

    @cached_property
    def scorer(self) -> MappedScorer:
        """What scores rows."""
        return MappedScorer(self.current.basis, self.final.weights)

    def after(self, rows: Floats, labels: Labels, weight: Floats | None = None) -> AdditiveSolution:
        """Return what is known after the rows."""
        if self.fixed is not None:
            return self._with_later(self.fixed, rows, labels, weight)
        wanted = self.waiting.missing_rows(labels, int(self.settings.init_size))
        first, rest = slice(None, wanted), slice(wanted, None)
        first_weight = None if weight is None else weight[first]
        waiting = self.waiting.with_rows(rows[first], labels[first], first_weight, copied=wanted is None)
        now = replace(self, waiting=waiting)
        if wanted is None:
            return now
        now = replace(now, waiting=WarmUpBuffer.empty(self.n_features), fixed=now._fitted())
        return (
            now.after(rows[rest], labels[rest], None if weight is None else weight[rest])
            if wanted < labels.size
            else now
        )

    def with_settings(self, settings: AdditiveSettings) -> AdditiveSolution:
        """Return the same with other settings, which matter until the basis is fixed."""
        rows = settings.init_size if isinstance(settings.init_size, int) else self.settings.init_size
        return replace(self, settings=replace(settings, init_size=rows))

    def with_basis(self) -> AdditiveSolution:
        """Return what is known with the basis fixed now, whatever waits."""
        return self if self.fixed is not None else replace(self, waiting=self.waiting.empty_copy(), fixed=self.current)

    def of_sample(self, rows: Floats, labels: Labels, weight: Floats | None = None) -> AdditiveSolution:
        """Return the basis fitted to an initial sample of all rows, with no row processed: all rows come next."""
        start = replace(self, waiting=self.waiting.with_rows(rows, labels, weight)).empty_copy()
        pooled = pool_rare_categories(rows, self.categorical, start.current.basis.kept_numbers())
        return replace(start, sampled=RowFingerprints.of(pooled))

    def of_first_rows(self, rows: Floats, labels: Labels, weight: Floats | None = None) -> AdditiveSolution:
        """Return the state with all these rows in the warm-up buffer, however many rows the basis needs."""
        return replace(self, waiting=self.waiting.with_rows(rows, labels, weight))

    def empty_copy(self) -> AdditiveSolution:
        """Return the same basis with no row learned: shards that begin with it merge."""
        basis, model = self.current
        return replace(self, waiting=self.waiting.empty_copy(), fixed=BasisModel(basis, model.empty_copy()))

    def subtract(self, rows: Floats, labels: Labels, weight: Floats | None = None) -> AdditiveSolution:
        """Return what would be known had these rows never been seen, with the basis as it is."""
        if self.fixed is None:
            raise UnsupportedOperationError("forget needs a basis: rows can be taken out once it is fixed")
        basis, model = self.fixed
        return replace(self, fixed=BasisModel(basis, model.subtract(self._encoded(basis, rows, labels, weight))))

    def merged(self, other: AdditiveSolution) -> AdditiveSolution:
        """Return what is known of the rows of both: they must have the same basis, or one of them none yet."""
        if other.fixed is None:
            return self._with_waiting(other)
        if self.fixed is None:
            return replace(other, settings=self.settings)._with_waiting(self)
        if not same_basis(self.fixed.basis, other.fixed.basis):
            raise IncompatibleMomentsError(
                "models of different bases do not merge; begin each shard with the same basis"
            )
        return replace(self, fixed=BasisModel(self.fixed.basis, self.fixed.model.merge(other.fixed.model)))

    def to_arrays(self) -> Arrays:
        """Return all there is under flat names."""
        arrays: Arrays = {"categorical": self.categorical.copy(), "seed": np.array(self.seed, np.uint64)}
        arrays |= {f"waiting.{name}": array for name, array in self.waiting.to_arrays().items()}
        if self.sampled is not None:
            arrays["sampled"] = self.sampled.keys.copy()
        if self.fixed is not None:
            arrays |= {f"basis.{name}": array for name, array in self.fixed.basis.to_arrays().items()}
            arrays |= {f"model.{name}": array for name, array in self.fixed.model.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, settings: AdditiveSettings, arrays: NamedArrays) -> AdditiveSolution:
        """Return the solution that gave these arrays, refused unless one can have."""
        categorical, seed = arrays["categorical"], arrays["seed"]
        if categorical.dtype != np.bool_ or categorical.ndim != 1 or seed.dtype != np.uint64 or seed.shape != ():
            raise ValueError("expected which inputs are categories, and a seed")
        waiting = WarmUpBuffer.from_arrays(_under("waiting.", arrays))
        fixed = None
        if "basis.kinds" in arrays:
            basis = Basis.from_arrays(_under("basis.", arrays))
            fixed = BasisModel.of_parts(basis, _under("model.", arrays))
        width = waiting.n_features if fixed is None else fixed.basis.n_inputs
        if not width == waiting.n_features == categorical.size:
            raise ValueError(f"expected {categorical.size} inputs, got {width}")
        sampled = RowFingerprints.of_array(arrays["sampled"]) if "sampled" in arrays else None
        return cls(settings, categorical, int(seed), waiting, fixed, sampled)

    def _fitted(self) -> BasisModel:
        return fit_basis(self.waiting, self.settings, self.categorical, self.seed)

    def _with_later(self, fixed: BasisModel, rows: Floats, labels: Labels, weight: Floats | None) -> AdditiveSolution:
        basis, model = fixed
        return replace(self, fixed=BasisModel(basis, model.later(self._encoded(basis, rows, labels, weight))))

    def _encoded(self, basis: Basis, rows: Floats, labels: Labels, weight: Floats | None) -> Iterator[BasisRows]:
        """Yield the columns of labeled rows, and which of them the basis was not made of."""
        return encoded(basis, rows, labels, weight, self.fresh(rows))

    def _with_waiting(self, other: AdditiveSolution) -> AdditiveSolution:
        rows = other.waiting
        return self.after(rows.all_rows(), rows.all_labels(), rows.all_weights()) if rows.n_rows else self


def same_basis(one: Basis, other: Basis) -> bool:
    """Tell whether two bases make the same columns."""
    mine, theirs = one.to_arrays(), other.to_arrays()
    return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)


def _under(begin: str, arrays: NamedArrays) -> Arrays:
    return {name.removeprefix(begin): array for name, array in arrays.items() if name.startswith(begin)}
