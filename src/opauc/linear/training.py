"""The one loop in which learners learn."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.core.batch import Batch
from opauc.core.row_blocks import widen_rows
from opauc.core.solver import AnySolver, MergeableSolver
from opauc.core.transaction import Transaction
from opauc.errors import InputError, OpaucError, UnsupportedOperationError
from opauc.linear.choice import Choice, Recipe, SameLearner
from opauc.linear.fit import HeldSolution, Solution
from opauc.linear.scorer import LinearScorer
from opauc.types import Floats, GroupKeys, Labels, Rows, Settings


class Training(HeldSolution[Recipe, Solution]):
    """A model in the making: chunks of labeled rows in, a solution out.

    After any exception, Ctrl-C included, it is as it was before the chunk.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.resolve import OpaucRecipe
    >>> from opauc.linear.training import Training
    >>> training = Training(OpaucRecipe({"alpha": 0.5, "standardize": False}))
    >>> training.learn(np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> training.solution.scorer.weights.round(4).tolist()
    [0.4444]
    """

    def learn(
        self,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        within: Transaction | None = None,
        groups: GroupKeys | None = None,
    ) -> None:
        """Learn rows in order, as part of a change of something larger if there is one.

        Wider sparse rows than before make room for their features, narrower
        ones are taken as zero in the rest. Rows of weight zero are left out.
        """
        with Transaction(self) if within is None else nullcontext(within) as transaction:
            self.prepare(rows, transaction)
            self.step(self.fitted(rows), labels, weight, groups)

    def prepare(self, rows: Rows, transaction: Transaction) -> None:
        """Start with the first rows, make room for features that turn up; nothing is learned yet."""
        if self._solution is None:
            # Nothing is lost if a first chunk goes wrong: no one has seen its state.
            choice = self.recipe.choose(rows.shape[1], str(rows.dtype))
            self._solution = Solution.start(choice, rows.shape[1])
            return
        before = self._solution
        choice = self.recipe.choose(max(rows.shape[1], before.n_features), str(rows.dtype))
        self._solution = self._under(choice)
        if rows.shape[1] > before.n_features:
            self._solution = self._solution.widen(rows.shape[1])
        else:
            # By the settings of now: what a step writes over depends on them.
            transaction.guard(self._solution.rollback(rows))

    def prepare_chunk(self, chunk: Batch, transaction: Transaction) -> None:
        """Make a model as wide as the rows; only sparse rows may be of another width than those before."""
        width, known = chunk.rows.shape[1], self.solution.n_features if self.begun else chunk.rows.shape[1]
        if width != known and isinstance(chunk.rows, np.ndarray):
            raise InputError(f"{chunk.source}: has {width} features, those before had {known}")
        try:
            self.prepare(chunk.rows, transaction)
        except IncompatibleSolverError as error:
            began = error.before.published
            raise InputError(
                f"{chunk.source}: a row from line {chunk.first_line} on has feature {width}, too many for what began "
                f"with {known} ({began['solver_']}, rank {began['rank_']}); say at the start that there will be so many"
            ) from error
        except ValueError as error:
            raise InputError(str(error)) from error

    def fitted(self, rows: Rows) -> Rows:
        """Return the rows as wide as the model."""
        return widen_rows(rows, self.solution.n_features)

    def step(self, rows: Rows, labels: Labels, weight: Floats | None = None, groups: GroupKeys | None = None) -> None:
        """Learn rows that have been prepared for."""
        if weight is not None and not weight.all():
            kept = np.flatnonzero(weight)
            rows, labels, weight = rows[kept], labels[kept], weight[kept]
            groups = None if groups is None else groups[kept]
        if labels.size:
            self._solution = self.solution.after(rows, labels, weight, groups)

    def forget(
        self,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        row_numbers: ArrayLike | None = None,
        groups: GroupKeys | None = None,
    ) -> None:
        """Unlearn rows; `row_numbers` or `groups` are those under which a sketch or folds learned them."""
        choice = self.recipe.choose(self.solution.n_features, "float64")
        self._solution = self._under(choice).subtract(self.fitted(rows), labels, weight, row_numbers, groups)

    def merge(self, other: Solution, places: NDArray[np.int64] | None = None) -> None:
        """Take in what another model has learned from other rows.

        `places` says where each of its features stands among those of both, of
        which the ones known here come first; without it they are the same.
        """
        now = self._under(self.recipe.choose(self.solution.n_features, "float64"))
        if places is not None:
            width = max(now.n_features, int(places.max(initial=-1)) + 1)
            now, other = now.widen(width), other.reindex(places, width)
        self._solution = now.merged(other)

    def _under(self, choice: Choice) -> Solution:
        """Return the solution under the settings chosen now, which must be of the same learner."""
        if choice.learner.name != self.solution.learner.name:
            raise IncompatibleSolverError(self.solution, choice.published or {})
        return self.solution.with_learner(choice)


class IncompatibleSolverError(ValueError):
    """The settings ask for another learner than the one that began."""

    def __init__(self, before: Solution, now: Settings) -> None:
        self.before = before
        super().__init__(
            f"solver was {before.published.get('solver_')!r} with rank {before.published.get('rank_')} on the last "
            f"call to partial_fit, now it is {now.get('solver_')!r} with rank {now.get('rank_')}"
        )


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
        return choice._replace(learner=shard_solver(choice).of_shard(self.place.key, self.place.number))


class ShardTraining(Training):
    """A model of the rows of one shard in the making.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.resolve import OpaucRecipe
    >>> from opauc.linear.training import ShardPlace, ShardTraining
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
        learned = self.solution
        # Row numbers add up when shards are merged, so those of the rows before are taken out again.
        return replace(learned, state=learned.state.subtract(learned.state.empty_copy().numbered_from(self.first_row)))


def shard_solver(choice: Choice) -> MergeableSolver[Any]:
    """Return the learner of a choice, refused unless what shards of the rows teach it adds up."""
    learner = choice.learner
    if not isinstance(learner, MergeableSolver) or choice.draw is not None:
        solver = (choice.published or {}).get("solver_", learner.name)
        raise UnsupportedOperationError(
            f"{solver!r} learns rows one after the other, here they are learned in shards; that takes solver='exact'"
        )
    if not learner.shards_merge:
        raise UnsupportedOperationError("rows that are learned in shards cannot fade: forgetting_factor must be 1.0")
    return learner


# A learner whose state would be larger sits this one out.
LARGEST_STATE = 2 * 2**30


@dataclass(eq=False)
class SolverMethod:
    """A learner with its settings, learning chunk by chunk.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.exact import Exact
    >>> from opauc.linear.training import SolverMethod
    >>> method = SolverMethod("exact", Exact(alpha=0.5))
    >>> method.learn(np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> method.finish()
    >>> method.scores(np.array([[9.0]])).round(2).tolist()
    [4.0]
    """

    name: str
    learner: AnySolver
    _scorer: LinearScorer | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._recipe: Recipe = SameLearner(self.learner)
        self._training = Training(self._recipe)

    def fresh(self) -> Self:
        """Return the learner with nothing learned."""
        return type(self)(self.name, self.learner)

    def warm_up(self, rows: Rows) -> None:
        """Learn two rows of the same kind, work out the weights, and forget them."""
        training = Training(self._recipe)
        training.learn(rows[[0, 0], :1], np.array([0, 1], np.int8))
        _ = training.solution.scorer

    def learn(self, rows: Rows, labels: Labels) -> None:
        """Learn rows in order."""
        width = rows.shape[1]
        if not self._training.begun or width > self._training.solution.n_features:
            size = bytes_of_state(self.learner, width)
            if size > LARGEST_STATE:
                raise UnsupportedOperationError(f"would take {size / 2**30:.1f} GiB for {width:,} features")
        self._training.learn(rows, labels)

    def finish(self) -> None:
        """Work out the weights."""
        if not self._training.begun:
            raise OpaucError("there are no rows to learn from")
        self._scorer = replace(self._training.solution.scorer, intercept=0.0)

    def scores(self, rows: Rows) -> Floats:
        """Return the scores of rows, by the weights alone."""
        if self._scorer is None:
            raise OpaucError("there are no weights yet to score rows with")
        return self._scorer.scores(widen_rows(rows, self._scorer.weights.size))


def bytes_of_state(learner: AnySolver, width: int) -> float:
    """Return how large the state would be, from those of narrow ones: a polynomial of second degree in the width."""
    widths = (16, 32, 48)
    sizes = [sum(array.nbytes for array in learner.to_arrays(learner.start(narrow)).values()) for narrow in widths]
    return float(np.polyval(np.polyfit(widths, sizes, 2), width))
