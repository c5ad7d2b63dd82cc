"""What a fit looks like to a person: weights and penalties of a linear one, terms of an additive one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from opauc.api.describe_penalty import penalty_choice
from opauc.api.describe_terms import terms_of, terms_section
from opauc.api.describe_weights import largest_weights
from opauc.api.example_rows import ExampleRows
from opauc.core.fit import Fit
from opauc.core.model import Model
from opauc.linear.fit import LinearFit
from opauc.report import PenaltyChoice, TermsSection, WeightRow


@dataclass(frozen=True)
class FitDescription:
    """What a page and `opauc inspect` show of a fit; what its family does not have is empty."""

    weights: Sequence[WeightRow] = ()
    weight_order: str = ""
    penalty: PenaltyChoice | None = None
    chosen: dict[str, float] = field(default_factory=dict)
    terms: TermsSection | None = None


def describe_fit(model: Model, examples: ExampleRows | None = None) -> FitDescription:
    """Return what there is to show of the fit of a model."""
    return DESCRIBERS[model.fit.family](model, examples or ExampleRows())


def _describe_linear(model: Model, examples: ExampleRows) -> FitDescription:  # noqa: ARG001
    shown, fit = largest_weights(model), model.fit
    return FitDescription(shown.rows, shown.order, penalty_choice(model), _chosen(fit))


def _describe_additive(model: Model, examples: ExampleRows) -> FitDescription:
    terms = terms_of(model)
    return FitDescription(terms=terms_section(terms, list(examples.explained(terms))))


def _chosen(fit: Fit) -> dict[str, float]:
    return fit.chosen_settings if isinstance(fit, LinearFit) else {}


DESCRIBERS: dict[str, Callable[[Model, ExampleRows], FitDescription]] = {
    "linear": _describe_linear, "batch": _describe_linear, "additive": _describe_additive
}  # fmt: skip
