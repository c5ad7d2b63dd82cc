"""What the paper says of Tables 2 and 3."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from experiments.paper.data_set import BENCHMARK
from experiments.paper.evidence import NOT_COMPUTED, Claim, Evidence, Verdict, decided, untested

ONLINE = ("OAM_seq", "OAM_gra", "online Uni-Exp", "online Uni-Squ")
# The same methods given what they need: smaller steps than the paper's grid has, an intercept.
STRONGER = ("OAM_seq, smaller C", "OAM_gra, smaller C", "online Uni-Exp, intercept", "online Uni-Squ, intercept")
BATCH = ("SVM-perf", "batch SVM-OR", "batch LS-SVM", "batch Uni-Log", "batch Uni-Squ")
LARGE = 10_000
NEAR = 0.005


class Outcomes(NamedTuple):
    """Wins, ties and losses of OPAUC on some sets, and the sets lost."""

    n_sets: int
    wins: int
    ties: int
    losses: int
    lost: str

    def told(self, sets: str) -> str:
        """The counts and what was lost, in words."""
        note = f", lost on {self.lost}" if self.lost else ""
        return f"{self.wins}/{self.ties}/{self.losses} on {self.n_sets} {sets}{note}"


def outcomes(evidence: Evidence, other: str) -> tuple[Outcomes, str]:
    """OPAUC against a method on the sets of the paper, by which claims are decided, and both these and others in words.

    Without any set of the paper, what others there are decide.
    """
    names = evidence.names("OPAUC", other, suite=BENCHMARK)
    of_paper, others = (
        _outcomes(evidence, other, [name for name in names if bool(evidence.sets[name].printed_as) == is_printed])
        for is_printed in (True, False)
    )
    if not of_paper.n_sets:
        return others, others.told("other sets")
    beside = f"; {others.told('others')}" if others.n_sets else ""
    return of_paper, of_paper.told("sets of the paper") + beside


def _outcomes(evidence: Evidence, other: str, names: Sequence[str]) -> Outcomes:
    lost = [name for name in names if evidence.outcome(name, "OPAUC", other) == "loss"]
    return Outcomes(len(names), *evidence.counts(names, "OPAUC", other), ", ".join(lost))


def never_loses(other: str, where: str = "Table 2") -> Claim:
    """The claim about one online method."""

    def decide(evidence: Evidence) -> Verdict:
        found, told = outcomes(evidence, other)
        if not found.n_sets:
            return untested(NOT_COMPUTED)
        return decided(found.wins > found.n_sets / 2 and not found.losses, told)

    return Claim(
        where, f"OPAUC wins for most times and never loses: against {other}",
        "significant wins on more than half of the paper's sets, no significant loss", decide,
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
        found, told = outcomes(evidence, other)
        if not found.n_sets:
            return untested(NOT_COMPUTED)
        return decided(found.wins + found.ties >= found.losses, told)

    return Claim(
        "Table 3", f"OPAUC is highly competitive to batch learning: against {other}",
        "at least as many wins and ties as losses on the paper's sets", decide,
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
    *(never_loses(other, "Beyond it") for other in STRONGER),
    *(competitive(other) for other in BATCH),
    Claim(
        "Table 3", "Batch LS-SVM is comparable to the other batch algorithms",
        f"median over sets within {NEAR} of the best of the other four", square_loss_is_effective,
    ),
]  # fmt: skip
