"""Learning one of several shards of the rows, whose models merge to that of all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from opauc.errors import UnsupportedOperation
from opauc.learners.learner import StatisticLearner
from opauc.rows import Rows
from opauc.training.recipe import Choice, Recipe
from opauc.training.solution import Solution
from opauc.training.training import Training
from opauc.training.transaction import Transaction


class ShardPlace(NamedTuple):
    """Which shard it is, the number of its first row among all rows, and what all shards draw random numbers from."""

    number: int
    first_row: int = 0
    key: int = 0


@dataclass(frozen=True)
class ShardRecipe:
    """What a recipe asks for, for the rows of one shard."""

    recipe: Recipe
    place: ShardPlace

    def choose(self, n_features: int, dtype: str) -> Choice:
        """Return the learner of this shard."""
        choice = self.recipe.choose(n_features, dtype)
        return choice._replace(learner=shard_learner(choice).of_shard(self.place.key, self.place.number))


class ShardTraining(Training):
    """A model of the rows of one shard in the making.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.training.opauc_recipe import OpaucRecipe
    >>> from opauc.training.shard_training import ShardPlace, ShardTraining
    >>> training = ShardTraining(OpaucRecipe({}), ShardPlace(number=7, first_row=1000))
    >>> training.learn(np.array([[0.0], [2.0]]), np.array([0, 0], np.int8))
    >>> training.gathered().counts
    ClassCounts(negative=2.0, positive=0.0)
    """

    def __init__(self, recipe: Recipe, place: ShardPlace) -> None:
        super().__init__(ShardRecipe(recipe, place))
        self.first_row = place.first_row

    def prepare(self, rows: Rows, transaction: Transaction) -> None:
        """Start with the first rows at their number, make room for features that turn up."""
        first = not self.begun
        super().prepare(rows, transaction)
        if first:
            blank = self.solution
            self._solution = replace(blank, state=blank.state.numbered_from(self.first_row))

    def gathered(self) -> Solution:
        """Return what the rows of the shard have taught, to be merged with that of the others."""
        learnt = self.solution
        # Row numbers add up when shards are merged, so those of the rows before are taken out again.
        return replace(learnt, state=learnt.state.without(learnt.state.emptied().numbered_from(self.first_row)))


def shard_learner(choice: Choice) -> StatisticLearner[Any]:
    """Return the learner of a choice, refused unless what shards of the rows teach it adds up."""
    learner = choice.learner
    if not isinstance(learner, StatisticLearner) or choice.draw is not None:
        solver = (choice.published or {}).get("solver_", learner.name)
        raise UnsupportedOperation(
            f"{solver!r} learns rows one after the other, here they are learnt in shards; that takes solver='exact'"
        )
    if not learner.shards_merge:
        raise UnsupportedOperation("rows that are learnt in shards cannot fade: forgetting must be 1.0")
    return learner
