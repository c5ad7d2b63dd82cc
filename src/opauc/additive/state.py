"""What an additive model has learnt: rows that wait for a card, or a card and sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.basis import Card
from opauc.additive.initial_fit import CardModel, encoded, fitted_card
from opauc.additive.initial_sample import SampledRows, WaitingRows, as_known
from opauc.additive.model import CardRows, FinalWeights
from opauc.additive.scorer import MappedScorer
from opauc.additive.settings import AdditiveSettings, with_card_rows
from opauc.errors import IncompatibleMoments, UnsupportedOperation
from opauc.types import Arrays, ClassCounts, Floats, Labels, NamedArrays, Rows, Settings

# A solution costs as much as very many rows: it is looked at again when there are so many times the rows.
NEXT_LOOK = 4.0


@dataclass(frozen=True, eq=False)
class AdditiveSolution:
    """Rows of numbers learnt by an additive model; weights are worked out when first asked for. A value.

    The first rows wait until there are enough of them for a card; before that
    the model is that of the rows that wait. From then on all rows are sums.
    Any cut of the rows gives the same.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.settings import AdditiveSettings, with_card_rows
    >>> from opauc.additive.state import AdditiveSolution
    >>> rows = np.random.default_rng(0).normal(size=(400, 2))
    >>> labels = (rows[:, 0] ** 2 > 1).astype(np.int8)
    >>> learnt = AdditiveSolution.start(AdditiveSettings(), np.zeros(2, bool), 0).after(rows, labels)
    >>> learnt.scorer.scores(np.array([[0.0, 0.0], [2.0, 0.0]])) > 0
    array([False,  True])
    """

    settings: AdditiveSettings
    categorical: NDArray[np.bool_]
    seed: int
    waiting: WaitingRows
    fixed: CardModel | None = None
    sampled: SampledRows | None = None  # rows drawn beforehand, which come again

    @classmethod
    def start(cls, settings: AdditiveSettings, categorical: NDArray[np.bool_], seed: int) -> AdditiveSolution:
        """Return what is known before any row: which inputs are numbers of categories."""
        return cls(with_card_rows(settings, 0), categorical, seed, WaitingRows.empty(categorical.size))

    @property
    def n_features(self) -> int:
        """Inputs."""
        return self.categorical.size

    @property
    def counts(self) -> ClassCounts:
        """Rows learnt of each class, each counted with its weight."""
        return self.waiting.counts if self.fixed is None else self.fixed.model.counts

    @property
    def published(self) -> Settings:
        """Nothing: whatever was chosen is on the card."""
        return {}

    @property
    def look_growth(self) -> float:
        """By which factor the rows should have grown before the weights are looked at again."""
        return NEXT_LOOK

    def look(self, seen: int) -> MappedScorer | None:
        """Return what scores the rows to come; None before the card, when all rows would have to be fitted anew.

        As long as more rows were drawn for the card than have been learnt, the fit to those serves better.
        """
        if self.fixed is None:
            return None
        card, model = self.fixed
        return MappedScorer(card, model.sums.point) if seen < model.first_counts.sum() else self.scorer

    def fresh(self, rows: Rows) -> NDArray[np.bool_] | None:
        """Tell which rows are none of those that the card was made of; None where all are new."""
        return None if self.sampled is None else self.sampled.fresh(np.asarray(rows, np.float64))

    def scorer_of(self, arrays: NamedArrays) -> MappedScorer:
        """Return the scorer of the card with these weights."""
        card, weights = self.current.card, arrays["weights"]
        known = weights.shape in ((card.n_columns,), (card.n_weights,))
        if not known or weights.dtype != np.float64 or not np.isfinite(weights).all():
            raise ValueError(f"expected {card.n_weights} weights, got shape {weights.shape}")
        return MappedScorer(card, weights)

    @cached_property
    def current(self) -> CardModel:
        """The card and the model of its columns; until the card is fixed, those of the rows that wait."""
        return self._fitted() if self.fixed is None else self.fixed

    @cached_property
    def final(self) -> FinalWeights:
        """The weights of the columns."""
        return self.current.model.final()

    @cached_property
    def scorer(self) -> MappedScorer:
        """What scores rows."""
        return MappedScorer(self.current.card, self.final.weights)

    def after(self, rows: Floats, labels: Labels, weight: Floats | None = None) -> AdditiveSolution:
        """Return what is known after the rows."""
        if self.fixed is not None:
            return self._with_later(self.fixed, rows, labels, weight)
        wanted = self.waiting.missing_rows(labels, int(self.settings.card_rows))
        first, rest = slice(None, wanted), slice(wanted, None)
        first_weight = None if weight is None else weight[first]
        waiting = self.waiting.with_rows(rows[first], labels[first], first_weight, copied=wanted is None)
        now = replace(self, waiting=waiting)
        if wanted is None:
            return now
        now = replace(now, waiting=WaitingRows.empty(self.n_features), fixed=now._fitted())
        return (
            now.after(rows[rest], labels[rest], None if weight is None else weight[rest])
            if wanted < labels.size
            else now
        )

    def with_settings(self, settings: AdditiveSettings) -> AdditiveSolution:
        """Return the same with other settings, which matter until the card is fixed."""
        rows = settings.card_rows if isinstance(settings.card_rows, int) else self.settings.card_rows
        return replace(self, settings=replace(settings, card_rows=rows))

    def with_card(self) -> AdditiveSolution:
        """Return what is known with the card fixed now, whatever waits."""
        return self if self.fixed is not None else replace(self, waiting=self.waiting.emptied(), fixed=self.current)

    def of_sample(self, rows: Floats, labels: Labels, weight: Floats | None = None) -> AdditiveSolution:
        """Return the card that suits rows drawn from all over, with no row learnt: they come again with the others."""
        drawn = replace(self, waiting=self.waiting.with_rows(rows, labels, weight))
        begun = drawn.emptied()
        again = as_known(rows, self.categorical, begun.current.card.kept_numbers())
        return replace(begun, sampled=SampledRows.of(again))

    def emptied(self) -> AdditiveSolution:
        """Return the same card with no row learnt: shards that begin with it merge."""
        card, model = self.current
        return replace(self, waiting=self.waiting.emptied(), fixed=CardModel(card, model.emptied()))

    def without(self, rows: Floats, labels: Labels, weight: Floats | None = None) -> AdditiveSolution:
        """Return what would be known had these rows never been seen, with the card as it is."""
        if self.fixed is None:
            raise UnsupportedOperation("forget needs a card: rows can be taken out once it is fixed")
        card, model = self.fixed
        return replace(self, fixed=CardModel(card, model.without(self._encoded(card, rows, labels, weight))))

    def merged(self, other: AdditiveSolution) -> AdditiveSolution:
        """Return what is known of the rows of both: they must have the same card, or one of them none yet."""
        if other.fixed is None:
            return self._with_waiting(other)
        if self.fixed is None:
            return replace(other, settings=self.settings)._with_waiting(self)
        if not same_card(self.fixed.card, other.fixed.card):
            raise IncompatibleMoments("models of different cards do not merge; begin each shard with the same card")
        return replace(self, fixed=CardModel(self.fixed.card, self.fixed.model.merge(other.fixed.model)))

    def to_arrays(self) -> Arrays:
        """Return all there is under flat names."""
        arrays: Arrays = {"categorical": self.categorical.copy(), "seed": np.array(self.seed, np.uint64)}
        arrays |= {f"waiting.{name}": array for name, array in self.waiting.to_arrays().items()}
        if self.sampled is not None:
            arrays["sampled"] = self.sampled.keys.copy()
        if self.fixed is not None:
            arrays |= {f"card.{name}": array for name, array in self.fixed.card.to_arrays().items()}
            arrays |= {f"model.{name}": array for name, array in self.fixed.model.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, settings: AdditiveSettings, arrays: NamedArrays) -> AdditiveSolution:
        """Return the solution that gave these arrays, refused unless one can have."""
        categorical, seed = arrays["categorical"], arrays["seed"]
        if categorical.dtype != np.bool_ or categorical.ndim != 1 or seed.dtype != np.uint64 or seed.shape != ():
            raise ValueError("expected which inputs are categories, and a seed")
        waiting = WaitingRows.from_arrays(_under("waiting.", arrays))
        fixed = None
        if "card.kinds" in arrays:
            card = Card.from_arrays(_under("card.", arrays))
            fixed = CardModel.of_parts(card, _under("model.", arrays))
        width = waiting.n_features if fixed is None else fixed.card.n_inputs
        if not width == waiting.n_features == categorical.size:
            raise ValueError(f"expected {categorical.size} inputs, got {width}")
        sampled = SampledRows.of_array(arrays["sampled"]) if "sampled" in arrays else None
        return cls(settings, categorical, int(seed), waiting, fixed, sampled)

    def _fitted(self) -> CardModel:
        return fitted_card(self.waiting, self.settings, self.categorical, self.seed)

    def _with_later(self, fixed: CardModel, rows: Floats, labels: Labels, weight: Floats | None) -> AdditiveSolution:
        card, model = fixed
        return replace(self, fixed=CardModel(card, model.later(self._encoded(card, rows, labels, weight))))

    def _encoded(self, card: Card, rows: Floats, labels: Labels, weight: Floats | None) -> Iterator[CardRows]:
        """Yield the columns of labelled rows, and which of them the card was not made of."""
        return encoded(card, rows, labels, weight, self.fresh(rows))

    def _with_waiting(self, other: AdditiveSolution) -> AdditiveSolution:
        rows = other.waiting
        return self.after(rows.all_rows(), rows.all_labels(), rows.all_weights()) if rows.n_rows else self


def same_card(one: Card, other: Card) -> bool:
    """Tell whether two cards make the same columns."""
    mine, theirs = one.to_arrays(), other.to_arrays()
    return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)


def _under(begin: str, arrays: NamedArrays) -> Arrays:
    return {name.removeprefix(begin): array for name, array in arrays.items() if name.startswith(begin)}
