"""From the rows that waited to a card, the fit to it, and the sums of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.features.card.card import Card
from opauc.features.card.knots import balanced_mass
from opauc.features.card.main_effects import MainEffect, main_effects
from opauc.features.card.pair_basis import coarse_codes
from opauc.features.card.pair_columns import FEWEST_KNOTS, MOST_KNOTS, Candidates, PairRoom, with_found_pairs
from opauc.kernels.rows.card_rows import LEFT_OUT
from opauc.learners.additive.pair_search import ENOUGH_ROWS, found_pairs
from opauc.learners.additive.penalised_fit import PenalisedFit, beginning, penalised_fit
from opauc.learners.additive.penalties import Penalties
from opauc.learners.additive_logistic import AdditiveLogistic, CardColumns
from opauc.rows import Floats, Labels
from opauc.training.additive.additive_settings import AUTO, AdditiveSettings, with_card_rows
from opauc.training.additive.waiting_rows import Sample, WaitingRows

# A knot for every so many rows of the rarer class, within bounds; and all curves have at most half the columns.
ROWS_PER_KNOT, FEWEST_OF_CURVE, MOST_OF_CURVE = 20.0, 8, 250
CURVES_SHARE = 0.5
# Steps of the fit that pairs are looked for with, and of the one that stays.
ADDITIVE_STEPS, FINAL_STEPS = 3, 5
# Inputs whose pairs are tested: the sums for that grow with the square of their number.
MOST_TESTED = 300


class CardModel(NamedTuple):
    """A card and the model of its columns."""

    card: Card
    model: AdditiveLogistic

    @classmethod
    def of_parts(cls, card: Card, arrays: dict[str, NDArray[np.float64]]) -> CardModel:
        """Return a card and the model of its columns that gave these arrays."""
        return cls(card, AdditiveLogistic.from_arrays(card_columns(card), arrays))


class _Rows(NamedTuple):
    """The rows that the card is fitted to."""

    numbers: Floats
    labels: Labels
    weight: Floats
    mass: Floats

    @property
    def rarer(self) -> float:
        return float(np.bincount(self.labels, self.weight, minlength=2).min())


def card_columns(card: Card) -> CardColumns:
    """Return what a model asks of the columns of a card."""
    return CardColumns(Penalties(card.groups, card.roughness), card.main_columns(), card.certain_columns())


def fitted_card(
    waiting: WaitingRows, settings: AdditiveSettings, categorical: NDArray[np.bool_], seed: int
) -> CardModel:
    """Return the card that suits a sample of the rows, and the sums of all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.training.additive.additive_settings import AdditiveSettings
    >>> from opauc.training.additive.card_fit import fitted_card
    >>> from opauc.training.additive.waiting_rows import WaitingRows
    >>> rows = np.random.default_rng(0).normal(size=(400, 2))
    >>> waiting = WaitingRows.empty(2).with_rows(rows, (rows[:, 0] ** 2 > 1).astype(np.int8), None)
    >>> card, model = fitted_card(waiting, AdditiveSettings(), np.zeros(2, bool), seed=0)
    >>> card.n_columns == model.sums.n_features, model.counts == waiting.counts
    (True, True)
    """
    rows, labels, weights = waiting.all_rows(), waiting.all_labels(), waiting.all_weights()
    sample = waiting.sample(int(with_card_rows(settings, 0).card_rows), seed)
    at = sample.rows
    mass = balanced_mass(labels[at], weights[at])
    some = _Rows(np.asfortranarray(rows[at]), labels[at], weights[at], mass)
    effects = _within(_effects(some, settings, categorical), some, settings.max_columns)
    card = Card.of_effects(effects)
    fit = _fit(card, some, beginning(some.labels, some.weight), ADDITIVE_STEPS)
    with_pairs = _with_pairs(card, effects, some, fit, settings)
    if with_pairs is card:
        fit = _fit(card, some, fit, FINAL_STEPS)
    else:
        card, fit = with_pairs, _fit(with_pairs, some, fit, FINAL_STEPS)
    model = AdditiveLogistic.begin(card_columns(card), fit._replace(weights=_at_all_rows(fit.weights, sample)))
    for part, block in card.blocks(rows):
        model = model.earlier(block, labels[part], weights[part])
    model = model.with_ladder()
    return CardModel(card, model.with_all_in_sample() if at.size == labels.size else model)


def _fit(card: Card, some: _Rows, begin: PenalisedFit, most_steps: int) -> PenalisedFit:
    penalties = Penalties(card.groups, card.roughness)
    return penalised_fit(card.rows(some.numbers), some.labels, some.weight, penalties, begin, most_steps)


def _effects(some: _Rows, settings: AdditiveSettings, categorical: NDArray[np.bool_]) -> tuple[MainEffect, ...]:
    """Return the main effects, their knots as many as the rows and the columns allow."""
    if settings.knots != AUTO:
        return main_effects(some.numbers, some.mass, some.weight, categorical, int(settings.knots))
    most = int(np.clip(some.rarer / ROWS_PER_KNOT, FEWEST_OF_CURVE, MOST_OF_CURVE))
    distinct = np.array([min(most, np.unique(values).size) for values in some.numbers.T])
    curved = distinct[(distinct > 2) & ~categorical]
    left = CURVES_SHARE * settings.max_columns - (distinct.size - curved.size)
    while most > 0 and (np.minimum(curved, most) + 1).sum() > left:
        most -= 1
    return main_effects(some.numbers, some.mass, some.weight, categorical, most)


def _within(effects: tuple[MainEffect, ...], some: _Rows, max_columns: int) -> tuple[MainEffect, ...]:
    """Return the main effects that there are columns for, those that tell the classes apart best by themselves."""
    sizes = np.array([effect.n_columns for effect in effects])
    if sizes.sum() < max_columns:
        return effects
    codes = (coarse_codes(effect, some.numbers[:, j], some.mass) for j, effect in enumerate(effects))
    gains = np.array([_separation(code, some) for code in codes]) / np.sqrt(np.maximum(sizes, 1))
    order = np.argsort(-gains, kind="stable")
    kept = set(order[np.cumsum(sizes[order]) < max_columns].tolist())
    return tuple(effect if j in kept else MainEffect(LEFT_OUT) for j, effect in enumerate(effects))


def _separation(codes: NDArray[np.int8], some: _Rows) -> float:
    """Return the chi-square of the classes over the codes of an input, less what chance brings."""
    totals = np.bincount(codes + 1, some.weight)
    positive = np.bincount(codes + 1, some.weight * some.labels, minlength=totals.size)
    share = positive.sum() / totals.sum()
    expected = np.maximum(totals * share * (1.0 - share), 1e-300)
    return float(((positive - totals * share) ** 2 / expected)[totals > 0].sum()) - np.count_nonzero(totals)


def _with_pairs(
    card: Card, effects: Sequence[MainEffect], some: _Rows, fit: PenalisedFit, settings: AdditiveSettings
) -> Card:
    """Return the card with the pairs that act together, or those asked for."""
    wanted = settings.interactions
    room = PairRoom(
        int(min(settings.max_columns - card.n_columns, some.rarer)),
        MOST_KNOTS if some.rarer >= ENOUGH_ROWS else FEWEST_KNOTS,
    )
    if wanted == 0 or room.columns < 1:
        return card
    if isinstance(wanted, tuple):
        pairs = np.array(wanted, np.int64).reshape(-1, 2)
        candidates = Candidates(pairs, np.ones(len(pairs), np.bool_), -np.arange(len(pairs), dtype=float))
    else:
        tested = _tested(card, fit.weights)
        codes = np.stack(
            [
                coarse_codes(effect if j in tested else MainEffect(LEFT_OUT), some.numbers[:, j], some.mass)
                for j, effect in enumerate(effects)
            ]
        )
        found = found_pairs(codes, fit.scores, some.labels, some.weight)
        best = np.argsort(-found.gains, kind="stable")[: None if wanted == AUTO else int(wanted)]
        candidates = Candidates(found.pairs[best], found.certain[best], found.gains[best])
    return with_found_pairs(card, effects, some.numbers, some.mass, candidates, room)


def _tested(card: Card, weights: Floats) -> set[int]:
    """Return the inputs whose pairs are tested: all, or of very many those with the largest weights."""
    mains = {inputs[0]: float(np.abs(weights[columns]).max()) for inputs, columns in card.effects.items()}
    return set(sorted(mains, key=lambda j: -mains[j])[:MOST_TESTED])


def _at_all_rows(weights: Floats, sample: Sample) -> Floats:
    """Return the weights with the intercept that all rows have: sampling by class moves it and nothing else."""
    point = weights.copy()
    point[0] -= np.log(sample.shares[1] / sample.shares[0])
    return point
