"""The pictures of docs/explanation/one-pass-gam.md: python examples/additive_pictures.py

They show a OnePassGAM of 300,000 simulated purchases (`million_rows.py`), drawn as the report page draws them.
"""

from pathlib import Path

import numpy as np
from million_rows import purchases

from opauc import OnePassGAM
from opauc.api.describe import explain_row, shown_terms
from opauc.report.style import chart_style
from opauc.report.svg import Axis, Frame
from opauc.report.term_charts import curve_chart, largest_value, level_chart, pair_chart, waterfall_chart

FOLDER, N_FILES = Path(__file__).parent.parent / "docs" / "explanation" / "pictures", 6
KNOTS, HEIGHTS = (0.0, 4.0, 8.0, 11.0, 14.0, 17.0, 20.0, 24.0), (1.6, 1.4, 0.1, -0.5, -0.6, -0.5, -0.2, 0.7)


def main() -> None:
    """Train on the purchases and write the pictures."""
    model = OnePassGAM(random_state=0)
    for number in range(N_FILES):
        table = purchases(number).drop_columns(["purchase"])
        model.partial_fit(table.drop_columns(["fraud"]), table["fraud"].to_numpy(), classes=["no", "yes"])
    terms = model._terms()
    shown = {term.name: term for term in shown_terms(terms)}
    rows = purchases(N_FILES).drop_columns(["purchase", "fraud"])
    numbers = model._columns.read(rows).rows
    riskiest = int(np.argmax(model.decision_function(rows)))
    FOLDER.mkdir(exist_ok=True)
    write("hats", hat_basis_chart())
    write("curve", curve_chart("curve", shown["hour"]))
    write("levels", level_chart("levels", shown["country"]))
    write("pair", pair_chart("pair", shown["hour × country"], largest_value([shown["hour × country"]])))
    write("row", waterfall_chart("row", explain_row(terms, numbers[riskiest], "A row explained", "")))


def hat_basis_chart() -> str:
    """Return hat functions at eight knots, each as high as its weight, and the curve that they add up to."""
    frame = Frame(Axis.linear(0.0, 24.0), Axis.linear(-1.0, 2.0), "hour", "Effect, log-odds")
    marks = f'<path class="guide" d="{frame.path([0.0, 24.0], [0.0, 0.0])}"/>'
    for at, height in enumerate(HEIGHTS):
        places = KNOTS[max(at - 1, 0) : at + 2]
        hat = [height if place == KNOTS[at] else 0.0 for place in places]
        look = "rise" if height > 0 else "fall"
        marks += f'<path class="{look}" d="{frame.path(places, hat)}"/>'
    marks += f'<path class="curve" d="{frame.path(KNOTS, HEIGHTS)}"/>'
    marks += "".join(frame.dot(knot, height, f"knot at {knot:g}") for knot, height in zip(KNOTS, HEIGHTS, strict=True))
    return frame.chart("hats", "Hat functions and their sum", "The curve is the sum of hat functions.", marks)


def write(name: str, chart: str) -> None:
    """Write a chart with the style it needs, on paper of its own."""
    style = f"<style>{chart_style()}svg{{font-family:system-ui,sans-serif}}</style>"
    opening = chart.index(">") + 1
    paper = '<rect x="-8" y="-8" width="420" height="420" fill="var(--paper)"/>'
    head = chart[: opening - 1].replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ') + ">"
    (FOLDER / f"{name}.svg").write_text(head + style + paper + chart[opening:] + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
