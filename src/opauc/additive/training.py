"""How `OnePassGAM` learns a stream of chunks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from opauc.additive.model_file import AdditiveModel
from opauc.additive.settings import AdditiveSettings, with_positions
from opauc.additive.state import AdditiveSolution
from opauc.core.batch import Batch, ResumePosition
from opauc.core.fit import Learned
from opauc.core.parameters import from_params
from opauc.core.transaction import Transaction
from opauc.data.encode.encoder import OrdinalState
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.schema.table import TableSchema
from opauc.errors import IncompatibleMomentsError, InputError
from opauc.linear.fit import HeldSolution
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

    def training(self, solution: Learned | None) -> AdditiveTraining:
        """Return the loop in which a solution goes on learning, or a first one begins."""
        return AdditiveTraining(self, cast(AdditiveSolution | None, solution))

    def model(self, solution: Learned, classes: Array) -> AdditiveModel:
        """Return the model of what has been learned; what its columns are is not known here."""
        known = cast(AdditiveSolution, solution)
        return AdditiveModel(self.owner, dict(self.parameters), known, classes, known.n_features)

    def refuse_other(self, solution: Learned, resume_position: ResumePosition) -> None:
        """Raise where what was learned, up to that resume_position, is of other columns."""
        table = columns_at(resume_position)
        if table is not None and not np.array_equal(table.categorical, cast(AdditiveSolution, solution).categorical):
            raise ValueError("expected the same inputs to be categories in the table and in what was learned")

    def start(self, categorical: NDArray[np.bool_], inputs: tuple[str, ...]) -> AdditiveSolution:
        """Return what is known before any row of such inputs."""
        given = dict(self.parameters)
        settings = with_positions(from_params(self.owner, AdditiveSettings, given), inputs)
        return AdditiveSolution.start(settings, categorical, random_key(given.get("random_state")))


class AdditiveTraining(HeldSolution[GamRecipe, AdditiveSolution]):
    """An additive model in the making: chunks of labeled rows of numbers in, a solution out."""

    def prepare_chunk(self, chunk: Batch, transaction: Transaction) -> None:  # noqa: ARG002
        """Start with a first chunk: what its columns are is known by then."""
        width = chunk.rows.shape[1]
        if self._solution is None:
            self._solution = self.recipe.beginning
        if self._solution is None:
            table = columns_at(chunk.resume_position)
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
            raise IncompatibleMomentsError(f"expected rows of {self.solution.n_features} numbers, got {rows.shape[1]}")
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
        """Unlearn rows, with the basis as it is: sums know no numbers of rows, and no groups."""
        self._solution = self.solution.with_basis().subtract(self.fitted(rows), labels, weight)


def columns_at(resume_position: ResumePosition) -> TableSchema | None:
    """Return what the columns of the rows up to a resume_position are; None for those of arrays."""
    found: OrdinalState | None = resume_position.numbered()
    return None if found is None or found.get("table") is None else TableSchema.of_json(found["table"])


def read_model(model: AdditiveModel, reading: OrdinalReading, resume_position: ResumePosition) -> AdditiveModel:
    """Return the model of rows read up to a resume_position, its basis fixed, as it serves rows that are read so."""
    solution, columns = model.solution.with_basis(), columns_at(resume_position)
    if columns is not None:
        columns = columns.keep_categories(solution.current.basis.kept_numbers())
    label = (resume_position.numbered() or {"label": None})["label"]
    return replace(
        model,
        solution=solution,
        columns=columns,
        n_features=model.n_features if columns is None else len(columns.columns),
        reading=replace(reading, label=label).to_json(),
    )
