"""What the splits of a tree ensemble on each input add to the scores of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.bins import MAX_CODES
from opauc.additive.basis.ensemble import TreeEnsemble
from opauc.additive.kernels.trees import add_path_shares, write_node_values
from opauc.types import Floats

# Rows by which means are taken, at most: they show them well enough.
MAX_ROWS = 8192


class TreeTerms(NamedTuple):
    """The values of the nodes of an ensemble, and the mean part of each coded column by its code.

    The value of a node is the mean weight of the leaves below it. Along the path of a row, a split gives its column the
    difference between the node that the row goes on to and its own: this is the part of the column. The mean of that
    part over rows with the same code depends on the input alone and belongs to its main effect.
    """

    ensemble: TreeEnsemble
    counts: NDArray[np.uint16]  # (n_leaves,): rows of each leaf, of at most `MAX_ROWS`
    values: Floats  # (n_splits + n_leaves,): of the splits, then of the leaves
    main: Floats  # (n_coded, MAX_CODES)

    @classmethod
    def of(
        cls, ensemble: TreeEnsemble, weights: Floats, codes: NDArray[np.uint8], has_main_effect: NDArray[np.bool_]
    ) -> TreeTerms:
        """Return the terms of an ensemble with these leaf weights, by means over coded rows.

        Inputs without a main effect keep their whole part.
        """
        codes = codes[:: max(1, -(-len(codes) // MAX_ROWS))]
        counts = np.bincount(ensemble.leaves(codes).ravel(), minlength=weights.size).astype(np.uint16)
        terms = cls.of_counts(ensemble, weights, counts, np.zeros((codes.shape[1], MAX_CODES)))
        shares = terms._column_shares(codes)
        for column in np.flatnonzero(has_main_effect[ensemble.codes.sources]).tolist():
            terms.main[column] = _mean_by_code(codes[:, column], shares[:, column])
        return terms

    @classmethod
    def of_counts(cls, ensemble: TreeEnsemble, weights: Floats, counts: NDArray[np.uint16], main: Floats) -> TreeTerms:
        """Return the terms of an ensemble with these leaf weights and counts of rows, given the main effects."""
        n_splits = ensemble.splits.columns.size
        mass, values = np.zeros(n_splits + weights.size), np.empty(n_splits + weights.size)
        mass[n_splits:] = counts
        write_node_values(ensemble.splits, weights, mass, values)
        return cls(ensemble, counts, values, main)

    @property
    def roots(self) -> float:
        """The sum of the values of all roots, which is part of every score."""
        return float(self.values[self.ensemble.splits.roots].sum())

    def shares(self, codes: NDArray[np.uint8], n_inputs: int) -> Floats:
        """Return the part of each input in the scores of coded rows, of shape (n_rows, n_inputs)."""
        return self._by_input(self._column_shares(codes), n_inputs)

    def main_shares(self, codes: NDArray[np.uint8], n_inputs: int) -> Floats:
        """Return what belongs to the main effect of each input in coded rows, of shape (n_rows, n_inputs)."""
        return self._by_input(self.main[np.arange(codes.shape[1]), codes], n_inputs)

    def _column_shares(self, codes: NDArray[np.uint8]) -> Floats:
        out = np.zeros(codes.shape)
        add_path_shares(codes, self.ensemble.splits, self.values, out)
        return out

    def _by_input(self, shares: Floats, n_inputs: int) -> Floats:
        """Return the sums over the coded columns of each input."""
        out = np.zeros((len(shares), n_inputs))
        for column, j in enumerate(self.ensemble.codes.sources.tolist()):
            out[:, j] += shares[:, column]
        return out


def _mean_by_code(codes: NDArray[np.uint8], shares: Floats) -> Floats:
    """Return the mean share of rows with each code; codes of no row have that of their neighbors."""
    counts = np.bincount(codes, minlength=MAX_CODES)
    means = np.bincount(codes, shares, minlength=MAX_CODES) / np.maximum(counts, 1)
    seen = np.flatnonzero(counts[1:]) + 1
    if seen.size:
        means[1:] = np.interp(np.arange(1, MAX_CODES), seen, means[seen])
    return np.asarray(means)
