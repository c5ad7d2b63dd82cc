"""The store keeps what is right, names what is not, and is never left with half a line."""

import errno
import json
import os

import pytest
from experiments.paper.__main__ import gather
from experiments.paper.protocol import VERSION
from experiments.paper.store import Key, Line, Store, StoreError


def line(fold, **more):
    return Line("quick", "a9a", "OPAUC", 0, fold, **more)


def filled(folder):
    store = Store(folder)
    for fold in range(3):
        store.add(line(fold, auc=0.1 * fold, setting={"alpha": 0.5}, curve=[[1, 0.5]]))
    return folder / "a9a.jsonl"


def test_what_was_added_is_read_back(tmp_path):
    filled(tmp_path)
    store = Store(tmp_path)
    assert store.faults == []
    assert store[Key("quick", "a9a", "OPAUC", 0, 2)] == line(2, auc=0.2, setting={"alpha": 0.5}, curve=[[1, 0.5]])
    assert Key("quick", "a9a", "OPAUC", 0, 3) not in store
    assert [one.fold for one in store.lines("quick")] == [0, 1, 2]
    assert list(store.lines("paper")) == []


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_line_cut_off_is_named_and_the_others_stay(tmp_path, cut):
    path = filled(tmp_path)
    path.write_bytes(path.read_bytes()[:-cut])
    store = Store(tmp_path)
    if cut == 1:  # nothing but the end of the line is missing
        assert store.faults == []
    else:
        assert store.faults == ["a9a.jsonl, line 3: cut off or damaged: computed again"]
    store.add(line(4, auc=0.5))
    again = Store(tmp_path)
    assert [one.fold for one in again.lines("quick")] == ([0, 1, 2, 4] if cut == 1 else [0, 1, 4])


def test_lines_of_an_older_protocol_are_named_and_left_out(tmp_path):
    path = filled(tmp_path)
    old = json.loads(line(7, auc=0.9).text()) | {"protocol": VERSION - 1}
    path.write_text(json.dumps(old) + "\n" + path.read_text())
    store = Store(tmp_path)
    assert store.faults == [f"a9a.jsonl, line 1: protocol {VERSION - 1}, now {VERSION}: computed again"]
    assert [one.fold for one in store.lines("quick")] == [0, 1, 2]
    store.tidy()
    assert Store(tmp_path).faults == []


@pytest.mark.parametrize(
    "text", ["[]", "null", '{"protocol": 1, "strange": 2}', '{"protocol": 1, "trial": "x"}', "\x00"]
)
def test_damaged_lines_are_named(tmp_path, text):
    path = filled(tmp_path)
    path.write_text(path.read_text() + text.replace('"protocol": 1', f'"protocol": {VERSION}') + "\n")
    store = Store(tmp_path)
    assert store.faults == ["a9a.jsonl, line 4: cut off or damaged: computed again"]
    assert len(list(store.lines("quick"))) == 3


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_full_disk_is_told_in_one_line_and_leaves_the_file_as_it_was(tmp_path, monkeypatch, call):
    path = filled(tmp_path)
    before, store, written = path.read_bytes(), Store(tmp_path), os.write

    def full(handle, data=b""):
        if call == "write":
            written(handle, data[:7])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        with pytest.raises(StoreError, match=r"a9a\.jsonl: cannot be written: No space left on device"):
            store.add(line(5, auc=0.5))
    assert path.read_bytes() == before
    assert Key("quick", "a9a", "OPAUC", 0, 5) not in store
    store.add(line(5, auc=0.5))
    assert Key("quick", "a9a", "OPAUC", 0, 5) in Store(tmp_path)


def test_failures_can_be_forgotten_and_results_stay(tmp_path):
    path = filled(tmp_path)
    store = Store(tmp_path)
    store.add(line(3, error="ValueError: no"))
    store.add(Line("quick", "other", "OPAUC", 0, 0, not_available="9 s of one core"))
    assert store.forget_failures("paper") == 0
    assert store.forget_failures("quick") == 2
    store.tidy()
    assert [one.fold for one in Store(tmp_path).lines("quick")] == [0, 1, 2]
    assert path.read_text().count("\n") == 3


def test_tidy_files_do_not_depend_on_the_order_of_their_lines(tmp_path):
    lines = [Line("quick", "a9a", method, trial, 0, auc=0.5) for method in "ab" for trial in (0, 1)]
    texts = []
    for order in (lines, lines[::-1]):
        store = Store(tmp_path / str(len(texts)))
        for one in order:
            store.add(one)
        store.tidy()
        texts.append((store.folder / "a9a.jsonl").read_bytes())
    assert texts[0] == texts[1]
    assert texts[0].count(b"\n") == 4


def test_what_another_store_has_is_gathered_and_what_is_there_stays(tmp_path, capsys):
    filled(tmp_path / "here")
    other = Store(tmp_path / "there")
    for fold, auc in ((2, 0.9), (3, 0.7)):
        other.add(line(fold, auc=auc))
    path = tmp_path / "there" / "a9a.jsonl"
    path.write_text(path.read_text() + '{"profile": "qui')
    gather(Store(tmp_path / "there"), Store(tmp_path / "here"), "quick")
    assert {one.fold: one.auc for one in Store(tmp_path / "here").lines("quick")} == {0: 0.0, 1: 0.1, 2: 0.2, 3: 0.7}
    told = capsys.readouterr()
    assert told.out == "1 lines more, 4 in all\n"
    assert told.err == "a9a.jsonl, line 3: cut off or damaged: computed again\n"
