"""A model of several classes as one query of SQL: the score and the probability of each class, and the label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opauc.core.labels import shown_label
from opauc.exports.format import ExportOptions
from opauc.exports.portable_classes import PortableClasses
from opauc.exports.sql.dialects import find_dialect
from opauc.exports.sql.model import CERTAIN_LOG_ODDS, SqlModel, call_of_many
from opauc.exports.sql.query import Term, join_terms
from opauc.exports.sql.trees import SqlTrees


def classes_sql_text(model: PortableClasses, options: ExportOptions) -> str:
    """Return a model of several classes as a query.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> from opauc.exports.format import ExportOptions
    >>> from opauc.exports.make_portable import make_portable_classes
    >>> from opauc.exports.sql.classes import classes_sql_text
    >>> portable = make_portable_classes(OPAUC().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])._to_model())
    >>> query = classes_sql_text(portable, ExportOptions(table="orders"))
    >>> '"orders"' in query, "probability_b" in query
    (True, True)
    """
    return SqlClasses(model, options).text()


class SqlClasses:
    """A model of several classes, and the query that scores the rows of a table with it."""

    def __init__(self, model: PortableClasses, options: ExportOptions) -> None:
        self.model: PortableClasses = model
        # What the classes share: the inputs of a row, and tables on their axes.
        self.shared: SqlModel = SqlModel(replace(model.of_class(0), trees=None), find_dialect(options.dialect), options)
        self._bind = self.shared.query.bind
        self._double = self.shared.dialect.double_of

    def text(self) -> str:
        """Return the query."""
        logits = [self._logit(number) for number in range(self.model.n_classes)]
        link, names = self.model.link, list(map(shown_label, self.model.labels))
        most = self._bind(call_of_many("GREATEST", logits))
        exponentials = self._exponentials(logits, most)
        scores = self._scores(logits, most, exponentials)
        if any(link.log_shares):
            shifted = [
                self._bind(join_terms(f"{{}} + {self._double(share)}", logit))
                for logit, share in zip(logits, link.log_shares, strict=True)
            ]
            exponentials = self._exponentials(shifted, self._bind(call_of_many("GREATEST", shifted)))
        whole = self._bind(self.shared.query.add(exponentials))
        probabilities = [join_terms("{} / {}", one, whole) for one in exponentials]
        results = {f"score_{name}": term for name, term in zip(names, scores, strict=True)}
        results |= {f"probability_{name}": term for name, term in zip(names, probabilities, strict=True)}
        return self.shared.query_of({**results, "label": self._label(logits, most)})

    def _logit(self, number: int) -> Term:
        """Return the logit of a class: of its additive score, null in rows that the model does not take."""
        one, link, double = self.model.of_class(number), self.model.link, self._double
        merged = one.score
        parts = [Term(double(merged.intercept)), *(self.shared.tables.value(table) for table in merged.tables)]
        parts += [self.shared.hashes.value(table) for table in merged.crossed]
        parts += [] if one.trees is None else SqlTrees(self.shared.tables, one.trees).scores()
        additive = self.shared.where_taken(self.shared.query.add(parts))
        if not link.rest_power:
            return additive
        size = self._bind(join_terms(f"LEAST(ABS({{}}), {double(CERTAIN_LOG_ODDS)})", additive))
        rest = f"GREATEST({{0}}, {double(0.0)}) + {self._ln(f'{double(1.0)} + EXP(-{{1}})')}"
        logit = f"{double(link.power)} * {{0}} - {double(link.rest_power)} * ({rest})"
        return self._bind(join_terms(logit, additive, size))

    def _exponentials(self, logits: Sequence[Term], most: Term) -> list[Term]:
        """Return the exponential of each logit less the greatest, bounded: databases raise errors where it is tiny."""
        least = self._double(-CERTAIN_LOG_ODDS)
        return [self._bind(join_terms(f"EXP(GREATEST({{}} - {{}}, {least}))", logit, most)) for logit in logits]

    def _scores(self, logits: Sequence[Term], most: Term, exponentials: Sequence[Term]) -> list[Term]:
        if not self.model.link.scores_are_odds:
            whole = self._bind(self.shared.query.add(exponentials))
            return [join_terms(f"{{}} - {{}} - {self._ln('{}')}", logit, most, whole) for logit in logits]
        scores = []
        for number, logit in enumerate(logits):
            others = self._bind(self.shared.query.add([*exponentials[:number], *exponentials[number + 1 :]]))
            scores.append(join_terms(f"{{}} - {{}} - {self._ln('{}')}", logit, most, others))
        return scores

    def _label(self, logits: Sequence[Term], most: Term) -> Term:
        """Return the first label of the greatest logit."""
        labels = map(self.shared.constant, self.model.labels)
        cases = [f"WHEN {logit.text} = {most.text} THEN {label}" for logit, label in zip(logits, labels, strict=True)]
        return Term(f"CASE {' '.join(cases)} END", most.step)

    def _ln(self, argument: str) -> str:
        return f"{self.shared.dialect.ln}({argument})"
