"""What formats need that give a score without its terms, and those that give reasons."""

from __future__ import annotations

from dataclasses import replace

from opauc.errors import Parameter, UnsupportedOperationError
from opauc.exports.portable import PortableModel, PortableTerm


def merge_terms(model: PortableModel) -> PortableModel:
    """Return a model of the same score with a single term, in which each pair of axes has one table.

    Examples
    --------
    >>> from opauc import OnePassGAM
    >>> from opauc.exports.make_portable import make_portable
    >>> from opauc.exports.merge_terms import merge_terms
    >>> rows = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]]
    >>> portable = make_portable(OnePassGAM(interactions=0).fit(rows * 30, [0, 0, 1, 1] * 30)._to_model())
    >>> len(portable.terms), len(merge_terms(portable).terms)
    (2, 1)
    """
    trees, score = model.trees, model.score
    constant = score.intercept
    if trees is not None:
        constant += trees.root_value
        trees = replace(trees, terms=(0,) * len(trees.terms))
    term = PortableTerm("score", (), constant, score.tables, score.crossed)
    return replace(model, terms=(term,), trees=trees, baseline=0.0)


def check_centered(model: PortableModel, reasons: int) -> None:
    """Raise where reasons are asked for of a model that does not know the means of its training rows."""
    if reasons and not model.is_centered:
        raise UnsupportedOperationError(
            "cannot be exported with reasons: the model does not keep the means of the training rows; leave out ",
            Parameter("reasons", reasons),
        )  # fmt: skip
