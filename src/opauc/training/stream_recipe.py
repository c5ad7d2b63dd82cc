"""How an estimator learns a stream of chunks."""

from __future__ import annotations

from typing import Protocol

from opauc.reading.labelled_chunk import Bookmark
from opauc.rows import Array, Settings
from opauc.training.additive.gam_recipe import GAM, GamRecipe
from opauc.training.learnt import Learnt, RowTraining
from opauc.training.opauc_recipe import recipe_of
from opauc.training.saved_model import AnyModel


class StreamRecipe(Protocol):
    """How an estimator learns, by its name and parameters."""

    @property
    def owner(self) -> str:
        """Name of the estimator."""

    @property
    def parameters(self) -> Settings:
        """Its parameters, those that are not as usual at least."""

    def training(self, solution: Learnt | None) -> RowTraining:
        """Return the loop in which a solution goes on learning, or a first one begins."""

    def model(self, solution: Learnt, classes: Array) -> AnyModel:
        """Return the model of what has been learnt."""

    def refuse_other(self, solution: Learnt, bookmark: Bookmark) -> None:
        """Raise where what was learnt, up to that bookmark, cannot have been learnt so."""


def stream_recipe_of(estimator: str, parameters: Settings) -> StreamRecipe:
    """Return how an estimator that learns from files does so.

    Examples
    --------
    >>> from opauc.training.stream_recipe import stream_recipe_of
    >>> stream_recipe_of("OnePassGAM", {"knots": 12}).owner
    'OnePassGAM'
    """
    return GamRecipe(parameters) if estimator == GAM else recipe_of(estimator, parameters)
