"""What differs between the dialects of SQL that models are written in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opauc.core.extras import needed
from opauc.errors import Parameter, ParameterError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable

# How the columns of the table reach the result: `*` without the columns of the query, the whole row as one value,
# or the query applied to each row.
STAR, RECORD, APPLY = "star", "record", "apply"


@dataclass(frozen=True)
class TextFunctions:
    """What a dialect that reads numbers and dates from text has for it; {0}, {1} and {2} are arguments.

    Attributes
    ----------
    is_text : str
        Tells whether a column is text.
    matches : str
        Tells whether text matches a regular expression.
    group : str
        The text that a group of a regular expression matches.
    replace : str
        The text with each match of a regular expression replaced.
    date : str
        A date by its year and month, and the days after the first of that month.
    days : str
        The days of a date since 1970.
    """

    is_text: str
    matches: str
    group: str
    replace: str
    date: str
    days: str


@dataclass(frozen=True)
class Dialect:
    """A dialect of SQL: its types, and templates of its functions, in which {0} and {1} are arguments.

    Attributes
    ----------
    name : str
        Its name.
    title : str
        The name of the database.
    double, integer, text, timestamp : str
        Names of types.
    number : str
        A number with an exponent as a double.
    try_cast : str
        The cast that gives null where there is nothing to cast.
    carry : {"star", "record", "apply"}
        How the columns of the table reach the result.
    without : str
        The word after `*` before the columns to be left out.
    micros : str
        The microseconds of a timestamp since 1970.
    modulo, xor, ln : str
        The remainder of integers; the bits that only one of two integers has; the natural logarithm.
    barrier : str
        What separates a step from the next.
    keeping : str
        What has the database compute a step once, where it would compute it for each of its uses.
    most_nested : int
        How many `CASE` may stand in each other.
    has_nan : bool
        Whether doubles may be infinite, or no number.
    collation : str
        What makes comparisons of text exact.
    advice : str
        What makes its queries faster.
    text_functions : TextFunctions or None
        What reads numbers and dates from text.
    """

    name: str
    title: str
    double: str = "DOUBLE"
    integer: str = "BIGINT"
    text: str = "VARCHAR"
    timestamp: str = "TIMESTAMP"
    number: str = "{0}"
    try_cast: str = "TRY_CAST"
    carry: str = STAR
    without: str = "EXCLUDE"
    micros: str = "EPOCH_US({0})"
    modulo: str = "MOD({0}, {1})"
    xor: str = "XOR({0}, {1})"
    ln: str = "LN"
    barrier: str = ""
    keeping: str = ""
    most_nested: int = 1000
    has_nan: bool = True
    collation: str = ""
    advice: str = ""
    text_functions: TextFunctions | None = None

    def literal(self, value: str) -> str:
        """Return a string as a literal.

        Examples
        --------
        >>> from opauc.exports.sql.dialects import DIALECTS
        >>> print(DIALECTS["duckdb"].literal("it's"), DIALECTS["tsql"].literal("größer"))
        'it''s' N'größer'
        """
        from sqlglot import exp

        if "\0" in value:
            parts = [exp.Literal.string(part).sql(self.name) for part in value.split("\0")]
            return "(" + f" || {self._nul()} || ".join(parts) + ")"
        if self.name == "tsql":
            return str(exp.National(this=value).sql(self.name))
        text = str(exp.Literal.string(value).sql(self.name))
        # Spark puts the values of variables into a query before it reads it.
        return text.replace("${", "\\u0024{") if self.name == "spark" else text

    def identifier(self, name: str) -> str:
        """Return the name of a column in quotes; a plain name is in capitals where the database keeps it so."""
        from sqlglot import exp

        is_plain = name.isascii() and name.isidentifier()
        spelled = name.upper() if is_plain and self.name == "snowflake" else name
        return str(exp.to_identifier(spelled, quoted=True).sql(self.name))

    def table(self, name: str) -> str:
        """Return the name of a table: parts between dots, each of which may be in double quotes.

        Examples
        --------
        >>> from opauc.exports.sql.dialects import DIALECTS
        >>> print(DIALECTS["duckdb"].table("sales.orders"), DIALECTS["duckdb"].table('sales."orders.2024"'))
        "sales"."orders" "sales"."orders.2024"
        """
        return ".".join(self.identifier(part) for part in split_name(name))

    def double_of(self, value: float) -> str:
        """Return a number as a double with all its digits, a negative one in brackets."""
        text = repr(float(value))
        text = self.number.format(text if "e" in text else f"{text}e0")
        return f"({text})" if text.startswith("-") else text

    def values(self, rows: Iterable[Sequence[str]], names: Sequence[str]) -> str:
        """Return a query of rows of constants."""
        if self.name == "bigquery":
            structs = (", ".join(f"{value} AS {name}" for value, name in zip(row, names, strict=True)) for row in rows)
            return f"SELECT * FROM UNNEST([{', '.join(f'STRUCT({struct})' for struct in structs)}])"
        constants = ", ".join(f"({', '.join(row)})" for row in rows)
        return f"SELECT * FROM (VALUES {constants}) AS v({', '.join(names)})"

    def takes(self, value: str) -> bool:
        """Tell whether text of the database can hold a string."""
        return "\0" not in value or self.name != "postgres"

    def _nul(self) -> str:
        return {"bigquery": "CODE_POINTS_TO_STRING([0])", "tsql": "NCHAR(0)"}.get(self.name, "CHR(0)")


def split_name(name: str) -> list[str]:
    """Return the parts of the name of a table between dots; a part in double quotes may hold dots.

    Examples
    --------
    >>> from opauc.exports.sql.dialects import split_name
    >>> split_name('shop."a.b"'), split_name("order lines")
    (['shop', 'a.b'], ['order lines'])
    """
    parts, rest = list[str](), name
    while True:
        if rest.startswith('"') and (end := _end_of_quotes(rest)) is not None:
            part, rest = rest[1:end].replace('""', '"'), rest[end + 1 :]
        else:
            part, _, tail = rest.partition(".")
            rest = f".{tail}" if "." in rest else ""
        parts.append(part)
        if not rest.startswith("."):
            break
        rest = rest[1:]
    if not all(parts) or "\0" in name:
        raise ParameterError(Parameter("table", name), " is no name of a table")
    return parts


def _end_of_quotes(text: str) -> int | None:
    """Return where the quotes end that text begins with, None where they do not end a part."""
    at = 1
    while at < len(text):
        if text.startswith('""', at):
            at += 2
        elif text[at] == '"':
            return at if text[at + 1 : at + 2] in ("", ".") else None
        else:
            at += 1
    return None


DIALECTS = {
    one.name: one
    for one in (
        Dialect(
            "duckdb", "DuckDB", keeping="MATERIALIZED ",
            text_functions=TextFunctions(
                "TYPEOF({0}) = 'VARCHAR'", "REGEXP_MATCHES({0}, {1})", "REGEXP_EXTRACT({0}, {1}, {2})",
                "REGEXP_REPLACE({0}, {1}, {2}, 'g')", "MAKE_DATE({0}, {1}, 1) + {2}", "({0} - DATE '1970-01-01')",
            ),
        ),
        Dialect(
            "postgres", "PostgreSQL", double="DOUBLE PRECISION", text="TEXT", number="{0}::FLOAT8", carry=RECORD,
            micros="(EXTRACT(EPOCH FROM {0}) * 1000000)", xor="({0} # {1})", barrier=" OFFSET 0",
            advice="SET jit = off before it: compiling takes longer than scoring",
            text_functions=TextFunctions(
                "PG_TYPEOF({0})::TEXT IN ('text', 'character varying', 'character')", "{0} ~ {1}",
                "(REGEXP_MATCH({0}, {1}))[{2}]", "REGEXP_REPLACE({0}, {1}, {2}, 'g')",
                "MAKE_DATE({0}, {1}, 1) + {2}", "({0} - DATE '1970-01-01')",
            ),
        ),
        Dialect(
            "bigquery", "BigQuery", double="FLOAT64", integer="INT64", text="STRING", try_cast="SAFE_CAST",
            without="EXCEPT", micros="UNIX_MICROS({0})", xor="({0} ^ {1})",
        ),
        Dialect(
            "snowflake", "Snowflake", timestamp="TIMESTAMP_NTZ", number="{0}::DOUBLE",
            micros="DATE_PART(EPOCH_MICROSECOND, {0})", xor="BITXOR({0}, {1})",
        ),
        Dialect(
            "spark", "Spark", text="STRING", timestamp="TIMESTAMP_NTZ", without="EXCEPT",
            micros="TIMESTAMPDIFF(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', {0})", xor="({0} ^ {1})",
            text_functions=TextFunctions(
                "TYPEOF({0}) = 'string'", "{0} RLIKE {1}", "REGEXP_EXTRACT({0}, {1}, {2})",
                "REGEXP_REPLACE({0}, {1}, {2})", "DATE_ADD(MAKE_DATE({0}, {1}, 1), {2})",
                "DATEDIFF({0}, DATE '1970-01-01')",
            ),
        ),
        Dialect(
            "tsql", "SQL Server", double="FLOAT", text="NVARCHAR(4000)", timestamp="DATETIME2", carry=APPLY,
            micros="DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2), {0})", modulo="({0} % {1})",
            xor="({0} ^ {1})", most_nested=9, has_nan=False, ln="LOG",
            collation=" COLLATE Latin1_General_BIN2",
        ),
    )
}  # fmt: skip


def find_dialect(name: str) -> Dialect:
    """Return the dialect of a name; raise where there is none, or the package that quotes names is absent.

    Examples
    --------
    >>> from opauc.exports.sql.dialects import find_dialect
    >>> find_dialect("tsql").title
    'SQL Server'
    """
    if name not in DIALECTS:
        raise ParameterError(Parameter("dialect"), f": {unknown_name('dialect', name, DIALECTS)}")
    with needed("sqlglot", "sql"):
        import sqlglot  # noqa: F401
    return DIALECTS[name]
