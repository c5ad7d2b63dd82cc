"""What an additive model minimizes where it is judged by the partial AUC: rows weighted by a fixed first score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.core.partial_auc import LOGISTIC, ObjectiveSelection, TopWeight, mixture_name
from opauc.errors import IncompatibleMomentsError
from opauc.types import Arrays, Floats, Labels, NamedArrays

AUC, PAUC = OBJECTIVES = ("auc", "pauc")
OBJECTIVE_SCHEMA = {
    "max_fpr": ArrayRule("float64", low=0, high=1),
    "mixtures": ArrayRule("float64", "mixtures 2", low=0, high=1),
    "partial_aucs": ArrayRule("float64", "judged"),
    "errors": ArrayRule("float64", "judged", low=0),
    "chosen": ArrayRule("int64", low=0),
    "top": ArrayRule("float64", "4"),
}
# The weights of the plain likelihood.
UNWEIGHTED = TopWeight(0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Objective:
    """The candidates for a partial AUC, how they ranked rows held out, and the weights of rows in the one chosen.

    Examples
    --------
    >>> from opauc.additive.objective import Objective
    >>> plain = Objective.plain(0.01)
    >>> plain.selection.candidates, plain.is_weighted
    (('logistic',), False)
    """

    max_fpr: float
    mixtures: Floats  # (n, 2): of each, the share on the top negatives, and how many of all those are
    partial_aucs: Floats  # of the plain likelihood and each mixture, or none where they could not be compared
    errors: Floats
    chosen: int = 0
    top: TopWeight = UNWEIGHTED

    @classmethod
    def plain(cls, max_fpr: float) -> Self:
        """Return the plain likelihood, where rows are too few to compare it with mixtures."""
        return cls(max_fpr, np.empty((0, 2)), np.empty(0), np.empty(0))

    @property
    def is_weighted(self) -> bool:
        """Whether a mixture was chosen."""
        return self.chosen > 0

    @property
    def selection(self) -> ObjectiveSelection:
        """The candidates and the one taken."""
        names = (LOGISTIC, *(mixture_name(share, top) for share, top in self.mixtures.tolist()))
        return ObjectiveSelection(names, tuple(self.partial_aucs.tolist()), tuple(self.errors.tolist()), self.chosen)

    def weights(self, scores: Floats, labels: Labels, weight: Floats | None) -> Floats:
        """Return the weights of rows in the loss, given their scores at the expansion point."""
        factors = np.where(labels == 1, 1.0, self.top.factors(scores))
        return factors if weight is None else factors * weight

    def is_same(self, other: Objective | None) -> bool:
        """Tell whether rows weigh the same in both."""
        return other is not None and (self.max_fpr, self.top) == (other.max_fpr, other.top)

    def to_arrays(self) -> Arrays:
        """Return copies of all parts as arrays."""
        return {
            "max_fpr": np.array(self.max_fpr),
            "mixtures": self.mixtures.copy(),
            "partial_aucs": self.partial_aucs.copy(),
            "errors": self.errors.copy(),
            "chosen": np.array(self.chosen, np.int64),
            "top": np.array(self.top),
        }

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the objective from `to_arrays`; raise IncompatibleMomentsError if it is invalid."""
        sizes = check_arrays(OBJECTIVE_SCHEMA, arrays)
        top, chosen = TopWeight(*arrays["top"].tolist()), int(arrays["chosen"])
        judged = {0, 1 + sizes["mixtures"]}
        if sizes["judged"] not in judged or chosen > sizes["mixtures"] or not float(arrays["max_fpr"]) > 0.0:
            raise IncompatibleMomentsError("objective: expected a figure for each candidate, and one of them chosen")
        if not (0.0 <= top.share < 1.0 and top.width > 0.0 and top.mean > 0.0):
            raise IncompatibleMomentsError("objective: expected a share below 1, and a positive width and mean")
        mixtures, partial_aucs, errors = (np.array(arrays[name]) for name in ("mixtures", "partial_aucs", "errors"))
        return cls(float(arrays["max_fpr"]), mixtures, partial_aucs, errors, chosen, top)
