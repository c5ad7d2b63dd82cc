"""Shards are merged in one order, whoever works on them."""

import pickle
import threading
import time

import pytest

from opauc.engines.scheduler import merge_in_pairs, quiet
from opauc.engines.threads import ThreadScheduler
from opauc.errors import InputError, MalformedRowError, Parameter


class Named(str):
    __slots__ = ()

    def merge(self, other):
        return Named(f"({self}{other})")


def shown(number):
    time.sleep(0.002 * (number * 7 % 5))  # none is done in order
    return Named(number)


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("n_items", [1, 2, 3, 6, 7, 8, 13])
def test_threads_merge_in_the_order_of_pairs(n_items, n_jobs):
    progress = []
    found = ThreadScheduler(n_jobs).map_reduce(shown, range(n_items), progress.append)
    assert found == merge_in_pairs([Named(number) for number in range(n_items)])
    assert progress == list(range(1, n_items + 1))


def test_pairs_of_blocks_are_pairs_of_all():
    values = [Named(number) for number in range(21)]
    blocks = [merge_in_pairs(values[start : start + 8]) for start in range(0, 21, 8)]
    assert merge_in_pairs(blocks) == merge_in_pairs(values)


def test_nothing_stands_for_nothing():
    assert merge_in_pairs([None, Named("a"), None, Named("b")]) == "(ab)"
    assert merge_in_pairs([None, None]) is None
    assert merge_in_pairs([]) is None


def test_an_error_ends_the_work():
    begun = []

    def failing(number):
        begun.append(number)
        if number == 2:
            raise ValueError("shard 2")
        return Named(number)

    with pytest.raises(ValueError, match="shard 2"):
        ThreadScheduler(2).map_reduce(failing, range(1000), quiet)
    assert len(begun) < 20


def test_only_a_few_values_are_held_at_a_time():
    alive, most, lock = 0, 0, threading.Lock()

    class Held:
        def __init__(self):
            nonlocal alive, most
            with lock:
                alive += 1
                most = max(most, alive)

        def __del__(self):
            nonlocal alive
            with lock:
                alive -= 1

        def merge(self, _):
            return Held()

    ThreadScheduler(2).map_reduce(lambda _: Held(), range(500), quiet)
    assert most < 30


def test_results_come_in_the_order_of_the_items():
    assert ThreadScheduler(3).map(lambda number: shown(number) * 2, [4, 1, 3]) == ["44", "11", "33"]


def test_errors_travel_whole():
    row = MalformedRowError("a.csv", 7, "'x' is not a number", "; ", Parameter("drop", ["age"]), column="age")
    there = pickle.loads(pickle.dumps(row))
    assert (str(there), there.line, there.parts) == (str(row), 7, row.parts)
    error = pickle.loads(pickle.dumps(InputError("label=... is ", Parameter("label", ...))))
    assert error.render(lambda parameter: f"--{parameter.name}") == "label=... is --label"
