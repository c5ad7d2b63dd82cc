"""How estimators whose scorer is linear learn a stream of chunks."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import cast

from opauc.reading.encoder import checked_encoding
from opauc.reading.labelled_chunk import Bookmark
from opauc.rows import Array, Settings
from opauc.training.learnt import Learnt
from opauc.training.model_file import Model
from opauc.training.recipe import Choice
from opauc.training.solution import Solution
from opauc.training.training import Training


class LinearRecipe:
    """From the parameters of an estimator to the learner they ask for, and to the loop it learns in."""

    owner: str
    parameters: Settings

    @abstractmethod
    def choose(self, n_features: int, dtype: str) -> Choice:
        """Return the learner for rows of so many features."""

    def training(self, solution: Learnt | None) -> Training:
        """Return the loop in which a solution goes on learning, or a first one begins."""
        return Training(self, cast(Solution | None, solution))

    def model(self, solution: Learnt, classes: Array) -> Model:
        """Return the model of what has been learnt."""
        return Model(self.owner, dict(self.parameters), cast(Solution, solution), classes, solution.n_features)

    def refuse_other(self, solution: Learnt, bookmark: Bookmark) -> None:
        """Raise where what was learnt, up to that bookmark, is of another learner."""
        if bookmark.encoding is not None:
            checked_encoding(bookmark.encoding)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever began was warned
            choice = self.choose(solution.n_features, "float64")
        known = cast(Solution, solution)
        if type(choice.learner) is not type(known.learner) or (choice.published or {}) != known.published:
            raise ValueError("its parameters ask for another learner than the one that began")
