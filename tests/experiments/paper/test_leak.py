"""What a setting chosen once a trial is worth against one chosen once a fold."""

import pytest
from experiments.paper.catalogue import Catalogue
from experiments.paper.data_folder import MissingSetError
from experiments.paper.evidence import Evidence
from experiments.paper.leak import Leak, measure
from experiments.paper.store import Line, Store


@pytest.fixture(scope="module")
def evidence():
    return Evidence(Store(), "paper", Catalogue())


def test_the_folds_that_a_choice_leaks_to_are_compared_with_those_of_the_store(evidence):
    try:
        found = measure(evidence.sets["german"], evidence.catalogue.columns()["exact"], evidence)
    except MissingSetError:
        pytest.skip("german is not here; set OPAUC_DATA to the folder that holds it")
    assert len(found.once_a_trial) == len(found.once_a_fold) == 20
    equal = sum(one == other for one, other in zip(found.once_a_trial, found.once_a_fold, strict=True))
    assert equal >= found.same_settings
    assert abs(found.test().difference) < 0.005


def test_a_cell_that_was_thinned_itself_is_refused(tmp_path):
    store = Store(tmp_path)
    for run in range(25):
        rules = ("setting chosen once a trial",)
        store.add(Line("paper", "german", "exact", run // 5, run % 5, auc=0.8, rules=rules))
    evidence = Evidence(store, "paper", Catalogue())
    with pytest.raises(ValueError, match="exact on german must be in the store, its setting chosen once a fold"):
        measure(evidence.sets["german"], evidence.catalogue.columns()["exact"], evidence)


def test_the_difference_is_that_of_the_paired_test():
    assert Leak([0.9, 0.8, 0.85], [0.89, 0.81, 0.85], 1).test().difference == pytest.approx(0.0)
