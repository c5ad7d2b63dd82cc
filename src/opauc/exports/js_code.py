"""A model as one JavaScript file without dependencies: its portable form, and the code that scores rows with it."""

from __future__ import annotations

from importlib.resources import files

from opauc.exports.format import ExportFormat, ExportOptions
from opauc.exports.json_text import classes_to_json, json_text, to_text
from opauc.exports.portable import PortableModel
from opauc.exports.portable_classes import PortableClasses
from opauc.version import __version__

# What stands in `score.js` where the model goes.
PLACE = '"MODEL"'


def js_code(model: PortableModel) -> str:
    """Return a model as JavaScript: ASCII alone, safe in a script of a page.

    Node reads it with `require` or `import`; a page that loads it as a script has it as `opaucModel`.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> from opauc.exports.js_code import js_code
    >>> from opauc.exports.make_portable import make_portable
    >>> print(js_code(make_portable(OPAUC().fit([[0.0], [1.0], [2.0]], [0, 0, 1])._to_model()))[:30])
    // A model of opauc for OPAUC:
    """
    head = (
        f"// A model of opauc for {model.estimator}: score(row), probability(row), label(row) and reasons(row, k)\n"
        "// of an object with a property for each column. Without dependencies, for browsers and Node.\n"
        f"// Written by opauc {__version__}.\n"
    )
    return head + _code(json_text(model).rstrip())


def classes_js_code(model: PortableClasses) -> str:
    """Return a model of several classes as JavaScript, as `js_code` does.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> from opauc.exports.js_code import classes_js_code
    >>> from opauc.exports.make_portable import make_portable_classes
    >>> model = OPAUC().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    >>> print(classes_js_code(make_portable_classes(model._to_model()))[:30])
    // A model of opauc for OPAUC:
    """
    head = (
        f"// A model of opauc for {model.estimator}: scores(row), probabilities(row) and label(row)\n"
        "// of an object with a property for each column. Without dependencies, for browsers and Node.\n"
        f"// Written by opauc {__version__}.\n"
    )
    return head + _code(to_text(classes_to_json(model)))


def _code(model: str) -> str:
    code = files("opauc.exports").joinpath("score.js").read_text(encoding="ascii")
    return code.replace(PLACE, string_literal(model))


def string_literal(text: str) -> str:
    r"""Return ASCII text as a string in single quotes.

    >>> from opauc.exports.js_code import string_literal
    >>> print(string_literal('{"it\'s": "\\u2028"}'))
    '{"it\'s": "\\u2028"}'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def write_js(model: PortableModel, _options: ExportOptions) -> bytes:
    """Return the content of a JavaScript file of a model."""
    return js_code(model).encode("ascii")


def write_classes_js(model: PortableClasses, _options: ExportOptions) -> bytes:
    """Return the content of a JavaScript file of a model of several classes."""
    return classes_js_code(model).encode("ascii")


JS = ExportFormat("js", (".js", ".cjs"), write_js, write_classes=write_classes_js)
