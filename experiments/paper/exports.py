"""The tables as text: Markdown to read, CSV to work with."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from experiments.paper.claims import all_claims
from experiments.paper.evidence import Evidence
from experiments.paper.tables import Table, all_tables

MARKS = {"win": " ●", "loss": " ○", "tie": "", "": ""}
HEAD = (
    "table", "set", "method", "runs", "auc", "deviation", "outcome", "seconds", "printed_auc", "printed_deviation",
    "printed_outcome", "rules", "why_not",
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
                    ours = (len(cell.runs), _four(cell.auc), _four(cell.deviation), table.outcome(name, column))
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
    yield "## Claims\n"
    yield "| where | claim | verdict | because |\n| --- | --- | --- | --- |"
    for claim in all_claims():
        found = claim.decide(evidence)
        yield f"| {claim.where} | {claim.says} | {found.verdict} | {found.because} |"
    for table in all_tables(evidence.store, evidence.profile, evidence.catalogue):
        if table.sets:
            yield from _markdown_table(table)


def _markdown_table(table: Table) -> Iterator[str]:
    yield f"\n## {table.title}\n"
    yield "| data set | " + " | ".join(table.columns) + " |"
    yield "| --- " * (1 + len(table.columns)) + "|"
    for name in table.sets:
        yield f"| {name} | " + " | ".join(_markdown_cell(table, name, column) for column in table.columns) + " |"
    counts = ["/".join(map(str, table.counts(column))) if column != table.reference else "" for column in table.columns]
    yield "| win/tie/loss | " + " | ".join(counts) + " |"


def _markdown_cell(table: Table, name: str, column: str) -> str:
    cell, printed = table.cell(name, column), table.printed_cell(name, column)
    beside = f" ({_four(printed.auc) or 'N/A'})" if printed else ""
    if cell is None:
        return "–" + beside
    if cell.auc is None:
        return ("N/A" if "N/A" in cell.why_not else "error") + beside
    deviation = "" if cell.deviation is None else f" ± {_four(cell.deviation)}"
    return f"{_four(cell.auc)}{deviation}{MARKS[table.outcome(name, column)]}{beside}"


def _four(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}".removeprefix("0")
