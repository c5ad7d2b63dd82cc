"""The tables as text: Markdown to read, CSV to work with."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from experiments.paper.claims import all_claims
from experiments.paper.evidence import Evidence
from experiments.paper.tables import Cell, Counts, Table, all_tables

MARKS = {"win": " ●", "loss": " ○", "tie": "", "": ""}
HEAD = (
    "table", "set", "method", "runs", "planned_runs", "auc", "deviation", "outcome", "seconds", "printed_auc",
    "printed_deviation", "printed_outcome", "rules", "why_not",
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
                    out.writerow(
                        (table.title, name, column, *ours, seconds, *theirs, "; ".join(cell.rules), cell.why_not)
                    )
    return text.getvalue()


def as_markdown(evidence: Evidence) -> str:
    """The claims and the tables, ours with the printed cell in brackets."""
    return "\n".join(_markdown(evidence)) + "\n"


def _markdown(evidence: Evidence) -> Iterator[str]:
    if (n_whole := evidence.n_whole) < evidence.n_planned:
        yield f"{n_whole} of {evidence.n_planned} cells are finished; verdicts and marks are of those.\n"
    yield from _glance(evidence)
    yield "\n## Claims\n"
    yield "| where | claim | verdict | because |\n| --- | --- | --- | --- |"
    for claim in all_claims():
        found = claim.decide(evidence)
        yield f"| {claim.where} | {claim.says} | {found.verdict} | {found.because} |"
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


def _mean(cell: Cell | None) -> str:
    return "" if cell is None or cell.auc is None else f"{_four(cell.auc)} ± {_four(cell.deviation)}"


def _markdown_table(table: Table) -> Iterator[str]:
    yield f"\n## {table.title}\n"
    yield "| data set | " + " | ".join(table.columns) + " |"
    yield "| --- " * (1 + len(table.columns)) + "|"
    for name in table.sets:
        yield f"| {name} | " + " | ".join(_markdown_cell(table, name, column) for column in table.columns) + " |"
    yield "| win/tie/loss | " + " | ".join(_counts(table.counts(column)) for column in table.columns) + " |"
    if table.printed:
        here = [_counts(table.counts_in_print(column)) for column in table.columns]
        beside = [_counts(table.printed_counts_here(column)) for column in table.columns]
        pairs = (f"{ours} ({theirs})" if ours else "" for ours, theirs in zip(here, beside, strict=True))
        yield "| on sets of the paper | " + " | ".join(pairs) + " |"


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
    return f"{_four(cell.auc)}{deviation}{MARKS[table.outcome(name, column)]}{beside}"


def _counts(counts: Counts) -> str:
    return "/".join(map(str, counts)) if any(counts) else ""


def _four(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}".removeprefix("0")
