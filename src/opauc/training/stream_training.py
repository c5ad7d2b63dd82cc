"""Learn from a stream of chunks whose classes and features turn up on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opauc.errors import InputError
from opauc.estimators.opauc_estimator import OPAUC
from opauc.evaluation.progressive_auc import ProgressiveAuc, ProgressPoint
from opauc.learners.state_arrays import Arrays, grown
from opauc.reading.labelled_chunk import Bookmark, LabelledChunk
from opauc.scorers import LinearScorer
from opauc.statistics.chunk_rows import Labels, Rows
from opauc.training.model_file import model_of_parts, model_parts
from opauc.training.solution import Solution
from opauc.training.stream_labels import StreamLabels

# Rows of one class only are kept so long, in the hope of the other.
MOST_WAITING = 2**20
# Of a chunk, or of the rows learnt between two looks at the weights, the first so many are scored before they are
# learnt; scores are put together until there are enough to be worth sorting in.
SCORED, SORTED_IN = 1024, 16_384
# Rows before the first look at the weights, and how much more rows there are at the next.
FIRST_LOOK, NEXT_LOOK = 128, 1.5


class StreamTraining:
    """An `OPAUC` model in the making.

    `learn` takes chunks in order. The progressive AUC is that of scores given
    to rows before they were learnt, by weights looked at each time the rows
    have grown by half. All of it depends on the rows and their chunks alone,
    so that training taken up from `parts` ends in the same bits.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc import OPAUC
    >>> from opauc.reading import DataStream
    >>> from opauc.training.stream_training import StreamTraining
    >>> training = StreamTraining(OPAUC())
    >>> for chunk in DataStream.of_memory(np.array([[0.0], [1.0], [2.0], [4.0]]), labels=[0, 0, 1, 1]).chunks():
    ...     training.learn(chunk)
    >>> training.finished().predict([[3.0]])
    array([1])
    """

    def __init__(self, model: OPAUC, classes: Sequence[Any] | None = None, positive: Any = None) -> None:
        self.model = model
        self.labels = StreamLabels(classes, positive)
        self.bookmark = Bookmark()
        self.progress = ProgressiveAuc.empty()
        self._scored = _nothing_scored()
        self._running: float | None = None
        self._scorer: LinearScorer | None = None
        self._next_look = FIRST_LOOK
        self._pace: list[tuple[int, int]] = [(0, 0)]  # rows scored and rows learnt, at each look
        self._waiting: list[LabelledChunk] = []

    @property
    def rows(self) -> int:
        """Rows learnt so far."""
        return self.bookmark.rows

    def learn(self, chunk: LabelledChunk) -> None:
        """Learn a chunk, or keep it while only one class has been seen."""
        if chunk.labels is None:
            raise InputError(f"{chunk.source}: has no labels to learn from")
        self._waiting.append(chunk)
        if not self.labels.look_at(chunk.labels):
            if sum(waiting.rows.shape[0] for waiting in self._waiting) > MOST_WAITING:
                only = self.labels.classes.tolist()[0]
                raise InputError(
                    f"{chunk.source}: all rows up to line {chunk.line_of(-1)} have the label {only}; name both classes"
                )
            return
        while self._waiting:
            self._learn_chunk(self._waiting.pop(0))

    def finished(self) -> OPAUC:
        """Return the model; rows of both classes must have come."""
        counts = self.model._counts() if hasattr(self.model, "solution_") else (0.0, 0.0)
        if min(counts) == 0:
            seen = self.rows + sum(chunk.rows.shape[0] for chunk in self._waiting)
            only = "" if seen == 0 else f", all labelled {self.labels.classes.tolist()[int(counts[1] > 0)]}"
            raise InputError(f"learning needs rows of two classes, got {seen} rows{only}")
        return self.model

    def learning_curve(self) -> list[ProgressPoint]:
        """Return the progressive AUC over the rows learnt; of long pieces between two looks only a part was scored."""
        progress = self.progress.update(*self._scored)
        scored, learnt = zip(*self._pace, (progress.n_rows, self.rows), strict=True)
        return [point._replace(rows=round(float(np.interp(point.rows, scored, learnt)))) for point in progress.curve()]

    def running_auc(self) -> float | None:
        """Return the AUC of the rows scored before they were learnt, by and large; None before there is one."""
        if self._running is None:
            progress = self.progress if self.progress.n_rows else self.progress.update(*self._scored)
            self._running = progress.auc if progress.overall.counts.all() else None
        return self._running

    def parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return all there is, as a header and arrays."""
        header, arrays = model_parts(self.model)
        arrays |= {f"progress.{name}": array for name, array in self.progress.to_arrays().items()}
        arrays["scored.labels"], arrays["scored.scores"] = self._scored
        if self._scorer is not None:
            scorer = self._scorer
            arrays["look.weights"] = scorer.weights
            arrays["look.numbers"] = np.array([scorer.intercept, scorer.slope, scorer.offset])
        header |= {
            "bookmark": self.bookmark.to_json(),
            "next_look": self._next_look,
            "pace": self._pace,
            "positive": self.labels.positive,
        }
        return header, arrays

    @classmethod
    def of_parts(cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> StreamTraining:
        """Return the training that gave these parts, ready to go on."""
        model = model_of_parts(header, arrays)
        training = cls(model, model.classes_.tolist(), header["positive"])
        training.labels.classes = model.classes_
        training.bookmark = Bookmark.of_json(header["bookmark"])
        training.progress = ProgressiveAuc.from_arrays(
            {name.removeprefix("progress."): part for name, part in arrays.items() if name.startswith("progress.")}
        )
        training._scored = [arrays["scored.labels"], arrays["scored.scores"]]
        training._next_look = int(header["next_look"])
        training._pace = [(int(scored), int(learnt)) for scored, learnt in header["pace"]]
        if "look.weights" in arrays:
            training._scorer = LinearScorer(arrays["look.weights"], *map(float, arrays["look.numbers"]))
        return training

    def _learn_chunk(self, chunk: LabelledChunk) -> None:
        codes = self.labels.codes(chunk)
        rows = self._fitted_rows(chunk)
        begin, seen = 0, chunk.first_row
        while begin < codes.size:
            end = min(codes.size, max(begin + 1, begin + self._next_look - seen))
            self._learn_rows(rows[begin:end] if end - begin < codes.size else rows, codes[begin:end])
            seen += end - begin
            if seen >= self._next_look:
                self._look(seen)
            begin = end
        self.bookmark = chunk.bookmark

    def _learn_rows(self, rows: Rows, codes: Labels) -> None:
        solution = self.model.solution_
        if self._scorer is not None:
            known = self._scorer.weights.size
            scored = rows[:SCORED] if known == rows.shape[1] else rows[:SCORED, :known]
            labels, scores = self._scored
            self._scored = [
                np.concatenate([labels, codes[:SCORED]]),
                np.concatenate([scores, self._scorer.scores(scored)]),
            ]
            if self._scored[0].size >= SORTED_IN:
                self.progress, self._scored = self.progress.update(*self._scored), _nothing_scored()
                self._running = None
        self.model.solution_ = Solution(solution.learner, solution.learner.step(solution.state, rows, codes))

    def _look(self, seen: int) -> None:
        """Take the weights as they are now to score what comes."""
        learner = self.model.solution_.learner
        worth = getattr(learner, "rows_worth_a_solve", None)
        if worth is None or seen >= worth(self.model.n_features_in_):
            # Kept apart from the model, which goes on changing the arrays of its state.
            self._scorer = Solution(learner, self.model.solution_.state).scorer
        self._next_look = int(NEXT_LOOK * seen) + 1
        self._pace.append((self.progress.n_rows + self._scored[0].size, seen))

    def _fitted_rows(self, chunk: LabelledChunk) -> Rows:
        """Return the rows as wide as the model, after making the model as wide as the rows."""
        rows, model = chunk.rows, self.model
        if not hasattr(model, "solution_"):
            model.n_features_in_ = rows.shape[1]
            learner, model.solver_, model.rank_ = self._learner(rows)
            model.solution_ = Solution(learner, learner.start(rows.shape[1]))
            model.classes_ = self.labels.classes
        width = rows.shape[1]
        if width > model.n_features_in_:
            self._grow(chunk, width)
        elif width < model.n_features_in_:
            if not sparse.issparse(rows):
                raise InputError(f"{chunk.source}: has {width} features, those before had {model.n_features_in_}")
            shape = rows.shape[0], model.n_features_in_
            rows = sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=shape)
        return rows

    def _learner(self, rows: Rows) -> tuple[Any, str, int | None]:
        try:
            return self.model._learner(str(rows.dtype))
        except ValueError as error:
            raise InputError(str(error)) from error

    def _grow(self, chunk: LabelledChunk, width: int) -> None:
        """Make room for features that turned up late: they were zero in every row so far."""
        model, solution = self.model, self.model.solution_
        if not sparse.issparse(chunk.rows):
            raise InputError(f"{chunk.source}: has {width} features, those before had {model.n_features_in_}")
        before, model.n_features_in_ = model.n_features_in_, width
        learner = self._learner(chunk.rows)[0]
        if type(learner) is not type(solution.learner):
            model.n_features_in_ = before
            raise InputError(
                f"{chunk.source}: a row from line {chunk.first_line} on has feature {width}, too many for what began "
                f"with {before} ({model.solver_}, rank {model.rank_}); say at the start that there will be so many"
            )
        model.solution_ = Solution(solution.learner, grown(solution.learner, solution.state, width))


def _nothing_scored() -> list[NDArray[Any]]:
    """Return room for labels and scores of rows about to be learnt."""
    return [np.empty(0, np.int8), np.empty(0)]
