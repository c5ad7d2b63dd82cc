"""The tables as text: Markdown to read, CSV to work with."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from experiments.paper.claims import all_claims
from experiments.paper.evidence import OURS, PAPER, Evidence
from experiments.paper.tables import Cell, Counts, Table, all_tables, collapsed_runs

MARKS = {"win": " ●", "loss": " ○", "tie": "", "": ""}
HEAD = (
    "table", "set", "method", "runs", "planned_runs", "auc", "deviation", "outcome", "seconds", "printed_auc",
    "printed_deviation", "printed_outcome", "corrected_outcome", "edges", "rules", "why_not",
)  # fmt: skip


def as_csv(evidence: Evidence) -> str:
    """Every cell of every table, a line each; outcomes are those of OPAUC, or OPAUCr, against the method."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(HEAD)
    for table in all_tables(evidence.store, evidence.profile, evidence.catalogue):
        for name in table.sets:
            for column in table.columns:
                cell, printed = table.cell(name, column), table.printed_cell(name, column)
                if cell is not None:
                    ours = (
                        len(cell.runs),
                        cell.planned,
                        _four(cell.auc),
                        _four(cell.deviation),
                        table.outcome(name, column),
                    )
                    theirs = (
                        (_four(printed.auc), _four(printed.deviation), printed.outcome) if printed else ("", "", "")
                    )
                    seconds = "" if cell.seconds is None else f"{cell.seconds:.4g}"
                    edges = " ".join(f"{edge}{count}" for edge, count in sorted(cell.edges.items()))
                    notes = (table.outcome(name, column, corrected=True), edges, "; ".join(cell.rules), cell.why_not)
                    out.writerow((table.title, name, column, *ours, seconds, *theirs, *notes))
    return text.getvalue()


def as_markdown(evidence: Evidence) -> str:
    """The claims and the tables, ours with the printed cell in brackets where both are of the same task."""
    return "\n".join(_markdown(evidence)) + "\n"


def _markdown(evidence: Evidence) -> Iterator[str]:
    if (n_whole := evidence.n_whole) < evidence.n_planned:
        yield f"{n_whole} of {evidence.n_planned} cells are finished; verdicts and marks are of those.\n"
    yield from _glance(evidence)
    for by, title in ((PAPER, "What the paper says"), (OURS, "What we add")):
        yield f"\n## {title}\n"
        yield "| where | claim | verdict | because |\n| --- | --- | --- | --- |"
        for claim in all_claims():
            if claim.by == by:
                found = claim.decide(evidence)
                yield f"| {claim.where} | {claim.says} | {found.verdict} | {found.because} |"
    yield from _far_from_print(evidence)
    yield from _collapsed(evidence)
    yield "\nλ↓25 in a table: 25 runs chose the smallest λ of the grid (↑ the largest; η and C steps, R radius)."
    for table in all_tables(evidence.store, evidence.profile, evidence.catalogue):
        if table.sets:
            yield from _markdown_table(table)


def _glance(evidence: Evidence) -> Iterator[str]:
    """The sets whose task is the published one: OPAUC beside its printed cell, exact, the best other online method."""
    online = all_tables(evidence.store, evidence.profile, evidence.catalogue)[0]
    yield "## At a glance\n"
    yield "| data set | OPAUC | printed | exact | best other online method |\n| --- | --- | --- | --- | --- |"
    for name in online.sets:
        ours, printed = evidence.cell(name, "OPAUC"), online.printed_cell(name, "OPAUC")
        if ours is None or printed is None or not evidence.sets[name].is_comparable:
            continue
        others = [column for column in online.columns[1:] if evidence.auc(name, column) is not None]
        best = max(others, key=lambda column, name=name: evidence.auc(name, column) or 0.0, default="")
        beside = f"{_mean(evidence.cell(name, best))} {best}" if len(others) == len(online.columns) - 1 else ""
        theirs = f"{_four(printed.auc)} ± {_four(printed.deviation)}"
        yield f"| {name} | {_mean(ours)} | {theirs} | {_mean(evidence.cell(name, 'exact'))} | {beside} |"


def _far_from_print(evidence: Evidence) -> Iterator[str]:
    far, n_cells = evidence.far_from_print
    yield f"\n## {len(far)} of {n_cells} cells are more than two standard errors from print\n"
    yield "| data set | method | ours | printed | standard errors | explanation |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for one in far:
        ours, printed = _four(one.ours.auc), _four(one.printed.auc)
        told = one.explanation or "unexplained"
        yield f"| {one.set} | {one.method} | {ours} | {printed} | {one.errors:+.1f} | {told} |"


def _collapsed(evidence: Evidence) -> Iterator[str]:
    yield "\n## Collapsed runs\n"
    yield "| data set | method | trial | fold | AUC | median of the cell |\n| --- | --- | --- | --- | --- | --- |"
    for one in collapsed_runs(evidence.cells):
        place = f"{one.trial + 1} | {one.fold + 1}"
        yield f"| {one.set} | {one.method} | {place} | {_four(one.auc)} | {_four(one.median)} |"


def _mean(cell: Cell | None) -> str:
    return "" if cell is None or cell.auc is None else f"{_four(cell.auc)} ± {_four(cell.deviation)}"


def _markdown_table(table: Table) -> Iterator[str]:
    yield f"\n## {table.title}\n"
    yield "| data set | " + " | ".join(table.columns) + " |"
    yield "| --- " * (1 + len(table.columns)) + "|"
    for name in table.sets:
        yield f"| {name} | " + " | ".join(_markdown_cell(table, name, column) for column in table.columns) + " |"
    for label, corrected in (("win/tie/loss", False), ("corrected test", True)):
        yield f"| {label} | " + " | ".join(_counts(table.counts(column, corrected)) for column in table.columns) + " |"
    if table.printed and any(name in table.comparable for name in table.sets):
        here = [_counts(table.counts_in_print(column)) for column in table.columns]
        beside = [_counts(table.printed_counts_here(column)) for column in table.columns]
        pairs = (f"{ours} ({theirs})" if ours else "" for ours, theirs in zip(here, beside, strict=True))
        yield "| published tasks | " + " | ".join(pairs) + " |"


def _markdown_cell(table: Table, name: str, column: str) -> str:
    cell, printed = table.cell(name, column), table.printed_cell(name, column)
    beside = f" ({_four(printed.auc) or 'N/A'})" if printed else ""
    if cell is None:
        return "–" + beside
    if cell.auc is None:
        return ("N/A" if "N/A" in cell.why_not else "error") + beside
    deviation = "" if cell.deviation is None else f" ± {_four(cell.deviation)}"
    if not cell.is_whole:
        deviation += f", {len(cell.runs)} of {cell.planned} runs"
    edges = "".join(f" {edge}{count}" for edge, count in sorted(cell.edges.items()))
    return f"{_four(cell.auc)}{deviation}{MARKS[table.outcome(name, column)]}{edges}{beside}"


def _counts(counts: Counts) -> str:
    return "/".join(map(str, counts)) if any(counts) else ""


def _four(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}".removeprefix("0")
