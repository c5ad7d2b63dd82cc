"""The sums of an additive model as flat arrays that add: those of segments make the model of all their rows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.sparse import csr_array

from opauc.additive.model import BIN_COUNTS, BLEND, CANDIDATES, CROSSED, RANDOM_EFFECTS, SUMS, AdditiveLogistic
from opauc.additive.trees.blend import SUMS_SCHEMA as BLEND_SUMS
from opauc.core.packed_sums import PackedArray, SegmentSums
from opauc.types import Arrays, Floats

# Of two random effects in one row: too many pairs for an array of all.
SHARED = f"{RANDOM_EFFECTS}shared"
# Squares of weighted residuals.
SQUARES = f"{RANDOM_EFFECTS}squares"
EFFECT_SUMS = ("products", "curvature", "rhs", "squares", "counts")


def pack_sums(model: AdditiveLogistic) -> dict[str, PackedArray]:
    """Return what the rows have added to a model: each array adds where models of one basis merge.

    Of the Gram matrix these are the entries on the diagonal and below it, row by row.
    """
    packed = {name: PackedArray.of(array) for name, array in _flat_sums(model).items()}
    if model.random_effects.size:
        shared = model.random_effects.shared.tocoo()
        positions = shared.row.astype(np.int64) * model.random_effects.size + shared.col
        order = np.argsort(positions)
        packed[SHARED] = PackedArray(model.random_effects.size**2, positions[order], shared.data[order])
    return packed


def sum_sizes(model: AdditiveLogistic) -> dict[str, int]:
    """Return the size of each array of `pack_sums`."""
    n_columns, n_effects = model.sums.n_features, model.random_effects.size
    sizes = {
        f"{SUMS}gram": n_columns * (n_columns + 1) // 2,
        f"{SUMS}rhs": n_columns,
        f"{SUMS}class_counts": 2,
        f"{CANDIDATES}counts": model.candidates.counts.size,
        f"{BIN_COUNTS}later": n_columns,
    }
    if n_effects:
        sizes |= {f"{RANDOM_EFFECTS}{name}": n_effects for name in EFFECT_SUMS}
        sizes |= {f"{RANDOM_EFFECTS}products": n_effects * n_columns, SHARED: n_effects**2}
    if model.crossed.size:
        sizes |= {f"{CROSSED}{name}": model.crossed.size for name in ("residuals", "curvature")}
    if model.blend is not None:
        sizes |= {f"{BLEND}{name}": np.size(getattr(model.blend.sums, name)) for name in BLEND_SUMS}
    return sizes


def add_segments(model: AdditiveLogistic, segments: Iterable[tuple[SegmentSums, float]]) -> AdditiveLogistic:
    """Return the model of the rows of segments, each with a factor on the weight of its rows, with this basis.

    The sums are those of `pack_sums`. Raises ValueError where they cannot be sums of rows.
    """
    sizes = sum_sizes(model)
    totals = {name: np.zeros(size) for name, size in sizes.items() if name != SHARED}
    n_effects = model.random_effects.size
    shared = csr_array((n_effects, n_effects))
    for segment, factor in segments:
        for name, total in totals.items():
            segment.arrays[name].add_to(total, factor**2 if name == SQUARES else factor)
        if n_effects and segment.arrays[SHARED].values.size:
            pairs = segment.arrays[SHARED]
            positions = np.arange(pairs.size) if pairs.positions is None else pairs.positions
            places = divmod(positions, n_effects)
            shared = shared + csr_array((factor * pairs.values, places), shape=shared.shape)
    return AdditiveLogistic.from_arrays(model.columns, _model_arrays(model, totals, csr_array(shared)))


def _flat_sums(model: AdditiveLogistic) -> Arrays:
    """Return the sums of a model as arrays, by the names of `sum_sizes`."""
    sums: Arrays = {
        f"{SUMS}gram": model.sums.gram[np.tril_indices(model.sums.n_features)],
        f"{SUMS}rhs": model.sums.rhs,
        f"{SUMS}class_counts": model.sums.class_counts,
        f"{CANDIDATES}counts": model.candidates.counts,
        f"{BIN_COUNTS}later": model.bin_counts.later,
    }
    if model.random_effects.size:
        sums |= {f"{RANDOM_EFFECTS}{name}": getattr(model.random_effects, name) for name in EFFECT_SUMS}
    if model.crossed.size:
        sums |= {f"{CROSSED}{name}": getattr(model.crossed, name) for name in ("residuals", "curvature")}
    if model.blend is not None:
        sums |= {f"{BLEND}{name}": np.asarray(getattr(model.blend.sums, name)) for name in BLEND_SUMS}
    return sums


def _model_arrays(model: AdditiveLogistic, totals: dict[str, Floats], shared: csr_array) -> Arrays:
    """Return the arrays of a model of the same basis with other sums."""
    arrays = model.empty_copy().to_arrays()
    gram = np.zeros(model.sums.gram.shape)
    gram[np.tril_indices(model.sums.n_features)] = totals.pop(f"{SUMS}gram")
    arrays[f"{SUMS}gram"] = gram
    if model.crossed.size:
        residuals, curvature = totals.pop(f"{CROSSED}residuals"), totals.pop(f"{CROSSED}curvature")
        used = np.flatnonzero((curvature > 0.0) | (residuals != 0.0))
        arrays |= {
            f"{CROSSED}levels": used,
            f"{CROSSED}residuals": residuals[used],
            f"{CROSSED}curvature": curvature[used],
        }
    if model.random_effects.size:
        shared.sum_duplicates()
        arrays |= {
            f"{SHARED}.data": np.asarray(shared.data),
            f"{SHARED}.indices": np.asarray(shared.indices, np.int32),
            f"{SHARED}.indptr": np.asarray(shared.indptr, np.int32),
        }
    return arrays | {name: total.reshape(arrays[name].shape) for name, total in totals.items()}
