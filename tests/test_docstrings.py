"""Every public object has a docstring in numpydoc's form, with parameters, results and an example; in `make check`."""

import dataclasses
import importlib
import inspect
import re
import typing
from pathlib import Path

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

MODULES = ["opauc", "opauc.metrics", "opauc.engines", "opauc.baselines", "opauc.errors", "opauc.mlflow", "opauc.river"]
# What functions and methods return and take, which users meet without importing it.
MORE = [
    "opauc.additive.basis.basis.Basis", "opauc.additive.constraints.price.Price", "opauc.additive.drift.FeatureDrift",
    "opauc.additive.editing.edit.TermEdit", "opauc.additive.leaks.Leak", "opauc.additive.selection.ModelSelection",
    "opauc.additive.state.ForgetReport", "opauc.additive.terms.reasons.Reasons",
    "opauc.additive.terms.terms.Explanation", "opauc.additive.terms.terms.Term", "opauc.api.cube.cube.SegmentInfo",
    "opauc.api.describe.ExampleRows", "opauc.api.evaluate.Evaluation", "opauc.api.observer.Progress",
    "opauc.api.options.TrainOptions", "opauc.api.warmup.WarmUp", "opauc.data.BadRows", "opauc.data.ReadOptions",
    "opauc.linear.effective_rank", "opauc.linear.exact_cv.Selection", "opauc.linear.moments.ClassMoments",
    "opauc.linear.moments.ClassSketch", "opauc.linear.moments.FoldMoments",
    "opauc.linear.progressive_selection.SelectionLeaderboard", "opauc.linear.theorem_step_size",
    "opauc.metrics.groups.GroupEvaluation",
]  # fmt: skip
# Parts of these: their fields are described, the example is that of the whole.
PARTS = [
    "opauc.additive.basis.ensemble.ValidationGain", "opauc.additive.constraints.price.ConstraintPrice",
    "opauc.api.cube.evaluation.SegmentAuc", "opauc.api.cube.studies.Comparison", "opauc.api.cube.studies.LeftOut",
    "opauc.api.cube.studies.SegmentDrift", "opauc.api.cube.studies.TermDifference",
    "opauc.api.cube.studies.WindowScore", "opauc.api.describe.ExampleRow", "opauc.core.batch.SourceRecord",
    "opauc.linear.kernels.progressive_selection.Candidate", "opauc.linear.moments.within_groups.GroupCounts",
    "opauc.core.partial_auc.ObjectiveSelection", "opauc.metrics.group_auc.AucsByGroup",
    "opauc.metrics.groups.GroupPoint", "opauc.metrics.influence.Scale", "opauc.metrics.intervals.IntervalPolicy",
    "opauc.metrics.multiclass_auc.Pair", "opauc.metrics.progressive.WindowPolicy",
    "opauc.metrics.ranking_metric.TableInfluence", "opauc.metrics.score_intervals.ScoreIntervals",
    "opauc.metrics.score_table.ScoreTable", "opauc.types.ClassCounts",
]  # fmt: skip
# What results are made of and users have no use for: models and sums inside, the tables of a basis.
INSIDE = {
    "BasisTables", "Collected", "CrossedCodes", "ExactMoments", "Fit", "GroupLevels", "GroupMoments", "LinearMap",
    "Model", "RandomEffects", "Segment", "SignStream", "Statistic", "TreeEnsemble",
}  # fmt: skip
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
    yield from PARTS


def objects_and_methods():
    """Yield the same and the methods that users call; of the types of results and options the class alone."""
    for path in public_objects():
        yield path
        if path in MORE or path in PARTS:
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
    if path in PARTS:
        return code in ("EX01", "PR01")
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


def returned_types():
    """Return the types of this library that public functions and attributes return, and those of their fields."""
    todo, seen = [], set()
    for path in objects_and_methods():
        value = object_of(path)
        todo += [value] if inspect.isclass(value) else classes_in(hints_of(value).get("return"))
    while todo:
        kind = todo.pop()
        if kind not in seen:
            seen.add(kind)
            hints = hints_of(kind) if fields_of(kind) and kind.__name__ not in INSIDE else {}
            todo += [one for name, hint in hints.items() if not name.startswith("_") for one in classes_in(hint)]
    return {kind.__name__ for kind in seen if not kind.__name__.startswith("_")} - INSIDE


def hints_of(value):
    """Return the types of the fields of a class, or of the parameters and the result of a function."""
    function = getattr(value, "fget", None) or getattr(value, "__func__", value)
    try:
        return typing.get_type_hints(inspect.unwrap(function))
    except NameError:  # types of an extra, known to type checkers alone
        return {}


def classes_in(hint):
    """Return the classes of this library in a type, such as `list[Term]`."""
    own = [hint] if inspect.isclass(hint) and hint.__module__.startswith("opauc") else []
    return own + [one for part in typing.get_args(hint) for one in classes_in(part)]


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


def test_every_type_that_is_returned_is_in_the_reference():
    page = Path(__file__).parents[1] / "docs" / "reference" / "api.md"
    listed = re.findall(r"^   ([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert returned_types() <= {name.split(".")[-1] for name in listed}
