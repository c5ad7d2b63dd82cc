"""What the driver that kills runs goes by: lines on the disk, and lines without their times."""

from experiments.paper.store import Line, Store
from experiments.paper.survival import command, timeless, written


def line(fold, **more):
    return Line("quick", "a9a", "OPAUC", 0, fold, **more)


def test_stores_that_differ_in_times_alone_are_equal(tmp_path):
    for name, seconds, auc in (("one", 1.0, 0.9), ("two", 2.0, 0.9), ("three", 1.0, 0.8)):
        store = Store(tmp_path / name)
        store.add(line(0, auc=auc, seconds=seconds, tuning_seconds=seconds))
        store.add(line(1, error="ValueError: no"))
    assert timeless(tmp_path / "one") == timeless(tmp_path / "two")
    assert timeless(tmp_path / "one") != timeless(tmp_path / "three")


def test_lines_are_counted_as_they_are_written(tmp_path):
    assert written(tmp_path / "store") == 0
    store = Store(tmp_path / "store")
    for fold in range(3):
        store.add(line(fold, auc=0.5))
    assert written(tmp_path / "store") == 3
    path = tmp_path / "store" / "a9a.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    assert written(tmp_path / "store") == 3
    assert len(timeless(tmp_path / "store")) == 2


def test_a_run_is_that_of_the_quick_profile(tmp_path):
    asked = command(["german"], tmp_path)
    assert asked[2:5] == ["experiments.paper", "run", "--profile"]
    assert asked[-2:] == ["--sets", "german"]
