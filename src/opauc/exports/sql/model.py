"""A model as one query of SQL: the columns of a table with the score, the probability, the label and reasons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from opauc.errors import Parameter, UnsupportedOperationError
from opauc.exports.format import ExportFormat, ExportOptions
from opauc.exports.portable import PortableModel
from opauc.exports.portable_classes import PortableClasses
from opauc.exports.sql.columns import inputs_of_rows
from opauc.exports.sql.dialects import Dialect, find_dialect
from opauc.exports.sql.hashes import SqlHashes
from opauc.exports.sql.query import PREFIX, Query, Term, join_terms
from opauc.exports.sql.tables import SqlTables, choose
from opauc.exports.sql.trees import SqlTrees
from opauc.version import __version__

# Beyond these log-odds a probability is 0 or 1; databases raise errors where an exponential leaves the range.
CERTAIN_LOG_ODDS = 700.0
# Conditions of trees in a query with reasons: more make a query that no database takes.
MOST_SHARES = 200_000
# Arguments of one call.
MOST_ARGUMENTS = 40


def sql_text(model: PortableModel, options: ExportOptions) -> str:
    """Return a model as a query.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> from opauc.exports.format import ExportOptions
    >>> from opauc.exports.make_portable import make_portable
    >>> from opauc.exports.sql.model import sql_text
    >>> portable = make_portable(OPAUC().fit([[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1])._to_model())
    >>> query = sql_text(portable, ExportOptions(table="orders"))
    >>> '"orders"' in query, query.count("score")
    (True, 2)
    """
    dialect = find_dialect(options.dialect)
    return SqlModel(model, dialect, options).text()


class SqlModel:
    """A model, and the query that scores the rows of a table with it."""

    def __init__(self, model: PortableModel, dialect: Dialect, options: ExportOptions) -> None:
        self.model: PortableModel = model
        self.dialect: Dialect = dialect
        self.options: ExportOptions = options
        prefix = PREFIX
        while any(column.name.lower().startswith(prefix) for column in model.columns):
            prefix += "_"
        self.query: Query = Query(dialect, prefix)
        inputs = inputs_of_rows(self.query, model, is_typed=options.typed)
        self.conditions = inputs.conditions
        if not options.typed:
            self.query.keep(inputs.terms)
        self.tables: SqlTables = SqlTables(self.query, model, inputs.terms)
        self.hashes: SqlHashes = SqlHashes(self.query, inputs.terms)
        self.trees: SqlTrees | None = None if model.trees is None else SqlTrees(self.tables, model.trees)

    def text(self) -> str:
        """Return the query."""
        contributions = self._contributions() if self.options.reasons else None
        score = self.where_taken(self._score(contributions))
        results = {"score": score, "probability": self._probability(score), "label": self._label(score)}
        if contributions is not None:
            results |= self._reasons(contributions, score)
        return self.query_of(results)

    def where_taken(self, score: Term) -> Term:
        """Return a score under a name, null in rows with a value that the model does not take."""
        if self.conditions:
            condition = " AND ".join(one.text for one in self.conditions)
            step = max(one.step for one in (score, *self.conditions))
            score = Term(f"CASE WHEN {condition} THEN {score.text} END", step)
        return self.query.bind(score)

    def query_of(self, results: Mapping[str, Term]) -> str:
        """Return the query of named results, with underscores after a name that a column or another result has."""
        taken, named = {column.name.lower() for column in self.model.columns}, dict[str, Term]()
        for name, term in results.items():
            free = _free_name(name, taken)
            named[free] = term
            taken.add(free.lower())
        comment = (
            f"-- {self.dialect.title}, written by opauc {__version__}: scores of a model of {self.model.estimator}\n"
        )
        return comment + self.query.text(self.options.table, named)

    def _score(self, contributions: Sequence[Term] | None) -> Term:
        """Return the score: of the contributions, or of tables in which those of one axis are one."""
        if contributions is not None:
            return self.query.add([Term(self.dialect.double_of(self.model.baseline)), *contributions])
        merged = self.model.score
        parts = [Term(self.dialect.double_of(merged.intercept))]
        parts += [self.tables.value(table) for table in merged.tables]
        parts += [self.hashes.value(table) for table in merged.crossed]
        parts += [] if self.trees is None else self.trees.scores()
        return self.query.add(parts)

    def _contributions(self) -> list[Term]:
        """Return the contribution of each term; raise for models that have no reasons."""
        if not self.model.is_centered:
            raise UnsupportedOperationError(
                Parameter("reasons"), ": the model does not keep the means that contributions are compared with"
            )
        shares = self._shares_of_trees()
        contributions = []
        for number, term in enumerate(self.model.terms):
            parts = [Term(self.dialect.double_of(term.constant)), *(self.tables.value(table) for table in term.tables)]
            parts += [*(self.hashes.value(table) for table in term.crossed), *shares[number]]
            contributions.append(self.query.bind(self.query.add(parts)))
        self.query.keep(contributions)
        return contributions

    def _shares_of_trees(self) -> dict[int, list[Term]]:
        """Return what trees add to each term."""
        shares = defaultdict[int, list[Term]](list)
        if self.trees is None:
            return shares
        if (size := self.trees.n_shares()) > MOST_SHARES:
            raise UnsupportedOperationError(
                Parameter("reasons"),
                f": reasons of its trees are {size:,} conditions in SQL, more than {MOST_SHARES:,}",
            )
        for term, share in self.trees.shares():
            shares[term].append(share)
        return shares

    def _probability(self, score: Term) -> Term:
        double, limit = self.dialect.double_of, CERTAIN_LOG_ODDS
        log_odds = self.query.bind(
            join_terms(f"{double(self.model.slope)} * {{}} + {double(self.model.offset)}", score)
        )
        above, below = (
            f"WHEN {{0}} {sign} {double(end)} THEN {double(end)}" for sign, end in ((">", limit), ("<", -limit))
        )
        bounded = self.query.bind(join_terms(f"CASE {above} {below} ELSE {{0}} END", log_odds))
        return join_terms(f"{double(1.0)} / ({double(1.0)} + EXP(-{{}}))", bounded)

    def _label(self, score: Term) -> Term:
        negative, positive = map(self.constant, self.model.labels)
        threshold = self.dialect.double_of(self.model.threshold)
        return Term(
            f"CASE WHEN {score.text} > {threshold} THEN {positive} WHEN {score.text} IS NOT NULL THEN {negative} END",
            score.step,
        )

    def constant(self, value: bool | int | float | str) -> str:
        """Return a label as a constant."""
        if isinstance(value, bool):
            return f"CAST({int(value)} AS BIT)" if self.dialect.name == "tsql" else str(value).upper()
        if isinstance(value, str):
            return self.dialect.literal(value)
        return str(value) if isinstance(value, int) else self.dialect.double_of(value)

    def _reasons(self, contributions: Sequence[Term], score: Term) -> dict[str, Term]:
        """Return the terms that lower the score most against the mean, and by how much."""
        double, zero = self.dialect.double_of, self.dialect.double_of(0.0)
        differences = [
            self.query.bind(join_terms(f"({{}} - {double(term.mean)})", one)) if term.mean else one
            for term, one in zip(self.model.terms, contributions, strict=True)
        ]
        found = dict[str, Term]()
        for reason in range(1, self.options.reasons + 1):
            least = self.query.bind(self._least(differences))
            cases = " ".join(f"WHEN {one.text} = {least.text} THEN {at}" for at, one in enumerate(differences))
            is_reason = f"{score.text} IS NOT NULL AND {least.text} < {zero}"
            place = self.query.bind(
                Term(f"CASE WHEN {is_reason} THEN CASE {cases} END END", max(least.step, score.step))
            )
            names = [self.dialect.literal(term.name) for term in self.model.terms]
            chosen = choose([(f"{place.text} <= {at}", name) for at, name in enumerate(names[:-1])], names[-1])
            found[f"reason_{reason}"] = Term(f"CASE WHEN {place.text} IS NOT NULL THEN {chosen} END", place.step)
            found[f"contribution_{reason}"] = join_terms("CASE WHEN {} IS NOT NULL THEN {} END", place, least)
            if reason < self.options.reasons:
                differences = [
                    self.query.bind(join_terms(f"CASE WHEN {{}} = {at} THEN {zero} ELSE {{}} END", place, one))
                    for at, one in enumerate(differences)
                ]
        return found

    def _least(self, terms: Sequence[Term]) -> Term:
        return call_of_many("LEAST", terms)


def call_of_many(function: str, terms: Sequence[Term]) -> Term:
    """Return the least or the greatest of terms, by calls of few arguments.

    Examples
    --------
    >>> from opauc.exports.sql.model import call_of_many
    >>> from opauc.exports.sql.query import Term
    >>> call_of_many("LEAST", [Term("t.a"), Term("t.b", 1)])
    Term(text='LEAST(t.a, t.b)', step=1)
    """
    while len(terms) > 1:
        groups = [terms[at : at + MOST_ARGUMENTS] for at in range(0, len(terms), MOST_ARGUMENTS)]
        terms = [
            join_terms(f"{function}({', '.join(['{}'] * len(group))})", *group) if len(group) > 1 else group[0]
            for group in groups
        ]
    return terms[0]


def _free_name(name: str, taken: set[str]) -> str:
    """Return a name, with underscores after it where it is taken."""
    while name.lower() in taken:
        name += "_"
    return name


def write_sql(model: PortableModel, options: ExportOptions) -> bytes:
    """Return the content of a file of SQL of a model."""
    return sql_text(model, options).encode()


def write_classes_sql(model: PortableClasses, options: ExportOptions) -> bytes:
    """Return the content of a file of SQL of a model of several classes."""
    from opauc.exports.sql.classes import classes_sql_text  # which needs this module

    return classes_sql_text(model, options).encode()


SQL = ExportFormat(
    "sql", (".sql",), write_sql, ("reasons", "dialect", "table", "typed"), write_classes=write_classes_sql
)
