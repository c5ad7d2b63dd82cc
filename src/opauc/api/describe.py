"""What a fit looks like to a person: weights and penalties of a linear one, terms of an additive one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from opauc.additive.basis.column_names import CATEGORICAL_SUFFIX, TREES_SUFFIX
from opauc.additive.drift import find_drift
from opauc.additive.editing.edit import TermEdit, list_edits
from opauc.additive.leaks import find_leaks
from opauc.additive.selection import ADDITIVE, CERTAIN_PAIRS, FULL, LINEAR, PAIRS, SAMPLE, ModelSelection
from opauc.additive.state import AdditiveFit
from opauc.additive.terms.explain import Terms
from opauc.additive.terms.term_sums import TermColumns
from opauc.core.fit import BatchFit, only_two_classes
from opauc.core.labels import shown_label
from opauc.core.mergeable import FeatureSpread
from opauc.core.model import Model
from opauc.core.registry import TERMS
from opauc.core.scorer import WeightScorer
from opauc.errors import UnsupportedOperationError
from opauc.linear.fit import LinearFit
from opauc.report import (
    CandidateRow,
    Contribution,
    EditRow,
    ExplainedRow,
    PenaltyChoice,
    ShownTerm,
    TermsSection,
    WeightRow,
)
from opauc.report.page import MAX_WEIGHTS, edit_range
from opauc.report.text import share
from opauc.types import Array, Floats, Json, Labels

# Features whose weights are drawn along the path of penalties, and terms that `opauc inspect` lists.
MAX_PATHS, MAX_TERMS = 8, 20
# Whole numbers below this are shown in full: they may be codes.
MAX_SHOWN_IN_FULL = 1e12
# The candidate models of an additive fit, described.
CANDIDATES = {
    LINEAR: "straight lines and levels",
    ADDITIVE: "curves and levels, no pairs",
    CERTAIN_PAIRS: "only pairs that are certain",
    PAIRS: "curves, levels and pairs",
    FULL: "everything",
}


@dataclass(frozen=True)
class FitDescription:
    """What a page and `opauc inspect` show of a fit; what its family does not have is empty."""

    weights: Sequence[WeightRow] = ()
    weight_order: str = ""
    penalty: PenaltyChoice | None = None
    chosen: dict[str, float] = field(default_factory=dict)
    terms: TermsSection | None = None
    constraints: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class ExampleRow:
    """A row of the data that a page explains.

    Attributes
    ----------
    row : ndarray of shape (n_features,)
        Its values, as numbers.
    number : int
        Its number in the data, from 1.
    score : float
        Its score.
    positive : bool
        Whether it is positive.
    """

    row: Floats
    number: int
    score: float
    positive: bool


@dataclass(frozen=True, eq=False)
class ExampleRows:
    """Rows worth explaining.

    Attributes
    ----------
    highest : ExampleRow or None
        The row with the highest score; None before there is one.
    lowest_positive : ExampleRow or None
        The positive row with the lowest score; None before there is one.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.api.describe import ExampleRows
    >>> examples = ExampleRows().after(np.eye(3), np.array([0, 1, 1], np.int8), np.array([0.5, 0.1, 0.2]), 0)
    >>> examples.highest.number, examples.lowest_positive.number
    (1, 2)
    """

    highest: ExampleRow | None = None
    lowest_positive: ExampleRow | None = None

    def after(self, rows: Array, labels: Labels, scores: Floats, rows_before: int) -> ExampleRows:
        """Return the examples after more rows; of equal scores the first stays."""
        highest, lowest = self.highest, self.lowest_positive
        if not scores.size:
            return self
        at = int(np.argmax(scores))
        if highest is None or scores[at] > highest.score:
            highest = _example(rows, labels, scores, at, rows_before)
        positives = np.flatnonzero(labels == 1)
        if positives.size:
            at = int(positives[np.argmin(scores[positives])])
            if lowest is None or scores[at] < lowest.score:
                lowest = _example(rows, labels, scores, at, rows_before)
        return ExampleRows(highest, lowest)

    def explain(self, terms: Terms) -> Iterator[ExplainedRow]:
        """Yield the scores of the rows as sums of terms."""
        if self.highest is not None:
            note = f"Row {self.highest.number:,}, a {'positive' if self.highest.positive else 'negative'}"
            yield explain_row(terms, self.highest.row, "The row that scores highest", note)
        if self.lowest_positive is not None:
            note = f"Row {self.lowest_positive.number:,}"
            yield explain_row(terms, self.lowest_positive.row, "The positive that scores lowest", note)


def _example(rows: Array, labels: Labels, scores: Floats, at: int, rows_before: int) -> ExampleRow:
    return ExampleRow(rows[at].astype(np.float64), rows_before + at + 1, float(scores[at]), bool(labels[at] == 1))


def describe_fit(model: Model, examples: ExampleRows | None = None) -> FitDescription:
    """Return what there is to show of the fit of a model."""
    return DESCRIBERS[model.fit.family](model, model.fit, examples or ExampleRows())


def _describe_linear(model: Model, fit: LinearFit | BatchFit, _examples: ExampleRows) -> FitDescription:
    shown = largest_weights(model, fit.scorer)
    return FitDescription(shown.rows, shown.order, penalty_choice(model), dict(fit.chosen_settings))


def _describe_additive(model: Model, fit: AdditiveFit, examples: ExampleRows) -> FitDescription:
    terms = terms_of(model)
    constraints = fit.constraints.describe(input_names(model))
    return FitDescription(terms=terms_section(terms, list(examples.explain(terms))), constraints=constraints)


def _describe_classes(model: Model, _fit: AdditiveFit, _examples: ExampleRows) -> FitDescription:
    """Return the terms of every class, named by it, the most important first; no row has one score to explain."""
    first, *_ = of_classes = class_terms(model)
    named = zip(class_names(model), of_classes, strict=True)
    shown = [term._replace(name=f"{label}: {term.name}") for label, terms in named for term in shown_terms(terms)]
    shown.sort(key=lambda term: -term.importance)
    selections = {selection_as_text(terms.solution.final.selection) for terms in of_classes}
    selection = selections.pop() if len(selections) == 1 else "Not the same one for each class"
    return FitDescription(terms=replace(terms_section(first), terms=shown, n_terms=len(shown), selection=selection))


# By family: they take a model and its fit, which is of that family.
DESCRIBERS: dict[str, Callable[[Model, Any, ExampleRows], FitDescription]] = {
    "linear": _describe_linear, "batch": _describe_linear, "additive": _describe_additive,
    "additive_scoring": _describe_additive, "additive_multiclass": _describe_classes,
}  # fmt: skip


class ShownWeights(NamedTuple):
    """The largest weights, and a description of their order."""

    rows: list[WeightRow]
    order: str


def largest_weights(model: Model, scorer: WeightScorer) -> ShownWeights:
    """Return the largest weights with the names of their features, or their numbers as LIBSVM counts."""
    weights, spread = np.atleast_2d(scorer.weights), model.fit.feature_spread
    effects = None if spread is None else weights * spread.deviations
    names = [f", {shown_label(label)}" for label in model.classes.tolist()] if model.several_classes else [""]
    rows = [
        WeightRow(
            f"{feature_name(model, j)}{names[k]}",
            float(weights[k, j]),
            None if effects is None else float(effects[k, j]),
        )
        for k, j in (
            divmod(at, weights.shape[1]) for at in largest_indices((weights if effects is None else effects).ravel())
        )
        if weights[k, j]
    ]
    return ShownWeights(rows, weight_order(spread))


def largest_indices(values: Floats, limit: int = MAX_WEIGHTS) -> list[int]:
    """Return the indices of the values of largest magnitude, the largest first."""
    indices: list[int] = np.argsort(-np.abs(values), kind="stable")[:limit].tolist()
    return indices


def weight_order(spread: FeatureSpread | None) -> str:
    """Return a description of the order of the weights."""
    if spread is None:
        return "by weight in the feature's own units: this model keeps no spread of its features"
    note = f", {spread.note}" if spread.note else ""
    return f"by effect: weight × standard deviation of the feature{note}"


def feature_name(model: Model, number: int) -> str:
    """Return the name of a feature, or its number as the rows it came from count."""
    if model.feature_names is not None:
        return model.feature_names[number]
    first = 0 if model.reading is not None and model.reading.options.zero_based else 1
    return f"feature {number + first}"


def penalty_choice(model: Model) -> PenaltyChoice | None:
    """Return the chosen penalty with the scores of the others; None for a model whose penalty was given."""
    path, spread = model.fit.penalty_path(), model.fit.feature_spread
    if path is None:
        return None
    selection, weights = path
    suffix = ""
    if weights.ndim == 3:  # of several classes: the last one stands for them
        weights, suffix = weights[:, -1], f", {class_names(model)[-1]}"
    effects = weights if spread is None else weights * spread.deviations
    chosen_effects = effects[selection.chosen]
    drawn = [j for j in largest_indices(chosen_effects, MAX_PATHS) if chosen_effects[j]]
    sign = 1.0 if selection.criterion == "auc" else -1.0
    return PenaltyChoice(
        alphas=selection.alphas,
        criterion=selection.criterion,
        means=sign * selection.means() if selection.n_folds else np.zeros(selection.alphas.size),
        errors=selection.errors(),
        chosen=selection.chosen,
        one_standard_error=selection.within_one_error(),
        n_folds=selection.n_folds,
        names=[f"{feature_name(model, j)}{suffix}" for j in drawn],
        standardized_weights=effects[:, drawn],
    )


def penalty_as_text(choice: PenaltyChoice) -> dict[str, str]:
    """Return the score of each penalty, with a mark at the chosen one."""
    lines = {}
    for number, (alpha, mean, error) in enumerate(zip(choice.alphas, choice.means, choice.errors, strict=True)):
        marks = [
            mark
            for mark, at in (("chosen", choice.chosen), ("one standard error", choice.one_standard_error))
            if at == number
        ]
        score = f"{mean:.5f} ± {error:.5f}" if choice.n_folds else "not validated"
        lines[f"{alpha:.4g}"] = f"{score}{'  ← ' if marks else ''}{', '.join(marks)}"
    return lines


def penalty_as_json(choice: PenaltyChoice | None) -> Json | None:
    """Return the choice of a penalty as JSON."""
    if choice is None:
        return None
    return {
        "criterion": choice.criterion, "cv": choice.n_folds, "alphas": choice.alphas.tolist(),
        "means": choice.means.tolist(), "standard_errors": choice.errors.tolist(),
        "alpha": float(choice.alphas[choice.chosen]),
        "one_standard_error_alpha": float(choice.alphas[choice.one_standard_error]),
    }  # fmt: skip


def input_names(model: Model) -> tuple[str, ...]:
    """Return the names of the inputs: the numbers that a row becomes."""
    names = None if model.reading is None else model.reading.input_names
    return names or model.feature_names or tuple(f"x{j}" for j in range(model.n_features))


def terms_of(model: Model, otherwise: str | None = None) -> Terms:
    """Return the terms of a model by the column names of its table, or by numbers.

    Raises UnsupportedOperationError with the text `otherwise` for a model without terms, and for more than two
    classes, each of which has its own.
    """
    if model.fit.family in TERMS and model.several_classes:
        raise only_two_classes(
            "terms of a single score",
            model.classes.size,
            "in Python, explain, reasons and terms_ show each class (class_=...)",
        )
    return class_terms(model, otherwise)[0]


def class_terms(model: Model, otherwise: str | None = None) -> list[Terms]:
    """Return the terms of each class against the rest; of two classes those of the only score.

    Raises UnsupportedOperationError with the text `otherwise` for a model without terms.
    """
    if model.fit.family not in TERMS:
        raise UnsupportedOperationError(
            otherwise or f"only OnePassGAM has terms, and this is a model of {model.estimator}"
        )
    categories = None if model.reading is None else model.reading.category_names()
    terms: list[Terms] = TERMS[model.fit.family](model.fit, input_names(model), categories)
    return terms


def class_sections(model: Model) -> dict[str, TermsSection]:
    """Return what a page shows of the additive score of each class, by its label; nothing of other models."""
    if model.fit.family != "additive_multiclass":
        return {}
    return {label: terms_section(terms) for label, terms in zip(class_names(model), class_terms(model), strict=True)}


def class_names(model: Model) -> list[str]:
    """Return the labels of the classes as in a file."""
    return [shown_label(label) for label in model.classes.tolist()]


def terms_section(terms: Terms, explained: Sequence[ExplainedRow] = ()) -> TermsSection:
    """Return all that a page shows of an additive model."""
    shown, selection = shown_terms(terms), terms.solution.final.selection
    return TermsSection(
        terms=shown,
        n_terms=len(shown),
        explained_rows=explained,
        selection=selection_as_text(selection),
        candidates=[
            CandidateRow(CANDIDATES.get(name, name), auc, name == selection.model)
            for name, auc in selection.aucs.items()
        ],
        drift=[(drift.name, drift.index) for drift in find_drift(terms.solution, terms.inputs)],
        drift_checked=bool(selection.aucs),
        leaks=[(leak.name, leak.auc) for leak in find_leaks(terms.solution, terms.inputs)],
        edits=[edit_row(edit) for edit in list_edits(terms)],
    )


def edit_row(edit: TermEdit) -> EditRow:
    """Return an edit with the range of the values of the term before and after."""
    before, after = ((float(one.min()), float(one.max())) if one.size else None for one in (edit.before, edit.after))
    return EditRow(edit.term, edit.action, edit.who, edit.when, edit.why, before, after)


def edits_as_text(edits: Sequence[EditRow]) -> dict[str, str]:
    """Return a line for each edit: what, by whom, when, why, and the range of the values before and after."""
    lines = {}
    for number, edit in enumerate(edits, 1):
        by, why = f" by {edit.who}" if edit.who else "", f": {edit.why}" if edit.why else ""
        ends = f"   {edit_range(edit)}" if edit.after else ""
        lines[f"{number}. {edit.term}"] = f"{edit.action}{by}, {edit.when}{why}{ends}"
    return lines


def edits_as_json(terms: Terms) -> list[Json]:
    """Return the ledger of edits as JSON."""
    return [
        {
            "term": edit.term, "action": edit.action, "who": edit.who, "when": edit.when, "why": edit.why,
            "at": [list(axis) for axis in edit.at], "before": edit.before.tolist(), "after": edit.after.tolist(),
        }
        for edit in list_edits(terms)
    ]  # fmt: skip


def shown_terms(terms: Terms) -> list[ShownTerm]:
    """Return every term with the share of the rows along it, the most important first."""
    return [
        ShownTerm(
            term.name,
            term.inputs,
            term.at,
            term.value,
            term.error,
            term.importance,
            terms.shares_along(term.name),
            term.is_weak,
        )
        for term in terms.list_terms()
    ]


def selection_as_text(selection: ModelSelection) -> str:
    """Return which candidate model was selected, and why."""
    later = sum(selection.rows)
    if selection.model == SAMPLE:
        return "The fit to the initial sample: the class proportions changed too much after it"
    if not selection.aucs:
        return "Everything: no rows came after the initial sample on which simpler models could be compared"
    compared = f"on the {later:,.0f} rows after the initial sample, each scored before training on it"
    if selection.model == FULL:
        return f"Everything: no simpler model's AUC was higher by half a standard error {compared}"
    name = CANDIDATES.get(selection.model, selection.model).capitalize()
    return f"{name}: ranked better than everything {compared}"


def terms_as_text(shown: Sequence[ShownTerm]) -> dict[str, str]:
    """Return the kind of each of the most important terms, its importance and the range of its values."""
    return {term.name: _term_as_text(term) for term in shown[:MAX_TERMS]}


def _term_as_text(term: ShownTerm) -> str:
    limits = term.range()
    ends = "" if limits is None else f"   {limits[0]:+.3f} to {limits[1]:+.3f}"
    kind = f"{term.kind}, weak" if term.is_weak else term.kind
    return f"{kind:<12} {term.importance:.3f}{ends}"


def terms_as_json(terms: Terms) -> Json:
    """Return the terms, the model selection and the drift as JSON."""
    model, aucs, _ = terms.solution.final.selection
    return {
        "terms": [
            {
                "name": term.name,
                "kind": term.kind,
                "importance": term.importance,
                "range": term.range(),
                "weak": term.is_weak,
            }
            for term in shown_terms(terms)
        ],
        "selection": {"model": model, "aucs": aucs},
        "drift": {drift.name: drift.index for drift in find_drift(terms.solution, terms.inputs)},
        "edits": edits_as_json(terms),
        "leaks": {leak.name: leak.auc for leak in find_leaks(terms.solution, terms.inputs)},
    }


def additive_as_json(model: Model) -> Json:
    """Return the terms, the model selection and the drift as JSON; of more than two classes by class."""
    of_classes = [terms_as_json(terms) for terms in class_terms(model)]
    if len(of_classes) == 1:
        return of_classes[0]
    return {"classes": dict(zip(class_names(model), of_classes, strict=True))}


def explain_row(terms: Terms, row: Floats, title: str, note: str) -> ExplainedRow:
    """Return the score of one row as a sum of contributions, with the row's values next to their names."""
    explanation = terms.explain(row[None])
    values = [
        shown_value(number, categories) for number, categories in zip(row.tolist(), terms.categories, strict=True)
    ]
    parts = [
        Contribution(terms.inputs[term.inputs[0]], values[term.inputs[0]], value, _suffix(term))
        if len(term.inputs) == 1
        else Contribution(term.name, "", value)
        for term, value in zip(terms.term_columns, explanation.contributions[0].tolist(), strict=True)
    ]
    probability = 1.0 / (1.0 + np.exp(-explanation.scores()[0]))
    return ExplainedRow(title, f"{note}; probability {share(float(probability))}", explanation.baseline, parts)


def _suffix(term: TermColumns) -> str:
    """Return what the name of a term has after that of its input, where it is no main effect."""
    return CATEGORICAL_SUFFIX if term.is_code else "" if term.grid_inputs else TREES_SUFFIX


def shown_value(number: float, categories: Mapping[int, str]) -> str:
    """Return a value of a row as in its table.

    Examples
    --------
    >>> from opauc.api.describe import shown_value
    >>> shown_value(1.0, {1: "red"}), shown_value(7.0, {1: "red"}), shown_value(float("nan"), {})
    ('red', '(others)', 'missing')
    >>> shown_value(2.54321, {}), shown_value(123456.0, {})
    ('2.543', '123456')
    """
    if math.isnan(number):
        return "missing"
    if categories:
        return categories.get(int(number), "(others)")
    return f"{number:.0f}" if number.is_integer() and abs(number) < MAX_SHOWN_IN_FULL else f"{number:.4g}"
