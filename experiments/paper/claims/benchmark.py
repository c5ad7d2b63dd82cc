"""What the paper says of Tables 2 and 3."""

import numpy as np

from experiments.paper.data_set import BENCHMARK
from experiments.paper.evidence import NOT_COMPUTED, Claim, Evidence, Verdict, decided, untested

ONLINE = ("OAM_seq", "OAM_gra", "online Uni-Exp", "online Uni-Squ")
BATCH = ("SVM-perf", "batch SVM-OR", "batch LS-SVM", "batch Uni-Log", "batch Uni-Squ")
LARGE = 10_000
NEAR = 0.005


def never_loses(other: str) -> Claim:
    """The claim about one online method."""

    def decide(evidence: Evidence) -> Verdict:
        names = evidence.names("OPAUC", other, suite=BENCHMARK)
        if not names:
            return untested(NOT_COMPUTED)
        wins, ties, losses = evidence.counts(names, "OPAUC", other)
        lost = [name for name in names if evidence.outcome(name, "OPAUC", other) == "loss"]
        note = f", lost on {', '.join(lost)}" if lost else ""
        return decided(wins > len(names) / 2 and not losses, f"{wins}/{ties}/{losses} on {len(names)} sets{note}")

    return Claim(
        "Table 2", f"OPAUC wins for most times and never loses: against {other}",
        "significant wins on more than half of the sets, no significant loss", decide,
    )  # fmt: skip


def larger_sets(evidence: Evidence) -> Verdict:
    """Wins by the size of the set, over all four online methods."""
    shares = []
    for is_large in (False, True):
        found = [
            evidence.outcome(name, "OPAUC", other)
            for other in ONLINE
            for name in evidence.names("OPAUC", other, suite=BENCHMARK)
            if (evidence.sets[name].shape.n_rows >= LARGE) == is_large
        ]
        shares.append((found.count("win"), len(found)))
    if not all(total for _, total in shares):
        return untested(NOT_COMPUTED)
    (few, small), (many, large) = shares
    return decided(
        many / large > few / small,
        f"wins in {many} of {large} comparisons from {LARGE:,} rows on, in {few} of {small} below",
    )


def competitive(other: str) -> Claim:
    """The claim about one batch method."""

    def decide(evidence: Evidence) -> Verdict:
        names = evidence.names("OPAUC", other, suite=BENCHMARK)
        if not names:
            return untested(NOT_COMPUTED)
        wins, ties, losses = evidence.counts(names, "OPAUC", other)
        return decided(wins + ties >= losses, f"{wins}/{ties}/{losses} on {len(names)} sets")

    return Claim(
        "Table 3", f"OPAUC is highly competitive to batch learning: against {other}",
        "as many wins and ties as losses", decide,
    )  # fmt: skip


def square_loss_is_effective(evidence: Evidence) -> Verdict:
    """How far LS-SVM is from the best of the other batch methods."""
    names = evidence.names(*BATCH, suite=BENCHMARK)
    if not names:
        return untested(NOT_COMPUTED)
    gaps = []
    for name in names:
        others = [evidence.auc(name, other) or 0.0 for other in BATCH if other != "batch LS-SVM"]
        gaps.append((evidence.auc(name, "batch LS-SVM") or 0.0) - max(others))
    middle = float(np.median(gaps))
    return decided(middle >= -NEAR, f"median of LS-SVM less the best of the others {middle:+.4f} on {len(names)} sets")


CLAIMS = [
    *(never_loses(other) for other in ONLINE),
    Claim(
        "Table 2", "OPAUC is significantly better, particularly for large datasets",
        f"a larger share of wins on sets from {LARGE:,} rows on than on smaller ones", larger_sets,
    ),
    *(competitive(other) for other in BATCH),
    Claim(
        "Table 3", "Batch LS-SVM is comparable to the other batch algorithms",
        f"median over sets within {NEAR} of the best of the other four", square_loss_is_effective,
    ),
]  # fmt: skip
