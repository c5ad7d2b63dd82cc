"""The page of the evaluation: tables, figures and claims in one HTML file that needs nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from experiments.paper.claims import all_claims
from experiments.paper.evidence import FAILS, HOLDS, UNTESTED, Claim, Evidence, Verdict
from experiments.paper.figures import LOOKS, Figure, all_figures
from experiments.paper.printed import Printed
from experiments.paper.protocol import PROFILES, RELUCTANT, RULES
from experiments.paper.tables import Cell, Table, all_tables
from opauc.report.page import POLICY
from opauc.report.style import style_sheet
from opauc.report.text import plain, safe

MARKS = {"win": "●", "loss": "○", "tie": "", "": ""}
SHORTENED = [f"{profile.set_rows:,} rows of the set" for profile in PROFILES.values() if profile.set_rows]
LETTERS = dict(zip([*(rule.name for rule in RULES), *SHORTENED], "abcdefghij", strict=False))
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
.auc-table tbody th{min-width:0}
.printed{display:block;color:var(--soft);font-size:.8125rem}
.verdict{white-space:nowrap;font-weight:650}
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
@media print{
  .claims,.wide .chart{min-width:0}
  .auc-table{font-size:.75rem}
  .auc-table td,.auc-table th{padding-right:.4rem}
}
"""


def render_page(evidence: Evidence) -> str:
    """Return the page as HTML text, to be written as UTF-8."""
    verdicts = [(claim, claim.decide(evidence)) for claim in all_claims()]
    tables = all_tables(evidence.store, evidence.profile, evidence.catalogue)
    parts = [
        _summary(evidence, verdicts),
        _claims(verdicts),
        *(_table(table) for table in tables if table.sets),
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
            f".{look}{{--look:{colours[place]}}}.chart .series.{look}{{stroke:{colours[place]}}}"
            f".chart .point.{look}{{fill:{colours[place]}}}"
            for look, colours in COLOURS.items()
        )

    return rules(0) + f"@media screen and (prefers-color-scheme:dark){{{rules(1)}}}"


def _summary(evidence: Evidence, verdicts: Sequence[tuple[Claim, Verdict]]) -> str:
    counts = Counter(verdict.verdict for _, verdict in verdicts)
    runs = sum(len(cell.runs) for cell in evidence.cells.values())
    facts = {
        "Claims that hold": counts[HOLDS],
        "Claims that do not": counts[FAILS],
        "Claims not tested": counts[UNTESTED],
        "Data sets": len({name for name, _ in evidence.cells}),
        "Methods": len({column for _, column in evidence.cells}),
        "Runs": runs,
    }
    listed = "".join(f"<div><dt>{name}</dt><dd>{plain(value)}</dd></div>" for name, value in facts.items())
    return f'<section aria-label="Summary"><dl class="facts">{listed}</dl></section>'


def _claims(verdicts: Sequence[tuple[Claim, Verdict]]) -> str:
    rows = "".join(
        f'<tr><td>{safe(claim.where)}</td><th scope="row">{safe(claim.says)}'
        f'<span class="criterion">{safe(claim.criterion)}</span></th>'
        f'<td class="verdict">{safe(found.verdict)}</td><td>{safe(found.because)}</td></tr>'
        for claim, found in verdicts
    )
    head = (
        "<tr>" + "".join(f'<th scope="col">{name}</th>' for name in ("Where", "Claim", "Verdict", "Because")) + "</tr>"
    )
    note = "Decided by the program from the cells below. Counts are wins / ties / losses by paired t-tests at 95 %."
    table = f'<table class="claims"><thead>{head}</thead><tbody>{rows}</tbody></table>'
    return _section("Claims", note, table)


