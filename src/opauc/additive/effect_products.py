"""The products of random effects with the columns of a basis, sparse where most of them are zero."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from scipy.linalg import blas
from scipy.sparse import csr_array

from opauc.additive.sums import ROWS_PER_BLOCK, RowProducts, row_entries
from opauc.core.kernels.symmetric_matrix import clear_upper
from opauc.types import Floats

# An array (n_effects, n_columns).
Products: TypeAlias = Floats | csr_array
# Share of products other than zero below which they are sparse: a category of few rows has products with few columns.
# With .06 of them (amazon_access) sums of their squares take a tenth of the time, and solutions a third.
SPARSE_SHARE = 0.25


def sparse_if_few(products: Floats) -> Products:
    """Return products as they are, or sparse where most of them are zero.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.effect_products import sparse_if_few
    >>> sparse_if_few(np.eye(5)).nnz, type(sparse_if_few(np.eye(3))).__name__
    (5, 'ndarray')
    """
    at = np.flatnonzero(products)
    if at.size >= SPARSE_SHARE * products.size:
        return products
    ends = np.append(0, np.cumsum(np.count_nonzero(products, axis=1))).astype(np.int32)
    columns = (at % products.shape[1]).astype(np.int32)
    return csr_array((products.ravel()[at], columns, ends), shape=products.shape)


def products_gram(products: Products, weight: Floats) -> Floats:
    """Return the lower triangle of the sum of weight * row row^T over the rows of products.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.additive.effect_products import products_gram
    >>> products_gram(csr_array([[1.0, 0.0], [1.0, 3.0]]), np.array([5.0, 2.0])).round(9).tolist()
    [[7.0, 0.0], [6.0, 18.0]]
    """
    if not isinstance(products, csr_array):
        return np.tril(blas.dsyrk(1.0, (products * np.sqrt(weight)[:, None]).T, lower=1))
    n_rows, n_columns = products.shape
    sums = RowProducts(np.zeros((n_columns, n_columns)))
    for start in range(0, n_rows, ROWS_PER_BLOCK):
        block = slice(start, start + ROWS_PER_BLOCK)
        sums.add(row_entries(products, block), weight[block])
    gram = sums.finish()
    clear_upper(gram)
    return gram
