"""What this library wants to reach, decided by the same cells."""

from experiments.paper.data_set import BENCHMARK
from experiments.paper.evidence import NOT_COMPUTED, Claim, Evidence, Verdict, decided, untested
from experiments.paper.plan import WANTED
from experiments.paper.printed import printed_table

NEAR = 0.002
ALL_ROWS = ("LS-SVM, all rows", "Uni-Squ, all rows")


def as_printed(evidence: Evidence) -> Verdict:
    """OPAUC against its printed AUC where the task is the same; where classes were drawn, it need not be."""
    off: dict[bool, list[str]] = {True: [], False: []}
    n_within, n_same = 0, 0
    for name in WANTED:
        auc, printed = evidence.auc(name, "OPAUC"), printed_table("online")[name, "OPAUC"]
        if auc is None or printed.auc is None or printed.deviation is None:
            continue
        is_same = evidence.sets[name].labelling is None
        is_within = abs(auc - printed.auc) <= printed.deviation
        n_same += is_same
        n_within += is_same and is_within
        if not is_within:
            off[is_same].append(f"{name} {auc - printed.auc:+.4f} (printed ± {printed.deviation:.4f})")
    if not n_same:
        return untested(NOT_COMPUTED)
    drawn = f"; of another class partition: {', '.join(off[False])}" if off[False] else ""
    return decided(not off[True], f"{n_within} of {n_same} sets within; off: {', '.join(off[True]) or 'none'}{drawn}")


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
        "within one printed deviation on the sets of two classes; others depend on the partition drawn", as_printed,
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
