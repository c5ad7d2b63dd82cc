"""What an additive model of more than two classes has learned: rows that wait for a basis, or a basis and sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Never, cast

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.basis import Basis
from opauc.additive.basis_model import BasisModel
from opauc.additive.constraints.constraints import Constraints
from opauc.additive.initial_rows import InitialRows, RowFingerprints
from opauc.additive.initial_sample import WarmUpBuffer
from opauc.additive.model import AdditiveLogistic, FinalWeights
from opauc.additive.multiclass.initial_fit import fit_classes, map_classes, share_rows
from opauc.additive.multiclass.scorer import ClassScorer
from opauc.additive.multiclass.sums import ClassSums, SharedRows
from opauc.additive.objective import AUC
from opauc.additive.policy import ADDITIVE_POLICY, AdditivePolicy
from opauc.additive.scorer import MappedScorer
from opauc.additive.settings import AdditiveSettings, with_init_size
from opauc.additive.state import (
    EDITS,
    SCHEMA,
    AdditiveFit,
    AdditiveHeader,
    ForgetReport,
)
from opauc.core.array_schema import check_arrays, with_prefix
from opauc.core.blas import one_blas_thread
from opauc.core.fit import only_two_classes
from opauc.core.json_schema import json_as
from opauc.core.labels import MAX_CLASSES
from opauc.core.parameters import from_saved
from opauc.errors import Parameter, ParameterError, UnsupportedOperationError
from opauc.types import Arrays, Floats, Json, Labels, MulticlassCounts, NamedArrays, Settings

# Positions of the weights of a class without rows: its intercept alone counts.
INTERCEPT = 0


class MulticlassHeader(AdditiveHeader):
    """An additive fit of several classes in the header of a file."""

    n_classes: int


@dataclass(frozen=True, eq=False)
class OneClassFit(AdditiveFit):
    """One class against the rest: what explains its additive score. Only the fit of all classes trains."""

    can_train: ClassVar[bool] = False

    @cached_property
    def final(self) -> FinalWeights:
        """The weights of the columns; of a class without rows in the initial sample, the intercept alone."""
        model = self.current.model
        with one_blas_thread():
            final = model.solve(self.policy)
        if model.first_counts[1] > 0.0 and model.counts.both:
            return final
        weights = np.zeros(final.weights.size)
        weights[INTERCEPT] = np.log((model.counts.positive + 0.5) / (model.counts.negative + 0.5))
        return final._replace(weights=weights)


@dataclass(frozen=True, eq=False)
class MulticlassFit(AdditiveFit):
    """An additive model of K > 2 classes after the rows so far: one basis, and sums of each class against the rest.

    What depends on one score per row, such as the weights of terms, is that of a class: `of_class(k)`.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.multiclass.fit import MulticlassFit
    >>> from opauc.additive.settings import AdditiveSettings
    >>> rows = np.random.default_rng(0).normal(size=(400, 2))
    >>> labels = (rows > 0).sum(axis=1).astype(np.int8)
    >>> start = MulticlassFit.start_of(3, AdditiveSettings(trees=False), np.zeros(2, bool), 0)
    >>> start.update(rows, labels).scorer.scores(np.array([[-1.0, -1.0], [1.0, 1.0]])).argmax(axis=1)
    array([0, 2])
    """

    family: ClassVar[str] = "additive_multiclass"

    @classmethod
    def start_of(
        cls,
        n_classes: int,
        settings: AdditiveSettings,
        categorical: NDArray[np.bool_],
        seed: int,
        policy: AdditivePolicy = ADDITIVE_POLICY,
    ) -> MulticlassFit:
        """Return what is known before any row of so many classes."""
        _check_settings(settings, n_classes)
        settings = with_init_size(settings, 0, policy.sample)
        return cls(settings, categorical, seed, WarmUpBuffer.empty(categorical.size, n_classes), policy=policy)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.waiting.n_classes

    @property
    def sums(self) -> ClassSums:
        """The sums of each class; until the basis is fixed, those of the rows that wait."""
        return _sums_in(self.current)

    @property
    def counts(self) -> MulticlassCounts:
        """Rows learned of each class, each counted with its weight."""
        if self.fixed is None:
            return MulticlassCounts(self.waiting.class_weights.tolist())
        return _sums_in(self.fixed).counts

    @cached_property
    def class_fits(self) -> tuple[AdditiveFit, ...]:
        """Each class against the rest."""
        return tuple(
            OneClassFit(
                self.settings, self.categorical, self.seed, self.waiting.empty_copy(),
                BasisModel(replace(self.current.basis, trees=model.columns.trees), model),
                removed=self.removed, policy=self.policy,
            )
            for model in self.sums.models
        )  # fmt: skip

    @property
    def final(self) -> Never:
        """Raise: each class has its own weights."""
        raise self._of_one_class()

    @cached_property
    def scorer(self) -> ClassScorer:  # type: ignore[override]
        """What scores rows."""
        classes = self.class_fits
        return ClassScorer(map_classes(lambda k: classes[k].scorer, len(classes)))

    def look(self, n_rows: int) -> ClassScorer | None:  # type: ignore[override]
        """Return what scores the rows to come; None before the basis, when all rows would have to be fitted anew."""
        if self.fixed is None:
            return None
        if n_rows >= _sums_in(self.fixed).first_counts.sum():
            return self.scorer
        scorers = [MappedScorer(fit.current.basis, fit.current.model.initial_weights()) for fit in self.class_fits]
        return ClassScorer(scorers)

    def scorer_of(self, arrays: NamedArrays) -> ClassScorer:  # type: ignore[override]
        """Return the scorer of the basis with these weights."""
        if set(arrays) != {f"weights{k}" for k in range(self.n_classes)}:
            raise ValueError(f"expected the weights of {self.n_classes} classes")
        return ClassScorer([fit.scorer_of({"weights": arrays[f"weights{k}"]}) for k, fit in enumerate(self.class_fits)])

    def with_settings(self, settings: AdditiveSettings) -> AdditiveFit:
        """Return the same with other settings, which matter until the basis is fixed."""
        _check_settings(settings, self.n_classes)
        return super().with_settings(settings)

    def with_constraints(self, *_: object) -> Never:
        """Raise: constraints are for two classes."""
        raise self._unsupported("constraints are")

    def with_edit(self, *_: object) -> Never:
        """Raise: edits are for two classes."""
        raise self._unsupported("edits are")

    def basis_key(self, *_: object, **__: object) -> Never:
        """Raise: segments are for two classes."""
        raise self._unsupported("cubes are")

    segment_sums = segment_sizes = sum_segments = basis_key

    def scoring_only(self) -> Never:
        """Raise: the files of models for scoring only have two classes."""
        raise self._unsupported("a file for scoring only is")

    def to_parts(self) -> tuple[Json, Arrays]:
        """Return the settings and the number of classes, and all arrays under flat names."""
        header, arrays = super().to_parts()
        return {**header, "n_classes": self.n_classes}, arrays

    @classmethod
    def from_parts(
        cls,
        header: Settings,
        arrays: NamedArrays,
        n_features: int,  # noqa: ARG003
    ) -> MulticlassFit:
        """Return the fit that gave these parts; raise ValueError unless one can have."""
        checked = json_as(MulticlassHeader, header, "fit")
        settings, n_classes = from_saved("OnePassGAM", AdditiveSettings, checked["settings"]), checked["n_classes"]
        if isinstance(settings.init_size, str):
            raise ValueError(f"init_size: expected a number of rows, got {settings.init_size!r}")
        if not 2 < n_classes <= MAX_CLASSES:
            raise ValueError(f"n_classes: expected 3 to {MAX_CLASSES}, got {n_classes}")
        _check_settings(settings, n_classes)
        if checked["edits"] or Constraints.from_json(checked["constraints"]) or with_prefix(EDITS, arrays):
            raise ValueError("expected neither edits nor constraints of several classes")
        own = {name: array for name, array in arrays.items() if name in SCHEMA}
        n_inputs = check_arrays(SCHEMA, own)["inputs"]
        waiting, fixed = WarmUpBuffer.from_arrays(with_prefix("waiting.", arrays), n_classes), None
        if basis_arrays := with_prefix("basis.", arrays):
            basis = Basis.from_arrays(basis_arrays)
            if basis.trees is not None or basis.crossed.size:
                raise ValueError("basis: expected neither trees nor crossed codes of several classes")
            fixed = _basis_sums(basis, ClassSums.from_arrays(basis, n_classes, with_prefix("model.", arrays)))
        if {waiting.n_features, n_inputs if fixed is None else fixed.basis.n_inputs} != {n_inputs}:
            raise ValueError(f"expected a basis and rows of {n_inputs} inputs")
        return cls(
            settings, own["categorical"], int(own["seed"]), waiting, fixed,
            RowFingerprints(own["sampled"]) if "sampled" in own else None, InitialRows(np.sort(own["initial"])),
            ForgetReport(checked["removed_rows"], checked["removed_initial_rows"]),
        )  # fmt: skip

    def _fitted(self) -> BasisModel:
        return _basis_sums(*fit_classes(self.waiting, self.settings, self.categorical, self.seed, self.policy))

    def _with_later(self, fixed: BasisModel, rows: Floats, labels: Labels, weight: Floats | None) -> AdditiveFit:
        sums = _sums_in(fixed).update(self._encoded(rows, labels, weight))
        return replace(self, fixed=_basis_sums(fixed.basis, sums))

    def _encoded(  # type: ignore[override]
        self, rows: Floats, labels: Labels, weight: Floats | None
    ) -> Iterator[SharedRows]:
        """Yield the columns of rows with the numbers of their classes, and which of them the basis was not made of."""
        return share_rows(self.current.basis, rows, labels, weight, self.new_rows(rows))

    def _unsupported(self, what: str) -> UnsupportedOperationError:
        return UnsupportedOperationError(
            f"{what} for two classes, and this model has {self.n_classes}; it trains, merges, forgets, predicts, "
            "explains each class and is saved"
        )

    def _of_one_class(self) -> UnsupportedOperationError:
        return only_two_classes("this", self.n_classes, "scores, probabilities, terms and explanations are per class")


def _basis_sums(basis: Basis, sums: ClassSums) -> BasisModel:
    """Return a basis with the sums of several classes, which merge and subtract as those of a model of two do."""
    return BasisModel(basis, cast(AdditiveLogistic, sums))


def _sums_in(fixed: BasisModel) -> ClassSums:
    """Return the sums of several classes in what `_basis_sums` made."""
    return cast(ClassSums, fixed.model)


def _check_settings(settings: AdditiveSettings, n_classes: int) -> None:
    """Raise where settings ask for what several classes do not have."""
    if settings.monotone_constraints:
        raise ParameterError(
            Parameter("monotone_constraints"), f" are for two classes, and there are {n_classes}; leave them out, or "
            "fit one class against the rest",
        )  # fmt: skip
    if settings.objective != AUC:
        asked = Parameter("objective", settings.objective)
        raise only_two_classes(asked, n_classes, "set ", Parameter("objective", AUC))
