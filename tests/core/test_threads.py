"""Work in threads: results in the order of the items, few of them in memory, errors that leave nothing behind."""

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import ThreadpoolController, threadpool_info

from opauc.core.blas import one_blas_thread
from opauc.core.parameters import ALL_CORES, Threads
from opauc.core.threads import raise_if_dropped, use_threads, work_beside, work_in_order


@given(st.lists(st.integers(), max_size=30), st.integers(1, 5))
def test_results_come_in_the_order_of_the_items(items, n_threads):
    results = []
    with use_threads(n_threads):
        work_in_order(lambda item: -item, items, results.append)
    assert results == [-item for item in items]


def test_items_are_worked_on_at_the_same_time():
    both = threading.Barrier(2, timeout=10)
    results = []
    with use_threads(2):
        work_in_order(lambda item: both.wait() >= 0 and item, [1, 2], results.append)
    assert results == [1, 2]


def test_threads_that_work_start_no_others():
    def work(_):
        inside = []
        work_in_order(lambda _: threading.get_ident(), range(3), inside.append)
        return set(inside) == {threading.get_ident()}

    results = []
    with use_threads(3):
        work_in_order(work, range(4), results.append)
    assert results == [True] * 4


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_few_results_are_in_memory_at_a_time(n_threads):
    lock, in_memory, most = threading.Lock(), 0, 0

    def work(item):
        nonlocal in_memory, most
        with lock:
            in_memory += 1
            most = max(most, in_memory)
        return item

    def take(_):
        nonlocal in_memory
        time.sleep(0.001)  # slower than the work
        with lock:
            in_memory -= 1

    with use_threads(n_threads):
        work_in_order(work, range(50), take)
    assert in_memory == 0
    assert most <= n_threads + 1


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["work", "take"])
def test_an_error_ends_the_work(n_threads, raised, where):
    begun, taken = [], []

    def work(item):
        begun.append(item)
        if where == "work" and item == 3:
            raise raised
        return item

    def take(result):
        if where == "take" and result == 3:
            raise raised
        taken.append(result)

    with use_threads(n_threads), pytest.raises(raised):
        work_in_order(work, range(1000), take)
    assert taken == [0, 1, 2]
    assert len(begun) < 20
    n_begun = len(begun)
    time.sleep(0.01)
    assert len(begun) == n_begun, "no thread goes on"


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blas_has_one_thread_as_long_as_threads_work():
    def work(_):
        with one_blas_thread():
            inside = blas_threads()
        return inside | blas_threads()  # leaving the inner limit does not lift the outer one

    seen = []
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        with use_threads(3):
            work_in_order(work, range(20), seen.append)
        assert blas_threads() == {2}
    assert seen == [{1}] * 20


def test_all_cores_are_those_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr("opauc.core.parameters.sys.platform", "linux")
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(6)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert [Threads().check(n) for n in (ALL_CORES, -2, -9, None, 3)] == [6, 5, 1, 1, 3]
    for limit, expected in {"4": 4, "4,2": 4, "100": 6, "": 6, "0": 6, "none": 6}.items():
        monkeypatch.setenv("OMP_NUM_THREADS", limit)
        assert Threads().check(ALL_CORES) == expected
        assert Threads().check(8) == 8, "a number that is asked for is used"


def test_work_is_done_beside_the_body():
    both = threading.Barrier(2, timeout=10)
    with use_threads(2), work_beside(lambda: both.wait() >= 0) as result:
        both.wait()
        assert result()


def test_one_thread_works_when_the_result_is_asked_for():
    begun = []
    with work_beside(lambda: begun.append(threading.get_ident())) as result:
        assert not begun
        result()
    assert begun == [threading.get_ident()]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_of_the_work_is_raised_where_its_result_is_asked_for(n_threads):
    def fail():
        raise ValueError("no")

    with use_threads(n_threads), work_beside(fail) as result, pytest.raises(ValueError, match="no"):
        result()


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt])
def test_an_error_of_the_body_ends_the_work_beside_it(raised):
    begun, ended, went_on = threading.Event(), threading.Event(), threading.Event()

    def work():
        begun.set()
        try:
            for _ in range(1000):
                raise_if_dropped()
                time.sleep(0.01)
            went_on.set()
        finally:
            ended.set()

    def fail():
        with use_threads(2), work_beside(work):
            begun.wait(10)
            raise raised

    with pytest.raises(raised):
        fail()
    assert ended.is_set(), "the work is waited for"
    assert not went_on.is_set()


def test_work_in_other_threads_is_never_dropped():
    with pytest.raises(ValueError, match="now"), use_threads(2), work_beside(lambda: None):
        raise ValueError("now")
    raise_if_dropped()


def test_work_beside_the_body_starts_no_threads():
    def work():
        inside = []
        work_in_order(lambda _: threading.get_ident(), range(3), inside.append)
        return set(inside) == {threading.get_ident()}

    with use_threads(3), work_beside(work) as result:
        assert result()
