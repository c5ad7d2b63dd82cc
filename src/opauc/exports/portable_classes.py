"""The portable form of a model of several classes: the terms of each class, and how their sums become probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from opauc.exports.portable import (
    Axis,
    Column,
    Curve,
    Input,
    Levels,
    Line,
    PortableModel,
    PortableTerm,
    ScoreTables,
    Table,
    Trees,
)
from opauc.types import Floats


@dataclass(frozen=True, eq=False)
class ClassScore:
    """The additive score of a class: `baseline` plus the contributions of its terms."""

    baseline: float
    terms: tuple[PortableTerm, ...]
    trees: Trees | None


@dataclass(frozen=True)
class ClassLink:
    """How additive scores of the classes become scores and probabilities.

    With s_k the additive score of class k, its logit is power * s_k - rest_power * log(1 + exp(s_k)). Probabilities are
    the softmax of the logits plus `log_shares`. The score of a class is the logarithm of its share in the softmax of
    the logits alone or, with `scores_are_odds`, its log-odds. The class of the greatest logit is predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.exports.portable_classes import ClassLink
    >>> link = ClassLink(1.0, 0.0, (0.0, 0.0))
    >>> link.logits(np.array([[1.0, 3.0]])).tolist()
    [[1.0, 3.0]]
    """

    power: float
    rest_power: float
    log_shares: tuple[float, ...]
    scores_are_odds: bool = False

    def logits(self, additive: Floats) -> Floats:
        """Return the logits of additive scores."""
        logits: Floats = self.power * additive - self.rest_power * np.logaddexp(0.0, additive)
        return logits


@dataclass(frozen=True, eq=False)
class PortableClasses:
    """A fitted model of several classes as columns, inputs, axes, and for each class its terms.

    Attributes
    ----------
    estimator : str
        The name of the estimator.
    columns : tuple of Column
        The columns of a row, in their order.
    inputs : tuple of Input
        The numbers that these become, column after column.
    axes : tuple of Line, Curve, Steps and Levels
        The axes of all tables and trees, which the classes share.
    classes : tuple of ClassScore
        The additive score of each class.
    link : ClassLink
        How these become scores and probabilities.
    labels : tuple
        The labels of the classes.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> from opauc.exports.make_portable import make_portable_classes
    >>> model = OPAUC().fit([[0.0], [1.0], [2.0], [4.0], [5.0]], [0, 0, 1, 1, 2])
    >>> portable = make_portable_classes(model._to_model())
    >>> portable.labels, [term.name for term in portable.classes[0].terms]
    ((0, 1, 2), ['x0'])
    """

    estimator: str
    columns: tuple[Column, ...]
    inputs: tuple[Input, ...]
    axes: tuple[Axis, ...]
    classes: tuple[ClassScore, ...]
    link: ClassLink
    labels: tuple[bool | int | float | str, ...]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def of_class(self, number: int) -> PortableModel:
        """Return the additive score of a class as a model by itself."""
        one = self.classes[number]
        label = self.labels[number]
        return PortableModel(
            self.estimator, self.columns, self.inputs, self.axes, one.terms, one.trees, one.baseline, 1.0, 0.0,
            (label, label), 0.0,
        )  # fmt: skip

    def joined(self) -> PortableModel:
        """Return a model with one term for each class, whose contribution is the additive score of the class."""
        scores = [self.of_class(number).score for number in range(self.n_classes)]
        ensembles = [one.trees for one in self.classes]
        terms = tuple(
            _score_term(score, trees, str(label))
            for score, trees, label in zip(scores, ensembles, self.labels, strict=True)
        )
        return replace(self.of_class(0), terms=terms, trees=_join_trees(ensembles), baseline=0.0)


def join_models(
    models: Sequence[PortableModel], link: ClassLink, labels: Sequence[bool | int | float | str]
) -> PortableClasses:
    """Return the models of single classes as one of several, in which equal axes are one.

    They are of the same columns, of which each may list other categories.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from opauc import OPAUC
    >>> from opauc.exports.make_portable import make_portable
    >>> from opauc.exports.portable_classes import ClassLink, join_models
    >>> one = make_portable(OPAUC().fit([[0.0], [1.0], [2.0]], [0, 0, 1])._to_model())
    >>> joined = join_models([one, one, one], ClassLink(1.0, 0.0, (0.0, 0.0, 0.0)), "abc")
    >>> len(joined.axes), joined.n_classes
    (1, 3)
    """
    axes, known = list[Axis](), dict[object, int]()
    classes = []
    for model in models:
        numbers = []
        for axis in model.axes:
            key = _key(axis)
            if key not in known:
                known[key] = len(axes)
                axes.append(axis)
            numbers.append(known[key])
        classes.append(_renumbered(model, numbers))
    columns = tuple(
        replace(same[0], categories={name: number for one in same for name, number in one.categories.items()})
        for same in zip(*(model.columns for model in models), strict=True)
    )
    return PortableClasses(
        models[0].estimator, columns, models[0].inputs, tuple(axes), tuple(classes), link, tuple(labels)
    )


def _key(axis: Axis) -> object:
    """Return what is equal for equal axes alone."""
    if isinstance(axis, Line):
        return Line, axis.input
    if isinstance(axis, Levels):
        return Levels, axis.input, axis.other, axis.numbers.tobytes(), axis.places.tobytes()
    return type(axis), axis.input, (axis.knots if isinstance(axis, Curve) else axis.cuts).tobytes()


def _renumbered(model: PortableModel, numbers: Sequence[int]) -> ClassScore:
    """Return the terms of a model with the numbers of its axes among all."""

    def moved(table: Table) -> Table:
        return replace(table, axes=tuple(numbers[axis] for axis in table.axes))

    terms = tuple(replace(term, tables=tuple(map(moved, term.tables))) for term in model.terms)
    trees = model.trees
    if trees is not None:
        trees = replace(trees, axes=tuple(numbers[axis] for axis in trees.axes))
    return ClassScore(model.baseline, terms, trees)


def _score_term(score: ScoreTables, trees: Trees | None, name: str) -> PortableTerm:
    constant = score.intercept + (0.0 if trees is None else trees.root_value)
    return PortableTerm(name, (), constant, score.tables, score.crossed)


def _join_trees(ensembles: Sequence[Trees | None]) -> Trees | None:
    """Return the trees of all classes, those of class k of term k."""
    given = [(term, trees) for term, trees in enumerate(ensembles) if trees is not None]
    if not given:
        return None
    split_axes, split_places, children, roots, of_splits, of_leaves = [], [], [], [], [], []
    axes, terms = list[int](), list[int]()
    first_split = first_leaf = 0
    for term, trees in given:
        split_axes.append(trees.split_axes + len(axes))
        split_places.append(trees.split_places)
        children.append(np.where(trees.children >= 0, trees.children + first_split, trees.children - first_leaf))
        roots.append(trees.roots + first_split)
        of_splits.append(trees.values[: trees.n_splits])
        of_leaves.append(trees.leaf_values)
        axes += trees.axes
        terms += [term] * len(trees.axes)
        first_split, first_leaf = first_split + trees.n_splits, first_leaf + trees.leaf_values.size
    return Trees(
        tuple(axes), tuple(terms), np.concatenate(split_axes), np.concatenate(split_places), np.concatenate(children),
        np.concatenate(roots), np.concatenate([*of_splits, *of_leaves]),
    )  # fmt: skip
