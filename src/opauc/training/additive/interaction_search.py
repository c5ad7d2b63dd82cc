"""From main effects to a card with what acts together: pairs of inputs, and where these do not suffice, landmarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from opauc.features.card.card import Card
from opauc.features.card.landmarks import Landmarks, Probe
from opauc.features.card.main_effects import MainEffect
from opauc.features.card.pair_basis import FEW_LEVELS
from opauc.features.card.pair_columns import FEWEST_KNOTS, MOST_KNOTS, Candidates, PairRoom, with_found_pairs
from opauc.kernels.rows.card_rows import LEFT_OUT
from opauc.learners.additive.pair_search import ENOUGH_ROWS
from opauc.learners.additive.penalised_fit import (
    PenalisedFit,
    StartedFit,
    beginning,
    finished_fit,
    part_of,
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
from opauc.training.additive.pair_candidates import pair_candidates
from opauc.training.additive.sample_rows import SampleRows

# Steps of the fit that pairs are looked for with, and of the one that stays.
ADDITIVE_STEPS, FINAL_STEPS = 3, 5
# Inputs whose pairs are tested: the sums for that grow with the square of their number.
MOST_TESTED = 300
# Beside landmarks, main effects and pairs have this share of the columns.
BESIDE_LANDMARKS = 0.35
# They are tried beside these few if that saves columns and rows are many (all pairs tell better where landmarks should
# be), and then taken if the few have pairs, or by a gain so large.
SMALL_SHARE, ENOUGH_FOR_FEW, SURE = 0.7, 10_000, 0.1
# Fewer are not worth the name.
FEWEST_LANDMARKS = 30
# Rows that a fit with landmarks is made to: they have a column of each.
MOST_WITH_LANDMARKS = 32_768


class BegunFit(NamedTuple):
    """A card, its columns of the rows with their penalties, and the fit to a part of the rows."""

    card: Card
    rows: csr_array
    penalties: Penalties
    started: StartedFit

    def finished(self, some: SampleRows) -> PenalisedFit:
        """Return the fit to all rows."""
        return finished_fit(self.rows, some.labels, some.weight, self.penalties, self.started)


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
        additive = self._fit(self.mains, self.some, self._beginning())
        candidates = self._candidates(additive)
        whole = self._with_pairs(candidates, self.settings.max_columns)
        if not self._may_have_landmarks():
            return whole, self._begun(whole, additive).finished(self.some)
        few = self._with_pairs(candidates, int(BESIDE_LANDMARKS * self.settings.max_columns))
        few = whole if few.n_columns == whole.n_columns else few
        saves = few.n_columns < SMALL_SHARE * whole.n_columns and self.some.labels.size >= ENOUGH_FOR_FEW
        begun = self._begun(few if saves else whole, additive)
        probe = self._probed(begun)
        taken = is_taken(probe, self.more_rows)
        if begun.card is not whole and not (taken and (len(few.tables.pairs) or probe.share > SURE)):
            begun = self._begun(whole, additive)
            if taken:  # by what pairs may do as well, of which there were none
                probe = self._probed(begun)
                taken = is_taken(probe, self.more_rows)
        if taken:
            return self._with_landmarks(few, begun, probe, begun.started.fit if begun.card is few else additive)
        return whole.with_landmarks(None, probe), begun.finished(self.some)

    def _beginning(self) -> PenalisedFit:
        return beginning(self.some.labels, self.some.weight)

    def _begun(self, card: Card, begin: PenalisedFit) -> BegunFit:
        rows, penalties, some = card.rows(self.some.numbers), Penalties(card.groups, card.roughness), self.some
        started = started_fit(rows, some.labels, some.weight, penalties, begin, FINAL_STEPS)
        return BegunFit(card, rows, penalties, started)

    def _fit(self, card: Card, some: SampleRows, begin: PenalisedFit) -> PenalisedFit:
        penalties = Penalties(card.groups, card.roughness)
        steps = ADDITIVE_STEPS if card is self.mains else FINAL_STEPS
        return penalised_fit(card.rows(some.numbers), some.labels, some.weight, penalties, begin, steps)

    def _landmarks(self, begun: BegunFit, size: int) -> Landmarks:
        return chosen_landmarks(begun.card, begun.rows, begun.started.fit, self.some, size, self.seed)

    def _probed(self, begun: BegunFit) -> Probe:
        return probed(begun.card, self._landmarks(begun, TRIED), begun.started.fit.scores, self.some)

    def _with_landmarks(
        self, few: Card, begun: BegunFit, probe: Probe, begin: PenalisedFit
    ) -> tuple[Card, PenalisedFit]:
        """Return a card of few pairs with as many landmarks as suit the rows, and its fit to some of them."""
        suitable = max(suitable_size(begun.started.fit.scores, self.some.weight), FEWEST_LANDMARKS)
        landmarks = self._landmarks(begun, min(suitable, self.settings.max_columns - few.n_columns))
        card, n_rows = few.with_landmarks(landmarks, probe), self.some.labels.size
        some = self.some.take(np.arange(0, n_rows, -(-n_rows // MOST_WITH_LANDMARKS)))
        return card, self._fit(card, some, begin)

    def _may_have_landmarks(self) -> bool:
        """Tell whether landmarks are to be tried: where nothing was asked for, and there are rows to try them on."""
        beside = max(self.mains.n_columns, BESIDE_LANDMARKS * self.settings.max_columns)
        room = self.settings.max_columns - beside >= FEWEST_LANDMARKS
        n_rows = self.some.labels.size
        enough = part_of(n_rows).size < n_rows and self.some.rarer >= ENOUGH_OF_RARER
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
            levels = np.full(len(self.effects), FEW_LEVELS)
            return Candidates(pairs, np.ones(len(pairs), np.bool_), -np.arange(len(pairs), dtype=float), levels)
        tested = _tested(self.mains, additive.weights)
        effects = [effect if j in tested else MainEffect(LEFT_OUT) for j, effect in enumerate(self.effects)]
        return pair_candidates(effects, some, additive.scores, None if wanted == AUTO else int(wanted))


def _tested(card: Card, weights: Floats) -> set[int]:
    """Return the inputs whose pairs are tested: all, or of very many those with the largest weights."""
    mains = {inputs[0]: float(np.abs(weights[columns]).max()) for inputs, columns in card.effects.items()}
    return set(sorted(mains, key=lambda j: -mains[j])[:MOST_TESTED])
