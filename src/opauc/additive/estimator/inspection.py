"""What a fitted additive model shows: terms, explanations, reasons, importances, plots, warnings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from opauc.additive.basis.basis import Basis
from opauc.additive.drift import FeatureDrift, find_drift
from opauc.additive.estimator.fitted import FittedGAM
from opauc.additive.input import next_rows
from opauc.additive.leaks import Leak, find_leaks
from opauc.additive.row_groups.tally import GroupCounts
from opauc.additive.selection import ModelSelection
from opauc.additive.terms.reasons import FEATURE, Reasons, check_reasons, find_reasons, input_features
from opauc.additive.terms.terms import Explanation, Term
from opauc.core.parameters import Count, check_param
from opauc.core.partial_auc import ObjectiveSelection
from opauc.core.transaction import reading
from opauc.data.frames import PandasTable, frame_library
from opauc.estimators.notebook import MAX_ROWS, NO_DIRECTION, FittedSummary, ShownPart, auc_text
from opauc.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class GAMInspection(FittedGAM):
    """The terms of an additive model, and what they say of rows."""

    def explain(self, X: ArrayLike, *, class_: object = None) -> Explanation:
        """Return the score of each row as a sum of named terms.

        With more than two classes it is the additive score of one class against the rest, from which, with those of
        the other classes, `decision_function` and `predict_proba` are computed.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Rows as for `predict`.
        class_ : label, default=None
            One of `classes_`, needed with more than two classes.

        Returns
        -------
        explanation : Explanation
            Names of the terms, the contribution of each to each row, and the baseline.

        Raises
        ------
        ParameterError
            If there are more than two classes, and none of them is given.

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
        with reading(self), self._threads():
            check_is_fitted(self)
            rows, _ = next_rows(self, X, self._columns, learn=False)
            explanation = self._terms(class_).explain(rows)
        return replace(explanation, library=frame_library(X), index=X.index if isinstance(X, PandasTable) else None)

    def reasons(
        self,
        X: ArrayLike,
        k: int = 4,
        *,
        reference: str | ArrayLike = "mean",
        direction: str = "lower",
        by: str = "term",
        class_: object = None,
    ) -> Reasons:
        """Return the k terms that lower, or raise, the score of each row most against a reference.

        These are the reasons that a lender states for an adverse action, or a clinician asks for: what sets this row
        apart from the average row, from the best possible one, or from another row.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Rows as for `predict`.
        k : int, default=4
            How many reasons for each row, at most: a term that does not lower (raise) the score is none.
        reference : {"mean", "best"} or one row, default="mean"
            What contributions are compared with: their mean over the training rows; the highest value of each term,
            the lowest where reasons are those that raise the score; or the contributions to a row.
        direction : {"lower", "raise"}, default="lower"
            Whether reasons lower or raise the score, which is that of the second class.
        by : {"term", "feature"}, default="term"
            Whether a reason is a term, such as "age", "age × fare" or "age (trees)", or a column: the sum over its
            terms, where the columns of a pair or a combination share it evenly.
        class_ : label, default=None
            One of `classes_`, needed with more than two classes: reasons are those of its score against the rest.

        Returns
        -------
        reasons : Reasons
            The names of the reasons of each row, the strongest first, and the differences in log-odds.

        Raises
        ------
        ValueError
            If k is below one, or a name is none of those above.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]]
        >>> model = OnePassGAM(interactions=0).fit(rows * 30, [0, 0, 1, 1] * 30)
        >>> [reason.name for reason in model.reasons([[0.0, 5.0]], reference="best")[0]]
        ['x0']
        """
        with reading(self), self._threads():
            check_is_fitted(self)
            k = check_reasons(k, reference, direction, by)
            rows, _ = next_rows(self, X, self._columns, learn=False)
            if not isinstance(reference, str):
                reference, _ = next_rows(self, reference, self._columns, learn=False)
                if len(reference) != 1:
                    raise ValueError(
                        f"The 'reference' parameter of reasons must be one row. Got {len(reference)} rows."
                    )
            features = input_features(self._columns, self._column_names()) if by == FEATURE else None
            return find_reasons(self._terms(class_), rows, k, reference, direction, features)

    @property
    def basis_(self) -> Basis:
        """The basis expansion; until it is fixed, that of the rows so far."""
        with reading(self):
            return self._fitted.current.basis

    @property
    def terms_(self) -> list[Term] | list[list[Term]]:
        """Every term with standard errors, the most important first; of more than two classes a list for each."""
        with reading(self):
            lists = [terms.list_terms() for terms in self._terms_of_all()]
        return lists[0] if len(lists) == 1 else lists

    def plot_term(self, name: str, ax: Axes | None = None, *, class_: object = None) -> Axes:
        """Draw a term: a curve, levels, or a pair as a heat map.

        Curves have a band, and levels bars, of two standard errors; each tick along the bottom of a curve stands for
        one percent of the rows. Cells of a pair are pale where the value is within two standard errors of zero.

        Parameters
        ----------
        name : str
            The name of a term in `terms_`.
        ax : matplotlib Axes, default=None
            Where to draw; by default in a new figure.
        class_ : label, default=None
            One of `classes_`, needed with more than two classes.

        Returns
        -------
        ax : matplotlib Axes
            The axes, for titles, limits and `figure.savefig`.

        Raises
        ------
        UnknownNameError
            If there is no such term: the message has the nearest names.
        ParameterError
            If the term is the share of a column in trees, which has no curve.
        MissingEngineError
            If matplotlib is not installed: the extra is `plots`.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> model = OnePassGAM().fit([[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30)
        >>> model.plot_term("x0").get_title()
        'x0'
        """
        with reading(self), self._threads():
            terms = self._terms(class_)
            term, shares = terms.term(name), terms.shares_along(name)
        from opauc.additive.terms.plots import plot_term  # which needs matplotlib

        return plot_term(term, shares, ax)

    def plot_importances(self, n: int = 15, ax: Axes | None = None, *, class_: object = None) -> Axes:
        """Draw the importances of the most important terms as bars.

        Parameters
        ----------
        n : int, default=15
            How many terms.
        ax : matplotlib Axes, default=None
            Where to draw; by default in a new figure.
        class_ : label, default=None
            One of `classes_`, needed with more than two classes.

        Returns
        -------
        ax : matplotlib Axes
            The axes.

        Raises
        ------
        MissingEngineError
            If matplotlib is not installed: the extra is `plots`.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]]
        >>> model = OnePassGAM().fit(rows * 30, [0, 0, 1, 1] * 30)
        >>> [label.get_text() for label in model.plot_importances(n=1).get_yticklabels()]
        ['x0']
        """
        n = check_param("plot_importances", "n", n, Count())
        with reading(self):
            terms = self._terms(class_).list_terms()
        from opauc.additive.terms.plots import plot_importances  # which needs matplotlib

        return plot_importances(terms, n, ax)

    @property
    def term_importances_(self) -> dict[str, float] | list[dict[str, float]]:
        """Standard deviation of each term over the rows; of more than two classes a dict for each."""
        with reading(self):
            dicts = [terms.importances() for terms in self._terms_of_all()]
        return dicts[0] if len(dicts) == 1 else dicts

    @property
    def feature_importances_(self) -> Floats:
        """Importance of each column of X: the sum of those of its terms, each of a pair having one half.

        With more than two classes it is the mean over the classes.
        """
        with reading(self):
            of_classes = [terms.input_importances() for terms in self._terms_of_all()]
            importances, names = np.mean(of_classes, axis=0), self._column_names()
        of_columns = dict.fromkeys(names, 0.0)
        for name, importance in zip(input_features(self._columns, names), importances.tolist(), strict=True):
            of_columns[name] += importance
        return np.array(list(of_columns.values()))

    @property
    def selection_(self) -> ModelSelection | list[ModelSelection]:
        """Which candidate model was selected, and how each ranked the rows after the initial sample.

        With more than two classes there is one for each.
        """
        with reading(self):
            selections = [fit.final.selection for fit in self._fitted.class_fits]
        return selections[0] if len(selections) == 1 else selections

    @property
    def objective_selection_(self) -> ObjectiveSelection:
        """The candidates for a partial AUC, what each reached on rows held out, and the one taken."""
        with reading(self):
            check_is_fitted(self)
            objective = self._fitted.current.model.objective
        if objective is None:
            raise AttributeError("objective_selection_ needs objective='pauc'")
        return objective.selection

    @property
    def group_counts_(self) -> GroupCounts:
        """How many groups have rows of both classes, how many of one, and the rows that are not used."""
        with reading(self):
            check_is_fitted(self)
            counts = self._fitted.group_counts
        if counts is None:
            raise AttributeError("group_counts_ needs groups in fit")
        return counts

    @property
    def leaks_(self) -> list[Leak]:
        """Columns that alone rank nearly all rows rightly, the best first."""
        with reading(self):
            return find_leaks(self._fitted, self._input_names())

    @property
    def drift_(self) -> list[FeatureDrift]:
        """Features whose values after the initial sample do not look like those before."""
        with reading(self):
            return find_drift(self._fitted, self._input_names())

    @property
    def dropped_columns_(self) -> tuple[str, ...]:
        """Columns the model does not use, such as identifiers, free text and constants."""
        with reading(self):
            names, columns = self._column_names(), self._columns
        used = set(names if columns is None else (column.name for column in columns.columns))
        return tuple(name for name in names if name not in used)

    def _summary(self) -> FittedSummary | None:
        """Return the most important terms, and the progressive AUC of the selected model."""
        if not self._fitted.counts.all_seen:
            return None
        if self.classes_.size > 2:
            return self._summary_of_all()
        with self._threads():
            terms, selection = self._terms().list_terms(), self._fitted.final.selection
        parts = [ShownPart(term.name, term.importance, term.direction()) for term in terms[:MAX_ROWS]]
        auc = ""
        if selection.model in selection.aucs:
            rows = f"{sum(selection.rows):,.0f} rows after the initial sample"
            auc = f"Progressive AUC {auc_text(selection.aucs[selection.model])} on the {rows}"
        return FittedSummary(parts, len(terms), "term", "importance", auc)

    def _summary_of_all(self) -> FittedSummary:
        """Return the terms of several classes with the largest mean importance."""
        with self._threads():
            of_classes = [terms.importances() for terms in self._terms_of_all()]
        means = dict.fromkeys((name for importances in of_classes for name in importances), 0.0)
        for importances in of_classes:
            for name, importance in importances.items():
                means[name] += importance / len(of_classes)
        best = sorted(means, key=lambda name: -means[name])[:MAX_ROWS]
        parts = [ShownPart(name, means[name], NO_DIRECTION) for name in best]
        return FittedSummary(parts, len(means), "term", f"mean importance for {len(of_classes)} classes")

    def _warnings(self) -> list[Leak | FeatureDrift]:
        """Return the leaks once the basis is fixed, which would have to be fitted at every batch before; and drift."""
        return [*([] if self._fitted.fixed is None else self.leaks_), *self.drift_]
