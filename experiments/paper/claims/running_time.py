"""What the paper says of running time."""

import numpy as np

from experiments.paper.data_set import BENCHMARK, HIGH_DIMENSION
from experiments.paper.evidence import NOT_COMPUTED, Claim, Evidence, Verdict, decided, untested

PAIRWISE = ("OAM_seq", "OAM_gra")
UNIVARIATE = ("online Uni-Exp", "online Uni-Squ")
COMPETITIVE = 2.0


def univariate_is_fastest(suite: str, ours: str) -> Claim:
    """The claim on one kind of sets."""

    def decide(evidence: Evidence) -> Verdict:
        names = evidence.names(ours, *PAIRWISE, *UNIVARIATE, suite=suite)
        if not names:
            return untested(NOT_COMPUTED)
        slower = [
            name for name in names
            if max(evidence.seconds(name, fast) for fast in UNIVARIATE)
            > min(evidence.seconds(name, slow) for slow in (ours, *PAIRWISE))
        ]  # fmt: skip
        return decided(not slower, f"on {len(names) - len(slower)} of {len(names)} sets")

    return Claim(
        "Running time", f"Online Uni-Squ and Uni-Exp take the least time: {suite} sets", "both faster on every set",
        decide,
    )  # fmt: skip


def as_fast_as_oam(suite: str, ours: str) -> Claim:
    """The claim on one kind of sets."""

    def decide(evidence: Evidence) -> Verdict:
        names = evidence.names(ours, *PAIRWISE, suite=suite)
        if not names:
            return untested(NOT_COMPUTED)
        ratios = {
            name: evidence.seconds(name, ours) / max(evidence.seconds(name, other) for other in PAIRWISE)
            for name in names
        }
        near = [name for name in names if ratios[name] <= COMPETITIVE]
        most = max(ratios, key=lambda name: ratios[name])
        return decided(
            len(near) > len(names) / 2,
            f"on {len(near)} of {len(names)} sets; median ratio {np.median([*ratios.values()]):.2f}, "
            f"largest {ratios[most]:.1f} on {most}",
        )

    return Claim(
        "Running time", f"On most data sets {ours} is competitive to OAM: {suite} sets",
        f"at most {COMPETITIVE:g} times the slower of the two on more than half of the sets", decide,
    )  # fmt: skip


def slow_where_wide(evidence: Evidence) -> Verdict:
    """Whether the ratio to OAM is largest on the widest set."""
    names = evidence.names("OPAUC", *PAIRWISE, suite=BENCHMARK)
    if "mnist" not in names:
        return untested(NOT_COMPUTED)
    ratios = {
        name: evidence.seconds(name, "OPAUC") / max(evidence.seconds(name, other) for other in PAIRWISE)
        for name in names
    }
    most = max(ratios, key=lambda name: ratios[name])
    return decided(most == "mnist", f"largest ratio {ratios[most]:.1f} on {most}; epsilon is not here")


CLAIMS = [
    univariate_is_fastest(BENCHMARK, "OPAUC"),
    univariate_is_fastest(HIGH_DIMENSION, "OPAUCr"),
    as_fast_as_oam(BENCHMARK, "OPAUC"),
    as_fast_as_oam(HIGH_DIMENSION, "OPAUCr"),
    Claim(
        "Running time", "Except on mnist and epsilon, which have the highest dimension",
        "the ratio to OAM is largest on mnist", slow_where_wide,
    ),
]  # fmt: skip