def _table(table: Table) -> str:
    head = '<th scope="col">Data set</th>' + "".join(f'<th scope="col">{safe(name)}</th>' for name in table.columns)
    rows = "".join(
        f'<tr><th scope="row">{safe(name)}</th>'
        + "".join(f"<td>{_cell(table, name, column)}</td>" for column in table.columns)
        + "</tr>"
        for name in table.sets
    )
    counts = "".join(f"<td>{_counts(table, column)}</td>" for column in table.columns)
    foot = f'<tr><th scope="row">win / tie / loss</th>{counts}</tr>'
    whole = f'<table class="auc-table"><thead><tr>{head}</tr></thead><tbody>{rows}{foot}</tbody></table>'
    note = (
        f"Mean AUC ± deviation over the runs; beneath it, grey, what the paper printed. ● {table.reference} is "
        "significantly better, ○ worse. Letters: how the protocol was thinned, see below."
    )
    return _section(table.title, note, whole)


def _cell(table: Table, name: str, column: str) -> str:
    cell, printed = table.cell(name, column), table.printed_cell(name, column)
    return _ours(cell, table.outcome(name, column)) + _printed(printed)


def _ours(cell: Cell | None, outcome: str) -> str:
    if cell is None:
        return "–"
    if cell.auc is None:
        return f'<span title="{safe(cell.why_not)}">{"N/A" if "N/A" in cell.why_not else "error"}</span>'
    letters = "".join(LETTERS.get(rule, "?") for rule in cell.rules)
    deviation = "" if cell.deviation is None else f" ± {_short(cell.deviation)}"
    note = f"<sup>{letters}</sup>" if letters else ""
    return f'<span title="{len(cell.runs)} runs">{_short(cell.auc)}{deviation}{MARKS[outcome]}{note}</span>'


def _printed(printed: Printed | None) -> str:
    if printed is None:
        return ""
    if printed.auc is None or printed.deviation is None:
        return '<span class="printed">N/A</span>'
    return f'<span class="printed">{_short(printed.auc)} ± {_short(printed.deviation)}{MARKS[printed.outcome]}</span>'


def _counts(table: Table, column: str) -> str:
    if column == table.reference:
        return ""
    ours = "/".join(map(str, table.counts(column)))
    if not any(table.printed_counts(column)):
        return ours
    here, all_sets = (
        "/".join(map(str, counts)) for counts in (table.printed_counts_here(column), table.printed_counts(column))
    )
    return f'{ours}<span class="printed">{here} on these, {all_sets} in all</span>'


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
    return _section("Data sets", "Substitutes keep their own names and stand beside no printed number.", table)


def _protocol(evidence: Evidence) -> str:
    profile = PROFILES[evidence.profile]
    used = {rule for cell in evidence.cells.values() for rule in cell.rules}
    rules = "".join(f"<dt>{letter}</dt><dd>{safe(rule)}</dd>" for rule, letter in LETTERS.items() if rule in used)
    failed = Counter(cell.why_not for cell in evidence.cells.values() if cell.auc is None and cell.why_not)
    troubles = "".join(f"<dt>{plain(count)}</dt><dd>{safe(why)}</dd>" for why, count in failed.items())
    note = (
        f"Profile {profile.name}: up to {profile.trials} trials of 5-fold cross-validation; settings chosen by 5-fold "
        f"cross-validation within the rows learnt. Where the model of costs says more than {profile.budget:g} s of one "
        "core for a method on a set, the protocol is thinned by these rules in their order, from the third on where "
        f"it then still says {RELUCTANT:g} times as much:"
    )
    listed = f'<dl class="notes">{rules}</dl>' if rules else ""
    broken = f'<p class="under">Cells without a result:</p><dl class="notes">{troubles}</dl>' if troubles else ""
    return f'<section><h2>Protocol</h2><p class="under">{safe(note)}</p>{listed}{broken}</section>'


def _section(title: str, note: str, table: str) -> str:
    name = safe(title)
    scroll = f'<div class="scroll" role="region" aria-label="{name}" tabindex="0">{table}</div>'
    return f'<section><h2>{name}</h2><p class="under">{safe(note)}</p>{scroll}</section>'


def _short(value: float) -> str:
    """A share of one with four digits and no leading zero, as the paper has it."""
    return f"{value:.4f}".removeprefix("0")
