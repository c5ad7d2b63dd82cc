"""The page of the evaluation: tables, figures and claims in one HTML file that needs nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from experiments.paper.claims import all_claims
from experiments.paper.evidence import FAILS, HOLDS, UNTESTED, Claim, Evidence, Verdict
from experiments.paper.figures import LOOKS, Figure, all_figures
from experiments.paper.protocol import PROFILES, RELUCTANT
from experiments.paper.table_section import LETTERS, section, table_section
from experiments.paper.tables import all_tables
from opauc.report.page import POLICY
from opauc.report.style import style_sheet
from opauc.report.text import plain, safe

VERDICT_LOOKS = {HOLDS: "holds", FAILS: "fails", UNTESTED: "untested"}
TITLE = "One-Pass AUC Optimization: the evaluation, ours beside the printed one"
COLOURS = {
    "one": ("#0a5ea8", "#6fb6ff"), "two": ("#b04a00", "#ffac5f"), "three": ("#1a7f37", "#6fdd8b"),
    "four": ("#8250df", "#c9a6ff"), "five": ("#111827", "#f3f4f6"), "six": ("#0f766e", "#5eead4"),
    "seven": ("#be185d", "#ff9ecb"), "eight": ("#57606a", "#c9d1d9"),
}  # fmt: skip
RULES_OF_STYLE = """
main{max-width:76rem}
section{padding-top:2.25rem}
.charts{padding-top:1rem}
.wide{overflow-x:auto}
.wide .chart{min-width:42rem;max-width:52rem}
section>figure{margin:1.5rem 0 0}
.auc-table td,.auc-table th{white-space:nowrap;padding-right:1rem}
.auc-table tbody th{min-width:0;position:sticky;left:0;background:var(--paper)}
.auc-table .mark{margin-left:.25em}
.printed{display:block;color:var(--soft);font-size:.8125rem}
.verdict{white-space:nowrap;font-weight:650}
.verdict.holds::before{content:"✓ "}
.verdict.fails::before{content:"✗ "}
.verdict.untested{font-weight:400;color:var(--soft)}
.claims{min-width:44rem}
.claims tbody th{width:44%}
.claims td:first-child{white-space:nowrap}
.claims .criterion{color:var(--soft);font-size:.875rem;display:block}
.key{flex-direction:row}
.key span::before{border:0!important;width:.625rem;height:.625rem;border-radius:50%;background:var(--look);
  vertical-align:0}
