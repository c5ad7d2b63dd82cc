"""The penalty that a model chose, what the others scored, and the weights they would have led to."""

from __future__ import annotations

import numpy as np

from opauc.api.describe_weights import feature_name, largest_places, spread_of
from opauc.core.model import Model
from opauc.linear.fit import LinearFit
from opauc.report import PenaltyChoice
from opauc.types import Json

DRAWN_FEATURES = 8


def penalty_choice(model: Model) -> PenaltyChoice | None:
    """Return what the choice came to; None of a model whose penalty was given."""
    fit = model.fit
    if not isinstance(fit, LinearFit) or (found := fit.selection) is None:
        return None
    spread = spread_of(model)
    path = fit.path(found.alphas.tolist())
    effects = path if spread is None else path * spread.deviations
    drawn = [j for j in largest_places(effects[found.chosen], DRAWN_FEATURES) if effects[found.chosen, j]]
    sign = -1.0 if found.criterion == "pair_loss" else 1.0
    nothing = np.zeros(found.alphas.size)
    return PenaltyChoice(
        alphas=found.alphas,
        criterion=found.criterion,
        means=sign * found.means() if found.n_folds else nothing,
        errors=found.errors(),
        chosen=found.chosen,
        one_standard_error=found.within_one_error(),
        n_folds=found.n_folds,
        names=[feature_name(model, j) for j in drawn],
        standardized_weights=effects[:, drawn],
    )


def penalty_in_words(found: PenaltyChoice) -> dict[str, str]:
    """Return what each penalty scored, one a line, with what was chosen."""
    lines = {}
    for number, (alpha, mean, error) in enumerate(zip(found.alphas, found.means, found.errors, strict=True)):
        marks = [
            word
            for word, at in (("chosen", found.chosen), ("one standard error", found.one_standard_error))
            if at == number
        ]
        score = f"{mean:.5f} ± {error:.5f}" if found.n_folds else "not judged"
        lines[f"{alpha:.4g}"] = f"{score}{'  ← ' if marks else ''}{', '.join(marks)}"
    return lines


def penalty_as_json(found: PenaltyChoice | None) -> Json | None:
    """Return the choice as a JSON line has it."""
    if found is None:
        return None
    return {
        "criterion": found.criterion, "cv": found.n_folds, "alphas": found.alphas.tolist(),
        "means": found.means.tolist(), "standard_errors": found.errors.tolist(),
        "alpha": float(found.alphas[found.chosen]),
        "one_standard_error_alpha": float(found.alphas[found.one_standard_error]),
    }  # fmt: skip
