"""Additive models of rows in partitions: one basis, drawn by row numbers, whatever the partitions are."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import Table
from scipy import sparse

from opauc import OnePassGAM
from opauc.additive.initial_rows import RowFingerprints
from opauc.additive.input import next_rows
from opauc.data.sample import sample_row_numbers
from opauc.engines.partitions import PartitionPlan, adopt_shards, concat_rows, take_rows
from opauc.engines.scheduler import merge_in_pairs
from opauc.engines.shards import TrainedShards
from opauc.errors import InputError
from opauc.types import random_key
from tests.tables import raw_table

N_ROWS = 3000


@pytest.fixture(scope="module")
def table():
    return raw_table(N_ROWS).drop(columns=["empty", "always", "name"])


class Cut:
    """Rows in partitions of this process."""

    def __init__(self, X, y, edges, weight=None):
        self.parts = [
            (X[a:b], y[a:b], None if weight is None else weight[a:b]) for a, b in pairwise([0, *edges, len(y)])
        ]

    def n_rows(self):
        return sum(len(part[1]) for part in self.parts)

    def take(self, numbers):
        return take_rows(concat_rows(self.parts), numbers)

    def fitted(self, model):
        labels = np.unique(np.concatenate([part[1] for part in self.parts]))
        plan = PartitionPlan.of(model, labels, self.parts[0][0].shape[1], self)
        learned = merge_in_pairs([plan.train(number, 0, [part]) for number, part in enumerate(self.parts)])
        return adopt_shards(model, learned)


def literal(X, y, weight=None):
    """Fix the basis of the rows drawn, forget that they were learned, then learn all rows in one go."""
    some = sample_row_numbers(len(y), 1000, random_key(0))
    weight = np.ones(len(y)) if weight is None else weight
    model = OnePassGAM(random_state=0, init_size=1000).fit(X.iloc[some], y[some], weight[some]).empty_copy()
    drawn = next_rows(model, X.iloc[some[weight[some] > 0]], model._columns, learn=False).rows
    model._fitted = replace(model._fitted, sampled=RowFingerprints.of(drawn))
    return model.partial_fit(X, y, sample_weight=weight)


CUTS = [[], [1000], [1, 1, 700, 2999], list(range(100, 3000, 100))]


@pytest.mark.parametrize("edges", CUTS, ids=len)
def test_however_rows_are_cut_the_model_is_that_of_all_of_them(table, edges):
    X, y = table.drop(columns="bought"), table["bought"].to_numpy()
    found, right = Cut(X, y, edges).fitted(OnePassGAM(random_state=0, init_size=1000)), literal(X, y)
    assert_allclose(found.decision_function(X), right.decision_function(X), rtol=0, atol=1e-8)
    assert found.selection_ == right.selection_
    assert sum(found.selection_.rows) > 1000, "rows that the basis was not made of are judged"
    assert found.feature_names_in_.tolist() == X.columns.tolist()


def test_where_all_rows_fix_the_basis_it_is_the_model_of_fit():
    frame = raw_table(900).drop(columns=["empty", "always", "name", "id"])
    X, y = frame.drop(columns="bought"), frame["bought"].to_numpy()
    found, right = (
        Cut(X, y, [300, 310]).fitted(OnePassGAM(random_state=0, init_size=1000)),
        OnePassGAM(random_state=0, init_size=1000).fit(X, y),
    )
    assert_allclose(found.decision_function(X), right.decision_function(X), rtol=0, atol=1e-8)


def test_weights_of_rows_count(table):
    X, y = table.drop(columns="bought"), table["bought"].to_numpy()
    weight = np.random.default_rng(0).integers(0, 4, N_ROWS).astype(float)
    found = Cut(X, y, [500, 2000], weight).fitted(OnePassGAM(random_state=0, init_size=1000))
    assert sum(found._fitted.counts) == weight.sum()
    assert_allclose(found.decision_function(X), literal(X, y, weight).decision_function(X), rtol=0, atol=1e-8)


def test_rows_sorted_by_their_label_give_a_basis_of_both_classes(table):
    frame = table.sort_values("bought", kind="stable")
    X, y = frame.drop(columns="bought"), frame["bought"].to_numpy()
    found = Cut(X, y, [750, 1500, 2250]).fitted(OnePassGAM(random_state=0, init_size=1000))
    assert found.score(X, y) > 0.78


@pytest.mark.parametrize("positives", [40, 400])
def test_more_rows_are_drawn_where_a_class_is_rare(positives):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(20_000, 2)), np.zeros(20_000, int)
    y[random.choice(20_000, positives, replace=False)] = 1
    asked = []

    class Asked(Cut):
        def take(self, numbers):
            asked.append(numbers.size)
            return super().take(numbers)

    Asked(X, y, [9000]).fitted(OnePassGAM(random_state=0, init_size=1500))
    assert asked.pop(0) == 1  # whose width bounds the number of rows
    assert asked[0] == 1500
    assert asked[1] >= (20_000 if positives == 40 else 4 * 1500 * 0.5)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, pd.DataFrame, Table.from_pandas, pl.from_pandas])
def test_rows_of_every_kind_are_taken_and_joined(kind):
    frame = pd.DataFrame({"a": np.arange(12.0), "b": np.arange(12.0) % 3})
    whole = frame if kind in (pd.DataFrame, Table.from_pandas, pl.from_pandas) else frame.to_numpy()
    chunks = [(kind(whole[a:b]), list(range(a, b)), np.arange(a, b) / 2) for a, b in ((0, 5), (5, 12))]
    some = [take_rows(chunk, np.array([0, 3])) for chunk in chunks]
    rows, labels, weight = concat_rows(some)
    right = frame.to_numpy()[[0, 3, 5, 8]]
    found = rows.to_pandas() if isinstance(rows, Table) else rows.toarray() if sparse.issparse(rows) else rows
    assert_array_equal(np.asarray(found), right)
    assert_array_equal(labels, [0, 3, 5, 8])
    assert_array_equal(weight, [0.0, 1.5, 2.5, 4.0])


def test_partitions_of_two_kinds_are_refused():
    chunks = [(np.eye(2), [0, 1], None), (pd.DataFrame(np.eye(2)), [0, 1], None)]
    with pytest.raises(InputError, match="partitions must be of one type, got DataFrame, ndarray"):
        concat_rows(chunks)


def test_one_class_and_other_columns_are_refused(table):
    X, y = table.drop(columns="bought"), table["bought"].to_numpy()
    with pytest.raises(InputError, match="needs rows of two classes, got 0 rows of fewer"):
        adopt_shards(OnePassGAM(), TrainedShards(None))
    rows = Cut(X, y, [1500])
    rows.parts[1] = (rows.parts[1][0].rename(columns={"city": "town"}), *rows.parts[1][1:])
    rows.take = lambda numbers: take_rows(rows.parts[0], numbers[numbers < 1500])
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*town.*city"):
        rows.fitted(OnePassGAM(random_state=0, init_size=1000))
