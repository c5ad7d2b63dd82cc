"""What every estimator here does whose scorer is linear in the rows."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from opauc.estimators.input_checks import checked_rows
from opauc.estimators.model_lock import changing, reading
from opauc.estimators.scoring_classifier import Scored, ScoringClassifier
from opauc.features.table_features import TableFeatures
from opauc.rows import Floats
from opauc.scorers import LinearScorer
from opauc.training.model_file import Model
from opauc.training.solution import Solution, Solved


class LinearClassifier(ScoringClassifier):
    """A binary classifier whose `solution_` holds a linear scorer."""

    # Attributes beside those of every estimator here that fitting sets and files keep.
    _published: ClassVar[tuple[str, ...]] = ()
    # Parameters that say where learning takes place, which is no part of a model.
    _unsaved: ClassVar[tuple[str, ...]] = ()

    solution_: Solution | Solved
    # The torch device on which statistics are gathered, of those that can be.
    device: str | None = None
    # How the command read the rows the model was trained on; None for a model fitted to arrays.
    table_features_: TableFeatures | None = None

    @property
    def coef_(self) -> Floats:
        """Weights of the scorer, shape (1, n_features)."""
        return self._scorer().weights[None, :]

    @property
    def intercept_(self) -> Floats:
        """Intercept of the scorer, shape (1,)."""
        return np.array([self._scorer().intercept])

    def _scorer(self) -> LinearScorer:
        """What scores rows, as of the last chunk that is wholly learnt."""
        with reading(self):
            return self.solution_.scorer

    def _raw_columns(self) -> None:
        """Nothing: rows are features."""

    def _scored(self, X: ArrayLike) -> Scored:
        """Check rows and score them; other threads may learn meanwhile."""
        with reading(self):
            check_is_fitted(self)
            rows, scorer, classes = checked_rows(self, X), self.solution_.scorer, self.classes_
        return Scored(scorer, scorer.scores(rows), classes)

    def _publish(self) -> None:
        """Set the attributes that say what was chosen or found on the way."""
        for name in self._published:
            value = self.solution_.published[name]
            setattr(self, name, np.array(value) if isinstance(value, list) else value)

    def _known(self) -> Model:
        """All that the fitted estimator knows."""
        check_is_fitted(self)
        return Model(
            type(self).__name__,
            {name: value for name, value in self.get_params(deep=False).items() if name not in self._unsaved},
            self.solution_,
            self.classes_,
            self.n_features_in_,
            self._feature_names(),
            {} if self.table_features_ is None else self.table_features_.to_json(),
        )

    def _adopt(self, model: Model) -> None:
        """Know what a model does, and nothing else."""
        with changing(self):
            self.classes_, self.n_features_in_ = model.classes, model.n_features
            self.solution_ = model.solution
            self._publish()
            for name in ("feature_names_in_", "table_features_"):
                self.__dict__.pop(name, None)
            if model.feature_names is not None:
                self.feature_names_in_ = np.array(model.feature_names, dtype=object)
            if model.reading:
                self.table_features_ = TableFeatures.of_json(model.reading)
