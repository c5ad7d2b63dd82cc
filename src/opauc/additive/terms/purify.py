"""The main effects inside other terms: what a pair or a tree ensemble does by one input alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from opauc.additive.basis.basis import Basis
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, NUMERIC
from opauc.additive.policy import BASIS_POLICY, BasisPolicy
from opauc.types import Floats

# Eigenvalues of a correlation matrix below this share of the largest are zero but for rounding.
ROUNDING = 1e-13


class InputFunctions(NamedTuple):
    """Functions of one input that add up to one, as weights of the intercept and of the columns of its main effect."""

    columns: NDArray[np.int64]
    weights: Floats  # (n_functions, n_columns)


def input_functions(basis: Basis, j: int, policy: BasisPolicy = BASIS_POLICY) -> InputFunctions:
    """Return the functions of an input along which other terms are averaged.

    They are its two values, its places in pairs, or the hat functions of a few knots: those of its pairs,
    interpolated at the knots of its curve, or some of the knots of the curve. A numeric input without a curve has a
    constant and its linear term. Missing values have a function of their own.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.terms.purify import input_functions
    >>> basis = Basis.of(np.array([[0.0], [1.0], [np.nan]]), np.ones(3), np.zeros(1, bool), n_knots=8)
    >>> columns, weights = input_functions(basis, 0)
    >>> columns.tolist(), weights.tolist()
    ([0, 1, 2], [[1.0, -1.0, -1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    """
    tables, own = basis.tables, basis.effects[(j,)]
    columns = np.append(0, np.arange(own.start, own.stop))
    kind, (linear, first, missing) = tables.kinds[j], tables.columns[j].tolist()
    n_places = int(tables.pair_sizes[j])
    functions = np.zeros((0, columns.size))
    if kind == CATEGORICAL:
        places = tables.pair_levels[tables.pair_level_ends[j] : tables.pair_level_ends[j + 1]]
        places = places if n_places else np.arange(tables.n_levels[j])
        functions = np.zeros((int(places.max()) + 1, columns.size))
        functions[places, first + np.arange(places.size) - own.start + 1] = 1.0
    elif kind == NUMERIC and first >= 0:
        knots = tables.knots[tables.knot_ends[j] : tables.knot_ends[j + 1]]
        few = np.linspace(0, knots.size - 1, min(knots.size, policy.max_pair_knots)).round().astype(np.int64)
        nodes = tables.pair_knots[tables.pair_knot_ends[j] : tables.pair_knot_ends[j + 1]] if n_places else knots[few]
        functions = np.zeros((nodes.size, columns.size))
        for function, heights in zip(functions, np.eye(nodes.size), strict=True):
            function[first - own.start + 1 :][: knots.size] = np.interp(knots, nodes, heights)
    elif kind in (BINARY, NUMERIC):
        functions = np.zeros((2, columns.size))
        functions[:, [0, linear - own.start + 1]] = [[1.0, -1.0], [0.0, 1.0]]
    if missing >= 0:
        is_missing = (columns == missing).astype(np.float64)
        functions = np.vstack([functions - np.outer(functions[:, 0], is_missing), is_missing])
    return InputFunctions(columns, functions)


class MainPart(NamedTuple):
    """The part of a term that is a sum of functions of single inputs, as a linear map of the weights of the term.

    `maps` has a matrix for each input: times the weights of the term, it gives weights of the `columns` of the input.
    """

    inputs: tuple[int, ...]
    columns: tuple[NDArray[np.int64], ...]
    maps: tuple[Floats, ...]


def find_main_part(basis: Basis, gram: Floats, inputs: tuple[int, ...], columns: NDArray[np.int64]) -> MainPart:
    """Return what a term with these columns does by each of these inputs alone: a weighted functional ANOVA.

    It is the weighted least-squares fit of `input_functions` to the term. What is left of the term has a mean of zero
    along each of these functions, weighted as in `gram`, the Gram matrix of all columns or its lower triangle.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.basis.pairs import PairBasis
    >>> from opauc.additive.terms.purify import find_main_part
    >>> rows = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> main = Basis.of(rows, np.ones(4), np.zeros(2, bool), n_knots=8)
    >>> basis = main.with_pairs([PairBasis(1)] * 2, np.array([[0, 1]], np.int32), [np.ones(1, bool)], 1)
    >>> gram = (basis.rows(rows).T @ basis.rows(rows)).toarray()
    >>> inputs, columns, maps = find_main_part(basis, gram, (0, 1), np.array([3]))
    >>> main = sum(basis.rows(rows)[:, at] @ matrix[:, 0] for at, matrix in zip(columns, maps))
    >>> (rows.prod(axis=1) - main).round(6).tolist()
    [0.25, -0.25, -0.25, 0.25]
    """
    functions = [input_functions(basis, j) for j in inputs]
    at = np.concatenate([part.columns for part in functions])
    weights = block_diag(*(part.weights for part in functions))
    matrix, products = (weights @ gram[np.maximum.outer(at, of), np.minimum.outer(at, of)] for of in (at, columns))
    matrix = matrix @ weights.T
    diagonal = np.diagonal(matrix)
    has_rows = diagonal > ROUNDING * max(float(diagonal.max()), 1e-300)  # a pooled category may have none
    scale = np.where(has_rows, np.sqrt(np.where(has_rows, diagonal, 1.0)), np.inf)
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    is_zero = values <= ROUNDING * max(values[-1], 1e-300)
    inverse = np.where(is_zero, 0.0, 1.0 / np.where(is_zero, 1.0, values))
    fit = (vectors @ (inverse[:, None] * (vectors.T @ (products / scale[:, None])))) / scale[:, None]
    ends = np.cumsum([len(part.weights) for part in functions])
    maps = [part.weights.T @ rows for part, rows in zip(functions, np.split(fit, ends[:-1]), strict=True)]
    return MainPart(inputs, tuple(part.columns for part in functions), tuple(maps))
