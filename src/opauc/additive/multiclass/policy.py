"""The numbers that decide how large additive models of several classes are."""

from __future__ import annotations

from dataclasses import dataclass, replace

from opauc.additive.policy import HIGH, Growth, TreePolicy

GROWTH_OF_MANY = Growth(rate_of_many_rows=0.25, patience=10)


@dataclass(frozen=True)
class MulticlassPolicy:
    """How much larger a model of K > 2 classes may be than one of two, which has one set of sums and trees, not K.

    Examples
    --------
    >>> from opauc.additive.multiclass.policy import MULTICLASS_POLICY
    >>> [MULTICLASS_POLICY.columns_of(1500, k) for k in (3, 10, 100)]
    [1224, 670, 212]
    """

    sums: float = 2.0  # Gram matrices of all classes, in multiples of that of two: columns fall with the root of K
    trees: float = 4.0  # leaves of the trees of all classes, and rows kept for them, in multiples of those of two
    max_validation_bytes: int = 2**26  # coded rows that validate the trees of all classes, each of which keeps its own
    min_columns: int = 200  # of the basis, however many classes there are
    max_cross_fit_rows: int = 3000  # rows that no others follow, up to which each class has an ensemble per fold
    # Trees of a class from `many_rows` of `Growth` on, where effort is "normal": fewer than those of two classes. In
    # multiples of K/2 fits to two classes, connect-4 and covtype (100,000 rows) cost a third less; mean AUC over pairs
    # of classes .9264 and .9910, in place of .9261 and .9916. Of fewer rows more trees pay: letter .9993, not .9991.
    growth_of_many: Growth = GROWTH_OF_MANY

    def columns_of(self, max_columns: int, n_classes: int) -> int:
        """Return the largest number of columns of a basis that so many classes share."""
        shared = int(max_columns * (self.sums / n_classes) ** 0.5)
        return min(max_columns, max(shared, self.min_columns))

    def tree_policy(self, policy: TreePolicy, n_classes: int, n_rows: int, width: int) -> TreePolicy:
        """Return the policy of the trees of one class, for so many rows that are so wide."""
        share = min(1.0, self.trees / n_classes)
        return replace(
            policy,
            growth=policy.growth if n_rows < policy.growth.many_rows else self.growth_of_many,
            max_leaves_of_all=int(policy.max_leaves_of_all * share),
            max_kept_bytes=int(policy.max_kept_bytes * share),
            max_validation_rows=min(policy.max_validation_rows, self._validation_rows(n_classes, width)),
        )

    def cross_fits(self, n_rows: int, effort: str, n_classes: int, width: int) -> bool:
        """Tell whether so many rows, which no others follow, are few enough for an ensemble per fold and class."""
        is_few = effort == HIGH or n_rows < self.max_cross_fit_rows
        return is_few and n_rows <= self._validation_rows(n_classes, width)

    def _validation_rows(self, n_classes: int, width: int) -> int:
        return self.max_validation_bytes // (n_classes * max(1, width))


MULTICLASS_POLICY = MulticlassPolicy()
