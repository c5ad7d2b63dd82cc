"""The blocks that the page is built of: figures, tables, small print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opauc.report.text import safe


def figure(title: str, note: str, chart: str, listed: str = "", level: int = 2) -> str:
    """Return a chart under its title, a note and what is listed; all of it is HTML already."""
    return f"<figure><figcaption><h{level}>{title}</h{level}>{under(note)}{listed}</figcaption>{chart}</figure>"


def under(words: str) -> str:
    """Return words in small print, nothing where there are none."""
    return f'<p class="under">{words}</p>' if words else ""


def scroll(name: str, table: str) -> str:
    """Return a table that scrolls by itself where the page is narrower."""
    return f'<div class="scroll" role="region" aria-label="{name}" tabindex="0">{table}</div>'


def table_section(name: str, note: str, table: str, level: int = 2) -> str:
    """Return a table under its name and a note."""
    return f"<section><h{level}>{name}</h{level}>{under(note)}{scroll(name, table)}</section>"


def pairs_table(rows: Mapping[str, str], look: str = "pairs") -> str:
    """Return names and values, one a line, as a table."""
    body = "".join(f'<tr><th scope="row">{safe(key)}</th><td>{safe(value)}</td></tr>' for key, value in rows.items())
    return f'<table class="{look}"><tbody>{body}</tbody></table>'


def lines(parts: Iterable[str]) -> str:
    """Return the parts that are not empty, one a line."""
    return "\n".join(part for part in parts if part)
