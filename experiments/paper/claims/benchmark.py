"""What the paper says of Tables 2 and 3."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import fisher_exact

from experiments.paper.data_set import BENCHMARK
from experiments.paper.evidence import MARGIN, NOT_COMPUTED, OURS, Claim, Evidence, Verdict, decided, tested, untested

ONLINE = ("OAM_seq", "OAM_gra", "online Uni-Exp", "online Uni-Squ")
# The same methods given what they need: smaller steps than the paper's grid has, an intercept.
STRONGER = ("OAM_seq, smaller C", "OAM_gra, smaller C", "online Uni-Exp, intercept", "online Uni-Squ, intercept")
BATCH = ("SVM-perf", "batch SVM-OR", "batch LS-SVM", "batch Uni-Log", "batch Uni-Squ")
LARGE = 10_000
COUNTS = f"a difference counts if it is significant and above {MARGIN}"


class Outcomes(NamedTuple):
    """Wins, ties and losses of a method on some sets, and the sets lost."""

    n_sets: int
    wins: int
    ties: int
    losses: int
    lost: str

    def told(self, sets: str = "") -> str:
        """The counts and what was lost, in words."""
        note = f", lost on {self.lost}" if self.lost else ""
        return f"{self.wins}/{self.ties}/{self.losses}{f' on {self.n_sets} {sets}' if sets else ''}{note}"


def paper_sets(evidence: Evidence, *columns: str) -> list[str]:
    """The sets of the paper on which all these columns are computed, whatever their partition of classes."""
    return [name for name in evidence.names(*columns, suite=BENCHMARK) if evidence.sets[name].printed_as]


def outcomes(
    evidence: Evidence, names: Sequence[str], first: str, other: str, corrected: bool = False, margin: float = 0.0
) -> Outcomes:
    """One method against another on some sets."""
    lost = [
        f"{name} by {(evidence.auc(name, other) or 0.0) - (evidence.auc(name, first) or 0.0):.4f}"
        for name in names if evidence.outcome(name, first, other, corrected, margin) == "loss"
    ]  # fmt: skip
    return Outcomes(len(names), *evidence.counts(names, first, other, corrected, margin), ", ".join(lost))


def never_loses(other: str, by: dict[str, str]) -> Claim:
    """The claim about one online method."""

    def decide(evidence: Evidence) -> Verdict:
        names = paper_sets(evidence, "OPAUC", other)
        if not names:
            return untested(NOT_COMPUTED)
        found = outcomes(evidence, names, "OPAUC", other)
        corrected = outcomes(evidence, names, "OPAUC", other, corrected=True)
        others = [name for name in evidence.names("OPAUC", other, suite=BENCHMARK) if name not in names]
        beside = f"; {outcomes(evidence, others, 'OPAUC', other).told('other sets')}" if others else ""
        return decided(
            found.wins > found.n_sets / 2 and not found.losses,
            f"{found.told('sets of the paper')}; by the corrected test {corrected.told()}{beside}",
        )

    return Claim(
        statement="OPAUC wins for most times and never loses", about=f"against {other}",
        criterion="significant wins on more than half of the paper's sets, no significant loss", decide=decide, **by,
    )  # fmt: skip


def larger_sets(evidence: Evidence) -> Verdict:
    """Wins by the size of the set, over all four online methods."""
    shares = []
    for is_large in (False, True):
        found = [
            evidence.outcome(name, "OPAUC", other)
            for other in ONLINE
            for name in paper_sets(evidence, "OPAUC", other)
            if (evidence.sets[name].shape.n_rows >= LARGE) == is_large
        ]
        shares.append((found.count("win"), len(found)))
    if not all(total for _, total in shares):
        return untested(NOT_COMPUTED)
    (few, small), (many, large) = shares
    p_value = float(fisher_exact([[many, large - many], [few, small - few]])[1])
    return tested(
        many / large > few / small,
        p_value,
        f"wins in {many} of {large} comparisons from {LARGE:,} rows on, in {few} of {small} below; Fisher's exact test",
    )


def competitive(other: str) -> Claim:
    """The claim about one batch method."""

    def decide(evidence: Evidence) -> Verdict:
        names = paper_sets(evidence, "OPAUC", other)
        if not names:
            return untested(NOT_COMPUTED)
        found = outcomes(evidence, names, "OPAUC", other, margin=MARGIN)
        plain, corrected = (outcomes(evidence, names, "OPAUC", other, kind) for kind in (False, True))
        return decided(
            found.losses <= found.n_sets / 4,
            f"{found.told('sets of the paper')}; without the margin {plain.wins}/{plain.ties}/{plain.losses}, "
            f"by the corrected test without it {corrected.wins}/{corrected.ties}/{corrected.losses}",
        )

    return Claim(
        "Table 3", "OPAUC is highly competitive to batch learning",
        f"worse on at most a quarter of the paper's sets; {COUNTS}", decide, about=f"against {other}",
    )  # fmt: skip


def square_loss_is_effective(evidence: Evidence) -> Verdict:
    """LS-SVM against the best of the other batch methods on each set."""
    names = paper_sets(evidence, *BATCH)
    if not names:
        return untested(NOT_COMPUTED)
    best = {
        name: max(
            (other for other in BATCH if other != "batch LS-SVM"),
            key=lambda other, name=name: evidence.auc(name, other) or 0.0,
        )
        for name in names
    }
    gaps = [(evidence.auc(name, "batch LS-SVM") or 0.0) - (evidence.auc(name, best[name]) or 0.0) for name in names]
    lost = [name for name in names if evidence.outcome(name, "batch LS-SVM", best[name], margin=MARGIN) == "loss"]
    return decided(
        len(lost) <= len(names) / 4,
        f"worse on {len(lost)} of {len(names)} sets ({', '.join(lost) or 'none'}); median difference "
        f"{np.median(gaps):+.4f}",
    )


CLAIMS = [
    *(never_loses(other, {"where": "Table 2"}) for other in ONLINE),
    Claim(
        "Table 2", "OPAUC is significantly better, particularly for large datasets",
        f"a larger share of wins on the paper's sets from {LARGE:,} rows on than on smaller ones, significantly",
        larger_sets,
    ),
    *(never_loses(other, {"where": "Beyond it", "by": OURS}) for other in STRONGER),
    *(competitive(other) for other in BATCH),
    Claim(
        "Table 3", "Batch LS-SVM is comparable to the other batch algorithms",
        f"worse than the best of the other four on at most a quarter of the paper's sets; {COUNTS}",
        square_loss_is_effective,
    ),
]  # fmt: skip
