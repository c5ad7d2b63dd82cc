"""The models of several classes against the rest, on the columns of one basis: rows are encoded once for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple, Self

import numpy as np

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.ensemble import TreeEnsemble
from opauc.additive.basis_columns import BasisColumns, basis_columns
from opauc.additive.basis_rows import BasisRows
from opauc.additive.drift import BinCounts
from opauc.additive.model import AdditiveLogistic, check_model_arrays
from opauc.core.array_schema import add_prefix, with_prefix
from opauc.core.mergeable import ROUNDING
from opauc.core.threads import work_in_order
from opauc.types import Arrays, Floats, MulticlassCounts, NamedArrays

# Blocks of rows that are encoded before each class takes them: the columns of the Gram matrix that are dense are found
# anew for each class and so many blocks.
BLOCKS_AT_ONCE = 8
TREES, CLASS = "trees.", "class"


class SharedRows(NamedTuple):
    """Rows as the models of all classes take them: their columns, with the numbers of their classes as labels.

    `numbers` are the inputs, by which the trees of each class find their leaves.
    """

    encoded: BasisRows
    numbers: Floats

    def of_class(self, k: int, model: AdditiveLogistic) -> BasisRows:
        """Return the rows as the model of a class takes them: labeled 1 if they are of it, with leaves of its trees."""
        rows = self.encoded._replace(labels=(self.encoded.labels == k).astype(np.int8))
        trees, blend = model.columns.trees, model.blend
        if trees is None or blend is None:
            return rows
        n_columns = model.columns.n_columns
        additive: Floats = rows.columns @ blend.additive[:n_columns]
        if rows.indicators is not None:
            additive += rows.indicators @ blend.additive[n_columns:]
        return rows._replace(leaves=trees.leaves(trees.codes.of_rows(self.numbers)), additive=additive)


@dataclass(frozen=True, eq=False)
class ClassSums:
    """The sums of each class against the rest; they merge and subtract as those of two classes do.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.initial_sample import WarmUpBuffer
    >>> from opauc.additive.multiclass.initial_fit import fit_classes
    >>> from opauc.additive.settings import AdditiveSettings
    >>> rows = np.random.default_rng(0).normal(size=(400, 2))
    >>> classes = (rows > 0).sum(axis=1).astype(np.int8)
    >>> buffer = WarmUpBuffer.empty(2, 3).with_rows(rows, classes, None)
    >>> basis, sums = fit_classes(buffer, AdditiveSettings(trees=False), np.zeros(2, bool), seed=0)
    >>> len(sums.models), sums.counts == MulticlassCounts(np.bincount(classes).tolist())
    (3, True)
    """

    models: tuple[AdditiveLogistic, ...]

    @property
    def counts(self) -> MulticlassCounts:
        """Rows of each class, each counted with its weight."""
        return MulticlassCounts(model.counts.positive for model in self.models)

    @property
    def first_counts(self) -> Floats:
        """Rows of each class in the warm-up buffer, each counted with its weight."""
        return np.array([model.first_counts[1] for model in self.models])

    @property
    def bin_counts(self) -> BinCounts:
        """Bin counts of the columns, which are the same for every class."""
        return self.models[0].bin_counts

    def empty_copy(self) -> Self:
        """Return the models of no rows with the same basis and expansion points."""
        return self._each(lambda _, model: model.empty_copy())

    def update_initial(self, batches: Iterable[SharedRows]) -> Self:
        """Return the models with rows of the warm-up buffer added."""
        return self._add(batches, AdditiveLogistic.update_initial)

    def update(self, batches: Iterable[SharedRows]) -> Self:
        """Return the models with later rows added."""
        return self._add(batches, AdditiveLogistic.update)

    def merge(self, other: ClassSums) -> Self:
        """Return the models of the rows of both, which must have the same basis."""
        return self._each(lambda k, model: model.merge(other.models[k]))

    def subtract(self, later: Iterable[SharedRows], initial: Iterable[SharedRows] = ()) -> Self:
        """Return the models without rows that were added later, and without rows of the warm-up buffer.

        No candidate has scored the rows of the buffer, and the bin counts of the basis stay.
        """
        empty = self.empty_copy()
        first = empty.update_initial(initial)._each(
            lambda k, model: replace(model, bin_counts=empty.models[k].bin_counts)
        )
        return self.without(empty.update(later).merge(first))

    def without(self, other: ClassSums) -> Self:
        """Return the models of the rows that are not in `other`, which must have the same basis."""
        return self._each(lambda k, model: model.without(other.models[k]))

    def check_part(self, other: ClassSums) -> None:
        """Raise unless the rows of `other` can be among these."""
        for mine, theirs in zip(self.models, other.models, strict=True):
            mine.check_part(theirs)

    def to_arrays(self) -> Arrays:
        """Return all arrays but those of the shared basis, under flat names: the trees of each class too."""
        arrays: Arrays = {}
        for k, model in enumerate(self.models):
            own = model.to_arrays()
            if model.columns.trees is not None:
                own |= add_prefix(TREES, model.columns.trees.to_arrays())
            arrays |= add_prefix(f"{CLASS}{k}.", own)
        return arrays

    @classmethod
    def from_arrays(cls, basis: Basis, n_classes: int, arrays: NamedArrays) -> Self:
        """Return the models of a basis from `to_arrays`; raise ValueError if the arrays do not fit it."""
        parts = [with_prefix(f"{CLASS}{k}.", arrays) for k in range(n_classes)]
        if sum(map(len, parts)) != len(arrays):
            raise ValueError(f"expected the arrays of {n_classes} classes")
        columns = basis_columns(basis)
        sums = cls(tuple(_model_of(basis, columns, part) for part in parts))
        totals = np.array([model.sums.class_counts.sum() for model in sums.models])
        if (np.abs(totals - totals[0]) > ROUNDING * totals[0]).any() or abs(sum(sums.counts) - totals[0]) > (
            ROUNDING * totals[0]
        ):
            raise ValueError("class_counts: expected the same rows for every class")
        return sums

    def _add(
        self, batches: Iterable[SharedRows], add: Callable[[AdditiveLogistic, Iterable[BasisRows]], AdditiveLogistic]
    ) -> Self:
        sums, left = self, iter(batches)
        while some := tuple(islice(left, BLOCKS_AT_ONCE)):
            sums = sums._with(some, add)
        return sums

    def _with(
        self, rows: Sequence[SharedRows], add: Callable[[AdditiveLogistic, Iterable[BasisRows]], AdditiveLogistic]
    ) -> Self:
        return self._each(lambda k, model: add(model, _rows_of(rows, k, model)))

    def _each(self, change: Callable[[int, AdditiveLogistic], AdditiveLogistic]) -> Self:
        """Return the models after a change of each, class by class in the threads of `use_threads`."""
        models: list[AdditiveLogistic] = []
        work_in_order(lambda k: change(k, self.models[k]), range(len(self.models)), models.append)
        return type(self)(tuple(models))


def _rows_of(batches: Sequence[SharedRows], k: int, model: AdditiveLogistic) -> Iterator[BasisRows]:
    """Yield rows as the model of a class takes them."""
    for batch in batches:
        yield batch.of_class(k, model)


def _model_of(basis: Basis, columns: BasisColumns, arrays: Arrays) -> AdditiveLogistic:
    """Return the model of one class from its arrays."""
    own = {name: array for name, array in arrays.items() if not name.startswith(TREES)}
    of_trees = with_prefix(TREES, arrays)
    trees = TreeEnsemble.from_arrays(basis.n_inputs, of_trees) if of_trees else None
    check_model_arrays(own, basis.groups, basis.random_effects.size, trees)
    return AdditiveLogistic.from_arrays(columns._replace(trees=trees), own)
