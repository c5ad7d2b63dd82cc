"""The names that users may rely on: a change here is a change of the public interface."""

import doctest
import inspect
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest

import opauc

NAMES = {
    "opauc": {
        "Cube", "DivergedError", "DivergenceWarning", "EngineError", "IncompatibleMomentsError", "InputChangedError",
        "InputError", "MalformedRowError", "MissingEngineError", "OPAUC", "OPAUCCV", "OnePassGAM", "OpaucError",
        "ParameterError", "StatisticsOverflowError", "TooManyBadRowsError", "UnknownNameError", "UnreadableFileError",
        "UnsupportedOperationError", "__version__", "compare", "evaluate", "export", "load", "predict", "save", "train",
        "update", "warmup",
    },
    "opauc.baselines": {
        "AdaOAM", "BatchUniSqu", "FSAUC", "LSSVM", "MeanDifference", "OAM", "OPAUCf", "OPAUCpca", "OPAUCrp",
        "RandomWeights", "SOLAM", "SPAUC", "SVMOR", "SVMPerf", "UniExp", "UniLog", "UniSqu",
    },
    "opauc.linear": {"effective_rank", "theorem_step_size"},
    "opauc.linear.moments": {
        "ClassMoments", "ClassSketch", "ExactMoments", "FeatureMoments", "FoldMoments", "GroupMoments",
        "LabeledSums", "LinearizedMoments", "Mergeable", "MulticlassFoldMoments", "MulticlassMoments", "Statistic",
        "WithinGroupMoments",
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


ESTIMATORS = {"opauc": ("OPAUC", "OPAUCCV", "OnePassGAM"), "opauc.baselines": tuple(sorted(NAMES["opauc.baselines"]))}


def public_methods():
    """Yield each public estimator with the name of each of its public methods and properties."""
    for module, kinds in ESTIMATORS.items():
        for kind in kinds:
            for name, member in inspect.getmembers(getattr(import_module(module), kind)):
                if not name.startswith("_") and (callable(member) or isinstance(member, property)):
                    yield module, kind, name


@pytest.mark.parametrize(("module", "kind", "name"), list(public_methods()))
def test_help_of_a_method_is_about_its_class(module, kind, name):
    method = getattr(getattr(import_module(module), kind), name)
    text = inspect.getdoc(method)
    assert text, f"{kind}.{name} has no docstring"
    others = {name for kinds in ESTIMATORS.values() for name in kinds} - {kind}
    assert not others & set(re.findall(r"\w+", text))


@pytest.mark.parametrize(("module", "kind"), [(module, kind) for module in ESTIMATORS for kind in ESTIMATORS[module]])
def test_examples_of_the_methods_of_an_estimator_hold(module, kind):
    """Those of inherited methods too, which doctest runs only where they are written."""
    if kind in ("SVMOR", "SVMPerf"):
        pytest.importorskip("clarabel")
    failures, runner = [], doctest.DocTestRunner(verbose=False)
    for name, method in inspect.getmembers(getattr(import_module(module), kind), inspect.isfunction):
        if not name.startswith("_") and method.__module__.startswith("opauc."):
            test = doctest.DocTestParser().get_doctest(inspect.getdoc(method), {}, f"{kind}.{name}", None, None)
            sources = [example.source for example in test.examples]
            assert f"from {module} import {kind}\n" in sources, f"{kind}.{name} has no example"
            assert any(f"{kind}(" in source for source in sources), f"{kind}.{name} has no example"
            if find_spec("matplotlib") or not name.startswith("plot_"):
                runner.run(test, out=failures.append)
    assert not failures, "".join(failures)
