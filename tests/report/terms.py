"""Terms of additive models for the report."""

import numpy as np

from opauc.metrics.ranking import Ranking
from opauc.report import (
    CandidateRow,
    Contribution,
    EditRow,
    ExplainedRow,
    Report,
    ShownTerm,
    TermsSection,
    render_report,
)

HOSTILE = "<b>&\"'\x00\u202e https://example.org"


def main_effect(name, grid, values, error, importance, changes):
    size = len(grid)
    fields = {"name": name, "features": (name,), "grid": (tuple(grid),), "values": values, "importance": importance}
    fields |= {"standard_errors": np.full(size, error), "row_shares": np.full(size, 1 / size)}
    return ShownTerm(**(fields | changes))


def curve(name="age", points=None, **changes):
    grid = np.linspace(17.0, 90.0, 40) if points is None else np.asarray(points, float)
    return main_effect(name, grid.tolist(), np.sin(np.arange(grid.size) / 6.0), 0.1, 0.7, changes)


def levels(name="job", names=("clerk", "cook", "missing"), **changes):
    return main_effect(name, names, np.linspace(-1.0, 0.5, len(names)), 0.2, 0.5, changes)


def pair(one="age", two="job", grid=((18.0, 40.0, 70.0), ("clerk", "cook")), **changes):
    values = np.linspace(-0.4, 0.6, len(grid[0]) * len(grid[1])).reshape(len(grid[0]), len(grid[1]))
    fields = {"grid": grid, "values": values, "standard_errors": np.full(values.shape, 0.1), "importance": 0.2}
    return ShownTerm(**({"name": f"{one} × {two}", "features": (one, two)} | fields | changes))


def tree_term(name="age", importance=0.15):
    return ShownTerm(f"{name} (trees)", (name,), (), np.empty(0), np.empty(0), importance)


def terms_section(**changes):
    """A model with every kind of term, and names and values that are hard to draw."""
    terms = [
        curve(),
        curve("gain, with missing", np.r_[0.0, np.geomspace(100, 1e5, 30)], row_shares=np.r_[0.9, np.full(30, 0.003)]),
        levels(HOSTILE, [HOSTILE, "x" * 80, *(f"level {k}" for k in range(20)), "missing"]),
        curve("class " + "and more " * 12, [1.0, 2.0, 3.0]),
        levels("sex", (0.0, 1.0)),
        pair(),
        pair(HOSTILE, "y" * 90, (tuple("z" * k for k in range(1, 21)), tuple(np.arange(12.0)))),
        ShownTerm("all features together", (), (), np.empty(0), np.empty(0), 0.15),
        tree_term(),
        tree_term(HOSTILE, importance=0.14),
        *(curve(f"feature {k}", importance=0.1 / (k + 1)) for k in range(500)),
    ]
    contributions = [
        Contribution(f"feature {k}", "x" * k, (-1) ** k / (k + 1), ("", " (categorical)", " (trees)")[k % 3])
        for k in range(40)
    ]
    fields = {
        "terms": terms,
        "n_terms": len(terms),
        "explained_rows": [
            ExplainedRow("The row that scores highest", HOSTILE, -1.0, contributions),
            ExplainedRow("The positive that scores lowest", "Row 7", -1.0, [Contribution(HOSTILE, HOSTILE, -3.0)]),
        ],
        "selection": "All terms: " + HOSTILE,
        "candidates": [CandidateRow("linear", 0.9, False), CandidateRow(HOSTILE, 0.95, True)],
        "drift": [(HOSTILE, 0.8), ("age", 0.3)],
        "drift_checked": True,
        "edits": [
            EditRow("age", "edit", "ann", "2026-11-18T12:30:00+00:00", "rises with age", (-0.5, 1.0), (0.0, 1.25)),
            EditRow(HOSTILE, "remove", HOSTILE, "2026-11-18T12:31:00+00:00", "why " * 40, (-0.5, 1.0), (0.0, 0.0)),
            EditRow("age (trees)", "remove", "", "2026-11-18T12:32:00+00:00", "", None, None),
        ],
    }
    return TermsSection(**(fields | changes))


def terms_html(**changes):
    """The part of the page about an additive model."""
    report = Report(title="", ranking=Ranking.of([0, 1], [0.0, 1.0]), additive=terms_section(**changes))
    page = render_report(report)
    return page[page.index('<section class="charts terms"') : page.index('<section class="tables"')]
