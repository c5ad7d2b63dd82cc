"""`OPAUCpca`: OPAUC on the first principal components of the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import check_random_state

from opauc.baselines.batch_estimator import BatchClassifier, as_float64, solved
from opauc.baselines.projected_estimator import full_covariance
from opauc.core.parameters import Count, check_param
from opauc.linear.fit import Solved
from opauc.linear.moments.exact import ExactMoments
from opauc.types import Floats, Labels, RandomState, Rows

# Numbers of a product with the longer side of the rows held at a time: 256 MiB.
ROOM = 2**25
POWER_ROUNDS = 4
OVERSAMPLES = 10
ROWS_PER_BLOCK = 16384


class OPAUCpca(BatchClassifier):
    """OPAUC with full covariance matrices on the first `n_components` principal components of the rows.

    With V the leading eigenvectors of the covariance of all rows, whatever
    their class, OPAUC learns v from the rows x.V, and w = V v scores the rows
    themselves. No labels are used to find V.

    Source: OPAUC^pca in W. Gao, R. Jin, S. Zhu, Z.-H. Zhou, One-pass AUC
    optimization, ICML 2013, with 1,000 components, where one descent follows.
    That is `solver="sgd"` here; the default solves for the minimizer.

    Components are found by block power iteration from random vectors, the
    randomized singular value decomposition of Halko, Martinsson and Tropp
    (2011), on the shorter side of the rows: neither sparse rows, centered only
    in thought, nor V itself are ever written out where there are more features
    than rows. Where the shorter side is at most twice n_components, an exact
    decomposition is cheaper and is used. Memory: the shorter side times
    n_components, three times, and 256 MiB.

    Parameters
    ----------
    n_components : int, default=1000
        Number of components; fewer if the rows have fewer directions of any variance.
    solver : {"exact", "sgd"}, default="exact"
        As in `OPAUC`.
    alpha, eta0, learning_rate, average
        As in `OPAUC`.
    random_state : int, RandomState instance or None, default=None
        Seed of the first vectors of the power iteration.

    Attributes
    ----------
    explained_variance_ : ndarray of shape (n_components_,)
        Variances of the components, with the number of rows as divisor, falling.
    n_components_ : int
        Number of components.
    classes_, coef_, intercept_, n_features_in_, feature_names_in_
        As in `OPAUC`.

    Examples
    --------
    >>> from opauc.baselines.opauc_pca import OPAUCpca
    >>> model = OPAUCpca(n_components=1, alpha=0.0).fit([[0.0, 0.0], [0.0, 4.0]], [0, 1])
    >>> model.coef_.round(6), model.explained_variance_.round(6)
    (array([[0.  , 0.25]]), array([4.]))
    """

    _published = ("n_components_", "explained_variance_")

    explained_variance_: Floats
    n_components_: int

    def __init__(
        self,
        *,
        n_components: int = 1000,
        solver: str = "exact",
        alpha: float = 1e-4,
        eta0: float = 1e4,
        learning_rate: str = "theorem",
        average: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.alpha = alpha
        self.eta0 = eta0
        self.learning_rate = learning_rate
        self.average = average
        self.random_state = random_state

    def _solve(self, rows: Rows, labels: Labels) -> Solved:
        owner = type(self).__name__
        size = min(check_param(owner, "n_components", self.n_components, Count()), *rows.shape)
        learner = full_covariance(owner, self.get_params(deep=False), size)
        centered = _Centred(as_float64(rows))
        vectors, values = centered.leading(size, check_random_state(self.random_state))
        state = learner.start(values.size)
        for start in range(0, labels.size, ROWS_PER_BLOCK):
            part = slice(start, start + ROWS_PER_BLOCK)
            state = learner.step(state, centered.components(part, vectors, values), labels[part])
        weights = centered.weights_of(learner.weights(state), vectors, values)
        found = {"n_components_": values.size, "explained_variance_": (values / labels.size).tolist()}
        return solved(weights, centered.rows @ weights, labels, **found)


def principal_components(rows: Rows, n_components: int, random_state: RandomState) -> Floats:
    """Return rows in the coordinates of their leading principal components, by falling variance.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.opauc_pca import principal_components
    >>> np.ptp(principal_components(np.array([[0.0, 0.0], [3.0, 4.0]]), 1, 0)).round(6)
    np.float64(5.0)
    """
    centered = _Centred(as_float64(rows))
    vectors, values = centered.leading(min(n_components, *rows.shape), check_random_state(random_state))
    return centered.components(slice(None), vectors, values)


class _Centred:
    """Rows X less their mean, in thought only, and the eigenvectors on their shorter side.

    Wide rows, more features than rows, have the eigenvectors U of X X^T; then
    V = X^T U / sqrt(values) and X V = U sqrt(values). Others have V itself.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._mean = np.asarray(rows.mean(axis=0)).ravel()
        self._wide = rows.shape[0] < rows.shape[1]

    def leading(self, size: int, random: np.random.RandomState) -> tuple[Floats, Floats]:
        """Return the `size` leading eigenvectors of the shorter side, and their eigenvalues; not those of rounding."""
        short = min(self.rows.shape)
        if short <= 2 * size:
            matrix = self._squared(np.eye(short)) if self._wide else ExactMoments.of(self.rows).scatter
            values, vectors = eigh(matrix, subset_by_index=(short - size, short - 1))
        else:
            values, vectors = _power_iteration(self._squared, short, size, random)
        values, vectors = values[::-1], vectors[:, ::-1]
        kept = max(1, int((values > short * np.finfo(float).eps * values[0]).sum()))
        return np.ascontiguousarray(vectors[:, :kept]), np.maximum(values[:kept], 0.0)

    def components(self, part: slice, vectors: Floats, values: Floats) -> Floats:
        """Return some rows times V; where V is at hand, without the mean taken off, which OPAUC does not feel."""
        return vectors[part] * np.sqrt(values) if self._wide else self.rows[part] @ vectors

    def weights_of(self, weights: Floats, vectors: Floats, values: Floats) -> Floats:
        """Return V times the weights."""
        if not self._wide:
            return vectors @ weights
        lengths = np.sqrt(np.where(values > 0.0, values, np.inf))
        return self._transposed_times((vectors @ (weights / lengths))[:, None])[:, 0]

    def _squared(self, block: Floats) -> Floats:
        """Return X X^T, of wide rows, or X^T X times the block, a few columns at a time."""
        first, second = self._times, self._transposed_times
        if self._wide:
            first, second = second, first
        width = max(1, ROOM // max(self.rows.shape))
        parts = [second(first(block[:, start : start + width])) for start in range(0, block.shape[1], width)]
        return np.hstack(parts)

    def _times(self, block: Floats) -> Floats:
        product: Floats = self.rows @ block
        product -= self._mean @ block
        return product

    def _transposed_times(self, block: Floats) -> Floats:
        product: Floats = self.rows.T @ block
        product -= np.outer(self._mean, block.sum(axis=0))
        return product


def _power_iteration(
    multiply: Callable[[Floats], Floats], length: int, size: int, random: np.random.RandomState
) -> tuple[Floats, Floats]:
    """Return the leading eigenvalues, rising, of a symmetric map of vectors of that length, and their vectors."""
    basis = random.normal(size=(length, min(size + OVERSAMPLES, length)))
    for _ in range(POWER_ROUNDS):
        basis = np.linalg.qr(multiply(basis))[0]
    values, turn = np.linalg.eigh(basis.T @ multiply(basis))
    return values[-size:], basis @ turn[:, -size:]