.chart .series{stroke-width:2;stroke-linejoin:round}
.chart .point{stroke:var(--paper);stroke-width:1}
sup{font-size:.6875rem;line-height:0}
dl.notes{display:grid;grid-template-columns:auto 1fr;gap:.25rem .75rem;font-size:.875rem;margin:.75rem 0 0}
dl.notes dd{margin:0}
@media (max-width:44rem){
  .claims,.claims tbody,.claims tr,.claims td,.claims tbody th{display:block;width:auto;min-width:0}
  .claims thead{display:none}
  .claims tr{padding:.5rem 0}
  .claims td,.claims tbody th{padding:.125rem 0;border:0}
  .claims tr{border-bottom:1px solid var(--line)}
}
@media print{
  .claims,.wide .chart{min-width:0}
  .auc-table{font-size:.75rem}
  .auc-table td,.auc-table th{padding-right:.4rem}
  .auc-table tbody th{position:static}
  h2,.under{break-after:avoid}
  .many{page:landscape}
}
@page landscape{size:A4 landscape}
"""


def render_page(evidence: Evidence) -> str:
    """Return the page as HTML text, to be written as UTF-8."""
    verdicts = [(claim, claim.decide(evidence)) for claim in all_claims()]
    tables = all_tables(evidence.store, evidence.profile, evidence.catalogue)
    parts = [
        _summary(evidence, verdicts),
        _claims(verdicts),
        *(table_section(table, evidence.catalogue.columns()) for table in tables if table.sets),
        _figures(list(all_figures(evidence))),
        _sets(evidence),
        _protocol(evidence),
    ]
    body = "\n".join(part for part in parts if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{safe(TITLE)}</title>\n<style>{style_sheet()}{RULES_OF_STYLE}{_looks()}</style>\n</head>\n"
        f"<body>\n<main>\n<header><h1>{safe(TITLE)}</h1></header>\n{body}\n</main>\n</body>\n</html>\n"
    )


def standalone(figure: Figure) -> str:
    """Return a wide figure as an SVG file with its key, for documents that are not this page."""
    key = "".join(
        f'<circle class="point {look}" cx="{12 + 140 * (place % 5)}" cy="{14 + 20 * (place // 5)}" r="5"/>'
        f'<text x="{22 + 140 * (place % 5)}" y="{19 + 20 * (place // 5)}">{safe(name)}</text>'
        for place, (look, name) in enumerate(zip(LOOKS, figure.key, strict=False))
    )
    room = 20 * -(-len(figure.key) // 5) + 12
    inner = figure.drawing.replace('<svg class="chart"', f'<svg class="chart" y="{room}"')
    height = float(inner.split('viewBox="0 0 ')[1].split()[1].rstrip('"'))
    style = f"{style_sheet()}{_looks()}svg{{font-family:system-ui,sans-serif}}"
    size = f'viewBox="0 0 720 {room + height:g}" width="720" height="{room + height:g}"'
    inner = inner.replace("<svg ", f'<svg width="720" height="{height:g}" ', 1)
    return f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" {size}><style>{style}</style>{key}{inner}</svg>\n'


def _looks() -> str:
    def rules(place: int) -> str:
        return "".join(
            f".{look}{{--look:{colors[place]}}}.chart .series.{look}{{stroke:{colors[place]}}}"
            f".chart .point.{look}{{fill:{colors[place]}}}"
            for look, colors in COLOURS.items()
        )

    return rules(0) + f"@media screen and (prefers-color-scheme:dark){{{rules(1)}}}"


def _summary(evidence: Evidence, verdicts: Sequence[tuple[Claim, Verdict]]) -> str:
    counts = Counter(verdict.verdict for _, verdict in verdicts)
    n_whole, n_planned = evidence.n_whole, evidence.n_planned
    finished = plain(n_whole) if n_whole >= n_planned else f"{plain(n_whole)} of {plain(n_planned)}"
    facts: dict[str, str | int] = {
        "Claims that hold": counts[HOLDS],
        "Claims that do not": counts[FAILS],
        "Claims not tested": counts[UNTESTED],
        "Data sets": len({name for name, _ in evidence.cells}),
        "Methods": len({column for _, column in evidence.cells}),
        "Cells finished": finished,
        "Runs": sum(len(cell.runs) for cell in evidence.cells.values()),
    }
    listed = "".join(
        f"<div><dt>{name}</dt><dd>{value if isinstance(value, str) else plain(value)}</dd></div>"
        for name, value in facts.items()
    )
    return f'<section aria-label="Summary"><dl class="facts">{listed}</dl></section>'


def _claims(verdicts: Sequence[tuple[Claim, Verdict]]) -> str:
    rows = "".join(
        f'<tr><td>{safe(claim.where)}</td><th scope="row">{safe(claim.says)}'
        f'<span class="criterion">{safe(claim.criterion)}</span></th>'
        f'<td class="verdict {VERDICT_LOOKS[found.verdict]}">{safe(found.verdict)}</td>'
        f"<td>{safe(found.because)}</td></tr>"
        for claim, found in verdicts
    )
    head = (
        "<tr>" + "".join(f'<th scope="col">{name}</th>' for name in ("Where", "Claim", "Verdict", "Because")) + "</tr>"
    )
    note = "Decided by the program from finished cells. Counts are wins / ties / losses by paired t-tests at 95 %."
    table = f'<table class="claims"><thead>{head}</thead><tbody>{rows}</tbody></table>'
    return section("Claims", note, table)


def _figures(figures: Sequence[Figure]) -> str:
    wide = "".join(_figure(figure) for figure in figures if figure.wide)
    rest = "".join(_figure(figure) for figure in figures if not figure.wide)
    charts = f'<div class="charts">{rest}</div>' if rest else ""
    return f'<section aria-label="Figures"><h2>Figures</h2>{wide}{charts}</section>' if figures else ""


def _figure(figure: Figure) -> str:
    key = "".join(f'<span class="{look}">{safe(name)}</span>' for look, name in zip(LOOKS, figure.key, strict=False))
    legend = f'<p class="under key">{key}</p>' if key else ""
    look = ' class="wide"' if figure.wide else ""
    caption = f'<figcaption><h2>{safe(figure.title)}</h2><p class="under">{safe(figure.note)}</p>{legend}</figcaption>'
    return f"<figure>{caption}<div{look}>{figure.drawing}</div></figure>"


def _sets(evidence: Evidence) -> str:
    used = {name for name, _ in evidence.cells}
    rows = "".join(
        f'<tr><th scope="row">{safe(data.name)}</th><td class="number">{plain(data.shape.n_rows)}</td>'
        f'<td class="number">{plain(data.shape.n_features)}</td><td>{safe(data.printed_as or "–")}</td>'
        f"<td>{safe(data.about)}</td></tr>"
        for data in sorted(evidence.sets.values(), key=lambda data: (data.suite, data.shape.n_rows))
        if data.name in used
    )
    head = (
        '<th scope="col">Name</th><th scope="col" class="number">Rows</th><th scope="col" class="number">Features</th>'
    )
    head += '<th scope="col">Printed as</th><th scope="col">What it is</th>'
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return section("Data sets", "Substitutes keep their own names and stand beside no printed number.", table)


def _protocol(evidence: Evidence) -> str:
    profile = PROFILES[evidence.profile]
    used = {rule for cell in evidence.cells.values() for rule in cell.rules}
    rules = "".join(f"<dt>{letter}</dt><dd>{safe(rule)}</dd>" for rule, letter in LETTERS.items() if rule in used)
    failed = Counter(cell.why_not for cell in evidence.cells.values() if cell.auc is None and cell.why_not)
    troubles = "".join(f"<dt>{plain(count)}</dt><dd>{safe(why)}</dd>" for why, count in failed.items())
    note = (
        f"Profile {profile.name}: up to {profile.trials} trials of 5-fold cross-validation; settings chosen by 5-fold "
        f"cross-validation within the rows learned. Where the model of costs says more than {profile.budget:g} s of "
        "one core for a method on a set, the protocol is thinned by these rules in their order, from the third on "
        f"where it then still says {RELUCTANT:g} times as much:"
    )
    listed = f'<dl class="notes">{rules}</dl>' if rules else ""
    broken = f'<p class="under">Cells without a result:</p><dl class="notes">{troubles}</dl>' if troubles else ""
    return f'<section><h2>Protocol</h2><p class="under">{safe(note)}</p>{listed}{broken}</section>'
