"""What constraints cost: the rise of the log loss from the sums alone, and the AUC on rows that are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opauc.additive.constraints.constraints import Constraints
from opauc.additive.model import AdditiveLogistic, FinalWeights
from opauc.additive.state import AdditiveFit
from opauc.additive.trees.blend import ADDITIVE, INTERCEPT, Blend, blend_columns, fit_blend, log_losses
from opauc.core.kernels.symmetric_matrix import mirror_lower
from opauc.metrics import exact_auc
from opauc.types import Floats, Labels


@dataclass(frozen=True)
class ConstraintPrice:
    """What one constraint costs, or all of them together.

    Attributes
    ----------
    constraint : str
        The constraint in words.
    log_loss : float
        Rise of the mean log loss of the training rows, estimated from the sums: their quadratic approximation of it at
        the fit to the initial sample. Where trees are in the model, what they lose is measured on their validation
        rows. It may be slightly below zero: the penalized loss rises, the loss itself need not.
    auc : float or None
        The AUC of the constrained model on the given rows.
    auc_change : float or None
        That AUC less the one of the model as it is.
    """

    constraint: str
    log_loss: float
    auc: float | None = None
    auc_change: float | None = None


@dataclass(frozen=True)
class Price:
    """What constraints cost, each by itself and all together.

    Attributes
    ----------
    each : tuple of ConstraintPrice
        Every constraint by itself.
    together : ConstraintPrice
        All of them.
    auc : float or None
        The AUC of the model as it is on the given rows.

    Examples
    --------
    >>> from opauc import OnePassGAM
    >>> rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 1, 0, 1] * 30
    >>> price = OnePassGAM().fit(rows, labels).price_of(increasing="x0", X=rows, y=labels)
    >>> price.together.constraint, price.together.log_loss > 0.0
    ('x0 increasing', True)
    """

    each: tuple[ConstraintPrice, ...]
    together: ConstraintPrice
    auc: float | None = None


@dataclass(frozen=True, eq=False)
class LabeledRows:
    """Rows of numbers, their labels and weights, on which the AUC is measured."""

    rows: Floats
    labels: Labels
    weight: Floats | None

    def auc(self, fit: AdditiveFit) -> float:
        """Return the AUC of a fit."""
        return exact_auc(self.labels, fit.scorer.scores(self.rows), self.weight)


def price(fit: AdditiveFit, constraints: Constraints, names: Sequence[str], rows: LabeledRows | None = None) -> Price:
    """Return what constraints cost a fit, in addition to those that it has."""
    names = tuple(names)
    parts = constraints.split()
    auc = None if rows is None else rows.auc(fit)

    def of(part: Constraints) -> ConstraintPrice:
        constrained = fit.with_constraints(fit.constraints.join(part), names)
        words, rise = ", ".join(part.describe(names)), log_loss_rise(fit, constrained)
        if rows is None or auc is None:
            return ConstraintPrice(words, rise)
        after = rows.auc(constrained)
        return ConstraintPrice(words, rise, after, after - auc)

    each = tuple(map(of, parts))
    return Price(each, each[0] if len(each) == 1 else of(constraints), auc)


def log_loss_rise(before: AdditiveFit, after: AdditiveFit) -> float:
    """Return the rise of the mean log loss from one fit to another of the same sums."""
    model, n_rows = before.current.model, max(sum(before.counts), 1e-300)
    had_trees, has_trees = (_leaves(fit).any() for fit in (before, after))
    scales = (before.final.scale, after.final.scale)
    losses = [
        _quadratic_loss(model, final, 1.0 / scale if scale > 0.0 else 0.0)
        for final, scale in ((before.final, scales[0]), (after.final, scales[1]))
    ]
    # In a blend, a change of the additive score changes the score by its weight only.
    factor = scales[1] ** 2 if has_trees else 1.0
    rise = factor * (losses[1] - losses[0]) / n_rows
    if model.blend is not None and had_trees:
        rise += _rise_of_trees(model.blend, _leaves(before), _leaves(after) if has_trees else None)
    return rise


def _leaves(fit: AdditiveFit) -> Floats:
    """Return the leaf weights of a fit in its score."""
    return fit.final.weights[fit.current.basis.n_additive :]


def _quadratic_loss(model: AdditiveLogistic, final: FinalWeights, factor: float) -> float:
    """Return the quadratic approximation of the loss of the additive part, whose weights are multiplied by `factor`.

    The intercept of a blend is its own: that of the additive part is what lowers the loss most.
    """
    sums, effects, crossed = model.sums, model.random_effects, model.crossed
    n_columns, n_effects = sums.n_features, effects.size
    additive = factor * final.weights[: n_columns + n_effects + crossed.size]
    columns, of_effects, of_levels = np.split(additive, [n_columns, n_columns + n_effects])
    gram = sums.gram.copy()
    mirror_lower(gram)
    slopes = gram[0] @ columns - sums.rhs[0] + effects.products[:, 0] @ of_effects
    columns = columns.copy()
    columns[0] -= slopes / max(gram[0, 0], 1e-300)
    loss = 0.5 * columns @ gram @ columns - sums.rhs @ columns
    loss += of_effects @ (effects.products @ columns - effects.rhs)
    loss += 0.5 * of_effects @ (effects.shared @ of_effects + effects.curvature * of_effects)
    loss += 0.5 * float(crossed.curvature @ of_levels**2) - float(crossed.residuals @ of_levels)
    return float(loss)


def _rise_of_trees(blend: Blend, before: Floats, after: Floats | None) -> float:
    """Return the rise of the mean log loss of the validation rows where leaves change, or trees leave."""
    rows, additive, trees = blend.validation
    scores = blend.weights @ blend_columns(additive, trees)
    if after is None:
        alone = fit_blend(additive, None, rows.labels, rows.weight)
        changed = alone[ADDITIVE] * additive + alone[INTERCEPT]
    else:
        changed = scores + blend.ensemble.products(rows.codes, after - before)
    total = max(float(rows.weight.sum()), 1e-300)
    return float((log_losses(changed, rows) - log_losses(scores, rows)).sum()) / total
