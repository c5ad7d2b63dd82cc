"""Change a fitted additive model without its rows: constraints and what they cost, edits and their ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self, Unpack

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from opauc.additive.constraints.constraints import Constraints
from opauc.additive.constraints.named import Bounds, ColumnPair, Columns, ConstraintOptions, NamedBasis
from opauc.additive.constraints.price import LabeledRows, Price, price
from opauc.additive.editing.edit import TermEdit, edit_term, list_edits, remove_term
from opauc.additive.estimator.fitted import FittedGAM
from opauc.additive.input import next_rows
from opauc.core.fit import only_scores
from opauc.core.transaction import reading


class GAMShaping(FittedGAM):
    """New models from the sums of one: under constraints, with terms set or removed."""

    def constrain(
        self,
        *,
        increasing: Columns = (),
        decreasing: Columns = (),
        convex: Columns = (),
        concave: Columns = (),
        without: Columns = (),
        pairs: Sequence[ColumnPair] | None = None,
        no_pairs: bool = False,
        equal_mean: Columns = (),
        bounds: Bounds | None = None,
        fixed: str | Sequence[str] = (),
    ) -> Self:
        """Return the best model of all rows seen that satisfies constraints, from the sums alone.

        The basis stays as it is, and is fixed if it was not. Weights are the exact
        minimum under the constraints, for all values of the other columns; later
        rows, `merge` and `forget` keep them so. Constraints add to those that the
        model has. This model does not change.

        Crossed codes and effects of single values of a column with a shape or a
        bound leave the model. Trees stay where columns increase or decrease, with
        leaf values in that order; they leave if they split on a column that is
        convex, concave, bounded or left out, and with `pairs`, `no_pairs` and
        `equal_mean`. A threshold of `use_threshold` is not taken over.

        Parameters
        ----------
        increasing, decreasing : str, int or list of these, default=()
            Numeric columns in which the score never falls, or never rises. Missing values are free.
        convex, concave : str, int or list of these, default=()
            Numeric columns in which the score bends upwards or downwards only, between their smallest and largest knot.
        without : str, int or list of these, default=()
            Columns that no term uses.
        pairs : list of pairs of str or int, default=None
            The only pairs that stay.
        no_pairs : bool, default=False
            Whether all pairs leave.
        equal_mean : str, int or list of these, default=()
            Columns of categories, or of two values, whose groups all have the same mean score; rows count with
            p (1 - p), as in all means of terms. Rare categories without a column of their own are one group.
        bounds : dict, default=None
            Intervals of the curve or the levels of columns, as in `terms_`, at some of their values:
            `{"age": {30: (None, 0.5)}}`, None where the interval is open.
        fixed : str or list of str, default=()
            Names of curves, levels and pairs ("age", "age × hours") whose weights stay as they are.

        Returns
        -------
        model : OnePassGAM
            The constrained model.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 1, 0, 1] * 30
        >>> model = OnePassGAM().fit(rows, labels).constrain(increasing="x0")
        >>> scores = model.decision_function([[0.0], [1.0], [2.0], [4.0]])
        >>> bool((scores[1:] > scores[:-1] - 1e-9).all())
        True
        """
        options = ConstraintOptions(
            increasing=increasing, decreasing=decreasing, convex=convex, concave=concave, without=without, pairs=pairs,
            no_pairs=no_pairs, equal_mean=equal_mean, bounds=bounds, fixed=fixed,
        )  # fmt: skip
        with reading(self):
            constraints = self._joined(self._resolve(options))
            other = self._with_fit(self._fitted.with_constraints(constraints, self._input_names()))
            other.__dict__.pop("_threshold", None)  # it was chosen for other scores
            _ = other._fitted.scorer  # constraints that no weights satisfy are an error here
            return other

    def price_of(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **constraints: Unpack[ConstraintOptions],
    ) -> Price:
        """Return what constraints cost, each by itself and all together, without applying them.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features), default=None
            Rows to measure the AUC on, best those the model was not trained on.
        y : array-like of shape (n_samples,), default=None
            Their labels, of both classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        **constraints
            Constraints as in `constrain`.

        Returns
        -------
        price : Price
            Rises of the log loss, estimated from the sums, and AUCs if rows are given.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 1, 0, 1] * 30
        >>> price = OnePassGAM().fit(rows, labels).price_of(increasing="x0", X=rows, y=labels)
        >>> price.together.log_loss > 0, price.together.auc_change <= 0
        (True, True)
        """
        if (X is None) != (y is None):
            raise ValueError("X and y: expected both or neither")
        with reading(self), self._threads():
            resolved, rows = self._resolve(constraints), None
            self._joined(resolved)
            if not resolved:
                raise ValueError("price_of: expected a constraint, such as increasing='age'")
            if X is not None and y is not None:
                numbers = next_rows(self, X, self._columns, learn=False).rows
                checked = self._check(numbers, y, self.classes_, sample_weight)
                rows = LabeledRows(numbers, checked.labels, checked.sample_weight)
            return price(self._fitted, resolved, self._input_names(), rows)

    @property
    def constraints_(self) -> list[str]:
        """The constraints that the weights satisfy, in words."""
        with reading(self):
            check_is_fitted(self)
            return self._fitted.constraints.describe(self._input_names())

    def edit(
        self,
        term: str,
        points: Sequence[tuple[float, float]] | Mapping[str, float],
        *,
        missing: float | None = None,
        who: str = "",
        why: str = "",
    ) -> Self:
        """Return a model in which a term is what you say, and all others are the optimum given that.

        The term stays as it is when the model is trained further, merged, or forgets rows; the others change. Their
        weights are computed from the sums, without the rows. Values are what `terms_` shows afterwards, also where
        pairs or trees do something by the same column alone: it is taken off. A term that is set is not centered.
        The basis is fixed from then on. What the splits of trees on the column do in addition is a term of its own,
        "age (trees)", which `remove` takes away.

        Parameters
        ----------
        term : str
            The name of a main effect in `terms_`, such as "age", or of single values, such as "shop (categorical)".
        points : list of (value, contribution) pairs, or dict of level to contribution
            For a number the points of a curve, which is linear between them and constant beyond: its values at the
            knots of the basis are taken. A number without a curve has two values. For levels their contributions;
            levels that are not given keep theirs. "(others)" are all that have no level of their own.
        missing : float, default=None
            The contribution of a missing value; None keeps it.
        who : str, default=""
            Who edits, for the ledger.
        why : str, default=""
            The reason, for the ledger.

        Returns
        -------
        model : OnePassGAM
            A new model; this one stays as it is.

        Raises
        ------
        UnknownNameError
            If there is no such term or level.
        ParameterError
            If the points are not finite, or not those of such a term.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]]
        >>> model = OnePassGAM().fit(rows * 30, [0, 0, 1, 1] * 30)
        >>> edited = model.edit("x0", [(0, -1), (4, 1)], who="ann", why="must rise evenly")
        >>> [term.value.tolist() for term in edited.terms_ if term.name == "x0"]
        [[-1.0, -0.5, 0.0, 1.0]]
        """
        with reading(self), self._threads():
            self._check_two_classes("edit")
            other = self._with_fit(self._fitted.with_basis())
            other._fitted = edit_term(other._terms(), term, points, missing, who, why)
            return other

    def remove(self, term: str, *, who: str = "", why: str = "") -> Self:
        """Return a model without a term, in which all others are the optimum given that.

        Any term can be removed: a main effect, a pair, combinations, and the share of a column in the trees. It
        contributes nothing to any score. Where the share of a column in the trees is removed, the trees end at the
        splits on it, and curves keep what the splits that are cut off did by single columns. A score does not depend
        on a column all of whose terms are removed.

        Parameters
        ----------
        term : str
            The name of a term in `terms_`.
        who : str, default=""
            Who removes it, for the ledger.
        why : str, default=""
            The reason, for the ledger.

        Returns
        -------
        model : OnePassGAM
            A new model; this one stays as it is.

        Raises
        ------
        UnknownNameError
            If there is no such term.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]]
        >>> model = OnePassGAM().fit(rows * 30, [0, 0, 1, 1] * 30).remove("x1", why="not known in advance")
        >>> model.explain(rows).contributions[:, 1].tolist()
        [0.0, 0.0, 0.0, 0.0]
        """
        with reading(self), self._threads():
            self._check_two_classes("remove")
            other = self._with_fit(self._fitted.with_basis())
            other._fitted = remove_term(other._terms(), term, who, why)
            return other

    @property
    def edits_(self) -> list[TermEdit]:
        """The ledger: every edit with who, when, why, and the values of the term before and after."""
        with reading(self):
            return list_edits(self._terms_of_all()[0])

    def _resolve(self, options: ConstraintOptions) -> Constraints:
        """Return constraints by the positions of inputs."""
        self._check_two_classes("constrain")
        if not self._fitted.can_train:
            raise only_scores()
        names, schema, parts = self._input_names(), self._columns, dict[str, list[int]]()
        for j, column in enumerate([c.name for c in schema.columns for _ in c.inputs] if schema else names):
            parts.setdefault(column, []).append(j)
        categories = [{}] * len(names) if schema is None else schema.category_names()
        named = NamedBasis(self._fitted.current.basis, names, categories, self._column_names(), parts)
        return named.resolve(options, self._fitted.final.weights)

    def _joined(self, constraints: Constraints) -> Constraints:
        """Return constraints with those that the model has; raise ParameterError where they contradict these."""
        joined = self._fitted.constraints.join(constraints)
        joined.check(self._input_names())
        return joined
