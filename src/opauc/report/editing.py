"""Render the page on which the terms of an additive model are edited: one file with one script, without a network.

`editing.html` is the template, `editing.js` the script. The page may run that script and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from opauc.report.inputs import ShownTerm
from opauc.report.page import template
from opauc.report.style import EDITING_RULES, style_sheet
from opauc.report.term_charts import (
    MISSING_AT,
    MISSING_END,
    N_BARS,
    cumulative_rows,
    is_crowded,
    positive_points,
    value_axis,
)
from opauc.report.text import plain
from opauc.types import Floats, Json

# What a patch says of itself.
PATCH_FORMAT, PATCH_VERSION = "opauc edits", 1
# The digits of a value of a column next to a point.
VALUE_DIGITS = 6


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EditableTerm:
    """A term of the page.

    A curve has `numbers`, its points, of which `knots` can be moved; between them and outside, `offsets` are what a
    point has in addition to the line through the knots. Levels have `names`; two values have `numbers` too. Other
    terms have none of these: they can be removed. `rows` is the share of the rows at each point or level.
    """

    term: ShownTerm
    numbers: Floats | None = None
    names: Sequence[str] = ()
    knots: NDArray[np.bool_] | None = None
    offsets: Floats | None = None
    missing: bool = False
    edited: bool = False

    @property
    def n_present(self) -> int:
        """Number of points or levels but for missing values."""
        return self.term.values.size - self.missing if self.numbers is not None or self.names else 0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EditingPage:
    """What the page shows: the terms of a model, its fingerprint, and the command that applies a patch."""

    title: str
    model: str
    command: str
    terms: Sequence[EditableTerm]


def render_editing(page: EditingPage) -> str:
    """Return the page as HTML, to be written as UTF-8.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.report import ShownTerm
    >>> from opauc.report.editing import EditableTerm, EditingPage, render_editing
    >>> job = ShownTerm("job", ("job",), (("cook", "smith"),), np.array([0.5, -0.5]), np.zeros(2), 0.5)
    >>> terms = [EditableTerm(term=job, names=("cook", "smith"))]
    >>> page = render_editing(EditingPage(title="bank", model="5f", command="opauc edit", terms=terms))
    >>> "<title>Edit bank</title>" in page, page.count("<script"), "unsafe" in page
    (True, 2, False)
    """
    style, script = style_sheet() + EDITING_RULES, _script()
    policy = "; ".join(
        [
            "default-src 'none'", f"script-src '{_hash(script)}'", f"style-src '{_hash(style)}'", "base-uri 'none'",
            "form-action 'none'",
        ]
    )  # fmt: skip
    data = {
        "format": PATCH_FORMAT,
        "version": PATCH_VERSION,
        "model": page.model,
        "terms": [_term(term) for term in page.terms],
    }
    text = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    return template("editing.html").render(page=page, policy=policy, style=style, script=script, data=text)


@cache
def _script() -> str:
    return files("opauc.report").joinpath("editing.js").read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _term(editable: EditableTerm) -> Json:
    """Return a term as the script takes it."""
    term, n = editable.term, editable.n_present
    facts: Json = {
        "name": _text(term.name), "kind": "other", "importance": term.importance, "edited": editable.edited,
        "about": f"Importance {term.importance:.3g}.",
    }  # fmt: skip
    if not n and not editable.missing:
        return facts
    rows = None if term.row_shares is None else term.row_shares.tolist()
    facts |= {"kind": "levels", "values": term.values[:n].tolist(), "rows": None if rows is None else rows[:n]}
    facts["names"] = [_text(name) for name in editable.names] or _numbers(editable.numbers)
    facts["x"] = None if editable.numbers is None else editable.numbers.tolist()
    if editable.missing:
        facts["missing"] = {"value": float(term.values[n]), "rows": None if rows is None else rows[n]}
    if editable.knots is not None and editable.offsets is not None and editable.numbers is not None:
        facts |= {"kind": "curve", "knots": editable.knots.tolist(), "offsets": editable.offsets.tolist()}
        facts["axis"] = _text(term.features[0])
        facts |= _curve_axis(editable.numbers, None if term.row_shares is None else term.row_shares[:n])
        if editable.missing:
            scale = 1.0 / (1.0 + MISSING_END)
            facts["positions"] = [scale * position for position in facts["positions"]]
            facts["ticks"] = [[scale * position, label] for position, label in facts["ticks"]]
            facts["missing"]["position"] = scale * (1.0 + MISSING_AT)
            facts["ticks"].append([facts["missing"]["position"], "missing"])
        facts["about"] += " Drag the points, or select one and use the arrow keys."
        facts["about"] += " Gray: where the rows are." if facts["histogram"] else ""
    return facts


def _curve_axis(numbers: Floats, rows: Floats | None) -> Json:
    """Return the positions of points on an axis from 0 to 1, its ticks, and the rows in bars along it."""
    logarithmic = is_crowded(numbers, rows)
    axis, x = value_axis(numbers, logarithmic), positive_points(numbers) if logarithmic else numbers
    at, histogram = axis.at(x), None
    if rows is not None and rows.any():
        edges = np.linspace(at[0], at[-1], N_BARS + 1)
        histogram = np.diff(np.interp(edges, *cumulative_rows(at, rows))).tolist()
    ticks = [[float(axis.at(tick)), label] for tick, label in zip(axis.ticks, axis.labels, strict=True)]
    return {"positions": at.tolist(), "ticks": ticks, "histogram": histogram}


def _numbers(numbers: Floats | None) -> list[str]:
    return [] if numbers is None else [plain(float(f"{number:.{VALUE_DIGITS}g}")) for number in numbers.tolist()]


def _text(text: str) -> str:
    """Return text without lone surrogates: the script never takes it for markup."""
    return text.encode("utf-8", "replace").decode("utf-8")
