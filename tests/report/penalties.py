"""Penalty selections for the report."""

import numpy as np

from opauc.report import PenaltyChoice

HOSTILE = "<b>&\"'\x00\u202e https://example.org"


def penalty_choice(**changes):
    """A selection among 13 penalties in five folds, with eight features of which one has a hostile name."""
    alphas = 10.0 ** np.linspace(-6, 1, 13)
    means = 0.3 + 0.02 * (np.log10(alphas) + 2) ** 2 / 10
    weights = np.outer(1 / (1 + alphas), [3.0, -2.0, 1.5, 0.1, 0.1, -0.1, 0.1, 0.1])
    names = [HOSTILE, "x" * 120, *(f"feature {k}" for k in range(6))]
    fields = {"alphas": alphas, "criterion": "pair_loss", "means": means, "errors": np.full(13, 0.004), "chosen": 7}
    return PenaltyChoice(
        **(fields | {"one_standard_error": 9, "n_folds": 5, "names": names, "standardized_weights": weights} | changes)
    )
