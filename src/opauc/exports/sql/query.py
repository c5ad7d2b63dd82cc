"""A query in steps: each adds columns to the rows of the step before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from opauc.exports.sql.dialects import APPLY, RECORD, Dialect

PREFIX = "opauc_"
# The row of the table in a step, and the name of the first step's source.
ROW, SOURCE = "t", "r"
# So many sums or rows are in one pair of brackets: databases bound the depth of expressions.
MOST_ADDED = 40


class Term(NamedTuple):
    """An expression, and the step after which what it refers to is there."""

    text: str
    step: int = 0


class Join(NamedTuple):
    """A table of constants that a step looks a value up in."""

    alias: str
    table: str
    key: str


@dataclass
class Step:
    """What a step adds: named expressions, and the tables of constants that these take values from."""

    columns: dict[str, str] = field(default_factory=dict)
    joins: list[Join] = field(default_factory=list)


@dataclass
class Query:
    """The steps of a query, which grow as expressions are bound to names."""

    dialect: Dialect
    prefix: str = PREFIX
    steps: list[Step] = field(default_factory=list)
    tables: dict[str, str] = field(default_factory=dict)  # of constants: query by name
    kept: set[int] = field(default_factory=set)  # the steps whose rows the database keeps
    _bound: dict[str, Term] = field(default_factory=dict)

    def bind(self, term: Term) -> Term:
        """Return the name of an expression, which the step after those it refers to computes.

        Examples
        --------
        >>> from opauc.exports.sql.dialects import DIALECTS
        >>> from opauc.exports.sql.query import Query, Term
        >>> query = Query(DIALECTS["duckdb"])
        >>> half = query.bind(Term("t.x / 2e0"))
        >>> query.bind(join_terms("{} * {}", half, half))
        Term(text='t.opauc_2', step=2)
        """
        if term.text not in self._bound:
            name = f"{self.prefix}{len(self._bound) + 1}"
            self._step(term.step).columns[name] = term.text
            self._bound[term.text] = Term(f"{ROW}.{name}", term.step + 1)
        return self._bound[term.text]

    def look_up(self, table: str, key: Term) -> Term:
        """Return the value `v` of the row of a table of constants whose `k` is the key, null where there is none."""
        key = self.bind(key)
        step = self._step(key.step)
        alias = f"j{sum(len(one.joins) for one in self.steps) + 1}"
        step.joins.append(Join(alias, table, key.text))
        return self.bind(Term(f"{alias}.v", key.step))

    def constants(self, rows: Sequence[tuple[str, str]]) -> str:
        """Return the name of a table of constants, keys `k` and values `v`, which is added if it is new."""
        text = self.dialect.values(rows, ("k", "v"))
        names = {other: name for name, other in self.tables.items()}
        if text not in names:
            self.tables[f"{self.prefix}table_{len(self.tables) + 1}"] = text
        return names.get(text, f"{self.prefix}table_{len(self.tables)}")

    def keep(self, terms: Sequence[Term]) -> None:
        """Have the database keep the rows of the step that the last of these expressions needs, where it can."""
        self.kept.add(max(term.step for term in terms) - 1)

    def add(self, terms: Sequence[Term]) -> Term:
        """Return the sum of expressions, in brackets of few."""
        if not terms:
            return Term(self.dialect.double_of(0.0))
        while len(terms) > 1:
            groups = [terms[at : at + MOST_ADDED] for at in range(0, len(terms), MOST_ADDED)]
            terms = [
                Term("(" + "\n  + ".join(one.text for one in group) + ")", max(one.step for one in group))
                for group in groups
            ]
        return terms[0]

    def text(self, table: str, results: Mapping[str, Term]) -> str:
        """Return the query: the columns of the table, and named results."""
        results = {name: self.bind(term) for name, term in results.items()}
        last = max(term.step for term in results.values())
        outputs = [f"{term.text} AS {self.dialect.identifier(name)}" for name, term in results.items()]
        if self.dialect.carry == APPLY:
            return self._applied(table, last, outputs)
        carried = f"{SOURCE} AS {self.prefix}row" if self.dialect.carry == RECORD else f"{SOURCE}.*"
        queries, source = list[str](), f"{self.dialect.table(table)} AS {SOURCE}"
        queries += [f"{name} AS (\n  {constants}\n)" for name, constants in self.tables.items()]
        for number in range(last):
            columns = self._columns(self.steps[number], carried if number == 0 else f"{ROW}.*")
            body = f"  SELECT {columns}\n  FROM {source}{self._joins(number)}{self.dialect.barrier}"
            keeping = self.dialect.keeping if number in self.kept else ""
            queries.append(f"{self.prefix}step_{number + 1} AS {keeping}(\n{body}\n)")
            source = f"{self.prefix}step_{number + 1} AS {ROW}"
        rows = f"({ROW}.{self.prefix}row).*" if self.dialect.carry == RECORD else self._star(last)
        return f"WITH {', '.join(queries)}\nSELECT {', '.join([rows, *outputs])}\nFROM {source}\n"

    def _star(self, last: int) -> str:
        names = ", ".join(name for step in self.steps[:last] for name in step.columns)
        return f"{ROW}.* {self.dialect.without} ({names})"

    def _applied(self, table: str, last: int, outputs: Sequence[str]) -> str:
        """Return the query as one that is applied to each row of the table."""
        tables = ", ".join(f"{name} AS (\n  {constants}\n)" for name, constants in self.tables.items())
        inner = ""
        for number in range(last):
            source = f"\nFROM (\n{inner}\n) AS {ROW}{self._joins(number)}" if number else ""
            inner = f"SELECT {self._columns(self.steps[number], f'{ROW}.*' if number else '')}{source}"
        inner = f"SELECT {', '.join(outputs)}\nFROM (\n{inner}\n) AS {ROW}"
        start = f"WITH {tables}\n" if tables else ""
        outer = f"{self.dialect.table(table)} AS {SOURCE} CROSS APPLY (\n{inner}\n) AS s"
        return f"{start}SELECT {SOURCE}.*, s.*\nFROM {outer}\n"

    def _columns(self, step: Step, carried: str) -> str:
        columns = [f"{text} AS {name}" for name, text in step.columns.items()]
        return ",\n    ".join([carried, *columns] if carried else columns)

    def _joins(self, number: int) -> str:
        joins = self.steps[number].joins
        return "".join(f"\n  LEFT JOIN {one.table} AS {one.alias} ON {one.key} = {one.alias}.k" for one in joins)

    def _step(self, number: int) -> Step:
        while len(self.steps) <= number:
            self.steps.append(Step())
        return self.steps[number]


def join_terms(template: str, *terms: Term) -> Term:
    """Return an expression made of others, which stand for `{}` or `{0}`, `{1}` and so on.

    Examples
    --------
    >>> from opauc.exports.sql.query import Term, join_terms
    >>> join_terms("({0} - {0} * {1})", Term("t.a", 1), Term("t.b", 3))
    Term(text='(t.a - t.a * t.b)', step=3)
    """
    return Term(template.format(*(one.text for one in terms)), max((one.step for one in terms), default=0))
