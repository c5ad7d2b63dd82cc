"""Hashes of combinations in SQL: arithmetic modulo 2**64 on halves of 32 bits, as integers of 64 bits overflow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from opauc.additive.basis.crossed_codes import FINAL_MIXERS, MIXERS
from opauc.exports.portable import CrossedTable, Member
from opauc.exports.sql.query import Query, Term, join_terms
from opauc.exports.sql.tables import choose

HALF, QUARTER = 2**32, 2**16
# The bits of the exponent and of the fraction of a double, and what is added to its exponent.
FRACTION_BITS, EXPONENT_OFFSET = 52, 1023
# The bits that a value is shifted by where it is mixed.
SHIFT = 29


class Bits(NamedTuple):
    """64 bits as two integers: the upper and the lower 32."""

    upper: Term
    lower: Term


@dataclass
class SqlHashes:
    """The effects of combinations of the inputs of a row."""

    query: Query
    inputs: Sequence[Term]

    def value(self, table: CrossedTable) -> Term:
        """Return the effect of a combination: the smaller in size of those of its two levels."""
        query, double = self.query, self.query.dialect.double_of
        keys = [self._mixed(member, int(mixer)) for member, mixer in zip(table.members, MIXERS, strict=False)]
        key = reduce(self._sum, keys)
        shift = 65 - table.n_levels.bit_length() - 32
        rows = [(str(level), double(value)) for level, value in zip(table.levels.tolist(), table.effects, strict=True)]
        if not rows:
            return Term(double(0.0))
        of_levels, found = query.constants(rows), list[Term]()
        for mixer in FINAL_MIXERS.tolist():
            level = self._quotient(self._product(key, int(mixer)).upper, 2**shift)
            found.append(query.bind(join_terms(f"COALESCE({{}}, {double(0.0)})", query.look_up(of_levels, level))))
        return query.bind(join_terms("CASE WHEN ABS({0}) <= ABS({1}) THEN {0} ELSE {1} END", *found))

    def _mixed(self, member: Member, mixer: int) -> Bits:
        """Return the mixed bits of a member's value."""
        query, dialect = self.query, self.query.dialect
        bits = self._bits(self._value(member))
        folded = Bits(bits.upper, query.bind(join_terms(dialect.xor, bits.lower, bits.upper)))
        product = self._product(folded, mixer)
        upper = self._quotient(product.upper, 2**SHIFT)
        low_bits = f"({dialect.modulo.format('{0}', 2**SHIFT)} * {2 ** (32 - SHIFT)} + {{1}})"
        lower = query.bind(join_terms(low_bits, product.upper, self._quotient(product.lower, 2**SHIFT)))
        shifted = Bits(*(
            query.bind(join_terms(dialect.xor, one, other)) for one, other in zip(product, (upper, lower), strict=True)
        ))  # fmt: skip
        return self._product(shifted, mixer)

    def _value(self, member: Member) -> Term:
        """Return the bin of an input, or its whole part; null where it is missing."""
        one, double = self.inputs[member.input], self.query.dialect.double_of
        if not member.edges.size:
            return self.query.bind(join_terms("FLOOR({})", one))
        cuts = [(f"{one.text} < {double(edge)}", double(at)) for at, edge in enumerate(member.edges.tolist())]
        bins = choose(cuts, double(member.edges.size))
        return self.query.bind(Term(f"CASE WHEN {one.text} IS NULL THEN NULL ELSE {bins} END", one.step))

    def _bits(self, value: Term) -> Bits:
        """Return the bits of a whole number as a double: sign, exponent, fraction; 1 where it is missing."""
        query, dialect, double = self.query, self.query.dialect, self.query.dialect.double_of
        size = query.bind(
            join_terms(f"CASE WHEN ABS({{0}}) >= {double(1.0)} THEN ABS({{0}}) ELSE {double(1.0)} END", value)
        )
        guess = query.bind(
            join_terms(f"FLOOR(LN({{}}) / {double(0.6931471805599453)})".replace("LN", dialect.ln), size)
        )
        power = f"POWER({double(2.0)}, {{}})"
        exponent = query.bind(join_terms(
            f"CASE WHEN {power.format('{1}')} > {{0}} THEN {{1}} - {double(1.0)} "
            f"WHEN {power.format(f'{{1}} + {double(1.0)}')} <= {{0}} THEN {{1}} + {double(1.0)} ELSE {{1}} END",
            size, guess,
        ))  # fmt: skip
        fraction = query.bind(join_terms(
            f"CAST({{0}} / {power.format(f'({{1}} - {double(FRACTION_BITS)})')} - {double(2.0**FRACTION_BITS)} "
            f"AS {dialect.integer})", size, exponent,
        ))  # fmt: skip
        sign = f"CASE WHEN {{0}} < {double(0.0)} THEN {self._integer(2**31)} ELSE 0 END"
        upper = join_terms(
            f"CASE WHEN {{0}} IS NULL OR {{0}} = {double(0.0)} THEN 0 "
            f"ELSE {sign} + (CAST({{1}} AS {dialect.integer}) + {EXPONENT_OFFSET}) * {2**20} + {{2}} END",
            value, exponent, self._quotient(fraction, HALF),
        )  # fmt: skip
        zero = f"{{0}} = {double(0.0)}"
        rest = dialect.modulo.format("{1}", self._integer(HALF))
        lower = join_terms(f"CASE WHEN {{0}} IS NULL THEN 1 WHEN {zero} THEN 0 ELSE {rest} END", value, fraction)
        return Bits(query.bind(upper), query.bind(lower))

    def _product(self, bits: Bits, factor: int) -> Bits:
        """Return the product with a constant, of which quarters of 16 bits keep every product below 2**53."""
        query, modulo = self.query, self.query.dialect.modulo
        quarters = [(factor >> shift) % QUARTER for shift in (0, 16, 32, 48)]
        upper, lower = bits
        second = query.bind(join_terms(f"({{}} * {quarters[1]})", lower))
        low = query.bind(
            join_terms(f"({{}} * {quarters[0]} + {modulo.format('{}', QUARTER)} * {QUARTER})", lower, second)
        )
        high = query.bind(join_terms(
            f"({{low}} + {{second}} + {{lower}} * {quarters[2]} + "
            f"{modulo.format(f'({{lower}} * {quarters[3]})', QUARTER)} * {QUARTER} + {{upper}} * {quarters[0]} + "
            f"{modulo.format(f'({{upper}} * {quarters[1]})', QUARTER)} * {QUARTER})"
            .replace("{low}", "{0}").replace("{second}", "{1}").replace("{lower}", "{2}").replace("{upper}", "{3}"),
            self._quotient(low, HALF), self._quotient(second, QUARTER), lower, upper,
        ))  # fmt: skip
        return Bits(self._remainder(high, HALF), self._remainder(low, HALF))

    def _sum(self, one: Bits, other: Bits) -> Bits:
        low = self.query.bind(join_terms("({} + {})", one.lower, other.lower))
        high = self.query.bind(join_terms("({} + {} + {})", one.upper, other.upper, self._quotient(low, HALF)))
        return Bits(self._remainder(high, HALF), self._remainder(low, HALF))

    def _remainder(self, one: Term, divisor: int) -> Term:
        return self.query.bind(join_terms(self.query.dialect.modulo.format("{}", self._integer(divisor)), one))

    def _quotient(self, one: Term, divisor: int) -> Term:
        """Return the whole part of a quotient: exact whether a dialect divides integers or doubles."""
        dialect = self.query.dialect
        number = self._integer(divisor)
        whole = f"CAST(({{0}} - {dialect.modulo.format('{0}', number)}) / {number} AS {dialect.integer})"
        return self.query.bind(join_terms(whole, one))

    def _integer(self, value: int) -> str:
        """Return a constant as an integer of 64 bits, which some dialects take for a decimal where it is large."""
        return str(value) if value < 2**31 else f"CAST({value} AS {self.query.dialect.integer})"
