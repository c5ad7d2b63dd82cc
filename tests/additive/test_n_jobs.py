"""`n_jobs` changes how long `OnePassGAM` takes, and no bit of what it gives."""

import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import opauc
from opauc import OnePassGAM
from opauc.additive import state
from opauc.additive.row_shards import MAX_SHARD_ROWS, MIN_SHARD_ROWS, cut_rows, sum_shards
from opauc.core.threads import use_threads

N_ROWS = 34_000
JOBS = (1, 2, 3)


@pytest.fixture(scope="module")
def table():
    """Return numbers with missing values, 40 categories and 900 more with random effects, and labels."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N_ROWS, 4)), columns=list("abcd"))
    frame.loc[rng.random(N_ROWS) < 0.1, "d"] = np.nan
    frame["shop"] = rng.choice([f"s{k}" for k in range(40)], N_ROWS)
    frame["street"] = rng.choice([f"t{k}" for k in range(900)], N_ROWS)
    score = 2 * frame["a"] * frame["b"] + np.sin(2 * frame["c"]) + frame["shop"].isin(["s1", "s7"])
    return frame, (rng.random(N_ROWS) < 1 / (1 + np.exp(-score))).to_numpy().astype(int)


def saved(model, folder):
    path = folder / "model.opauc"
    opauc.save(model, path)
    return path.read_bytes()


def fit_whole(n_jobs, frame, labels):
    return OnePassGAM(random_state=0, n_jobs=n_jobs).fit(frame, labels)


def fit_weighted(n_jobs, frame, labels):
    weight = np.random.default_rng(1).integers(0, 3, labels.size)
    return OnePassGAM(random_state=0, n_jobs=n_jobs, max_columns=300).fit(frame, labels, weight)


def fit_in_batches(n_jobs, frame, labels):
    model = OnePassGAM(random_state=0, init_size=9000, n_jobs=n_jobs)
    for begin, end in ((0, 12_000), (12_000, 12_010), (12_010, N_ROWS)):
        model.partial_fit(frame[begin:end], labels[begin:end])
    return model


def fit_and_forget(n_jobs, frame, labels):
    return fit_in_batches(n_jobs, frame, labels).forget(frame[20_000:], labels[20_000:])


def fit_and_merge(n_jobs, frame, labels):
    model = OnePassGAM(random_state=0, init_size=9000, n_jobs=n_jobs).partial_fit(frame[:9000], labels[:9000])
    return model.merge(model.empty_copy().partial_fit(frame[9000:], labels[9000:]))


@pytest.mark.parametrize("train", [fit_whole, fit_weighted, fit_in_batches, fit_and_forget, fit_and_merge])
def test_the_number_of_threads_changes_no_bit(table, train, tmp_path):
    models = [train(n_jobs, *table) for n_jobs in JOBS]
    assert len({saved(model, tmp_path) for model in models}) == 1
    frame, _ = table
    for rows in (frame, frame[:9001], frame[:1]):
        scores, probabilities, explained = (
            [method(rows) for method in methods]
            for methods in (
                [model.decision_function for model in models],
                [model.predict_proba for model in models],
                [model.explain for model in models],
            )
        )
        for other in (1, 2):
            assert_array_equal(scores[0], scores[other])
            assert_array_equal(probabilities[0], probabilities[other])
            assert_array_equal(explained[0].contributions, explained[other].contributions)
            assert explained[0].baseline == explained[other].baseline


def test_shards_sum_to_one_stream(table):
    """Rows added one batch at a time, each smaller than a shard, against all of them at once."""
    frame, labels = table
    start = OnePassGAM(random_state=0, init_size=9000).partial_fit(frame[:9000], labels[:9000])
    at_once, in_turn = start.empty_copy(), start.empty_copy()
    at_once.partial_fit(frame, labels)
    for begin in range(0, N_ROWS, 4000):
        in_turn.partial_fit(frame[begin : begin + 4000], labels[begin : begin + 4000])
    assert at_once.selection_.rows == in_turn.selection_.rows
    assert_allclose(at_once.decision_function(frame), in_turn.decision_function(frame), atol=1e-8)


@given(st.integers(0, 200_000), st.integers(1, 5000))
def test_shards_are_all_rows_once_in_order(n_rows, n_columns):
    shards = cut_rows(n_rows, n_columns)
    assert [shard.start for shard in shards] == [0, *(shard.stop for shard in shards[:-1])]
    assert shards[-1].stop == n_rows
    sizes = [shard.stop - shard.start for shard in shards]
    assert all(MIN_SHARD_ROWS <= size <= MAX_SHARD_ROWS for size in sizes[:-1])


def test_shards_are_merged_from_the_first_on():
    with use_threads(3):
        text = sum_shards(40_000, 1, lambda shard, first: f"{'+' if first else ''}{shard.start}", "({} {})".format)
    assert text == "((((+0 8192) 16384) 24576) 32768)"


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("n_jobs", JOBS)
def test_an_error_in_a_shard_leaves_the_model(table, tmp_path, monkeypatch, n_jobs, raised):
    frame, labels = table
    model = OnePassGAM(random_state=0, init_size=5000, n_jobs=n_jobs).partial_fit(frame[:6000], labels[:6000])
    before, scores, encode = saved(model, tmp_path), model.decision_function(frame), state.encode_rows
    second_shard = cut_rows(N_ROWS, model.basis_.n_columns)[1].start

    def fail_later(basis, rows, *others, **options):
        if rows[0, 0] == frame["a"].iloc[second_shard]:
            raise raised
        return encode(basis, rows, *others, **options)

    monkeypatch.setattr(state, "encode_rows", fail_later)
    with pytest.raises(raised):
        model.partial_fit(frame, labels)
    monkeypatch.undo()
    assert saved(model, tmp_path) == before
    assert_array_equal(model.decision_function(frame), scores)


def test_models_train_and_score_in_threads_of_their_own(table):
    frame, labels = table
    right = fit_whole(1, frame, labels).decision_function(frame)
    scores = [None] * 3

    def run(number):
        scores[number] = fit_whole(2, frame, labels).decision_function(frame)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for found in scores:
        # One of them may lift the limit of BLAS to one thread while another is still summing.
        assert_allclose(found, right, atol=1e-9)


def test_it_is_a_parameter_that_files_do_not_have(table, tmp_path):
    frame, labels = table
    assert OnePassGAM().n_jobs == -1
    model = clone(OnePassGAM(n_jobs=2, random_state=0))
    assert model.get_params()["n_jobs"] == 2
    opauc.save(model.fit(frame[:500], labels[:500]), tmp_path / "model")
    assert opauc.load(tmp_path / "model").n_jobs == -1


@pytest.mark.parametrize("wrong", [0, 1.5, "all", True])
def test_a_number_of_threads_is_checked(table, wrong):
    frame, labels = table
    expected = f"The 'n_jobs' parameter of OnePassGAM must be None or an int other than 0. Got {wrong!r} instead."
    with pytest.raises(ValueError, match=expected):
        OnePassGAM(n_jobs=wrong).fit(frame[:500], labels[:500])
    with pytest.raises(ValueError, match=expected):
        OnePassGAM(n_jobs=wrong).partial_fit(frame[:500], labels[:500])
    model = OnePassGAM().fit(frame[:500], labels[:500])
    with pytest.raises(ValueError, match=expected):
        model.set_params(n_jobs=wrong).decision_function(frame)
