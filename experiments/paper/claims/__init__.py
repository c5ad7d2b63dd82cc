"""Every claim of the paper's evaluation, and what we want to reach: one file a topic, found by folder."""

from collections.abc import Iterator

from experiments.paper.discovery import things_in
from experiments.paper.evidence import PAPER, Claim


def all_claims() -> Iterator[Claim]:
    """Every claim that a file here declares.

    >>> any("never loses" in claim.says for claim in all_claims())
    True
    """
    import experiments.paper.claims as here

    lists = [thing for _, thing in things_in(here) if isinstance(thing, list)]
    # What the paper says comes before what we say.
    claims = [claim for some in lists for claim in some if isinstance(claim, Claim)]
    yield from sorted(claims, key=lambda claim: claim.by != PAPER)
