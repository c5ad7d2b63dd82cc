"""What a cube says about its segments: models without each of them, windows of time, drift, differences of terms."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from opauc.additive.drift import BinCounts, compare_counts
from opauc.additive.policy import DRIFT_POLICY
from opauc.additive.state import AdditiveFit
from opauc.api.cube.evaluation import (
    Given,
    SegmentAuc,
    auc_on,
    check_rows_known,
    difference_on,
    given_rows,
    rows_for,
)
from opauc.api.cube.keys import Values
from opauc.api.describe import input_names, terms_of
from opauc.core.fit import Fit
from opauc.core.model import Model
from opauc.errors import InputError, Parameter, ParameterError
from opauc.metrics import AucDifference
from opauc.types import Floats

if TYPE_CHECKING:
    from opauc.additive.terms.terms import Term
    from opauc.api.cube.cube import Cube, Where

# The stability index of every feature, however small.
EVERY_FEATURE = replace(DRIFT_POLICY, min_psi=-np.inf, max_p_value=np.inf, min_rows=1.0)


class LeftOut(NamedTuple):
    """Segments that a model was trained without, and the AUC of that model on them.

    Attributes
    ----------
    values : tuple of str
        The values of the key that were left out.
    rows : int
        Their number of rows.
    auc : SegmentAuc
        The AUC of the model without these rows, on them.
    gain : float
        The AUC of the model of all rows less that of the model without these, on the same rows: how much is
        lost by never having seen such rows, and by how much an AUC on training rows flatters.
    """

    values: tuple[str, ...]
    rows: int
    auc: SegmentAuc
    gain: AucDifference | None


class WindowScore(NamedTuple):
    """Which earlier rows a model has, and how it ranks later ones.

    Attributes
    ----------
    window : int or None
        Only the last values of the key that it has; None for all.
    half_life : float or None
        After how many values of the key a row counts half; None for never.
    auc : float
        The mean progressive AUC.
    behind : float
        How far that is below the best candidate.
    standard_error : float
        The standard error of `behind`.
    n_evaluated : int
        How many values of the key were evaluated.
    """

    window: int | None
    half_life: float | None
    auc: float
    behind: float
    standard_error: float
    n_evaluated: int


class SegmentDrift(NamedTuple):
    """How a slice differs from other segments.

    Attributes
    ----------
    value : str
        The value of the key.
    rows : int
        Its number of rows.
    psi : dict of str to float
        The population stability index of each feature, the largest first.
    weights : float
        The root mean square difference of the weights of the columns, in standard errors; nan where it was not
        asked for.
    """

    value: str
    rows: int
    psi: dict[str, float]
    weights: float

    @property
    def largest(self) -> float:
        """The largest stability index; above .25 is a major change."""
        return max(self.psi.values(), default=0.0)


class TermDifference(NamedTuple):
    """How a term differs between two slices, where it differs most.

    Attributes
    ----------
    name : str
        The name of the term.
    z : float
        The largest difference in standard errors; nan for trees.
    difference : float
        That difference in log-odds, the second slice less the first; for trees that of their importance.
    at : tuple
        The value of its features there.
    """

    name: str
    z: float
    difference: float
    at: tuple[float | str, ...]


class Comparison(NamedTuple):
    """How two slices differ.

    Attributes
    ----------
    rows : tuple of int
        The number of rows of each slice.
    terms : list of TermDifference
        The terms, the largest difference first.
    psi : dict of str to float
        The population stability index of each feature, the largest first.
    distance : float
        The root mean square difference of the weights of the columns, in standard errors: about one where the
        slices differ by chance alone, and less where penalties hold weights at zero.
    """

    rows: tuple[int, int]
    terms: list[TermDifference]
    psi: dict[str, float]
    distance: float


def leave_out(
    cube: Cube, parts: Mapping[tuple[str, ...], Sequence[Values]], rows: Any, label: str | None
) -> list[LeftOut]:
    """Return the model of all segments without each part, evaluated on that part."""
    every = [values for part in parts.values() for values in part]
    model = cube.model_of(every)
    given = given_rows(cube, model, rows, label)
    found = [_left_out(cube, names, part, model.fit, given) for names, part in parts.items()]
    check_rows_known(cube, [one.auc for one in found])
    return found


def _left_out(cube: Cube, names: tuple[str, ...], part: Sequence[Values], whole: Fit, given: Given) -> LeftOut:
    own = cube.fit_of(part)
    rest = whole.without(own)
    rows = rows_for(cube, part, given, whole.n_features)
    auc = auc_on(rest, rows, own)
    return LeftOut(names, cube.count_rows(part), auc, difference_on(whole, rest, rows))


def folds_of(values: Iterable[str], n_folds: int) -> list[tuple[str, ...]]:
    """Return values in folds of about equal number, in an order that depends on the values alone.

    Examples
    --------
    >>> from opauc.api.cube.studies import folds_of
    >>> [len(fold) for fold in folds_of(["a", "b", "c", "d", "e"], 2)]
    [3, 2]
    """
    order = sorted(values, key=lambda value: hashlib.sha256(value.encode()).digest())
    if not 2 <= n_folds <= len(order):
        raise ParameterError(Parameter("folds", n_folds), f": expected from 2 to the {len(order)} values of the key")
    return [tuple(order[k::n_folds]) for k in range(n_folds)]


def compare_windows(
    cube: Cube,
    by: str,
    where: Where | None,
    candidates: Sequence[tuple[int | None, float | None]],
    gap: int,
    n_evaluated: int,
    rows: Any,
    label: str | None,
) -> list[WindowScore]:
    """Return how well models of earlier rows rank later ones, the best first."""
    chosen, order = cube.select(where), cube.values(by, where)
    at = cube.keys.index(by)
    members = {value: [values for values in chosen if values[at] == value] for value in order}
    first = gap + 1
    if gap < 0 or len(order) <= first:
        raise InputError(f"{cube.path}: windows need more than {first} values of {by}, got {len(order)}")
    targets = np.unique(np.linspace(first, len(order) - 1, min(n_evaluated, len(order) - first)).round().astype(int))
    given = given_rows(cube, cube.model_of(chosen[:1]), rows, label)
    aucs, weights = np.full((len(candidates), targets.size), np.nan), np.zeros(targets.size)
    for number, target in enumerate(targets.tolist()):
        earlier = [values for value in order[: target - gap] for values in members[value]]
        part = members[order[target]]
        own = cube.fit_of(part)
        evaluated = rows_for(cube, part, given, own.n_features)
        weights[number] = min(own.counts)
        for candidate, (window, half_life) in enumerate(candidates):
            fit = cube.fit_of(cube.faded(earlier, by, window, half_life))
            aucs[candidate, number] = auc_on(fit, evaluated, own).auc
    known = ~np.isnan(aucs).any(axis=0) & (weights > 0.0)
    if not known.any():
        raise InputError(
            f"{cube.path}: no segment has rows of both classes, kept or given, after segments with both; give rows="
        )
    return _ranked(candidates, aucs[:, known], weights[known])


def _ranked(candidates: Sequence[tuple[int | None, float | None]], aucs: Floats, weights: Floats) -> list[WindowScore]:
    """Return the candidates by their weighted mean AUC, and the paired error of the difference to the best."""
    share = weights / weights.sum()
    means = aucs @ share
    best = int(np.argmax(means))
    scores = []
    for (window, half_life), row, mean in zip(candidates, aucs, means.tolist(), strict=True):
        gaps = aucs[best] - row
        # The variance of a weighted mean of independent differences.
        error = float(np.sqrt((share**2 * (gaps - gaps @ share) ** 2).sum()))
        scores.append(WindowScore(window, half_life, mean, float(means[best]) - mean, error, row.size))
    return sorted(scores, key=lambda score: -score.auc)


def find_segment_drift(cube: Cube, by: str, where: Where | None, weights: bool) -> list[SegmentDrift]:
    """Return how the rows of each value of a key differ from those of all others."""
    chosen, at = cube.select(where), cube.keys.index(by)
    order = cube.values(by, where)
    if len(order) < 2:
        raise InputError(f"{cube.path}: drift needs two values of {by} or more, got {len(order)}")
    whole = _additive(cube.model_of(chosen))
    found = []
    for value in order:
        part = [values for values in chosen if values[at] == value]
        own = _additive(cube.model_of(part))
        rest = whole.without(own)
        distance = weight_distance(own, rest) if weights else np.nan
        found.append(SegmentDrift(value, cube.count_rows(part), stability(cube, rest, own), distance))
    return found


def stability(cube: Cube, one: AdditiveFit, other: AdditiveFit) -> dict[str, float]:
    """Return the stability index of each feature, the largest first."""
    counts = BinCounts(one.current.model.bin_counts.later, other.current.model.bin_counts.later)
    names = input_names(cube.empty)
    drifts = compare_counts(one.current.basis, counts, names, EVERY_FEATURE)
    return {drift.name: drift.index for drift in drifts}


def weight_distance(one: AdditiveFit, other: AdditiveFit) -> float:
    """Return the root mean square difference of the weights of columns, in standard errors; nan with one class."""
    if not (one.counts.all_seen and other.counts.all_seen):
        return np.nan
    n_columns = one.current.basis.n_columns
    difference = one.final.weights[:n_columns] - other.final.weights[:n_columns]
    mine, theirs = (np.diagonal(fit.current.model.covariance(fit.final)) for fit in (one, other))
    # The intercept follows from the classes.
    return float(np.sqrt(np.mean((difference**2 / np.maximum(mine + theirs, 1e-300))[1:])))


def compare_slices(cube: Cube, one: Where, other: Where) -> Comparison:
    """Return how the models and the rows of two slices that share no segment differ."""
    chosen = cube.select(one), cube.select(other)
    if shared := set(chosen[0]) & set(chosen[1]):
        example = "/".join(min(shared))
        raise InputError(f"{cube.path}: both slices have segment {example}; slices to compare share none")
    models = [cube.model_of(part) for part in chosen]
    fits = [_additive(model) for model in models]
    if not all(fit.counts.all_seen for fit in fits):
        raise InputError(f"{cube.path}: a slice has rows of one class only; slices to compare need both")
    first, second = ({term.name: term for term in terms_of(model).list_terms()} for model in models)
    differences = [_compare_terms(first[name], second[name]) for name in first if name in second]
    differences.sort(key=lambda one: np.inf if np.isnan(one.z) else -abs(one.z))
    rows = cube.count_rows(chosen[0]), cube.count_rows(chosen[1])
    return Comparison(rows, differences, stability(cube, *fits), weight_distance(*fits))


def _compare_terms(one: Term, other: Term) -> TermDifference:
    if not one.value.size:
        return TermDifference(one.name, np.nan, other.importance - one.importance, ())
    difference = other.value - one.value
    error = np.sqrt(one.error**2 + other.error**2)
    z = difference / np.maximum(error, 1e-300)
    place = np.unravel_index(int(np.argmax(np.abs(z))), z.shape)
    at = tuple(axis[int(index)] for axis, index in zip(one.at, place, strict=True))
    return TermDifference(one.name, float(z[place]), float(difference[place]), at)


def _additive(model: Model) -> AdditiveFit:
    return terms_of(model, "drift and differences of terms need a cube of OnePassGAM").solution
