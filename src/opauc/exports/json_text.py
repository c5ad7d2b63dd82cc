"""The portable form of a model as JSON."""

from __future__ import annotations

import json
from functools import singledispatch

from opauc.exports.format import ExportFormat, ExportOptions
from opauc.exports.portable import (
    Axis,
    Column,
    CrossedTable,
    Curve,
    Input,
    Levels,
    Line,
    PortableModel,
    PortableTerm,
    Steps,
    Table,
    Trees,
)
from opauc.exports.portable_classes import PortableClasses
from opauc.types import Json
from opauc.version import __version__

FORMAT, CLASSES_FORMAT, FORMAT_VERSION = "opauc portable model", "opauc portable model of several classes", 1
# JSON may be put into a page or a script: there these characters would end it, or begin something else.
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def json_text(model: PortableModel) -> str:
    """Return a model as JSON text: ASCII alone, safe in a script of a page, every number with all its digits.

    Examples
    --------
    >>> from opauc.exports.json_text import to_text
    >>> to_text({"</script>": [0.1, "ü"]})
    '{"\\\\u003c/script\\\\u003e":[0.1,"\\\\u00fc"]}'
    """
    return to_text(to_json(model)) + "\n"


def to_text(saved: object) -> str:
    """Return plain values as JSON text that is safe in a script of a page."""
    text = json.dumps(saved, allow_nan=False, separators=(",", ":"))
    for character, escaped in UNSAFE.items():
        text = text.replace(character, escaped)
    return text


def to_json(model: PortableModel) -> Json:
    """Return a model as plain values."""
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "library": f"opauc {__version__}",
        "estimator": model.estimator,
        "labels": {"negative": model.labels[0], "positive": model.labels[1]},
        "baseline": model.baseline,
        "threshold": model.threshold,
        "probability": {"slope": model.slope, "offset": model.offset},
        "is_centered": model.is_centered,
        "columns": [column_to_json(column) for column in model.columns],
        "inputs": [input_to_json(one) for one in model.inputs],
        "axes": [axis_to_json(axis) for axis in model.axes],
        "terms": [term_to_json(term) for term in model.terms],
        "trees": None if model.trees is None else trees_to_json(model.trees),
    }


def classes_to_json(model: PortableClasses) -> Json:
    """Return a model of several classes as plain values."""
    link = model.link
    return {
        "format": CLASSES_FORMAT,
        "version": FORMAT_VERSION,
        "library": f"opauc {__version__}",
        "estimator": model.estimator,
        "labels": list(model.labels),
        "link": {
            "power": link.power,
            "rest_power": link.rest_power,
            "log_shares": list(link.log_shares),
            "score": "log_odds" if link.scores_are_odds else "log_probability",
        },
        "columns": [column_to_json(column) for column in model.columns],
        "inputs": [input_to_json(one) for one in model.inputs],
        "axes": [axis_to_json(axis) for axis in model.axes],
        "classes": [
            {
                "baseline": one.baseline,
                "terms": [term_to_json(term) for term in one.terms],
                "trees": None if one.trees is None else trees_to_json(one.trees),
            }
            for one in model.classes
        ],
    }


def column_to_json(column: Column) -> Json:
    """Return a column as plain values; what its kind does not have is left out."""
    of_kind: dict[str, Json] = {
        "number": {"number_format": column.text_format},
        "category": {"categories": dict(column.categories)},
        "date": {"layouts": column.text_format.split(" or ")},
    }
    saved = {"name": column.name, "kind": column.kind, **of_kind[column.kind], "missing": list(column.missing)}
    return saved | {"is_required": column.is_required, "is_strict": column.is_strict}


def input_to_json(one: Input) -> Json:
    """Return an input as plain values."""
    return {"name": one.name, "column": one.column} | ({"part": one.part} if one.part else {})


@singledispatch
def axis_to_json(axis: Axis) -> Json:
    """Return an axis as plain values."""
    raise TypeError(f"no axis: {type(axis).__name__}")


@axis_to_json.register
def _(axis: Line) -> Json:
    return {"kind": "line", "input": axis.input}


@axis_to_json.register
def _(axis: Curve) -> Json:
    return {"kind": "curve", "input": axis.input, "knots": axis.knots.tolist()}


@axis_to_json.register
def _(axis: Steps) -> Json:
    return {"kind": "steps", "input": axis.input, "cuts": axis.cuts.tolist()}


@axis_to_json.register
def _(axis: Levels) -> Json:
    return {
        "kind": "levels", "input": axis.input, "numbers": axis.numbers.tolist(), "places": axis.places.tolist(),
        "other": axis.other,
    }  # fmt: skip


def term_to_json(term: PortableTerm) -> Json:
    """Return a term as plain values."""
    return {
        "name": term.name,
        "columns": list(term.columns),
        "constant": term.constant,
        "tables": [table_to_json(table) for table in term.tables],
        "crossed": [crossed_to_json(table) for table in term.crossed],
        "mean": term.mean,
        "lowest": term.lowest,
        "highest": term.highest,
    }


def table_to_json(table: Table) -> Json:
    """Return a table as plain values; those of two axes are a list for each place of the first."""
    return {"axes": list(table.axes), "values": table.values.tolist()}


def crossed_to_json(table: CrossedTable) -> Json:
    """Return a table of combinations as plain values."""
    return {
        "members": [{"input": member.input, "edges": member.edges.tolist()} for member in table.members],
        "n_levels": table.n_levels,
        "levels": table.levels.tolist(),
        "effects": table.effects.tolist(),
    }


def trees_to_json(trees: Trees) -> Json:
    """Return trees as plain values."""
    return {
        "axes": list(trees.axes),
        "terms": list(trees.terms),
        "split_axes": trees.split_axes.tolist(),
        "split_places": trees.split_places.tolist(),
        "children": trees.children.tolist(),
        "roots": trees.roots.tolist(),
        "values": trees.values.tolist(),
    }


def write_json(model: PortableModel, _options: ExportOptions) -> bytes:
    """Return the content of a JSON file of a model."""
    return json_text(model).encode()


def write_classes_json(model: PortableClasses, _options: ExportOptions) -> bytes:
    """Return the content of a JSON file of a model of several classes."""
    return (to_text(classes_to_json(model)) + "\n").encode()


JSON = ExportFormat("json", (".json",), write_json, write_classes=write_classes_json)
