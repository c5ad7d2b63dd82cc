"""`OPAUCf`: OPAUC on features drawn at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

from opauc.estimators.projected_classifier import ProjectedClassifier
from opauc.statistics.chunk_rows import Rows

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FeatureSubset:
    """The map from a row to some of its features."""

    features: NDArray[np.int64]
    n_features: int

    @classmethod
    def drawn(cls, n_components: int, random_state: Any, n_features: int) -> FeatureSubset:
        """Return a map to features of which every choice is as likely as any other."""
        drawn = sample_without_replacement(n_features, n_components, random_state=random_state)
        return cls(np.sort(drawn).astype(np.int64), n_features)

    @property
    def n_components(self) -> int:
        """Number of features kept."""
        return self.features.size

    def project(self, rows: Rows) -> Rows:
        """Return the kept columns; those of sparse rows stay sparse."""
        return rows[:, self.features]

    def weights_of(self, weights: Floats) -> Floats:
        """Return the weights at their features, zero elsewhere."""
        out = np.zeros(self.n_features)
        out[self.features] = weights
        return out


class OPAUCf(ProjectedClassifier):
    """OPAUC with full covariance matrices on `n_components` features drawn at random.

    The objective is that of `OPAUC` with w zero outside the features drawn,
    all subsets of them being equally likely.

    Source: OPAUC^f in W. Gao, R. Jin, S. Zhu, Z.-H. Zhou, One-pass AUC
    optimization, ICML 2013, where 1,000 features are drawn and one descent
    follows. That is `solver="sgd"` here; the default solves for the minimiser.

    Parameters
    ----------
    n_components : int, default=1000
        Number of features to draw; all are taken if there are no more.
    solver : {"exact", "sgd"}, default="exact"
        As in `OPAUC`.
    alpha, eta0, learning_rate, average
        As in `OPAUC`.
    random_state : int, RandomState instance or None, default=None
        Of the features drawn.

    Attributes
    ----------
    features_ : ndarray of shape (n_components_,)
        Numbers of the features drawn, rising.
    n_components_ : int
        How many there are.
    classes_, coef_, intercept_, moments_, n_features_in_, feature_names_in_
        As in `OPAUC`; statistics are those of the features drawn.

    Examples
    --------
    >>> from opauc.baselines.opauc_f import OPAUCf
    >>> model = OPAUCf(n_components=1, alpha=0.0, random_state=0).fit([[0.0, 0.0], [2.0, 4.0]], [0, 1])
    >>> model.features_, model.coef_
    (array([1]), array([[0.  , 0.25]]))
    """

    _projection = FeatureSubset

    @property
    def features_(self) -> NDArray[np.int64]:
        """Numbers of the features drawn."""
        features: NDArray[np.int64] = self.solution_.state.projection.features
        return features
