"""Weights of the leaves of trees, learnt all at once instead of tree by tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.column_groups import ColumnGroups, Group, GroupKind
from opauc.learners.additive.fellner_schall import smoothed
from opauc.learners.additive.penalties import Penalties
from opauc.rows import Floats, Labels
from opauc.statistics.linearised_sums import LinearisedSums

# How strongly leaves are held to zero before rows say it, and steps to learn that from these.
FIRST_STRENGTH, STEPS = 5.0, 2


def leaf_weights(leaves: NDArray[np.int32], values: Floats, scores: Floats, labels: Labels, weight: Floats) -> Floats:
    """Return the weights that one step from the values of leaves leads to, beside given scores.

    Parameters
    ----------
    leaves : ndarray of shape (n_rows, n_trees)
        The leaf of each row in each tree, numbered through all trees.
    values : ndarray of shape (n_leaves,)
        The step begins there.
    scores : ndarray of shape (n_rows,)
        What the leaves' weights are added to.
    labels, weight : ndarray of shape (n_rows,)
        Of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.learners.additive.leaf_weights import leaf_weights
    >>> leaves, labels = np.array([[0], [1]] * 500, np.int32), np.array([0, 1] * 450 + [1, 0] * 50, np.int8)
    >>> leaf_weights(leaves, np.array([-1.0, 1.0]), np.zeros(1000), labels, np.ones(1000)).round(1).tolist()
    [-1.8, 1.8]
    """
    n_rows, n_trees = leaves.shape
    # The scores are one more column, whose weight is one.
    columns = np.column_stack([np.zeros(n_rows, np.int32), leaves + np.int32(1)])
    entries = np.column_stack([scores, np.ones((n_rows, n_trees))])
    ends = np.arange(0, columns.size + 1, n_trees + 1, dtype=np.int32)
    rows = csr_array((entries.ravel(), columns.ravel(), ends), shape=(n_rows, values.size + 1))
    penalties = Penalties(ColumnGroups.of([Group(GroupKind.LEAVES, 0, values.size)]), (None,))
    sums = LinearisedSums.at(np.append(1.0, values)).update(rows, labels, weight)
    gram, moment = np.ascontiguousarray(sums.gram[1:, 1:]), sums.moment[1:] - sums.gram[1:, 0]
    return smoothed(gram, moment, penalties, np.array([FIRST_STRENGTH]), STEPS).weights
