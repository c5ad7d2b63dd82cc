"""Additive models as the page shows them."""

import numpy as np

from opauc.report.terms import CandidateRow, ExplainedPart, ExplainedRow, ShownTerm, TermsSection

HOSTILE = "<b>&\"'\x00\u202e https://example.org"


def curve(name="age", places=None, **changes):
    at = np.linspace(17.0, 90.0, 40) if places is None else np.asarray(places, float)
    value = np.sin(np.arange(at.size) / 6.0)
    parts = {"at": (tuple(at.tolist()),), "value": value, "error": np.full(at.size, 0.1), "importance": 0.7}
    return ShownTerm(**({"name": name, "inputs": (name,), "rows": np.full(at.size, 1 / at.size)} | parts | changes))


def levels(name="job", names=("clerk", "cook", "missing"), **changes):
    value = np.linspace(-1.0, 0.5, len(names))
    parts = {"at": (tuple(names),), "value": value, "error": np.full(len(names), 0.2), "importance": 0.5}
    return ShownTerm(
        **({"name": name, "inputs": (name,), "rows": np.full(len(names), 1 / len(names))} | parts | changes)
    )


def surface(one="age", two="job", at=((18.0, 40.0, 70.0), ("clerk", "cook")), **changes):
    value = np.linspace(-0.4, 0.6, len(at[0]) * len(at[1])).reshape(len(at[0]), len(at[1]))
    parts = {"at": at, "value": value, "error": np.full(value.shape, 0.1), "importance": 0.2}
    return ShownTerm(**({"name": f"{one} × {two}", "inputs": (one, two)} | parts | changes))


def in_trees(name="age", importance=0.15):
    return ShownTerm(f"{name} (trees)", (name,), (), np.empty(0), np.empty(0), importance)


def additive_part(**changes):
    """A model with every kind of effect, and names and values that are hard to draw."""
    effects = [
        curve(),
        curve("gain, with missing", np.r_[0.0, np.geomspace(100, 1e5, 30)], rows=np.r_[0.9, np.full(30, 0.003)]),
        levels(HOSTILE, [HOSTILE, "x" * 80, *(f"level {k}" for k in range(20)), "missing"]),
        curve("class " + "and more " * 12, [1.0, 2.0, 3.0]),
        levels("sex", (0.0, 1.0)),
        surface(),
        surface(HOSTILE, "y" * 90, (tuple("z" * k for k in range(1, 21)), tuple(np.arange(12.0)))),
        ShownTerm("all features together", (), (), np.empty(0), np.empty(0), 0.15),
        in_trees(),
        in_trees(HOSTILE, importance=0.14),
        *(curve(f"feature {k}", importance=0.1 / (k + 1)) for k in range(500)),
    ]
    rows = [
        ExplainedPart(f"feature {k}", "x" * k, (-1) ** k / (k + 1), ("", " (categorical)", " (trees)")[k % 3])
        for k in range(40)
    ]
    parts = {
        "effects": effects,
        "n_effects": len(effects),
        "explained": [
            ExplainedRow("The row that scores highest", HOSTILE, -1.0, rows),
            ExplainedRow("The positive that scores lowest", "Row 7", -1.0, [ExplainedPart(HOSTILE, HOSTILE, -3.0)]),
        ],
        "guard": "Everything: " + HOSTILE,
        "rungs": [CandidateRow("linear", 0.9, False), CandidateRow(HOSTILE, 0.95, True)],
        "shifted": [(HOSTILE, 0.8), ("age", 0.3)],
        "watched": True,
    }
    return TermsSection(**(parts | changes))
