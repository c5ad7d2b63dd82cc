"""The one loop in which learners learn."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opauc.errors import IncompatibleMoments, InputError
from opauc.reading.labelled_chunk import LabelledChunk
from opauc.rows import Floats, GroupKeys, Labels, Rows, Settings
from opauc.training.held_solution import HeldSolution
from opauc.training.recipe import Choice, Recipe
from opauc.training.solution import Solution
from opauc.training.transaction import Transaction


class Training(HeldSolution[Recipe, Solution]):
    """A model in the making: chunks of labelled rows in, a solution out.

    After any exception, Ctrl-C included, it is as it was before the chunk.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.training.opauc_recipe import OpaucRecipe
    >>> from opauc.training.training import Training
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
        """Start with the first rows, make room for features that turn up; nothing is learnt yet."""
        if self._solution is None:
            # Nothing is lost if a first chunk goes wrong: no one has seen its state.
            choice = self.recipe.choose(rows.shape[1], str(rows.dtype))
            self._solution = Solution.start(choice, rows.shape[1])
            return
        before = self._solution
        choice = self.recipe.choose(max(rows.shape[1], before.n_features), str(rows.dtype))
        self._solution = self._under(choice)
        if rows.shape[1] > before.n_features:
            self._solution = self._solution.grown(rows.shape[1])
        else:
            # By the settings of now: what a step writes over depends on them.
            transaction.guard(self._solution.undo(rows))

    def prepare_chunk(self, chunk: LabelledChunk, transaction: Transaction) -> None:
        """Make a model as wide as the rows; only sparse rows may be of another width than those before."""
        width, known = chunk.rows.shape[1], self.solution.n_features if self.begun else chunk.rows.shape[1]
        if width != known and isinstance(chunk.rows, np.ndarray):
            raise InputError(f"{chunk.source}: has {width} features, those before had {known}")
        try:
            self.prepare(chunk.rows, transaction)
        except IncompatibleLearner as error:
            began = error.before.published
            raise InputError(
                f"{chunk.source}: a row from line {chunk.first_line} on has feature {width}, too many for what began "
                f"with {known} ({began['solver_']}, rank {began['rank_']}); say at the start that there will be so many"
            ) from error
        except ValueError as error:
            raise InputError(str(error)) from error

    def fitted(self, rows: Rows) -> Rows:
        """Return the rows as wide as the model."""
        return as_wide(rows, self.solution.n_features)

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
        """Unlearn rows; `row_numbers` or `groups` are those under which a sketch or folds learnt them."""
        choice = self.recipe.choose(self.solution.n_features, "float64")
        self._solution = self._under(choice).without(self.fitted(rows), labels, weight, row_numbers, groups)

    def merge(self, other: Solution, places: NDArray[np.int64] | None = None) -> None:
        """Take in what another model has learnt from other rows.

        `places` says where each of its features stands among those of both, of
        which the ones known here come first; without it they are the same.
        """
        now = self._under(self.recipe.choose(self.solution.n_features, "float64"))
        if places is not None:
            width = max(now.n_features, int(places.max(initial=-1)) + 1)
            now, other = now.grown(width), other.arranged(places, width)
        self._solution = now.merged(other)

    def _under(self, choice: Choice) -> Solution:
        """Return the solution under the settings chosen now, which must be of the same learner."""
        if choice.learner.name != self.solution.learner.name:
            raise IncompatibleLearner(self.solution, choice.published or {})
        return self.solution.with_learner(choice)


class IncompatibleLearner(ValueError):
    """The settings ask for another learner than the one that began."""

    def __init__(self, before: Solution, now: Settings) -> None:
        self.before = before
        super().__init__(
            f"solver was {before.published.get('solver_')!r} with rank {before.published.get('rank_')} on the last "
            f"call to partial_fit, now it is {now.get('solver_')!r} with rank {now.get('rank_')}"
        )


def as_wide(rows: Rows, width: int) -> Rows:
    """Return the rows with as many features as a model has: those it never met have no weight."""
    if rows.shape[1] == width:
        return rows
    if isinstance(rows, np.ndarray):
        raise IncompatibleMoments(f"rows have {rows.shape[1]} features, the model has {width}")
    if rows.shape[1] > width:
        return rows[:, :width]
    return sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], width))
