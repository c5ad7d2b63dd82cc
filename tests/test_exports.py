"""The names that users may rely on: a change here is a change of the public interface."""

import subprocess
import sys
from importlib import import_module

import pytest

NAMES = {
    "opauc": {
        "DivergedError", "DivergenceWarning", "IncompatibleMomentsError", "InputChangedError", "InputError",
        "MalformedRowError", "OPAUC", "OPAUCCV", "OnePassGAM", "OpaucError", "StatisticsOverflowError",
        "TooManyBadRowsError", "UnreadableFileError", "UnsupportedOperationError",
        "__version__", "load", "save",
    },
    "opauc.baselines": {
        "AdaOAM", "BatchUniSqu", "LSSVM", "MeanDifference", "OAM", "OPAUCf", "OPAUCpca", "OPAUCrp", "RandomWeights",
        "SOLAM", "SPAUC", "SVMOR", "SVMPerf", "UniExp", "UniLog", "UniSqu",
    },
    "opauc.linear.moments": {
        "ClassMoments", "ClassSketch", "ExactMoments", "FeatureMoments", "FoldMoments", "GroupMoments",
        "Mergeable", "Statistic",
    },
}  # fmt: skip


@pytest.mark.parametrize("module", NAMES)
def test_exactly_these_names_are_exported_and_each_can_be_had(module):
    found = import_module(module)
    assert set(found.__all__) == NAMES[module]
    for name in found.__all__:
        assert getattr(found, name) is not None
    assert NAMES[module] <= set(dir(found))


def test_what_is_not_there_is_an_attribute_error():
    import opauc

    with pytest.raises(AttributeError, match="module 'opauc' has no attribute 'OPAUK'"):
        opauc.OPAUK  # noqa: B018


WITHOUT_SKLEARN = """
import sys
import opauc
assert "sklearn" not in sys.modules
assert "OPAUC" in dir(opauc)
opauc.OPAUC
assert "sklearn" in sys.modules
"""


def test_scikit_learn_is_imported_only_when_an_estimator_is_asked_for():
    subprocess.run([sys.executable, "-c", WITHOUT_SKLEARN], check=True)
