"""Additive models without their sums: they score and explain rows, and cannot be trained any further."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Never, TypedDict

import numpy as np
from scipy.sparse import csr_array

from opauc.additive.basis.basis import Basis
from opauc.additive.basis_columns import BasisColumns
from opauc.additive.basis_model import BasisModel
from opauc.additive.constraints.constraints import Constraints, SavedConstraints
from opauc.additive.crossed.sums import CrossedSums
from opauc.additive.drift import BinCounts
from opauc.additive.editing.ledger import Edits, SavedEdit
from opauc.additive.initial_sample import WarmUpBuffer
from opauc.additive.model import OBJECTIVE, AdditiveLogistic, FinalWeights
from opauc.additive.objective import Objective
from opauc.additive.penalties import Penalties
from opauc.additive.random_effects import RandomEffectSums
from opauc.additive.selection import MODELS, SAMPLE, CandidateModels, ModelSelection
from opauc.additive.settings import AdditiveSettings
from opauc.additive.state import EDITS, AdditiveFit, ForgetReport, settings_to_json
from opauc.additive.sums import LinearizedSums
from opauc.additive.terms.explain import Terms
from opauc.additive.terms.terms import SavedTerms
from opauc.additive.trees.small_trees import from_small_arrays, small_terms, to_small_arrays
from opauc.core.array_schema import ArrayRule, add_prefix, check_arrays, with_prefix
from opauc.core.fit import only_scores
from opauc.core.json_schema import json_as
from opauc.core.parameters import from_saved
from opauc.types import Arrays, Floats, Json, NamedArrays, Settings

BASIS, TREES, N_CLASSES = "basis.", "trees.", 2
SCHEMA = {
    "categorical": ArrayRule("bool", "inputs"),
    "weights": ArrayRule("float64", "weights"),
    "crossed_levels": ArrayRule("uint8", "level_bytes"),  # a bit for each level, true if it has an effect
    "crossed_effects": ArrayRule("float32", "used"),
    "class_counts": ArrayRule("float64", "2", low=0),
    "level_counts": ArrayRule("float64", "effects", low=0),
    "bin_counts.first": ArrayRule("float64", "columns"),
    "bin_counts.later": ArrayRule("float64", "columns"),
    "terms.data": ArrayRule("float64", "entries"),
    "terms.indices": ArrayRule("int32", "entries", low=0, below="terms"),
    "terms.indptr": ArrayRule("int32", "columns+1", ends="entries"),
    "terms.means": ArrayRule("float64", "terms"),
    "terms.deviations": ArrayRule("float64", "terms", low=0),
    "terms.baseline": ArrayRule("float64"),
    "terms.values": ArrayRule("float64", "points"),
    "terms.errors": ArrayRule("float64", "points", low=0),
    "terms.mean_contributions": ArrayRule("float64", "terms"),
    "terms.extremes": ArrayRule("float64", "2 terms"),
}


class SavedSelection(TypedDict):
    """A model selection in the header of a file."""

    model: str
    aucs: dict[str, float]
    rows: list[float]


class ScoringHeader(TypedDict):
    """The fit in the header of a file."""

    removed_rows: int
    removed_initial_rows: int
    edits: list[SavedEdit]
    settings: dict[str, bool | int | float | str | list[list[int | str]] | list[int | str] | None]
    constraints: SavedConstraints
    selection: SavedSelection


@dataclass(frozen=True, eq=False)
class ScoringOnlyFit(AdditiveFit):
    """A basis with its weights and the numbers of its terms.

    Weights of leaves and of crossed codes are rounded to float32.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.scoring_only import ScoringOnlyFit
    >>> from opauc.additive.settings import AdditiveSettings
    >>> from opauc.additive.state import AdditiveFit, settings_to_json
    >>> rows, start = np.random.default_rng(0).normal(size=(400, 2)), AdditiveFit.start
    >>> fit = start(AdditiveSettings(), np.zeros(2, bool), 0).update(rows, (rows[:, 0] > 0).astype(np.int8))
    >>> small = ScoringOnlyFit.of(fit)
    >>> np.allclose(small.scorer.scores(rows), fit.scorer.scores(rows), rtol=0.0, atol=1e-6)
    True
    """

    family: ClassVar[str] = "additive_scoring"
    can_train: ClassVar[bool] = False

    weights: Floats = field(kw_only=True)
    selection: ModelSelection = field(kw_only=True)
    terms: SavedTerms = field(kw_only=True)

    @classmethod
    def of(cls, fit: AdditiveFit) -> ScoringOnlyFit:
        """Return what scores and explains as a fit does."""
        basis, model = fit.current
        terms = Terms(fit, [""] * basis.n_inputs, [{}] * basis.n_inputs)
        values, errors = terms.numbers.along(terms.grid_rows)
        numbers, baseline = terms.numbers, terms.numbers.baseline
        *additive, crossed, leaf_weights = basis.split_weights(fit.final.weights)
        weights = np.concatenate([*additive, crossed.astype(np.float32)])
        trees = None
        if numbers.trees is not None:
            trees = small_terms(numbers.trees, leaf_weights)
            weights = np.concatenate([weights, trees.ensemble.values])
            baseline += trees.roots - numbers.trees.roots
        basis = replace(basis, trees=None if trees is None else trees.ensemble, group_levels=None)
        level_counts = model.random_effects.counts[: basis.random_effects.size]
        saved = SavedTerms(
            numbers.column_weights, numbers.means, numbers.deviations, baseline, values, errors, trees,
            numbers.mean_contributions, numbers.extremes(terms.grid_rows),
        )  # fmt: skip
        return cls(
            fit.settings, fit.categorical, 0, WarmUpBuffer.empty(fit.n_features),
            _without_sums(basis, model.sums.class_counts, level_counts, model.bin_counts, model.objective),
            removed=fit.removed, constraints=fit.constraints, policy=fit.policy, edits=fit.edits,
            weights=weights, selection=fit.final.selection, terms=saved,
        )  # fmt: skip

    @cached_property
    def final(self) -> FinalWeights:
        """The saved weights; smoothing parameters are not saved."""
        return FinalWeights(self.weights, np.empty(0), self.selection, np.empty(0))

    @property
    def saved_terms(self) -> SavedTerms:
        """The numbers of the terms."""
        return self.terms

    def update(self, *_: object, **__: object) -> Never:
        """Raise: the sums were not saved."""
        raise only_scores()

    subtract = without = merge = empty_copy = with_constraints = update

    def scoring_only(self) -> ScoringOnlyFit:
        """Return the fit itself."""
        return self

    def to_parts(self) -> tuple[Json, Arrays]:
        """Return the settings and the selection, and all arrays under flat names."""
        basis, model = self.current
        saved = self.terms
        weights = saved.column_weights
        of_columns, of_effects, effects, _ = basis.split_weights(self.weights)
        arrays: Arrays = {
            "categorical": self.categorical.copy(),
            "weights": np.concatenate([of_columns, of_effects]),
            "crossed_levels": np.packbits(effects != 0.0),  # most levels have no rows
            "crossed_effects": effects[effects != 0.0].astype(np.float32),
            "class_counts": model.sums.class_counts.copy(),
            "level_counts": model.random_effects.counts.copy(),
            "bin_counts.first": model.bin_counts.first.copy(),
            "bin_counts.later": model.bin_counts.later.copy(),
            "terms.data": weights.data.copy(),
            "terms.indices": weights.indices.astype(np.int32),
            "terms.indptr": weights.indptr.astype(np.int32),
            "terms.means": saved.means.copy(),
            "terms.deviations": saved.deviations.copy(),
            "terms.baseline": np.array(saved.baseline),
            "terms.values": saved.values.copy(),
            "terms.errors": saved.errors.copy(),
            "terms.mean_contributions": saved.mean_contributions.copy(),
            "terms.extremes": saved.limits.copy(),
            **add_prefix(EDITS, self.edits.to_arrays()),
        }
        if saved.trees is not None:
            arrays |= add_prefix(TREES, to_small_arrays(saved.trees))
        arrays |= add_prefix(BASIS, replace(basis, trees=None).to_arrays())
        if model.objective is not None:
            arrays |= add_prefix(OBJECTIVE, model.objective.to_arrays())
        name, aucs, rows = self.selection
        selection = {"model": name, "aucs": dict(aucs), "rows": list(rows)}
        header = {
            "settings": settings_to_json(self.settings),
            "edits": self.edits.to_json(),
            "removed_rows": self.removed.rows,
            "removed_initial_rows": self.removed.initial_rows,
            "constraints": self.constraints.to_json(),
            "selection": selection,
        }
        return header, arrays

    @classmethod
    def from_parts(
        cls,
        header: Settings,
        arrays: NamedArrays,
        n_features: int,  # noqa: ARG003
    ) -> ScoringOnlyFit:
        """Return the fit that gave these parts; raise ValueError unless one can have."""
        checked = json_as(ScoringHeader, header, "fit")
        settings = from_saved("OnePassGAM", AdditiveSettings, checked["settings"])
        basis, selection = Basis.from_arrays(with_prefix(BASIS, arrays)), checked["selection"]
        constraints = Constraints.from_json(checked["constraints"])
        constraints.check_basis(basis)
        small_trees = with_prefix(TREES, arrays)
        trees = from_small_arrays(basis.n_inputs, small_trees) if small_trees else None
        if basis.trees is not None:
            raise ValueError("basis: expected no trees")
        basis = replace(basis, trees=None if trees is None else trees.ensemble)
        known = {
            "inputs": basis.n_inputs, "columns": basis.n_columns, "effects": basis.random_effects.size,
            "weights": basis.n_columns + basis.random_effects.size, "level_bytes": -(-basis.crossed.size // 8),
        }  # fmt: skip
        own = {name: array for name, array in arrays.items() if not name.startswith((BASIS, TREES, EDITS, OBJECTIVE))}
        weighting = with_prefix(OBJECTIVE, arrays)
        objective = Objective.from_arrays(weighting) if weighting else None
        edits = Edits.from_parts(basis, checked["edits"], with_prefix(EDITS, arrays))
        sizes = check_arrays(SCHEMA, own, known)
        is_known = selection["model"] in (*MODELS, SAMPLE) and set(selection["aucs"]) <= set(MODELS)
        if not is_known or len(selection["rows"]) != N_CLASSES:
            raise ValueError("selection: expected a candidate model, AUCs of candidates, and two counts of rows")
        used, effects = np.unpackbits(own["crossed_levels"], count=basis.crossed.size), np.zeros(basis.crossed.size)
        if np.count_nonzero(used) != sizes["used"]:
            raise ValueError(f"crossed_levels: expected {sizes['used']} levels with an effect")
        effects[used.astype(bool)] = own["crossed_effects"]
        weights = csr_array(
            (own["terms.data"], own["terms.indices"], own["terms.indptr"]), shape=(basis.n_columns, sizes["terms"])
        )
        leaves = np.empty(0) if trees is None else trees.ensemble.values
        saved = SavedTerms(
            weights, own["terms.means"], own["terms.deviations"], float(own["terms.baseline"]),
            own["terms.values"], own["terms.errors"], trees, own["terms.mean_contributions"], own["terms.extremes"],
        )  # fmt: skip
        counts = BinCounts(own["bin_counts.first"], own["bin_counts.later"])
        negative, positive = selection["rows"]
        fit = cls(
            settings, own["categorical"], 0, WarmUpBuffer.empty(basis.n_inputs),
            _without_sums(basis, own["class_counts"], own["level_counts"], counts, objective),
            removed=ForgetReport(checked["removed_rows"], checked["removed_initial_rows"]), terms=saved,
            constraints=constraints,
            weights=np.concatenate([own["weights"], effects, leaves]),
            selection=ModelSelection(selection["model"], selection["aucs"], (negative, positive)), edits=edits,
        )  # fmt: skip
        terms = Terms(fit, [""] * basis.n_inputs, [{}] * basis.n_inputs)
        if (len(terms.term_columns), terms.n_points) != (sizes["terms"], sizes["points"]):
            raise ValueError(f"terms: expected {len(terms.term_columns)} with {terms.n_points} values")
        return fit


def _without_sums(
    basis: Basis, class_counts: Floats, level_counts: Floats, bin_counts: BinCounts, objective: Objective | None
) -> BasisModel:
    """Return a basis and a model of it that has counts of rows, and sums of no columns."""
    no_penalties = Penalties(basis.groups, (None,) * basis.groups.kinds.size)
    columns = BasisColumns(no_penalties, basis.main_columns(), basis.certain_columns())
    sums = replace(LinearizedSums.empty(0), class_counts=class_counts)
    effects = replace(RandomEffectSums.empty(level_counts.size, 0), counts=level_counts)
    candidates, crossed = CandidateModels.of(np.empty((0, 0))), CrossedSums.empty(0)
    model = AdditiveLogistic(
        columns, np.empty(0), np.zeros(2), sums, effects, candidates, bin_counts, crossed, objective=objective
    )
    return BasisModel(basis, model)
