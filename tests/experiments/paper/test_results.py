"""What the committed store says, as far as it goes."""

import pytest
from experiments.paper.catalogue import Catalogue
from experiments.paper.evidence import Evidence
from experiments.paper.plan import WANTED
from experiments.paper.printed import printed_table
from experiments.paper.store import Store

# The class partition decides these, not the method: docs/paper.md.
PARTITIONED = ("usps", "connect-4")


@pytest.fixture(scope="module")
def evidence():
    return Evidence(Store(), "paper", Catalogue())


def whole(evidence, name, column):
    """A cell with all its runs; others are still being computed."""
    cell = evidence.cell(name, column)
    if cell is None:
        pytest.skip(f"{column} on {name} is not computed yet: make paper")
    return cell


def test_the_store_is_sound(evidence):
    assert evidence.store.faults == []
    assert not [line for line in evidence.store.lines("paper") if line.error]


@pytest.mark.parametrize("name", [name for name in WANTED if name not in PARTITIONED])
def test_opauc_is_within_a_printed_deviation_of_print(evidence, name):
    printed = printed_table("online")[name, "OPAUC"]
    assert abs(whole(evidence, name, "OPAUC").auc - printed.auc) <= printed.deviation


@pytest.mark.parametrize("name", WANTED)
def test_the_closed_form_is_not_significantly_worse_than_descent(evidence, name):
    whole(evidence, name, "OPAUC")
    whole(evidence, name, "exact")
    assert evidence.outcome(name, "exact", "OPAUC") in ("win", "tie")


@pytest.mark.parametrize("name", sorted(Catalogue().sets()))
def test_the_closed_form_is_as_good_as_batch_square_loss_given_all_rows(evidence, name):
    if name not in evidence.names("exact", "LS-SVM, all rows", "Uni-Squ, all rows"):
        pytest.skip(f"not computed on {name} yet: make paper")
    best = max(evidence.auc(name, column) for column in ("LS-SVM, all rows", "Uni-Squ, all rows"))
    assert evidence.auc(name, "exact") >= best - 0.002
