"""A table of the page: our cells with the printed ones beneath, marks, and wins, ties and losses at its foot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from experiments.paper.column import Column
from experiments.paper.data_set import DataSet
from experiments.paper.printed import Printed
from experiments.paper.protocol import PROFILES, RULES
from experiments.paper.tables import Cell, Counts, Table
from opauc.report.text import safe

MARKS = {"win": "●", "loss": "○", "tie": "", "": ""}
SHORTENED = [f"{profile.set_rows:,} rows of the set" for profile in PROFILES.values() if profile.set_rows]
LETTERS = dict(zip([*(rule.name for rule in RULES), *SHORTENED], "abcdefghij", strict=False))
COMPARABLE = "The published task: AUCs may be compared with the printed ones beneath"
OTHER_TASK = "A set of the paper, another task or scaling (see Data sets): not to be compared with printed AUCs"
NOT_IN_PAPER = "Not in the paper"

# Columns that fit on a sheet of paper held upright, and on one that is turned.
MOST_UPRIGHT, MOST_TURNED = 7, 9


def table_section(table: Table, columns: Mapping[str, Column], sets: Mapping[str, DataSet]) -> str:
    """Return a table with its title and what there is to know to read it."""
    parts = [_table(replace(table, columns=names), sets) for names in sheets(table.columns)]
    printed = ""
    if table.printed:
        here = any(name in table.comparable for name in table.sets)
        printed = "; beneath it, grey, what the paper printed" if here else ". No set here has the published task"
    note = (
        f"Mean AUC ± deviation over the runs{printed}. ● {table.reference} is significantly better, ○ worse, by the "
        f"paper's paired t-test; the counts at the foot, of {table.reference}, are also given by the corrected "
        "resampled t-test, which allows for training rows that overlap. Letters: how the protocol was thinned, see "
        "below. λ↓25: in 25 runs the smallest λ of the grid was chosen (↑ the largest; η, C step size; R radius), so "
        "that a wider grid may do better."
    )
    return section(table.title, note, *parts, after=_abouts(table, columns), is_wide=len(table.columns) > MOST_UPRIGHT)


def sheets(columns: Sequence[str]) -> list[list[str]]:
    """Return the columns of each part of a table: the first, which the others are tested against, is in every part.

    >>> sheets(list("abc")), [len(part) for part in sheets(list("abcdefghijklmnopqrst"))]
    ([['a', 'b', 'c']], [8, 8, 6])
    """
    first, others = columns[0], columns[1:]
    n_parts = max(-(-len(others) // (MOST_TURNED - 1)), 1)
    size = max(-(-len(others) // n_parts), 1)
    return [[first, *others[at : at + size]] for at in range(0, max(len(others), 1), size)]


def _table(table: Table, sets: Mapping[str, DataSet]) -> str:
    """Return the rows of all sets, by how their task relates to the published one, and the counts."""
    head = '<th scope="col">Data set</th>' + "".join(f'<th scope="col">{safe(name)}</th>' for name in table.columns)
    rows = ""
    for group, names in groupby(table.sets, key=lambda name: _group(sets[name])):
        if table.printed:
            rows += _heading(group, len(table.columns))
        rows += "".join(_row(safe(name), [_cell(table, name, column) for column in table.columns]) for name in names)
    rows += "".join(_foot(table))
    return f'<table class="auc-table"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def section(title: str, note: str, *tables: str, after: str = "", is_wide: bool = False) -> str:
    """Return a titled part of the page whose tables scroll by themselves; wide ones are printed on a sheet turned."""
    name, look = safe(title), ' class="many"' if is_wide else ""
    scroll = "".join(
        f'<div class="scroll" role="region" aria-label="{name}" tabindex="0">{table}</div>' for table in tables
    )
    return f'<section{look}><h2>{name}</h2><p class="under">{safe(note)}</p>{scroll}{after}</section>'


def _group(data: DataSet) -> str:
    if data.is_comparable:
        return COMPARABLE
    return OTHER_TASK if data.printed_as else NOT_IN_PAPER


def _heading(text: str, n_columns: int) -> str:
    return f'<tr class="group"><th colspan="{n_columns + 1}" scope="rowgroup"><span>{safe(text)}</span></th></tr>'


def _row(name: str, cells: list[str]) -> str:
    return f'<tr><th scope="row">{name}</th>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _abouts(table: Table, columns: Mapping[str, Column]) -> str:
    told = [(name, columns[name].about) for name in table.columns if columns[name].about]
    listed = "".join(f"<dt>{safe(name)}</dt><dd>{safe(about)}</dd>" for name, about in told)
    return f'<dl class="notes">{listed}</dl>' if listed else ""


def _cell(table: Table, name: str, column: str) -> str:
    cell, printed = table.cell(name, column), table.printed_cell(name, column)
    return _ours(cell, table.outcome(name, column)) + _printed(printed)


def _ours(cell: Cell | None, outcome: str) -> str:
    if cell is None:
        return "–"
    if cell.auc is None:
        return f'<span title="{safe(cell.why_not)}">{"N/A" if "N/A" in cell.why_not else "error"}</span>'
    letters = "".join(LETTERS.get(rule, "?") for rule in cell.rules)
    edges = " ".join(f"{edge}{count}" for edge, count in sorted(cell.edges.items()))
    deviation = "" if cell.deviation is None else f" ± {short(cell.deviation)}"
    note = f"<sup>{letters}</sup>" if letters else ""
    note += f'<sup class="edge">{edges}</sup>' if edges else ""
    unfinished = "" if cell.is_whole else f'<span class="printed">{len(cell.runs)} of {cell.planned} runs</span>'
    told = f"{short(cell.auc)}{deviation}{_mark(outcome)}{note}"
    return f'<span title="{len(cell.runs)} runs">{told}</span>{unfinished}'


def _printed(printed: Printed | None) -> str:
    if printed is None:
        return ""
    if printed.auc is None or printed.deviation is None:
        return '<span class="printed">N/A</span>'
    return f'<span class="printed">{short(printed.auc)} ± {short(printed.deviation)}{_mark(printed.outcome)}</span>'


def _mark(outcome: str) -> str:
    return f'<span class="mark">{MARKS[outcome]}</span>' if MARKS[outcome] else ""


def _foot(table: Table) -> list[str]:
    """Wins, ties and losses on all sets by both tests, and on the sets whose task is the published one."""
    others = [column for column in table.columns if column != table.reference]
    found = [
        _row("win / tie / loss", ["", *(_counts(table.counts(column)) for column in others)]),
        _row("corrected test", ["", *(_counts(table.counts(column, corrected=True)) for column in others)]),
    ]
    if table.printed and any(name in table.comparable for name in table.sets):
        beside = [_counts(table.counts_in_print(column)) + _printed_counts(table, column) for column in others]
        found.append(_row("published tasks", ["", *beside]))
    return found


def _printed_counts(table: Table, column: str) -> str:
    here, in_all = _counts(table.printed_counts_here(column)), _counts(table.printed_counts(column))
    return f'<span class="printed">{here} printed, {in_all} in all</span>'


def _counts(counts: Counts) -> str:
    return "/".join(map(str, counts)) if any(counts) else "–"


def short(value: float) -> str:
    """A share of one with four digits and no leading zero, as the paper has it.

    >>> short(0.81234)
    '.8123'
    """
    return f"{value:.4f}".removeprefix("0")
