"""Shards of the command merge whatever their columns are: by name, and to the model of all rows."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import opauc as library
from tests.cli.commands import one_line

CITIES = ["Zürich", "Bern", "Genf", "Basel", "Chur"]


def frame_of(seed, n_rows, cities):
    random = np.random.default_rng(seed)
    city = random.choice(cities, n_rows)
    age, size = random.normal(40, 9, n_rows), random.normal(size=n_rows)
    label = (age / 9 + size + (city == "Bern") + random.normal(size=n_rows) > 4.5).astype(int)
    return pd.DataFrame({"age": age, "city": city, "size": size, "label": label})


@pytest.fixture
def shards(tmp_path, monkeypatch):
    """Two shards whose categories come in another order, some in one only, and whose columns stand otherwise."""
    monkeypatch.chdir(tmp_path)
    one, two = frame_of(1, 300, CITIES[:4]), frame_of(2, 200, CITIES[:0:-1])
    return one, two[["label", "size", "city", "age"]]


def by_name(model):
    return dict(zip(model.feature_names_in_, model.coef_[0], strict=True))


def assert_same_weights(found, wanted):
    assert set(by_name(found)) == set(by_name(wanted))
    names = sorted(by_name(wanted))
    assert_allclose([by_name(found)[n] for n in names], [by_name(wanted)[n] for n in names], rtol=1e-8, atol=1e-12)
    assert_allclose(found.intercept_, wanted.intercept_, rtol=1e-8)


def train_each(opauc, one, two, *options):
    one.to_csv("one.csv", index=False)
    two.to_csv("two.csv", index=False)
    pd.concat([one, two]).to_csv("both.csv", index=False)
    for number, name in enumerate(("one", "two", "both")):
        ran = opauc("train", "--solver", "auto", f"{name}.csv", "-o", name, "--seed", number, *options)
        assert ran.code == 0, ran.err


def test_shards_with_categories_merge_to_the_model_of_all_rows(shards, opauc):
    train_each(opauc, *shards, "--categorical", "city")
    ran = opauc("merge", "one", "two", "-o", "merged")
    assert ran.code == 0, ran.err
    merged, both = library.load("merged"), library.load("both")
    assert_same_weights(merged, both)
    # ... and so they do in Python, and the merged model scores raw rows as the command does.
    joined = library.load("one").merge(library.load("two"))
    assert_same_weights(joined, both)
    for frame in shards:
        assert_allclose(joined.decision_function(frame), both.decision_function(frame), rtol=1e-8, atol=1e-10)
    said = np.array(opauc("predict", "merged", "two.csv").out.split(), float)
    assert_allclose(said, merged.decision_function(shards[1]), rtol=1e-12)


def test_running_means_of_shards_add_up(shards, opauc):
    one, two = (frame.copy() for frame in shards)
    one.loc[5:9, "age"] = two.loc[3:30, "size"] = np.nan
    train_each(opauc, one, two, "--categorical", "city", "--missing", "mean")
    assert opauc("merge", "one", "two", "-o", "merged").code == 0
    known = library.load("merged")._reading.encoding
    ages = pd.concat([one.age, two.age]).dropna()
    assert known["numeric"] == ["age", "size"]
    assert_allclose(np.divide(known["sums"], known["counts"])[0], ages.mean())
    assert known["counts"][0] == len(ages)
    # A missing age counts as the mean of both.
    row = {"age": None, "city": "Bern", "size": 0.5}
    filled = {**row, "age": ages.mean()}
    model = library.load("merged")
    assert_allclose(model.decision_function([row]), model.decision_function([filled]), rtol=1e-12)


@pytest.mark.parametrize("options", [["--rank", "4", "--solver", "exact"], ["--hash-bits", "5"]])
def test_sketched_and_hashed_shards_merge_too(shards, opauc, options):
    train_each(opauc, *shards, "--categorical", "city", *options)
    assert opauc("merge", "one", "two", "-o", "merged").code == 0
    merged, both = library.load("merged"), library.load("both")
    assert merged.moments_.counts == both.moments_.counts
    assert merged.n_features_in_ == both.n_features_in_
    if "--hash-bits" in options:
        assert_same_weights(merged, both)
    else:
        means = [dict(zip(m.feature_names_in_, m.moments_.means[1], strict=True)) for m in (merged, both)]
        assert_allclose([means[0][name] for name in means[1]], list(means[1].values()), rtol=1e-9, atol=1e-12)


def test_libsvm_shards_of_which_one_knows_fewer_features_merge(tmp_path, opauc):
    texts = {"one": "+1 1:1 4:2\n-1 2:1 1:3\n".replace("2:1 1:3", "1:3 2:1") * 10, "two": "+1 1:2\n-1 2:2\n" * 10}
    for name, text in {**texts, "both": texts["one"] + texts["two"]}.items():
        (tmp_path / f"{name}.svm").write_text(text)
        assert opauc("train", "--solver", "auto", tmp_path / f"{name}.svm", "-o", tmp_path / name).code == 0
    for first, second in (("one", "two"), ("two", "one")):
        assert opauc("merge", tmp_path / first, tmp_path / second, "-o", tmp_path / "merged").code == 0
        merged = library.load(tmp_path / "merged")
        assert_allclose(merged.coef_, library.load(tmp_path / "both").coef_, rtol=1e-8)


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ({"age": "years"}, [], r"two: the models have other columns of numbers: age in the first only, years in the"),
        ({}, ["--categorical", "age"], r"two: the models have other columns of numbers: age in the first only, none"),
        ({"label": "y"}, [], r"two: the label is column label in one model and y in the other"),
        ({}, ["--hash-bits", "4"], r"two: the models were trained with hash_bits=None and with hash_bits=4"),
    ],
)
def test_shards_that_do_not_match_are_refused_in_words(shards, opauc, change, options, said):
    one, two = shards
    one.drop(columns="city").to_csv("one.csv", index=False)
    two.drop(columns="city").rename(columns=change).to_csv("two.csv", index=False)
    assert opauc("train", "--solver", "auto", "one.csv", "-o", "one").code == 0
    assert opauc("train", "--solver", "auto", "two.csv", "-o", "two", *options).code == 0
    line = one_line(opauc("merge", "one", "two", "-o", "merged"))
    assert re.search(said, line)
    assert "{" not in line
