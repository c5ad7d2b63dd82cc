"""The names that users may rely on: a change here is a change of the public interface."""

import inspect
import re
import subprocess
import sys
from importlib import import_module

import pytest

import opauc

NAMES = {
    "opauc": {
        "DivergedError", "DivergenceWarning", "EngineError", "IncompatibleMomentsError", "InputChangedError",
        "InputError", "MalformedRowError", "MissingEngineError", "OPAUC", "OPAUCCV", "OnePassGAM", "OpaucError",
        "ParameterError", "StatisticsOverflowError", "TooManyBadRowsError", "UnknownNameError", "UnreadableFileError",
        "UnsupportedOperationError", "__version__", "compare", "evaluate", "load", "predict", "save", "train",
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


def public_methods():
    """Yield the name of each estimator with that of each of its public methods and properties."""
    for kind in ("OPAUC", "OPAUCCV", "OnePassGAM"):
        for name, member in inspect.getmembers(getattr(opauc, kind)):
            if not name.startswith("_") and (callable(member) or isinstance(member, property)):
                yield kind, name


@pytest.mark.parametrize(("kind", "name"), list(public_methods()))
def test_help_of_a_method_describes_no_other_estimator(kind, name):
    text = inspect.getdoc(getattr(getattr(opauc, kind), name))
    assert text, f"{kind}.{name} has no docstring"
    if kind == "OPAUCCV":  # it shares methods with OPAUC, and the examples in their docstrings
        text = text.partition("\nExamples\n")[0]
    others = {"OPAUC", "OPAUCCV", "OnePassGAM", *NAMES["opauc.baselines"]} - {kind}
    assert not others & set(re.findall(r"\w+", text))
