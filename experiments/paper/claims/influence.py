"""What the paper says of its parameters and of convergence."""

import numpy as np

from experiments.paper.evidence import NOT_COMPUTED, Claim, Evidence, Verdict, decided, untested
from opauc.types import Floats

STUDY = "influence of η and λ"
GOOD, BAD, NEAR = 0.02, 0.01, 0.01
SMALL_STEP, LARGEST_GOOD_STEP, BIG_RIDGE = 2.0**-12, 2.0**-4, 2.0**-2
FEWEST_ROWS = 10_000


def studied(evidence: Evidence) -> dict[str, Floats]:
    """Points (eta0, alpha, AUC) of every set that has them."""
    found = {name: evidence.points(name, STUDY) for name in evidence.sets}
    return {name: points for name, points in found.items() if points is not None}


def best_by(points: Floats, axis: int) -> tuple[Floats, Floats]:
    """The values of one axis, and the best AUC at each."""
    values = np.unique(points[:, axis])
    return values, np.array([points[points[:, axis] == value, -1].max() for value in values])


def large_steps_fail(evidence: Evidence) -> Verdict:
    """The best AUC at steps above one against the best of all."""
    found = studied(evidence)
    if not found:
        return untested(NOT_COMPUTED)
    fine = []
    for name, points in found.items():
        steps, aucs = best_by(points, 0)
        if aucs[steps > 1.0].max() > aucs.max() - BAD:
            fine.append(name)
    return decided(not fine, f"{len(found)} sets; good nevertheless on: {', '.join(fine) or 'none'}")


def wide_range_of_steps(evidence: Evidence) -> Verdict:
    """The worst step within the range said to be good."""
    found = studied(evidence)
    if not found:
        return untested(NOT_COMPUTED)
    good = []
    for name, points in found.items():
        steps, aucs = best_by(points, 0)
        within = aucs[(steps >= SMALL_STEP) & (steps <= LARGEST_GOOD_STEP)]
        if within.min() > aucs.max() - GOOD:
            good.append(name)
    return decided(len(good) > len(found) / 2, f"on {len(good)} of {len(found)} sets")


def ridge_hardly_matters(evidence: Evidence) -> Verdict:
    """The range of AUC over penalties that are not big, each with its best step."""
    found = studied(evidence)
    if not found:
        return untested(NOT_COMPUTED)
    ranges = {}
    for name, points in found.items():
        ridges, aucs = best_by(points, 1)
        ranges[name] = float(np.ptp(aucs[ridges <= BIG_RIDGE]))
    most = max(ranges, key=lambda name: ranges[name])
    return decided(
        sum(value < NEAR for value in ranges.values()) > len(ranges) / 2,
        f"below {NEAR} on {sum(value < NEAR for value in ranges.values())} of {len(ranges)} sets; "
        f"most {ranges[most]:.4f} on {most}",
    )


def rank_hardly_matters(evidence: Evidence) -> Verdict:
    """AUC at rank 50 against the best rank."""
    found = {name: evidence.points(name, "OPAUCr") for name in evidence.sets}
    gaps = {
        name: float(points[:, -1].max() - points[points[:, 0] == 50, -1].max())
        for name, points in found.items() if points is not None
    }  # fmt: skip
    if not gaps:
        return untested(NOT_COMPUTED)
    most = max(gaps, key=lambda name: gaps[name])
    return decided(
        gaps[most] < NEAR, f"rank 50 is at most {gaps[most]:.4f} below the best rank ({most}; {len(gaps)} sets)"
    )


def faster_than_oam(evidence: Evidence) -> Verdict:
    """The mean AUC along the way, rows on a log scale."""
    better, total = [], 0
    for name in evidence.sets:
        curves = [evidence.points(name, column) for column in ("OPAUC", "OAM_seq", "OAM_gra")]
        if any(curve is None for curve in curves):
            continue
        total += 1
        means = [float(curve[:, -1].mean()) for curve in curves if curve is not None]
        if means[0] > max(means[1:]):
            better.append(name)
    if not total:
        return untested(NOT_COMPUTED)
    return decided(len(better) > total / 2, f"higher on average along the pass on {len(better)} of {total} sets")


CLAIMS = [
    Claim(
        "Figure 3", "The step size should not be bigger than 1",
        f"with its best λ every step above 1 is {BAD} or more below the best step, on every set", large_steps_fail,
    ),
    Claim(
        "Figure 3", "There is a big range between 2^-12 and 2^-4 where OPAUC achieves good results",
        f"with its best λ every step there is within {GOOD} of the best step, on more than half of the sets",
        wide_range_of_steps,
    ),
    Claim(
        "Figure 4", "OPAUC is not sensitive to λ if that is not big",
        f"with its best step AUC varies by less than {NEAR} over λ up to 2^-2, on more than half of the sets",
        ridge_hardly_matters,
    ),
    Claim(
        "Figure 5", "OPAUCr is not sensitive to the rank and works well with 50",
        f"rank 50 is within {NEAR} of the best rank on every set", rank_hardly_matters,
    ),
    Claim(
        "Figure 6", "OPAUC converges faster than OAM_seq and OAM_gra",
        "the mean AUC along the pass, rows on a log scale, is higher on more than half of the sets", faster_than_oam,
    ),
]  # fmt: skip
