"""Every public object has a docstring in numpydoc's form, with parameters, results and an example; in `make check`."""

import dataclasses
import importlib
import inspect
import re

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

MODULES = ["opauc", "opauc.metrics", "opauc.engines", "opauc.baselines", "opauc.errors", "opauc.mlflow", "opauc.river"]
# What functions and methods return and take, which users meet without importing it.
MORE = [
    "opauc.additive.drift.FeatureDrift", "opauc.additive.leaks.Leak", "opauc.additive.selection.ModelSelection",
    "opauc.additive.state.ForgetReport", "opauc.additive.terms.terms.Explanation", "opauc.additive.terms.terms.Term",
    "opauc.api.evaluate.Evaluation", "opauc.api.observer.Progress", "opauc.api.options.TrainOptions",
    "opauc.api.warmup.WarmUp", "opauc.data.BadRows", "opauc.data.ReadOptions", "opauc.linear.effective_rank",
    "opauc.linear.moments.ClassMoments", "opauc.linear.moments.ClassSketch", "opauc.linear.moments.FoldMoments",
    "opauc.linear.progressive_selection.SelectionLeaderboard", "opauc.linear.theorem_step_size",
]  # fmt: skip
CHECKS = {
    "GL05", "GL06", "GL07", "GL08", "GL10",  # form, order of sections, presence
    "SS01", "SS02", "SS03", "SS04", "SS05",  # a summary: capital, period, an infinitive
    "PR01", "PR02", "PR04", "PR05", "PR06", "PR07", "PR10",  # parameters: these and no others, described
    "RT01", "RT03", "YD01",  # what is returned
    "EX01",  # an example
}  # fmt: skip


def fields_of(value):
    """Return the names of the fields of a named tuple or a frozen dataclass, else none."""
    if hasattr(value, "_fields"):
        return value._fields
    return tuple(field.name for field in dataclasses.fields(value)) if dataclasses.is_dataclass(value) else ()


def public_objects():
    """Yield the path of each public object and of its methods that this library defines."""
    for module in MODULES:
        names = getattr(importlib.import_module(module), "__all__", None)
        if names is None:
            of_module = inspect.getmembers(importlib.import_module(module), inspect.isclass)
            names = [name for name, value in of_module if issubclass(value, BaseException) and name != "Message"]
        yield from (f"{module}.{name}" for name in names if not name.startswith("_"))
    yield from MORE


def objects_and_methods():
    """Yield the same and the methods that users call; of the types of results and options the class alone."""
    for path in public_objects():
        yield path
        if path in MORE:
            continue
        module, name = path.rsplit(".", 1)
        value = getattr(importlib.import_module(module), name)
        if inspect.isclass(value):
            for member, function in inspect.getmembers(value):
                code = inspect.unwrap(getattr(function, "fget", None) or getattr(function, "__func__", function))
                own = (getattr(code, "__module__", "") or "").startswith("opauc")
                if own and not member.startswith("_") and (callable(code) or isinstance(function, property)):
                    yield f"{path}.{member}"


def complaints(path):
    """Return what is wrong with the docstring of an object, and not waived below."""
    for code, text in validate(path)["errors"]:
        if code in CHECKS and not waived(path, code):
            yield f"{code} {text}"


def waived(path, code):
    """Tell whether a check does not fit an object."""
    owner = object_of(path)
    if inspect.isclass(owner):
        # Results and errors are made by this library: their fields stand under Attributes. Protocols are not called.
        if issubclass(owner, BaseException):
            return code in ("PR01", "EX01")
        return code in ("PR01", "PR02") and (bool(fields_of(owner)) or getattr(owner, "_is_protocol", False))
    if isinstance(owner, property):
        return code in ("EX01", "RT01", "SS05")
    # Methods of statistics, results and errors have the example of their class; those of estimators have their own.
    holder = object_of(path.rsplit(".", 1)[0])
    return code == "EX01" and inspect.isclass(holder) and not hasattr(holder, "fit")


def object_of(path):
    module, names = path, []
    while True:
        try:
            value = importlib.import_module(module)
            break
        except ImportError:
            module, name = module.rsplit(".", 1)
            names.insert(0, name)
    for name in names:
        value = inspect.getattr_static(value, name) if inspect.isclass(value) else getattr(value, name)
    return value


@pytest.mark.parametrize("path", sorted(set(objects_and_methods())))
def test_a_docstring_says_what_a_user_needs(path):
    assert not list(complaints(path)), "\n".join(complaints(path))


@pytest.mark.parametrize("path", [path for path in sorted(set(public_objects())) if fields_of(object_of(path))])
def test_every_field_of_a_result_is_described(path):
    value = object_of(path)
    doc = get_doc_object(value)
    described = {
        name for part in ("Attributes", "Parameters") for one in doc[part] for name in re.split(r", ", one.name)
    }
    assert {name for name in fields_of(value) if not name.startswith("_")} <= described
