"""What an additive model says of itself and of rows."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from opauc.estimators.model_lock import changing, reading
from opauc.estimators.number_rows import next_rows
from opauc.estimators.scoring_classifier import Scored, ScoringClassifier
from opauc.features.card.card import Card
from opauc.features.table_numbers import TableNumbers
from opauc.learners.additive.ladder import Judgement
from opauc.rows import Settings
from opauc.scorers.mapped_scorer import MappedScorer
from opauc.training.additive.additive_file import AdditiveModel
from opauc.training.additive.additive_solution import AdditiveSolution
from opauc.training.additive.effects import Effect, Effects, Explanation
from opauc.training.additive.shifts import ShiftedFeatures, shifted_features


class AdditiveClassifier(ScoringClassifier):
    """A binary classifier whose `solution_` is a sum of effects of one or two features."""

    solution_: AdditiveSolution
    # What is known of the columns of the table it was fitted to; None for one fitted to arrays.
    columns_: TableNumbers | None
    # How the command read the rows of a model that it trained.
    _reading: Settings = MappingProxyType({})

    def explain(self, X: ArrayLike) -> Explanation:
        """Return the score of each row as a sum of named effects.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]]
        >>> model = OnePassGAM().fit(rows * 30, [0, 0, 1, 1] * 30)
        >>> explained = model.explain(rows)
        >>> explained.names
        ('x0', 'x1')
        >>> bool(abs(explained.scores() - model.decision_function(rows)).max() < 1e-9)
        True
        """
        with reading(self):
            check_is_fitted(self)
            rows, _ = next_rows(self, X, self.columns_, learn=False)
            return self._effects().explained(rows)

    @property
    def card_(self) -> Card:
        """What the columns are; until it is fixed, that of the rows so far."""
        with reading(self):
            return self.solution_.current.card

    @property
    def effects_(self) -> list[Effect]:
        """Every effect with standard errors, the most important first."""
        with reading(self):
            return self._effects().all()

    @property
    def importances_(self) -> dict[str, float]:
        """Standard deviation of each effect over the rows."""
        with reading(self):
            return self._effects().importances()

    @property
    def guard_(self) -> Judgement:
        """Which model was taken, and how each of them ranked the rows after the card."""
        with reading(self):
            return self.solution_.final.judgement

    @property
    def shifted_(self) -> list[ShiftedFeatures]:
        """Features whose values after the card do not look like those before."""
        with reading(self):
            return shifted_features(self.solution_, self._input_names())

    @property
    def left_out_(self) -> tuple[str, ...]:
        """Columns that nothing is learnt from: text nearly all of which differs, as names and identifiers do."""
        with reading(self):
            names, columns = self._feature_names(), self.columns_
        if names is None or columns is None:
            return ()
        used = {column.name for column in columns.columns}
        return tuple(name for name in names if name not in used)

    def _scorer(self) -> MappedScorer:
        """What scores rows of numbers, as of the last chunk that is wholly learnt."""
        with reading(self):
            return self.solution_.scorer

    def _raw_columns(self) -> TableNumbers | None:
        """What the columns of a table become; None for one fitted to arrays."""
        return self.columns_

    def _known(self) -> AdditiveModel:
        """All that the fitted estimator knows."""
        check_is_fitted(self)
        return AdditiveModel(
            type(self).__name__,
            self.get_params(deep=False),
            self.solution_,
            self.classes_,
            self.n_features_in_,
            self._feature_names(),
            self.columns_,
            dict(self._reading),
        )

    def _adopt(self, model: AdditiveModel) -> None:
        """Know what a model does, and nothing else."""
        with changing(self):
            self.classes_, self.n_features_in_ = model.classes, model.n_features
            self.solution_, self.columns_ = model.solution, model.columns
            for name in ("feature_names_in_", "_reading"):
                self.__dict__.pop(name, None)
            if model.reading:
                self._reading = model.reading
            if model.feature_names is not None:
                self.feature_names_in_ = np.array(model.feature_names, dtype=object)

    def _input_names(self) -> tuple[str, ...]:
        if self.columns_ is not None:
            return self.columns_.inputs
        return self._feature_names() or tuple(f"x{j}" for j in range(self.n_features_in_))

    def _effects(self) -> Effects:
        check_is_fitted(self)
        names = self._input_names()
        words = [{}] * len(names) if self.columns_ is None else self.columns_.words()
        return Effects(self.solution_, names, words)

    def _scored(self, X: ArrayLike) -> Scored:
        with reading(self):
            check_is_fitted(self)
            rows, _ = next_rows(self, X, self.columns_, learn=False)
            scorer, classes = self.solution_.scorer, self.classes_
        return Scored(scorer, scorer.scores(rows), classes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
