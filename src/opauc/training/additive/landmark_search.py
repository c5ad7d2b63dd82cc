"""Whether inputs act together beyond pairs: landmarks are tried on rows that the fit has not seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist
from scipy.special import expit

from opauc.column_groups import ColumnGroups, Group, GroupKind
from opauc.errors import StatisticsOverflow
from opauc.features.card.card import Card
from opauc.features.card.landmarks import Landmarks, Probe
from opauc.kernels.rows.card_rows import CATEGORICAL
from opauc.learners.additive.fellner_schall import smoothed
from opauc.learners.additive.penalised_fit import ENOUGH_FOR_NARROW, PenalisedFit, part_of
from opauc.learners.additive.penalties import Penalties
from opauc.rows import DenseRows, Floats
from opauc.statistics.accumulate import one_blas_thread
from opauc.statistics.blas_gram import add_gram
from opauc.statistics.linearised_sums import linearised
from opauc.training.additive.sample_rows import SampleRows

# Landmarks are tried where the rarer class has so many rows, with so many of them, on at most so many rows.
ENOUGH_OF_RARER, TRIED, MOST_TRIED_ON = 500.0, 300, 16_384
# Each of so many folds of the rows judges what was learnt from the others.
FOLDS = 4
# They are taken where they gain so many standard errors of the log loss, and such a share of it: more, where no rows
# are to come from which their weights could be learnt better.
FEWEST_ERRORS, SMALLEST_SHARE, SMALLEST_AT_END = 3.0, 0.02, 0.05
# A row is drawn as a landmark by how far the fit is from its label, and by a little beside.
LEAST_CHANCE = 0.02
# The kernel is this share of the median distance wide.
WIDTH, SAMPLED_FOR_WIDTH, NARROWEST = 0.4, 400, 1e-3
# Rows by which the spread and the importance of inputs are told.
WEIGHED_ON = 1024
# Inputs that hardly spread are not blown up.
LEAST_SPREAD = 0.15
TRYING_STEPS = 4
ROWS_AT_ONCE = 1024
# Landmarks by the square root of the rows that are undecided, those of a chance of one half counting whole.
BY_ROOT = 10.0


def chosen_landmarks(
    card: Card, rows: csr_array, fit: PenalisedFit, some: SampleRows, size: int, seed: int
) -> Landmarks:
    """Return landmarks among the rows where the fit is wrong, inputs scaled by what they matter to its scores.

    `rows` are the columns of the sample, of which `fit` has the scores.
    """
    random, n_inputs, n_rows = np.random.default_rng((seed, size)), card.n_inputs, some.labels.size
    level_places = _level_places(card, fit.weights)
    plain = Landmarks(np.ones(n_inputs), np.full(n_inputs, np.nan), level_places, np.empty((0, n_inputs)), 1.0)
    usual = plain.positions(card.tables, some.numbers[:: -(-n_rows // WEIGHED_ON)])
    middles = np.array([_mean(column) for column in usual.T])
    usual = np.where(np.isnan(usual), middles, usual)
    matter = importances(card, rows, fit.weights)
    matter = matter / np.sqrt(np.mean(matter**2)) if matter.any() else np.ones(n_inputs)
    scales = matter / np.maximum(usual.std(axis=0), LEAST_SPREAD)
    wrong = some.weight * (np.abs(some.labels - expit(fit.scores)) + LEAST_CHANCE)
    drawn = random.choice(n_rows, min(size, n_rows), replace=False, p=wrong / wrong.sum())
    scaled = replace(plain, scales=scales, middles=middles)
    width = WIDTH * float(np.median(pdist(scales * usual[:: -(-len(usual) // SAMPLED_FOR_WIDTH)])))
    places = np.unique(scaled.positions(card.tables, some.numbers[drawn]), axis=0)
    return replace(scaled, places=places, width=max(width, NARROWEST))


def suitable_size(scores: Floats, weight: Floats) -> int:
    """Return how many landmarks the rows can tell the weights of: by how many of them are undecided.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.training.additive.landmark_search import suitable_size
    >>> [suitable_size(np.full(9000, score), np.ones(9000)) for score in (0.0, 2.0, 9.0)]
    [948, 614, 21]
    """
    chances = expit(scores)
    undecided = float(weight @ (4.0 * chances * (1.0 - chances)))
    return int(BY_ROOT * np.sqrt(undecided))


def importances(card: Card, rows: csr_array, weights: Floats) -> Floats:
    """Return the standard deviation over rows of all effects that each input has a part in."""
    shares = np.zeros((card.n_columns, card.n_inputs))
    for inputs, columns in card.effects.items():
        shares[columns, list(inputs)] = 1.0
    some = rows[:: max(1, rows.shape[0] // WEIGHED_ON)]
    parts: Floats = some @ (weights[:, None] * shares)
    spread: Floats = parts.std(axis=0)
    return spread


def probed(card: Card, landmarks: Landmarks, scores: Floats, some: SampleRows) -> Probe:
    """Return what landmarks gain on rows held out of the fit that gave the scores, and out of their own.

    They are fitted to all but one fold of these rows with the scores as they
    are, and judged by the log loss of that fold; so with each fold in turn.

    Parameters
    ----------
    card : Card
        Of the fit, whose tables tell where values lie.
    landmarks : Landmarks
        To be tried.
    scores : ndarray of shape (n_rows,)
        Of the sample's rows, by a fit to `part_of` them.
    some : SampleRows
        The sample.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.features.card import Card
    >>> from opauc.learners.additive.penalised_fit import PenalisedFit
    >>> from opauc.training.additive.landmark_search import chosen_landmarks, probed
    >>> from opauc.training.additive.sample_rows import SampleRows
    >>> rows = np.random.default_rng(0).normal(size=(8000, 3))
    >>> labels, ones, nothing = (rows.prod(axis=1) > 0).astype(np.int8), np.ones(8000), np.zeros(8000)
    >>> some = SampleRows(rows, labels, ones, ones / 8000)
    >>> card = Card.of(rows, ones, np.zeros(3, bool), n_knots=8)
    >>> fit = PenalisedFit(np.zeros(card.n_columns), np.ones(card.groups.kinds.size), nothing)
    >>> landmarks = chosen_landmarks(card, card.rows(rows), fit, some, size=100, seed=0)
    >>> probed(card, landmarks, nothing, some).share > 0.3
    True
    """
    held_out = np.setdiff1d(np.arange(scores.size), part_of(scores.size))
    held_out = held_out[:: -(-held_out.size // MOST_TRIED_ON)] if held_out.size else held_out
    if held_out.size < 2 * FOLDS:
        return Probe(0.0, 0.0)
    held_out = np.concatenate([held_out[fold::FOLDS] for fold in range(FOLDS)])
    columns, weight = _columns(card, landmarks, some.numbers[held_out]), some.weight[held_out]
    labels, known = some.labels[held_out], scores[held_out]
    curvature, pull = linearised(known, labels)
    try:
        change = _changes(columns, weight * curvature, weight * pull, landmarks)
    except StatisticsOverflow:  # landmarks so alike that six digits do not tell them apart
        change = _changes(columns.astype(np.float64), weight * curvature, weight * pull, landmarks)
    sign = 1.0 - 2.0 * labels
    before = weight * np.logaddexp(0.0, sign * known)
    gains = before - weight * np.logaddexp(0.0, sign * (known + change))
    error = float(gains.std()) * np.sqrt(gains.size)
    return Probe(float(gains.sum()) / max(error, 1e-300), float(gains.sum()) / max(float(before.sum()), 1e-300))


def _changes(columns: DenseRows, curvature: Floats, pull: Floats, landmarks: Landmarks) -> Floats:
    """Return by how much landmarks change the score of each row, their weights fitted to the other folds."""
    groups = ColumnGroups.of([Group(GroupKind.LANDMARKS, 0, landmarks.size)])
    penalties = Penalties(groups, (landmarks.roughness,))
    folds = [slice(int(at[0]), int(at[-1]) + 1) for at in np.array_split(np.arange(pull.size), FOLDS)]
    grams = [_gram(columns[at], curvature[at]) for at in folds]
    moments = [columns[at].T @ pull[at] for at in folds]
    changes, strengths = np.empty(pull.size), np.ones(1)
    for at, gram, moment in zip(folds, grams, moments, strict=True):
        found = smoothed(sum(grams) - gram, sum(moments) - moment, penalties, strengths, TRYING_STEPS)
        changes[at], strengths = columns[at] @ found.weights, found.strengths
    return changes


def _columns(card: Card, landmarks: Landmarks, rows: Floats) -> DenseRows:
    """Return the columns of the landmarks: of many rows in float32, six digits serve there."""
    shape = len(rows), landmarks.size
    columns: DenseRows = np.empty(shape, np.float32) if len(rows) >= ENOUGH_FOR_NARROW else np.empty(shape)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        columns[part] = landmarks.columns(card.tables, rows[part])
    return columns


def _gram(columns: DenseRows, weight: Floats) -> Floats:
    """Return the lower triangle of the weighted products of columns."""
    shape = (columns.shape[1],) * 2
    lower: DenseRows = np.zeros(shape, np.float32) if columns.dtype == np.float32 else np.zeros(shape)
    with one_blas_thread():
        add_gram(np.multiply(columns, np.sqrt(weight)[:, None], dtype=columns.dtype, casting="same_kind"), lower)
    return lower.astype(np.float64)


def is_taken(probe: Probe, more_rows: bool) -> bool:
    """Tell whether a gain is large enough, and no chance; less will do where more rows are to come.

    Examples
    --------
    >>> from opauc.features.card.landmarks import Probe
    >>> from opauc.training.additive.landmark_search import is_taken
    >>> [is_taken(Probe(errors=9.0, share=share), more_rows=True) for share in (0.03, 0.01)]
    [True, False]
    """
    return probe.errors > FEWEST_ERRORS and probe.share > (SMALLEST_SHARE if more_rows else SMALLEST_AT_END)


def _level_places(card: Card, weights: Floats) -> Floats:
    """Return a place for every level: where its weight lies between the least and the greatest of its input."""
    places = [np.empty(0)]
    for j in np.flatnonzero(card.tables.kinds == CATEGORICAL).tolist():
        columns = card.effects[(j,)]
        own = weights[columns.start : columns.start + int(card.tables.n_levels[j])]
        places.append((own - own.min()) / max(float(np.ptp(own)), 1e-300))
    return np.concatenate(places)


def _mean(column: Floats) -> float:
    """Return the mean of the known values, zero where there is none."""
    known = column[~np.isnan(column)]
    return float(known.mean()) if known.size else 0.0
