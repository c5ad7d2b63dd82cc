"""From main effects to a card with what acts together: pairs of inputs, and where these do not suffice, landmarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.features.card.card import Card
from opauc.features.card.main_effects import MainEffect
from opauc.features.card.pair_basis import coarse_codes
from opauc.features.card.pair_columns import FEWEST_KNOTS, MOST_KNOTS, Candidates, PairRoom, with_found_pairs
from opauc.kernels.rows.card_rows import LEFT_OUT
from opauc.learners.additive.pair_search import ENOUGH_ROWS, found_pairs
from opauc.learners.additive.penalised_fit import (
    PenalisedFit,
    StartedFit,
    beginning,
    finished_fit,
    penalised_fit,
    started_fit,
)
from opauc.learners.additive.penalties import Penalties
from opauc.rows import Floats
from opauc.training.additive.additive_settings import AUTO, AdditiveSettings
from opauc.training.additive.landmark_search import (
    ENOUGH_OF_RARER,
    TRIED,
    chosen_landmarks,
    is_taken,
    probed,
    suitable_size,
)
from opauc.training.additive.sample_rows import SampleRows

# Steps of the fit that pairs are looked for with, and of the one that stays.
ADDITIVE_STEPS, FINAL_STEPS = 3, 5
# Inputs whose pairs are tested: the sums for that grow with the square of their number.
MOST_TESTED = 300
# Beside landmarks, main effects and pairs have this share of the columns.
BESIDE_LANDMARKS = 0.35
# Fewer are not worth the name.
FEWEST_LANDMARKS = 30
# Rows that a fit with landmarks is made to: they have a column of each.
MOST_WITH_LANDMARKS = 32_768


@dataclass(frozen=True, eq=False)
class InteractionSearch:
    """Main effects and their card, the rows to search, and the settings.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.features.card.card import Card
    >>> from opauc.features.card.main_effects import main_effects
    >>> from opauc.training.additive.additive_settings import AdditiveSettings
    >>> from opauc.training.additive.interaction_search import InteractionSearch
    >>> from opauc.training.additive.sample_rows import SampleRows
    >>> rows, ones = np.random.default_rng(0).normal(size=(900, 3)), np.ones(900)
    >>> some = SampleRows(rows, (rows[:, 0] * rows[:, 2] > 0).astype(np.int8), ones, ones / 900)
    >>> effects = main_effects(rows, some.mass, ones, np.zeros(3, bool), n_knots=8)
    >>> card, fit = InteractionSearch(Card.of_effects(effects), effects, some, AdditiveSettings(), seed=0).fitted()
    >>> card.tables.pairs.tolist(), fit.weights.size == card.n_columns
    ([[0, 2]], True)
    """

    mains: Card
    effects: Sequence[MainEffect]
    some: SampleRows
    settings: AdditiveSettings
    seed: int
    more_rows: bool = False  # whether there are rows beside these

    def fitted(self) -> tuple[Card, PenalisedFit]:
        """Return the card with all that was found, and its fit to the rows."""
        additive = self._fit(self.mains, self.mains.rows(self.some.numbers), self.some, self._beginning())
        candidates = self._candidates(additive)
        card = self._with_pairs(candidates, self.settings.max_columns)
        rows, penalties = card.rows(self.some.numbers), Penalties(card.groups, card.roughness)
        some = self.some
        started = started_fit(rows, some.labels, some.weight, penalties, additive, FINAL_STEPS)
        if self._may_have_landmarks(started):
            landmarks = chosen_landmarks(card, rows, started.fit, some, TRIED, self.seed)
            probe = probed(card, landmarks, started.fit.scores, some)
            if is_taken(probe, self.more_rows):
                few = self._with_pairs(candidates, int(BESIDE_LANDMARKS * self.settings.max_columns))
                suitable = max(suitable_size(started.fit.scores, some.weight), FEWEST_LANDMARKS)
                size = min(suitable, self.settings.max_columns - few.n_columns)
                taken = chosen_landmarks(card, rows, started.fit, some, size, self.seed)
                return self._with_landmarks(few.with_landmarks(taken, probe), additive)
            card = card.with_landmarks(None, probe)
        return card, finished_fit(rows, some.labels, some.weight, penalties, started)

    def _beginning(self) -> PenalisedFit:
        return beginning(self.some.labels, self.some.weight)

    def _fit(self, card: Card, rows: csr_array, some: SampleRows, begin: PenalisedFit) -> PenalisedFit:
        penalties = Penalties(card.groups, card.roughness)
        steps = ADDITIVE_STEPS if card is self.mains else FINAL_STEPS
        return penalised_fit(rows, some.labels, some.weight, penalties, begin, steps)

    def _with_landmarks(self, card: Card, additive: PenalisedFit) -> tuple[Card, PenalisedFit]:
        n_rows = self.some.labels.size
        some = self.some.take(np.arange(0, n_rows, -(-n_rows // MOST_WITH_LANDMARKS)))
        return card, self._fit(card, card.rows(some.numbers), some, additive)

    def _may_have_landmarks(self, started: StartedFit) -> bool:
        """Tell whether landmarks are to be tried: where nothing was asked for, and there are rows to try them on."""
        beside = max(self.mains.n_columns, BESIDE_LANDMARKS * self.settings.max_columns)
        room = self.settings.max_columns - beside >= FEWEST_LANDMARKS
        enough = started.of_part and self.some.rarer >= ENOUGH_OF_RARER
        return self.settings.interactions == AUTO and room and enough

    def _with_pairs(self, candidates: Candidates, most_columns: int) -> Card:
        """Return the card with the candidates that there is room for."""
        rarer = self.some.rarer
        room = PairRoom(
            int(min(most_columns - self.mains.n_columns, rarer)),
            MOST_KNOTS if rarer >= ENOUGH_ROWS else FEWEST_KNOTS,
        )
        return with_found_pairs(self.mains, self.effects, self.some.numbers, self.some.mass, candidates, room)

    def _candidates(self, additive: PenalisedFit) -> Candidates:
        """Return the pairs that act together, or those asked for."""
        wanted, some = self.settings.interactions, self.some
        if isinstance(wanted, tuple) or wanted == 0 or self.mains.n_columns >= self.settings.max_columns:
            pairs = np.array(wanted if isinstance(wanted, tuple) else [], np.int64).reshape(-1, 2)
            return Candidates(pairs, np.ones(len(pairs), np.bool_), -np.arange(len(pairs), dtype=float))
        found = found_pairs(self._codes(additive), additive.scores, some.labels, some.weight)
        best = np.argsort(-found.gains, kind="stable")[: None if wanted == AUTO else int(wanted)]
        return Candidates(found.pairs[best], found.certain[best], found.gains[best])

    def _codes(self, additive: PenalisedFit) -> NDArray[np.int8]:
        """Return a few codes of every input that is tested."""
        tested = _tested(self.mains, additive.weights)
        return np.stack(
            [
                coarse_codes(effect if j in tested else MainEffect(LEFT_OUT), self.some.numbers[:, j], self.some.mass)
                for j, effect in enumerate(self.effects)
            ]
        )


def _tested(card: Card, weights: Floats) -> set[int]:
    """Return the inputs whose pairs are tested: all, or of very many those with the largest weights."""
    mains = {inputs[0]: float(np.abs(weights[columns]).max()) for inputs, columns in card.effects.items()}
    return set(sorted(mains, key=lambda j: -mains[j])[:MOST_TESTED])
