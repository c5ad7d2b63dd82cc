"""Trees in SQL: conditions in conditions, whose results are leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from opauc.exports.portable import Steps, Trees
from opauc.exports.sql.query import Query, Term
from opauc.exports.sql.tables import SqlTables

# Deeper trees are written leaf by leaf: databases bound the depth of expressions.
MOST_DEEP = 100
# Adds up on the way to a leaf: from what it was at a split and the numbers of this split and of its child.
Total: TypeAlias = Callable[[float, int, int], float]


@dataclass
class SqlTrees:
    """The trees of a model on the inputs of a row.

    A condition says that a row goes to the second child: a missing input, which is null, goes to the first.
    """

    tables: SqlTables
    trees: Trees
    _conditions: dict[int, Term | None] = field(default_factory=dict)  # None where no row goes to the second child

    @property
    def query(self) -> Query:
        """The query of which the trees are part."""
        return self.tables.query

    def scores(self) -> Iterator[Term]:
        """Yield the value of the leaf of each tree."""
        values, every = self.trees.values, set(range(self.trees.n_splits))
        for root in self.trees.roots.tolist():
            yield self._tree(root, 0.0, lambda _, __, child: float(values[child]), every)

    def shares(self) -> Iterator[tuple[int, Term]]:
        """Yield what each tree adds to each term that its splits belong to, as pairs of a term and its share."""
        values, terms = self.trees.values, np.array(self.trees.terms)[self.trees.split_axes]
        for root in self.trees.roots.tolist():
            splits = self._splits_below(root)
            for term in np.unique(terms[splits]).tolist():

                def total(before: float, split: int, child: int, term: int = term) -> float:
                    return before + float(values[child] - values[split]) if terms[split] == term else before

                yield term, self._tree(root, 0.0, total, self._leading_to(splits, terms == term))

    def n_shares(self) -> int:
        """Return how many conditions `shares` writes."""
        terms, count = np.array(self.trees.terms)[self.trees.split_axes], 0
        for root in self.trees.roots.tolist():
            splits = self._splits_below(root)
            count += sum(len(self._leading_to(splits, terms == term)) for term in np.unique(terms[splits]).tolist())
        return count

    def _tree(self, root: int, start: float, total: Total, open_splits: set[int]) -> Term:
        """Return a tree as an expression, in which splits that are not open make no difference."""
        depth = self._depth(root)
        limit = min(self.query.dialect.most_nested, MOST_DEEP)
        step = max((one.step for one in map(self._condition, open_splits) if one is not None), default=0)
        if depth <= limit:
            return Term(self._nested(root, start, total, open_splits), step)
        cases = list(self._leaves(root, start, total, open_splits))
        last = cases.pop()[1]
        if not cases:
            return Term(last, step)
        listed = " ".join(f"WHEN {' AND '.join(conditions)} THEN {value}" for conditions, value in cases)
        return Term(f"CASE {listed} ELSE {last} END", step)

    def _nested(self, split: int, before: float, total: Total, open_splits: set[int]) -> str:
        if split not in open_splits:
            return self.query.dialect.double_of(before)
        first, second = (
            self._nested(child, total(before, split, self._number(child)), total, open_splits)
            for child in self.trees.children[split].tolist()
        )
        condition = self._condition(split)
        if condition is None or first == second:
            return first
        return f"CASE WHEN {condition.text} THEN {second} ELSE {first} END"

    def _leaves(self, root: int, start: float, total: Total, open_splits: set[int]) -> Iterator[tuple[list[str], str]]:
        """Yield the conditions and the value of each leaf, second children first: so conditions need no opposites."""
        waiting: list[tuple[int, float, list[str]]] = [(root, start, [])]
        while waiting:
            split, before, conditions = waiting.pop()
            if split not in open_splits:
                yield conditions, self.query.dialect.double_of(before)
                continue
            first, second = self.trees.children[split].tolist()
            waiting.append((first, total(before, split, self._number(first)), conditions))
            if (condition := self._condition(split)) is not None:
                further = [*conditions, condition.text]
                waiting.append((second, total(before, split, self._number(second)), further))

    def _condition(self, split: int) -> Term | None:
        if split not in self._conditions:
            self._conditions[split] = self._make_condition(split)
        return self._conditions[split]

    def _make_condition(self, split: int) -> Term | None:
        number, place = self.trees.axes[self.trees.split_axes[split]], int(self.trees.split_places[split])
        axis = self.tables.model.axes[number]
        one = self.tables.inputs[axis.input]
        if place <= 0:
            return Term(f"{one.text} IS NOT NULL", one.step)
        if place >= axis.size - 1:
            return None
        if isinstance(axis, Steps):
            return Term(f"{one.text} > {self.query.dialect.double_of(axis.cuts[place - 1])}", one.step)
        placed = self.tables.place(number)
        return Term(f"{placed.text} > {place}", placed.step)

    def _number(self, child: int) -> int:
        """Return the number of a child among the values of splits and leaves."""
        return child if child >= 0 else self.trees.n_splits - 1 - child

    def _splits_below(self, root: int) -> list[int]:
        """Return a split and all below it, each after the one above it."""
        found = [root]
        for split in found:
            found.extend(child for child in self.trees.children[split].tolist() if child >= 0)
        return found

    def _leading_to(self, splits: list[int], wanted: np.ndarray) -> set[int]:
        """Return those splits that are wanted or have one below them."""
        leading = set[int]()
        for split in reversed(splits):
            if wanted[split] or any(child in leading for child in self.trees.children[split].tolist()):
                leading.add(split)
        return leading

    def _depth(self, root: int) -> int:
        depths = {root: 1}
        for split in self._splits_below(root):
            depths.update({child: depths[split] + 1 for child in self.trees.children[split].tolist() if child >= 0})
        return max(depths.values())
