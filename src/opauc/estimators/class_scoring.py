"""Single rows scored by classifiers of more than two classes."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from opauc.core.transaction import reading
from opauc.errors import UnsupportedOperationError
from opauc.estimators.class_row_scorer import ClassRowScorer
from opauc.estimators.scoring import ScoringClassifier


class ClassScoringClassifier(ScoringClassifier):
    """A classifier that takes more than two classes."""

    def class_scorer(self) -> ClassRowScorer:
        """Return an immutable scorer of single rows, as `scorer` does, of a model of more than two classes.

        Returns
        -------
        scorer : ClassRowScorer
            `scores`, `probabilities` and `label` take one row, a dict or an array of one dimension; `score_rows` takes
            many. Scores are those of `decision_function` of the same rows to the bit.

        Raises
        ------
        UnsupportedOperationError
            If the model has two classes.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> scorer = OPAUC().fit([[-1.0], [-0.5], [0.5], [1.0]] * 5, ["a", "a", "b", "c"] * 5).class_scorer()
        >>> scorer.label([0.9])
        'c'
        """
        with reading(self):
            check_is_fitted(self)
            if self.classes_.size < 3:
                raise UnsupportedOperationError("class_scorer is for more than two classes; scorer is that of two")
            return ClassRowScorer(self._fitted.scorer, self._row_access(), tuple(self.classes_.tolist()))
