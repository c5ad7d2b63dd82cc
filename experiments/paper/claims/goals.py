"""What this library wants to reach, decided by the same cells."""

from experiments.paper.data_set import BENCHMARK
from experiments.paper.evidence import NOT_COMPUTED, Claim, Evidence, Verdict, decided, untested
from experiments.paper.printed import printed_table
from experiments.paper.tables import standard_errors_apart

NEAR = 0.002
MOST_ERRORS = 2.0
ALL_ROWS = ("LS-SVM, all rows", "Uni-Squ, all rows")


def as_printed(evidence: Evidence) -> Verdict:
    """OPAUC against its published AUC where the task is the published one."""
    distances = {}
    for name in evidence.names("OPAUC", suite=BENCHMARK):
        cell, printed = evidence.cell(name, "OPAUC"), printed_table("online").get((name, "OPAUC"))
        if evidence.sets[name].is_comparable and cell is not None and printed is not None:
            distances[name] = standard_errors_apart(cell, printed)
    if not distances:
        return untested(NOT_COMPUTED)
    off = [f"{name} {value:+.1f}" for name, value in distances.items() if abs(value) > MOST_ERRORS]
    most = max(distances, key=lambda name: abs(distances[name]))
    return decided(
        not off,
        f"{len(distances) - len(off)} of {len(distances)} sets; off: {', '.join(off) or 'none'}; "
        f"largest distance {distances[most]:+.2f} standard errors ({most})",
    )


def exact_is_no_worse(evidence: Evidence) -> Verdict:
    """The closed form against the descent."""
    names = evidence.names("exact", "OPAUC", suite=BENCHMARK)
    if not names:
        return untested(NOT_COMPUTED)
    wins, ties, losses = evidence.counts(names, "exact", "OPAUC")
    lost = [
        f"{name} {(evidence.auc(name, 'exact') or 0.0) - (evidence.auc(name, 'OPAUC') or 0.0):+.4f}"
        for name in names if evidence.outcome(name, "exact", "OPAUC") == "loss"
    ]  # fmt: skip
    return decided(not losses, f"{wins}/{ties}/{losses} on {len(names)} sets; lost: {', '.join(lost) or 'none'}")


def exact_is_as_good_as_batch(evidence: Evidence) -> Verdict:
    """The closed form against batch methods of the square loss that see every row."""
    names = evidence.names("exact", *ALL_ROWS, suite=BENCHMARK)
    if not names:
        return untested(NOT_COMPUTED)
    gaps = {
        name: max(evidence.auc(name, other) or 0.0 for other in ALL_ROWS) - (evidence.auc(name, "exact") or 0.0)
        for name in names
    }
    most = max(gaps, key=lambda name: gaps[name])
    return decided(
        gaps[most] <= NEAR, f"at most {gaps[most]:+.4f} below the better of the two ({most}), {len(gaps)} sets"
    )


CLAIMS = [
    Claim(
        "Our aim", "OPAUC by descent reaches its printed AUC where the task is the same",
        f"the means differ by at most {MOST_ERRORS:g} standard errors on every set whose task is the published one",
        as_printed,
    ),
    Claim(
        "Our aim", "The closed form is never worse than descent", "no significant loss against OPAUC",
        exact_is_no_worse,
    ),
    Claim(
        "Our aim", "The closed form is as good as batch square loss given all rows", f"within {NEAR} on every set",
        exact_is_as_good_as_batch,
    ),
]  # fmt: skip
