"""How `OnePassGAM` learns a stream of chunks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from opauc.additive.model_file import AdditiveModel
from opauc.additive.settings import AdditiveSettings, with_positions
from opauc.additive.state import AdditiveSolution
from opauc.core.parameters import made
from opauc.core.transaction import Transaction
from opauc.data.batch import Bookmark, LabelledChunk
from opauc.data.encode.encoder import NumberEncoding
from opauc.data.encode.number_reading import NumberReading
from opauc.data.schema.table import TableNumbers
from opauc.errors import IncompatibleMoments, InputError
from opauc.linear.fit import HeldSolution
from opauc.training.fit import Learnt
from opauc.types import Array, Floats, GroupKeys, Labels, Rows, Settings, random_key

GAM = "OnePassGAM"


@dataclass(frozen=True)
class GamRecipe:
    """The recipe of an additive model; `beginning` is what a sample has taught before the first chunk.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.data.open_stream import stream_of_memory
    >>> from opauc.additive.training import GamRecipe
    >>> from opauc.training.loop import StreamTraining
    >>> training = StreamTraining(GamRecipe({}))
    >>> for chunk in stream_of_memory(np.array([[0.0], [1.0], [2.0], [4.0]] * 9), labels=[0, 0, 1, 1] * 9).chunks():
    ...     training.learn(chunk)
    >>> training.finished().solution.counts
    ClassCounts(negative=18.0, positive=18.0)
    """

    parameters: Settings
    beginning: AdditiveSolution | None = None
    owner: str = GAM

    def training(self, solution: Learnt | None) -> AdditiveTraining:
        """Return the loop in which a solution goes on learning, or a first one begins."""
        return AdditiveTraining(self, cast(AdditiveSolution | None, solution))

    def model(self, solution: Learnt, classes: Array) -> AdditiveModel:
        """Return the model of what has been learnt; what its columns are is not known here."""
        known = cast(AdditiveSolution, solution)
        return AdditiveModel(self.owner, dict(self.parameters), known, classes, known.n_features)

    def refuse_other(self, solution: Learnt, bookmark: Bookmark) -> None:
        """Raise where what was learnt, up to that bookmark, is of other columns."""
        table = columns_at(bookmark)
        if table is not None and not np.array_equal(table.categorical, cast(AdditiveSolution, solution).categorical):
            raise ValueError("expected the same inputs to be categories in the table and in what was learnt")

    def start(self, categorical: NDArray[np.bool_], inputs: tuple[str, ...]) -> AdditiveSolution:
        """Return what is known before any row of such inputs."""
        given = dict(self.parameters)
        settings = with_positions(made(self.owner, AdditiveSettings, given), inputs)
        return AdditiveSolution.start(settings, categorical, random_key(given.get("random_state")))


class AdditiveTraining(HeldSolution[GamRecipe, AdditiveSolution]):
    """An additive model in the making: chunks of labelled rows of numbers in, a solution out."""

    def prepare_chunk(self, chunk: LabelledChunk, transaction: Transaction) -> None:  # noqa: ARG002
        """Start with a first chunk: what its columns are is known by then."""
        width = chunk.rows.shape[1]
        if self._solution is None:
            self._solution = self.recipe.beginning
        if self._solution is None:
            table = columns_at(chunk.bookmark)
            categorical = np.zeros(width, np.bool_) if table is None else table.categorical
            inputs = tuple(f"x{j}" for j in range(width)) if table is None else table.inputs
            try:
                self._solution = self.recipe.start(categorical, inputs)
            except ValueError as error:
                raise InputError(str(error)) from error
        if width != self._solution.n_features:
            raise InputError(f"{chunk.source}: has {width} features, those before had {self._solution.n_features}")

    def fitted(self, rows: Rows) -> Floats:
        """Return the rows as numbers, as many in a row as the model has inputs."""
        if not isinstance(rows, np.ndarray) or rows.shape[1] != self.solution.n_features:
            raise IncompatibleMoments(f"expected rows of {self.solution.n_features} numbers, got {rows.shape[1]}")
        return np.asarray(rows, np.float64)

    def step(self, rows: Rows, labels: Labels, weight: Floats | None = None, groups: GroupKeys | None = None) -> None:
        """Learn rows that have been prepared for."""
        if groups is not None:
            raise InputError("groups are for folds, of which an additive model has none")
        self._solution = self.solution.after(self.fitted(rows), labels, weight)

    def forget(
        self,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        row_numbers: object = None,  # noqa: ARG002
        groups: GroupKeys | None = None,  # noqa: ARG002
    ) -> None:
        """Unlearn rows, with the card as it is: sums know no numbers of rows, and no groups."""
        self._solution = self.solution.with_card().without(self.fitted(rows), labels, weight)


def columns_at(bookmark: Bookmark) -> TableNumbers | None:
    """Return what the columns of the rows up to a bookmark are; None for those of arrays."""
    found: NumberEncoding | None = bookmark.numbered()
    return None if found is None or found.get("table") is None else TableNumbers.of_json(found["table"])


def read_model(model: AdditiveModel, reading: NumberReading, bookmark: Bookmark) -> AdditiveModel:
    """Return the model of rows read up to a bookmark, its card fixed, as it serves rows that are read so."""
    solution, columns = model.solution.with_card(), columns_at(bookmark)
    if columns is not None:
        columns = columns.kept(solution.current.card.kept_numbers())
    label = (bookmark.numbered() or {"label": None})["label"]
    return replace(
        model,
        solution=solution,
        columns=columns,
        n_features=model.n_features if columns is None else len(columns.columns),
        reading=replace(reading, label=label).to_json(),
    )
