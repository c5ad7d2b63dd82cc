"""The page of the evaluation: tables, figures and claims in one HTML file that needs nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from experiments.paper.claims import all_claims
from experiments.paper.data_set import DataSet
from experiments.paper.evidence import FAILS, HOLDS, PAPER, UNDECIDED, UNTESTED, Claim, Evidence, Verdict
from experiments.paper.figures import Figure, all_figures
from experiments.paper.marks import LOOKS, Panel, look_style, sheet, swatch
from experiments.paper.protocol import PROFILES, RELUCTANT, Profile
from experiments.paper.table_section import LETTERS, section, short, table_section
from experiments.paper.tables import COLLAPSE, all_tables, collapsed_runs
from opauc.report.page import POLICY
from opauc.report.style import style_sheet
from opauc.report.text import plain, safe
from opauc.version import __version__

VERDICT_LOOKS = {HOLDS: "holds", FAILS: "fails", UNDECIDED: "undecided", UNTESTED: "untested"}
TITLE = "One-Pass AUC Optimization: the evaluation computed again"
SHORTENED = "{title} (quick profile: {trials} trial on at most {rows:,} rows of a set, a check that everything runs)"
# The paper, at the site of the conference's proceedings.
PAPER_LINK = "https://proceedings.mlr.press/v28/gao13.html"
ABSTRACT = (
    "One-pass AUC optimization learns a linear scorer that ranks positive above negative rows from data that is read "
    "once, in memory that does not grow with it. The paper compares OPAUC and its low-rank form OPAUCr with online and "
    "batch methods. Here its tables and figures are computed again, every method written from its publication, and "
    "each claim is held to a criterion, which stands beneath it."
)
HOW_DECIDED = (
    "Decided by the program from finished cells. 12/1/0 counts data sets: significant wins, ties and significant "
    "losses of the first method by paired t-tests at 95 %, as in the paper; their runs share training rows, so that "
    "they find differences too often: the corrected resampled t-test (Nadeau and Bengio, 2003) allows for that. What "
    "is said of most sets is decided where a sign test excludes chance at 5 %, and not decided elsewhere."
)
NUMBER, LIST = ' class="number"', '<table class="list">'
RULES_OF_STYLE = """
main{max-width:76rem}
section{padding-top:2.25rem}
.charts{padding-top:1rem}
.wide .chart{max-width:52rem}
.narrow{display:none}
section>figure{margin:1.5rem 0 0}
.auc-table td,.auc-table th{white-space:nowrap;padding-right:1rem}
.auc-table tbody th{min-width:0;position:sticky;left:0;background:var(--paper)}
.auc-table .mark{margin-left:.25em}
.printed{display:block;color:var(--soft);font-size:.8125rem}
.verdict{white-space:nowrap;font-weight:650}
.verdict.holds::before{content:"✓ "}
.verdict.fails::before{content:"✗ "}
.verdict.undecided::before{content:"? "}
.verdict.untested::before{content:"– "}
.verdict.undecided,.verdict.untested{font-weight:400;color:var(--soft)}
.verdict.holds{color:var(--negative)}
.verdict.fails{color:var(--positive)}
.source{margin-top:.5rem;color:var(--soft)}
.source a{color:var(--negative)}
.claims{min-width:44rem}
.claims tbody th{width:44%}
.claims .where th{padding-top:1.25rem;font-weight:650}
.claims .statement th{font-weight:400}
.claims .about{font-weight:400;padding-left:1.5rem}
.claims .about,.claims .about~td{border-top:0}
.claims .criterion{color:var(--soft);font-size:.875rem;display:block}
.key{flex-direction:row}
.key span::before{content:none}
.key .swatch{display:inline-block;width:1.75rem;height:1rem;margin:0 .375rem 0 0;vertical-align:-.2em}
sup{font-size:.6875rem;line-height:0}
.list tbody th,.list td:nth-child(2){white-space:nowrap}
.edge{color:var(--soft);margin-left:.25em}
.auc-table .group th{position:static;color:var(--soft);font-size:.875rem;padding-top:1rem;white-space:nowrap}
.auc-table .group span{position:sticky;left:0}
dl.notes{display:grid;grid-template-columns:auto 1fr;gap:.25rem .75rem;font-size:.875rem;margin:.75rem 0 0}
dl.notes dd{margin:0}
@media (max-width:44rem){
  .broad{display:none}
  .narrow{display:block}
  .auc-table .group span{display:inline-block;white-space:normal;max-width:calc(100vw - 2rem)}
  .claims,.claims tbody,.claims tr,.claims td,.claims tbody th{display:block;width:auto;min-width:0}
  .claims thead{display:none}
  .claims tr{padding:.5rem 0}
  .claims td,.claims tbody th{padding:.125rem 0;border:0}
  .claims tr{border-top:1px solid var(--line)}
  .claims .where,.claims .where+tr{border-top:0}
  .claims .statement+tr{border-top:0;padding-top:0}
  .claims tbody .about{padding-left:0}
}
@media print{
  .claims{min-width:0}
  .auc-table{font-size:.75rem}
  .auc-table thead th{white-space:normal}
  .auc-table td,.auc-table th{padding-right:.4rem}
  .auc-table tbody th{position:static}
  h2,.under{break-after:avoid}
  .many{page:landscape}
  .auc-table,.under,dl.notes{break-inside:avoid}
  .claims .where,.claims .statement{break-after:avoid}
}
@page landscape{size:A4 landscape}
"""


def render_page(evidence: Evidence) -> str:
    """Return the page as HTML text, to be written as UTF-8."""
    verdicts = [(claim, claim.decide(evidence)) for claim in all_claims()]
    tables = all_tables(evidence.store, evidence.profile, evidence.catalogue)
    of_paper, ours = ([one for one in verdicts if (one[0].by == PAPER) == is_papers] for is_papers in (True, False))
    columns, title = evidence.catalogue.columns(), title_of(PROFILES[evidence.profile])
    parts = [
        _summary(evidence, of_paper, ours),
        _claims("What the paper says", of_paper),
        _claims("What we add", ours),
        *(table_section(table, columns, evidence.sets) for table in tables if table.sets),
        far_section(evidence),
        collapse_section(evidence),
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
        f"<title>{safe(title)}</title>\n<style>{style_sheet()}{RULES_OF_STYLE}{look_style()}</style>\n</head>\n"
        f"<body>\n<main>\n{_header(title, [*of_paper, *ours])}\n{body}\n</main>\n</body>\n</html>\n"
    )


def _header(title: str, verdicts: Sequence[tuple[Claim, Verdict]]) -> str:
    """The title, what this is, the paper, and what came out in a sentence."""
    counts = Counter(verdict.verdict for claim, verdict in verdicts if claim.by == PAPER)
    found = (
        f"Of the {sum(counts.values())} claims of the paper, {counts[HOLDS]} hold, {counts[FAILS]} do not, "
        f"{counts[UNDECIDED]} are not decided by these runs and {counts[UNTESTED]} cannot be tested here."
    )
    return (
        f'<header><h1>{safe(title)}</h1><p class="source">Wei Gao, Rong Jin, Shenghuo Zhu and Zhi-Hua Zhou: '
        f'<a href="{PAPER_LINK}">One-Pass AUC Optimization</a>, ICML 2013. Computed by opauc {safe(__version__)}, '
        f'<code>make paper</code>.</p><p class="short">{safe(ABSTRACT)}</p><p class="short">{safe(found)}</p></header>'
    )


def title_of(profile: Profile) -> str:
    """The title of the page, which says so where sets are cut short."""
    if profile.set_rows is None:
        return TITLE
    return SHORTENED.format(title=TITLE, trials=profile.trials, rows=profile.set_rows)


def standalone(figure: Figure) -> str:
    """Return a figure as an SVG file with its key, for documents that are not this page."""
    return sheet([Panel(figure.title, figure.drawing)], figure.key, n_columns=1, with_lines=figure.with_lines)


def _summary(
    evidence: Evidence, of_paper: Sequence[tuple[Claim, Verdict]], ours: Sequence[tuple[Claim, Verdict]]
) -> str:
    counts = Counter(verdict.verdict for _, verdict in of_paper)
    held = sum(verdict.verdict == HOLDS for _, verdict in ours)
    n_whole, n_planned = evidence.n_whole, evidence.n_planned
    finished = plain(n_whole) if n_whole >= n_planned else f"{plain(n_whole)} of {plain(n_planned)}"
    facts: dict[str, str | int] = {
        "Claims of the paper that hold": counts[HOLDS],
        "that do not hold": counts[FAILS],
        "that are not decided": counts[UNDECIDED],
        "that cannot be tested here": counts[UNTESTED],
        "Our own claims that hold": f"{held} of {len(ours)}",
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


def _claims(title: str, verdicts: Sequence[tuple[Claim, Verdict]]) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in ("Claim", "Verdict", "Because"))
    bodies = "".join(
        f'<tr class="where"><th colspan="3" scope="rowgroup">{safe(where)}</th></tr>' + "".join(_statements(found))
        for where, found in groupby(verdicts, key=lambda one: one[0].where)
    )
    table = f'<table class="claims"><thead><tr>{head}</tr></thead><tbody>{bodies}</tbody></table>'
    return section(title, HOW_DECIDED, table)


def _statements(verdicts: Iterable[tuple[Claim, Verdict]]) -> Iterator[str]:
    """The rows of claims of one place: one of several methods or sets stands once, with a row for each of them."""
    for (statement, criterion), alike in groupby(verdicts, key=lambda one: (one[0].statement, one[0].criterion)):
        text = f'{safe(statement)}<span class="criterion">{safe(criterion)}</span>'
        found = [*alike]
        if any(claim.about for claim, _ in found):
            yield f'<tr class="statement"><th colspan="3" scope="rowgroup">{text}</th></tr>'
        for claim, (verdict, because) in found:
            name = f'<th scope="row" class="about">{safe(claim.about)}' if claim.about else f'<th scope="row">{text}'
            yield (
                f'<tr>{name}</th><td class="verdict {VERDICT_LOOKS[verdict]}">{safe(verdict)}</td>'
                f"<td>{safe(because)}</td></tr>"
            )


def far_section(evidence: Evidence) -> str:
    """The cells that are far from print where they may be compared, and what explains them."""
    far, n_cells = evidence.far_from_print
    if not n_cells:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{safe(one.set)}</th><td>{safe(one.method)}</td>'
        f'<td class="number">{short(one.ours.auc or 0.0)}</td><td class="number">{short(one.printed.auc or 0.0)}</td>'
        f'<td class="number">{one.errors:+.1f}</td><td>{safe(one.explanation or "unexplained")}</td></tr>'
        for one in far
    )
    names = ("Data set", "Method", "Ours", "Printed", "Standard errors", "Explanation")
    head = "".join(f'<th scope="col"{NUMBER if 1 < place < 5 else ""}>{name}</th>' for place, name in enumerate(names))
    open_ones = sum(not one.explanation for one in far)
    note = (
        f"{len(far)} of {n_cells} cells of sets with the published task are more than two standard errors of the "
        f"difference from print. {len(far) - open_ones} are explained by a column in which one thing is done "
        f"otherwise: it is within two standard errors, or print lies between it and ours. {open_ones} are unexplained."
    )
    return section("Far from print", note, f"{LIST}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")


def collapse_section(evidence: Evidence) -> str:
    """The runs that are far below the others of their cell."""
    rows = "".join(
        f'<tr><th scope="row">{safe(one.set)}</th><td>{safe(one.method)}</td><td class="number">{one.trial + 1}</td>'
        f'<td class="number">{one.fold + 1}</td><td class="number">{short(one.auc)}</td>'
        f'<td class="number">{short(one.median)}</td></tr>'
        for one in collapsed_runs(evidence.cells)
    )
    if not rows:
        return ""
    names = ("Data set", "Method", "Trial", "Fold", "AUC", "Median of the cell")
    head = "".join(f'<th scope="col"{NUMBER if place > 1 else ""}>{name}</th>' for place, name in enumerate(names))
    note = (
        f"Runs more than {COLLAPSE} and six typical deviations below the median of their cell, where other methods are "
        "not. They are in the means; one such run widens a deviation and turns a win into a tie."
    )
    return section("Collapsed runs", note, f"{LIST}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")


def _figures(figures: Sequence[Figure]) -> str:
    wide = "".join(_figure(figure) for figure in figures if figure.narrow)
    rest = "".join(_figure(figure) for figure in figures if not figure.narrow)
    charts = f'<div class="charts">{rest}</div>' if rest else ""
    return f'<section aria-label="Figures"><h2>Figures</h2>{wide}{charts}</section>' if figures else ""


def _figure(figure: Figure) -> str:
    key = "".join(
        f"<span>{swatch(look, figure.with_lines)}{safe(name)}</span>"
        for look, name in zip(LOOKS, figure.key, strict=False)
    )
    legend = f'<p class="under key">{key}</p>' if key else ""
    caption = f'<figcaption><h2>{safe(figure.title)}</h2><p class="under">{safe(figure.note)}</p>{legend}</figcaption>'
    if not figure.narrow:
        return f"<figure>{caption}<div>{figure.drawing}</div></figure>"
    broad = f'<div class="wide broad">{figure.drawing}</div><div class="narrow">{figure.narrow}</div>'
    return f"<figure>{caption}{broad}</figure>"


def _sets(evidence: Evidence) -> str:
    used = {name for name, _ in evidence.cells}
    rows = "".join(
        f'<tr><th scope="row">{safe(data.name)}</th><td class="number">{plain(data.shape.n_rows)}</td>'
        f'<td class="number">{plain(data.shape.n_features)}</td><td>{safe(data.printed_as or "–")}</td>'
        f"<td>{safe(data.about)}</td><td>{safe(_comparison(data))}</td></tr>"
        for data in sorted(evidence.sets.values(), key=lambda data: (data.suite, data.shape.n_rows))
        if data.name in used
    )
    head = (
        '<th scope="col">Name</th><th scope="col" class="number">Rows</th><th scope="col" class="number">Features</th>'
    )
    head += '<th scope="col">Printed as</th><th scope="col">What it is</th><th scope="col">Compared with print</th>'
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return section("Data sets", "Only sets whose task is the published one stand beside printed numbers.", table)


def _comparison(data: DataSet) -> str:
    if data.is_comparable:
        return "yes: the published task"
    return f"no: {data.differs or 'not a set of the paper'}"


def _protocol(evidence: Evidence) -> str:
    profile = PROFILES[evidence.profile]
    used = {rule for cell in evidence.cells.values() for rule in cell.rules}
    rules = "".join(f"<dt>{letter}</dt><dd>{safe(rule)}</dd>" for rule, letter in LETTERS.items() if rule in used)
    failed = Counter(cell.why_not for cell in evidence.cells.values() if cell.auc is None and cell.why_not)
    troubles = "".join(f"<dt>{plain(count)}</dt><dd>{safe(why)}</dd>" for why, count in failed.items())
    note = (
        f"Profile {profile.name}: up to {profile.trials} trials of 5-fold cross-validation; settings chosen by 5-fold "
        "cross-validation within the training rows, under rule a within those of the first fold, which contain rows "
        "that other folds hold out (docs/research/paper.md has the measured effect). Where the model of costs says "
        f"more than {profile.budget:g} s of one core for a method on a set, the protocol is thinned by these rules in "
        f"their order, from the third on where it then still says {RELUCTANT:g} times as much:"
    )
    listed = f'<dl class="notes">{rules}</dl>' if rules else ""
    broken = f'<p class="under">Cells without a result:</p><dl class="notes">{troubles}</dl>' if troubles else ""
    return f'<section><h2>Protocol</h2><p class="under">{safe(note)}</p>{listed}{broken}</section>'
