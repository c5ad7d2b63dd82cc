"""`OnePassGAM`: tables as they come, an additive model with interactions, one pass."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from opauc.errors import IncompatibleMoments
from opauc.estimators.input_checks import announced_classes
from opauc.estimators.model_lock import changing, reading
from opauc.estimators.number_rows import first_rows, next_rows
from opauc.estimators.sharded_additive import ShardedAdditive
from opauc.random_key import RandomState
from opauc.rows import Array
from opauc.training.merging import same_columns


class OnePassGAM(ShardedAdditive):
    """Generalised additive model with pairwise interactions for raw tables, from one pass: nothing to set.

    The first rows fix a card: a curve for each number, a
    level for each category, a surface for each pair of features that act
    together. From then on every row is a few sums, so that models merge and
    rows can be forgotten, exactly. How smooth each curve is is found from the
    sums alone (restricted maximum likelihood). The score is the log-odds of the
    positive class.

    The rows should come in random order, the first ones above all: a warning
    names features whose later values do not look like the first.

    Parameters
    ----------
    max_columns : int, default=2000
        Most columns in all; time grows with their square for a row, and with their cube for a solution. With
        interactions "auto" a quarter of them is kept for the leaves of trees.
    interactions : "auto", int or list of pairs, default="auto"
        How many pairs of features may act together, or which: by names or positions. With "auto" all features may
        act together beside, by trees grown on the first rows, where that pays on rows held out.
    knots : "auto" or int, default="auto"
        Most knots of a curve.
    card_rows : "auto" or int, default="auto"
        Rows that the card is fitted to: of a stream 16,384; in `fit`, where more are known to come, a third of them,
        at most 65,536.
    random_state : int, RandomState or None, default=None
        Which rows those are, where more had to be waited for.

    Attributes
    ----------
    card_ : Card
        What the columns are; `card_.probe` says what trying trees showed.
    effects_ : list of Effect
        The curve of each feature and the surface of each pair, with standard errors, the most important first;
        "age, with others" is what trees do by their splits on age, which has no curve; "shop, as a code" is what each
        whole number of a column does by itself, where such numbers turn out to be codes.
    importances_ : dict of str to float
        Standard deviation of each effect.
    guard_ : Judgement
        Which model was taken: the full one, or a simpler one that ranked the rows after the card better.
    shifted_ : list of ShiftedFeature
        Features whose values after the card do not look like those before.
    left_out_ : tuple of str
        Columns that nothing is learnt from: text nearly all of which differs, as names and identifiers do.
    classes_, n_features_in_, feature_names_in_
        As usual.

    Examples
    --------
    >>> import pandas as pd
    >>> from opauc import OnePassGAM
    >>> table = pd.DataFrame({"age": [20.0, None, 60.0, 70.0] * 30, "sex": ["f", "m", "f", "m"] * 30})
    >>> model = OnePassGAM().fit(table, [0, 0, 1, 1] * 30)
    >>> model.predict(pd.DataFrame({"age": [25.0, 65.0], "sex": ["m", "f"]}))
    array([0, 1])
    """

    def __init__(
        self,
        *,
        max_columns: int = 2000,
        interactions: str | int | Sequence[tuple[str | int, str | int]] = "auto",
        knots: str | int = "auto",
        card_rows: str | int = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.max_columns = max_columns
        self.interactions = interactions
        self.knots = knots
        self.card_rows = card_rows
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from labelled rows, in one pass over them, forgetting what was learnt before.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            A data frame of pandas, polars or pyarrow with numbers, words, truth
            values, dates and missing values, or numbers with nan where missing.
        y : array-like of shape (n_samples,)
            Two kinds of label; the greater one is the positive class.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; rows of weight zero are left out.

        Returns
        -------
        self : OnePassGAM

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> OnePassGAM().fit([[0.0], [1.0], [2.0], [4.0]] * 30, ["no", "no", "yes", "yes"] * 30).predict([[3.5]])
        array(['yes'], dtype='<U3')
        """
        with changing(self):
            self._learn(X, y, None, sample_weight, first=True, whole=True)
            counts = self.solution_.counts
            if not counts.both:
                only = self.classes_[[-1 if counts.positive > 0 else 0]].tolist()[0]
                raise ValueError(f"OnePassGAM needs rows of two classes, got one class: every row is of class {only!r}")
            _ = self.solution_.scorer
        return self

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one more chunk of labelled rows; any cut of the rows gives the same.

        It is what `fit` gives with the same `card_rows`. If this raises, or is
        interrupted, the model is as it was before.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. Categories that turn up after the card are pooled.
        classes : array-like of shape (2,), default=None
            Both class labels; needed on the first call unless y holds both.

        Returns
        -------
        self : OnePassGAM

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> model = OnePassGAM().partial_fit([[0.0], [1.0]], [-1, -1], classes=[-1, 1])
        >>> model.partial_fit([[2.0]], [1]).solution_.counts
        ClassCounts(negative=2.0, positive=1.0)
        """
        with changing(self):
            first = not self.__sklearn_is_fitted__()
            known = set() if first else {shift.name for shift in self.shifted_}
            self._learn(X, y, announced_classes(None if first else self.classes_, classes), sample_weight, first)
            if self.classes_.size < 2:
                raise ValueError(
                    "classes must be passed on the first call to partial_fit when y holds one class only, "
                    f"here {self.classes_.tolist()[0]!r}"
                )
            for shift in self.shifted_:
                if shift.name not in known:
                    warnings.warn(shift, stacklevel=2)
        return self

    def emptied(self) -> OnePassGAM:
        """Return a model with the same card that has learnt no row: shards that begin with it can be merged.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30
        >>> model = OnePassGAM().fit(rows, labels)
        >>> shards = [model.emptied().partial_fit(rows[i::2], labels[i::2]) for i in range(2)]
        >>> shards[0].merge(shards[1]).solution_.counts
        ClassCounts(negative=60.0, positive=60.0)
        """
        with reading(self):
            check_is_fitted(self)
            other = type(self)(**self.get_params(deep=False))
            other.__dict__.update(self.__dict__)
            other.solution_ = self.solution_.emptied()
            other._freeze()
            return other

    def merge(self, other: OnePassGAM) -> Self:
        """Take in all that another model with the same card learnt, as if its rows had been seen here too.

        Parameters
        ----------
        other : OnePassGAM
            A fitted model that began with the same card (`emptied`), or that has no card yet.

        Returns
        -------
        self : OnePassGAM
        """
        with changing(self, other):
            check_is_fitted(self)
            check_is_fitted(other)
            if not np.array_equal(self.classes_, other.classes_):
                raise IncompatibleMoments(
                    f"cannot merge models of classes {self.classes_.tolist()} and {other.classes_.tolist()}"
                )
            if self._input_names() != other._input_names() or not same_columns(self.columns_, other.columns_):
                raise IncompatibleMoments("cannot merge models of features with different names or categories")
            self.solution_ = self.solution_.merged(other.solution_)
        return self

    def forget(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Unlearn rows that came after the card: the model becomes what it would be had they never been seen.

        While rows still wait for a card it is fixed first. Rows that the card
        was made of are taken out of the sums; the card itself stays.

        Parameters
        ----------
        X, y, sample_weight
            Rows as they were learnt.

        Returns
        -------
        self : OnePassGAM
        """
        with changing(self):
            check_is_fitted(self)
            self.solution_ = self.solution_.with_card()
            self._freeze()
            rows, _ = next_rows(self, X, self.columns_, learn=False)
            self.solution_ = self.solution_.without(*self._labelled(rows, y, self.classes_, sample_weight)[:3])
        return self

    def _learn(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: Array | None,
        sample_weight: ArrayLike | None,
        first: bool,
        whole: bool = False,
    ) -> None:
        known = first_rows(self, X) if first else next_rows(self, X, self.columns_, learn=True)
        self.columns_ = known.columns
        rows, labels, weight, found = self._labelled(known.rows, y, classes, sample_weight)
        self.classes_ = found
        if first:
            before = self._started(known, labels.size if whole else 0)
        else:
            before = self.solution_.with_settings(self._settings())
        self.solution_ = before.after(rows, labels, weight) if labels.size else before
        self._freeze()
