"""Which members of a class its page shows, and docstrings as reStructuredText.

A page shows the members that this library documents, each once. Docstrings are plain text for `help`: what markup would
read as more than that, names that end in an underscore, bars of absolute values and stars of file patterns, is escaped.
"""

import inspect
import re

NAME = re.compile(r"^(\s*[\w*, ]+ : )?(.*)$")
MARKUP = re.compile(r"`[^`]*`|(?<=\w)_(?=\W|$)|\||(?<=[=/\"\'])\*(?!\*)")


def _skip(app, what, name, value, skip, options):  # noqa: ARG001
    if what != "class":
        return None
    if isinstance(value, property) or type(value).__name__ in ("_tuplegetter", "member_descriptor"):
        return True  # they stand in the section Attributes
    module = getattr(inspect.unwrap(getattr(value, "__func__", value)), "__module__", "") or ""
    return None if module.startswith("opauc") else True


def _escape(app, what, name, value, options, lines):  # noqa: ARG001
    is_example = False
    for number, line in enumerate(lines):
        is_example = line.lstrip().startswith(">>>") or (is_example and bool(line.strip()))
        if not is_example:
            begin, rest = NAME.match(line).groups()
            lines[number] = (begin or "") + MARKUP.sub(lambda m: m[0] if m[0][0] == "`" else f"\\{m[0]}", rest)


def setup(app):
    """Connect to autodoc."""
    app.connect("autodoc-process-docstring", _escape, priority=100)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True}
