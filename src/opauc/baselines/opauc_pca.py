"""`OPAUCpca`: OPAUC on the leading principal components of the rows."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator
from sklearn.utils import check_random_state

from opauc.baselines.batch import BatchClassifier, as_float64, from_weights
from opauc.baselines.projected import ReducedParameters, full_covariance_solver
from opauc.core.fit import BatchFit
from opauc.core.parameters import Count, check_param
from opauc.estimators.docstrings import own_docstrings
from opauc.linear.moments.exact import ExactMoments
from opauc.types import Floats, Labels, RandomState, Rows

ROWS_PER_BLOCK = 16384
# Block Lanczos: vectors multiplied at once, and vectors of the Krylov basis beyond twice the components.
BLOCK_SIZE, SPARE_VECTORS = 20, 100


class PrincipalComponents:
    """The leading principal components V of rows X, which are centered implicitly and may be sparse.

    The decomposition is that of the shorter side. Where there are more features
    than rows, it gives the left singular vectors U, and V = X^T U / s is never
    written out: X V = U s. Otherwise it gives V.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.opauc_pca import PrincipalComponents
    >>> np.ptp(PrincipalComponents(np.array([[0.0, 0.0], [3.0, 4.0]]), 1, 0).transform()).round(6)
    np.float64(5.0)
    """

    def __init__(self, rows: Rows, n_components: int, random_state: RandomState) -> None:
        self._rows = rows
        self._centered = _center(rows)
        self._is_wide = rows.shape[0] < rows.shape[1]
        values, vectors = self._decompose(n_components, check_random_state(random_state))
        values, vectors = values[::-1], vectors[:, ::-1]
        n_nonzero = max(1, int((values > min(rows.shape) * np.finfo(float).eps * values[0]).sum()))
        self._vectors = np.ascontiguousarray(vectors[:, :n_nonzero])
        self._singular_values = np.sqrt(np.maximum(values[:n_nonzero], 0.0))

    @property
    def explained_variance(self) -> Floats:
        """Variances of the components in decreasing order, with the number of rows as divisor."""
        variance: Floats = self._singular_values**2 / self._rows.shape[0]
        return variance

    def transform(self, part: slice = slice(None)) -> Floats:
        """Return the components of the rows, up to a constant vector, which no pair loss depends on."""
        if self._is_wide:
            return self._vectors[part] * self._singular_values
        components: Floats = self._rows[part] @ self._vectors
        return components

    def feature_weights(self, weights: Floats) -> Floats:
        """Return the weights of the features, given those of the components: V @ weights."""
        if not self._is_wide:
            return self._vectors @ weights
        divisors = np.where(self._singular_values > 0.0, self._singular_values, np.inf)
        product: Floats = self._centered.rmatvec(self._vectors @ (weights / divisors))
        return product

    def _decompose(self, size: int, random: np.random.RandomState) -> tuple[Floats, Floats]:
        """Return the leading eigenvalues of the shorter side, increasing, and the eigenvectors."""
        n_short = min(self._rows.shape)
        if not self._is_wide and n_short <= 4 * size:
            first = max(0, n_short - size)
            values, vectors = eigh(ExactMoments.of(self._rows).scatter, subset_by_index=(first, n_short - 1))
            return values, vectors
        side = self._centered if self._is_wide else self._centered.T
        start = random.normal(size=(n_short, min(BLOCK_SIZE, n_short)))
        return _block_lanczos(side @ side.T, start, size)


def _block_lanczos(gram: LinearOperator, start: Floats, size: int) -> tuple[Floats, Floats]:
    """Return the leading eigenvalues of a symmetric operator, increasing, and the eigenvectors.

    They are those of the operator on the Krylov space of the start block, whose
    basis is orthogonalized twice; the space ends where the operator maps it to itself.
    On two sparse sets with 400 components this takes 1.8 and 1.9 s and loses 2e-4 and
    1e-4 of the variance; ARPACK (tol=0.01) takes 3.0 and 3.2 s and loses 2e-6 and less;
    scikit-learn's randomized SVD takes 7.6 and 7.2 s and loses 7e-4 and 5e-4.
    """
    n_rows, end = gram.shape[0], 0
    n_vectors = min(n_rows, 2 * size + SPARE_VECTORS)
    basis, projected = np.empty((n_rows, n_vectors), order="F"), np.zeros((n_vectors, n_vectors))
    block = np.linalg.qr(start)[0]
    while end < n_vectors:
        begin, end = end, min(end + block.shape[1], n_vectors)
        basis[:, begin:end] = block[:, : end - begin]
        known, product = basis[:, :end], gram.matmat(basis[:, begin:end])
        projected[:end, begin:end] = known.T @ product
        residual = product - known @ projected[:end, begin:end]
        if np.abs(residual).max() <= np.finfo(float).eps * np.abs(projected).max():
            break
        block = np.linalg.qr(residual)[0]
        block = np.linalg.qr(block - known @ (known.T @ block))[0]
    first = max(0, end - size)
    values, vectors = eigh(projected[:end, :end], lower=False, subset_by_index=(first, end - 1))
    return values, basis[:, :end] @ vectors


def _center(rows: Rows) -> LinearOperator:
    """Return the rows minus their mean as an operator, so that sparse rows stay sparse."""
    mean = np.asarray(rows.mean(axis=0)).ravel()

    def multiply(block: Floats) -> Floats:
        product: Floats = rows @ block - mean @ block
        return product

    def multiply_transposed(block: Floats) -> Floats:
        product: Floats = rows.T @ block - np.multiply.outer(mean, block.sum(axis=0))
        return product

    return LinearOperator(rows.shape, multiply, multiply_transposed, dtype=np.float64)


@own_docstrings("opauc.baselines")
class OPAUCpca(ReducedParameters, BatchClassifier):
    """OPAUC with full covariance matrices on the first `n_components` principal components of the rows.

    With V the leading eigenvectors of the covariance of all rows, whatever
    their class, OPAUC is trained on the rows x.V, and w = V v are the weights of
    the features. V does not depend on the labels.

    Source: OPAUC^pca in W. Gao, R. Jin, S. Zhu, Z.-H. Zhou, One-pass AUC
    optimization, ICML 2013, with 1,000 components and one pass of gradient
    descent. That is `solver="sgd"` here; the default solves for the minimizer.

    Block Lanczos decomposes the shorter side of the rows. Rows are centered
    implicitly, so sparse rows stay sparse, and V is not written out where there
    are more features than rows. Memory is about three times the shorter side
    times `n_components`. Where there are at most 4 `n_components` features and at
    least as many rows, LAPACK decomposes their covariance matrix instead.

    Parameters
    ----------
    n_components : int, default=1000
        Number of components; fewer if the rows have fewer directions with variance.
    solver : {"exact", "sgd"}, default="exact"
        "exact" solves for the minimizer, "sgd" takes one gradient step per row.
    alpha : float, default=1e-4
        Ridge penalty.
    eta0 : float, default=1e4
        Step size of solver "sgd"; as in `OPAUC`.
    learning_rate : {"curvature", "constant", "invsqrt"}, default="curvature"
        Step size schedule of solver "sgd"; as in `OPAUC`.
    average : bool, default=True
        Whether solver "sgd" uses the mean of the iterates instead of the last iterate.
    random_state : int, RandomState instance or None, default=None
        Seed of the start vectors of block Lanczos.

    Attributes
    ----------
    explained_variance_ : ndarray of shape (n_components_,)
        Variances of the components in decreasing order, with the number of rows as divisor.
    n_components_ : int
        Number of components.
    classes_ : ndarray of shape (2,)
        The class labels, the positive class last.
    coef_ : ndarray of shape (1, n_features)
        Weights of the scorer.
    intercept_ : ndarray of shape (1,)
        Intercept of the scorer, midway between the class means of the scores.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had string column names.

    Examples
    --------
    >>> from opauc.baselines import OPAUCpca
    >>> model = OPAUCpca(n_components=1, alpha=0.0).fit([[0.0, 0.0], [0.0, 4.0]], [0, 1])
    >>> model.coef_.round(6), model.explained_variance_.round(6)
    (array([[0.  , 0.25]]), array([4.]))
    """

    _resolved = ("n_components_", "explained_variance_")

    explained_variance_: Floats
    n_components_: int

    def _solve(self, rows: Rows, labels: Labels) -> BatchFit:
        name, rows = type(self).__name__, as_float64(rows)
        size = min(check_param(name, "n_components", self.n_components, Count()), *rows.shape)
        solver = full_covariance_solver(name, self.get_params(deep=False), size)
        components = PrincipalComponents(rows, size, self.random_state)
        variance = components.explained_variance
        state = solver.start(variance.size)
        for start in range(0, labels.size, ROWS_PER_BLOCK):
            part = slice(start, start + ROWS_PER_BLOCK)
            state = solver.step(state, components.transform(part), labels[part])
        weights = components.feature_weights(solver.weights(state))
        return from_weights(
            weights,
            rows @ weights,
            labels,
            n_components_=variance.size,
            explained_variance_=variance.tolist(),
        )
