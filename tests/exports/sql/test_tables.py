"""Tables, pairs and combinations of models made by hand: databases give what the evaluator of JSON gives."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from opauc.data.schema.numbers import MISSING_MARKERS
from opauc.exports.format import ExportOptions
from opauc.exports.json_text import json_text
from opauc.exports.portable import (
    Column,
    CrossedTable,
    Curve,
    Input,
    Levels,
    Line,
    Member,
    PortableModel,
    PortableTerm,
    Steps,
    Table,
)
from opauc.exports.sql.model import sql_text
from tests.exports import evaluator
from tests.exports.sql.databases import arrow_table, query_duckdb, query_postgres

TOLERANCE = {"rtol": 0.0, "atol": 1e-9}


def model_by_hand(seed):
    """Return a model with tables of all kinds of axes and of combinations, whose numbers are random."""
    rng = np.random.default_rng(seed)
    columns = (
        *(Column(name, "number", missing=MISSING_MARKERS, text_format=".") for name in "abc"),
        Column("d", "category", categories={str(at): at for at in range(0, 60, 3)}, missing=("", "NA")),
    )
    inputs = tuple(Input(column.name, at) for at, column in enumerate(columns))
    codes = np.unique(rng.integers(-50, 10**6, 40)).astype(float)
    axes = (
        Curve(0, np.sort(rng.normal(size=40))),
        Curve(0, np.array([-1.0, 0.5, 2.0])),
        Steps(1, np.sort(rng.normal(size=70))),
        Levels(2, codes, 1 + rng.integers(0, 9, codes.size), 10),
        Levels(3, np.arange(0.0, 60.0, 3.0), 1 + rng.integers(0, 5, 20), 6),
        Line(1),
        Curve(1, np.array([0.25])),
    )
    pairs = [(0, 2), (1, 3), (1, 4), (3, 4), (1, 6), (2, 3)]
    singles = [Table((at,), rng.normal(size=axis.size)) for at, axis in enumerate(axes)]
    doubles = [Table(pair, rng.normal(size=[axes[at].size for at in pair])) for pair in pairs]
    for table in doubles:
        table.values[0], table.values[:, 0] = 0.0, 0.0
    members = Member(0, np.sort(rng.normal(size=9))), Member(2, np.empty(0)), Member(3, np.empty(0))
    levels = [np.unique(rng.integers(0, size, size // 2)) for size in (64, 4096)]
    crossed = (
        CrossedTable(members, 64, levels[0], rng.normal(size=levels[0].size)),
        CrossedTable(members[1:], 4096, levels[1], rng.normal(size=levels[1].size)),
    )
    terms = (
        *(PortableTerm(f"term {at}", (0,), 0.5, (table,), mean=0.1) for at, table in enumerate([*singles, *doubles])),
        PortableTerm("combinations", (0,), 0.0, (), crossed),
    )
    return PortableModel("OnePassGAM", columns, inputs, axes, terms, None, -1.0, 1.5, 0.25, ("no", "yes"), 0.3)


def rows_by_hand(seed, codes):
    rng = np.random.default_rng(seed)
    whole = [0.0, -0.0, 1.0, -1.0, 2.0**31, 2.0**32 - 1, 2.0**53 - 1, -(2.0**53), 1e300, -1e18, 0.75, -0.25, 1e-300]
    whole += [2.0**power + step for power in range(1, 53, 3) for step in (-1.0, 1.0)]
    rows = [
        {
            "a": float(rng.normal()), "b": float(rng.choice([rng.normal(), 0.25])), "c": value,
            "d": str(rng.choice(["0", "3", "57", "4", "x", "NA", "6.0"])),
        }
        for value in (*whole, *codes.tolist(), *(codes + 0.5).tolist())
    ]  # fmt: skip
    for row in rows:
        for name in row:
            row[name] = None if rng.random() < 0.1 else row[name]
    return rows


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("place", ["duckdb", "postgres"])
def test_tables_and_combinations_are_those_of_the_evaluator(place, seed, request):
    model = model_by_hand(seed)
    rows = rows_by_hand(seed, model.axes[3].numbers)
    saved = json.loads(json_text(model))
    results = []
    for options in (ExportOptions(dialect=place), ExportOptions(dialect=place, typed=True, reasons=2)):
        query = sql_text(model, options)
        if place == "duckdb":
            results.append(query_duckdb(query, arrow_table(rows)))
        else:
            results.append(query_postgres(query, arrow_table(rows), request.getfixturevalue("postgres")))
    for result in results:
        expected = [evaluator.score(saved, row) for row in rows]
        assert_allclose(result["score"], expected, rtol=1e-12, atol=1e-9)
        assert_allclose(result["probability"], [evaluator.probability(saved, row) for row in rows], **TOLERANCE)
    for at, row in enumerate(rows):
        reasons = evaluator.reasons(saved, row, 2)
        found = [(results[1][f"reason_{k}"][at], results[1][f"contribution_{k}"][at]) for k in (1, 2)]
        assert [name for name, _ in found if isinstance(name, str)] == [name for name, _ in reasons]
        assert_allclose(
            [part for name, part in found if isinstance(name, str)], [part for _, part in reasons], rtol=1e-9
        )
