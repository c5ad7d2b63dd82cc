"""`OPAUCrp`: OPAUC on a random projection of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opauc.estimators.projected_classifier import ProjectedClassifier
from opauc.statistics.chunk_rows import Rows
from opauc.statistics.code_stream import CodeStream

Floats = NDArray[np.float64]

# Rows of the matrix drawn at a time.
FEATURES_PER_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class GaussianProjection:
    """The map from a row x to x.R, where row j of R is a function of the key and of j alone.

    R is never held: what is needed of it is drawn anew, 2,048 features at a
    time. Ranges of features are the same for every chunk, so sums over sparse
    rows do not depend on which other rows come with them.
    """

    codes: CodeStream
    n_features: int

    @classmethod
    def drawn(cls, n_components: int, random_state: Any, n_features: int) -> GaussianProjection:
        """Return a map with the key that the random state gives."""
        return cls(CodeStream.seeded(n_components, random_state, gaussian=True), n_features)

    @property
    def n_components(self) -> int:
        """Columns of R."""
        return self.codes.rank

    def project(self, rows: Rows) -> Floats:
        """Return the rows times R."""
        out = np.zeros((rows.shape[0], self.n_components))
        columns = sparse.csc_array(rows) if sparse.issparse(rows) else rows
        for part in self._ranges():
            block = columns[:, part]
            if sparse.issparse(block):
                met = np.flatnonzero(np.diff(block.indptr))
                if met.size:
                    out += block[:, met] @ self.matrix(part.start + met)
            else:
                out += block @ self.matrix(np.arange(part.start, part.stop))
        return out

    def weights_of(self, weights: Floats) -> Floats:
        """Return R times the weights."""
        parts = [self.matrix(np.arange(part.start, part.stop)) @ weights for part in self._ranges()]
        return np.concatenate(parts)

    def matrix(self, features: NDArray[np.int64]) -> Floats:
        """Return the given rows of R: independent normal numbers of variance 1 / n_components."""
        return self.codes.codes(features)[:, : self.n_components]

    def _ranges(self) -> Iterator[slice]:
        for start in range(0, self.n_features, FEATURES_PER_BLOCK):
            yield slice(start, min(start + FEATURES_PER_BLOCK, self.n_features))


class OPAUCrp(ProjectedClassifier):
    """OPAUC with full covariance matrices on a Gaussian projection of the rows to `n_components` dimensions.

    Rows x become x.R with R of independent normal entries of mean zero and
    variance 1 / n_components; OPAUC learns v from them, and w = R v scores the
    rows themselves.

    Source: OPAUC^rp in W. Gao, R. Jin, S. Zhu, Z.-H. Zhou, One-pass AUC
    optimization, ICML 2013, with 1,000 dimensions, where one descent follows.
    That is `solver="sgd"` here; the default solves for the minimiser.

    R is not kept, for with 1.4 million features it would take 11 GB. Each of
    its rows is drawn from the random state and the feature's number whenever a
    chunk has the feature, at some 30 ns a number, so large chunks are cheaper:
    a chunk of n rows takes n + 2,048 vectors of n_components numbers beside
    the statistics, n being at most 16,384. The first use of `coef_` draws R
    once in full.

    Parameters
    ----------
    n_components : int, default=1000
        Dimensions to project to; as many as there are features, if that is less.
    solver : {"exact", "sgd"}, default="exact"
        As in `OPAUC`.
    alpha, eta0, learning_rate, average
        As in `OPAUC`.
    random_state : int, RandomState instance or None, default=None
        Of the projection.

    Attributes
    ----------
    n_components_ : int
        Dimensions of the projected rows.
    classes_, coef_, intercept_, moments_, n_features_in_, feature_names_in_
        As in `OPAUC`; statistics are those of the projected rows.

    Examples
    --------
    >>> from opauc.baselines.opauc_rp import OPAUCrp
    >>> model = OPAUCrp(n_components=1, alpha=0.0, random_state=0).fit([[0.0, 0.0], [2.0, 4.0]], [0, 1])
    >>> model.decision_function([[0.0, 0.0], [2.0, 4.0]]).round(6)
    array([-0.5,  0.5])
    """

    _projection = GaussianProjection
