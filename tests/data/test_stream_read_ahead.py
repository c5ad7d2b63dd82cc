import threading
import time

import pytest

from opauc.data.stream import read_ahead


def counting(n, log):
    try:
        for i in range(n):
            log.append(i)
            yield i
    finally:
        log.append("closed")


def test_items_come_in_order_and_the_source_is_closed():
    log = []
    assert list(read_ahead(counting(100, log))) == list(range(100))
    assert log == [*range(100), "closed"]


def test_what_the_source_raises_comes_after_the_items_before_it():
    def failing():
        yield 1
        yield 2
        raise ZeroDivisionError("here")

    seen = []
    with pytest.raises(ZeroDivisionError, match="here"):
        seen.extend(read_ahead(failing()))
    assert seen == [1, 2]


def test_no_more_is_read_than_the_depth_allows():
    log = []
    ahead = read_ahead(counting(100, log), depth=2)
    next(ahead)
    time.sleep(0.1)
    assert len(log) <= 4  # one in use, two in line, one in the thread's hand
    ahead.close()
    assert log[-1] == "closed"
    assert all(thread.name != "opauc reader" for thread in threading.enumerate())
