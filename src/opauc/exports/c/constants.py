"""Constants as text of C."""

from __future__ import annotations

from collections.abc import Iterable

LINE_WIDTH = 120


def number(value: float) -> str:
    """Return a finite number with all its digits, as a double.

    >>> from opauc.exports.c.constants import number
    >>> number(0.1), number(3), number(-1e300)
    ('0.1', '3.0', '-1e+300')
    """
    return repr(float(value))


def array(kind: str, name: str, items: Iterable[str | int | float], *, width: int = 0, is_public: bool = False) -> str:
    """Return an array of constants, of arrays if they have a `width`; one without elements, which C lacks, gets a zero.

    >>> from opauc.exports.c.constants import array
    >>> print(array("double", "knots", [0.5, 1]))
    static const double knots[] = {
    0.5, 1
    };
    """
    texts = [str(item) for item in items] or ["{0}" if kind in STRUCTS else "0"]
    lines, line = [], ""
    for text in texts:
        if line and len(line) + len(text) + 2 > LINE_WIDTH:
            lines.append(line)
            line = ""
        line += f" {text}," if line else f"{text},"
    lines.append(line.rstrip(","))
    shape = f"[][{width}]" if width else "[]"
    return f"{'' if is_public else 'static '}const {kind} {name}{shape} = {{\n" + "\n".join(lines) + "\n};"


STRUCTS = frozenset({"listed_text", "axis", "term", "table", "member", "crossed", "split"})
