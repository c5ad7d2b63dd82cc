"""The runner computes every line once, whatever happens to it on the way."""

import re
import signal
import time
from multiprocessing import get_context

import pytest
from experiments.paper import workers
from experiments.paper.catalogue import Catalogue
from experiments.paper.plan import planned
from experiments.paper.protocol import Profile
from experiments.paper.runner import Runner
from experiments.paper.store import Key, Line, Store

TINY = Catalogue("tests.experiments.paper.tiny_sets", "tests.experiments.paper.tiny_methods")
PROFILE = Profile("quick", trials=2, budget=50.0, line_limit=100.0)
FORK = get_context("fork")


@pytest.fixture
def forked(monkeypatch):
    """Let workers begin with everything imported already, where it does not matter how they began."""
    monkeypatch.setattr(workers, "SPAWN", FORK)


def ran(folder, sets=("one",), columns=("weighted",), profile=PROFILE, n_workers=1):
    store = Store(folder)
    Runner(profile, store, TINY, n_workers, sets=sets, columns=columns).run()
    return store


def without_times(folder):
    """The store as text, but for how long things took."""
    texts = {path.name: path.read_text() for path in sorted(folder.glob("*.jsonl"))}
    return {name: re.sub(r'"(tuning_)?seconds": [0-9.e-]+, ', "", text) for name, text in texts.items()}


def test_every_fold_of_every_trial_has_a_line_and_a_second_run_adds_nothing(tmp_path, capfd):
    store = ran(tmp_path, sets=("one", "two"), columns=("OPAUC", "weighted"))
    lines = list(store.lines("quick"))
    assert {line.key for line in lines} == {
        Key("quick", name, column, trial, fold)
        for name in ("one", "two") for column in ("OPAUC", "weighted") for trial in (0, 1) for fold in range(5)
    }  # fmt: skip
    assert all(line.auc > 0.5 and line.setting and line.seconds is not None for line in lines)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.jsonl")}
    ran(tmp_path, sets=("one", "two"), columns=("OPAUC", "weighted"))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.jsonl")} == before
    assert "0 of 8 trials to do" in capfd.readouterr().err


@pytest.mark.usefixtures("forked")
def test_a_setting_chosen_once_a_trial_is_a_line_of_its_own_and_is_used_by_its_folds(tmp_path):
    store = ran(tmp_path, columns=("dear",), profile=Profile("quick", trials=2, budget=1.0, line_limit=9.0))
    lines = {line.key[3:]: line for line in store.lines("quick")}
    assert sorted(lines) == [(0, fold) for fold in range(-1, 5)]
    assert lines[0, -1].auc is None
    assert {line.setting["alpha"] for line in lines.values()} == {lines[0, -1].setting["alpha"]}
    assert all("setting chosen once a trial" in line.rules and "one trial" in line.rules for line in lines.values())


@pytest.mark.usefixtures("forked")
def test_a_choice_that_was_kept_is_not_made_again(tmp_path):
    profile = Profile("quick", trials=1, budget=1.0, line_limit=9.0)
    Store(tmp_path).add(Line("quick", "one", "dear", 0, -1, setting={"alpha": -7.0}))
    store = ran(tmp_path, columns=("dear",), profile=profile)
    assert {line.setting["alpha"] for line in store.lines("quick")} == {-7.0}
    assert all(line.auc < 0.5 for line in store.lines("quick") if line.fold >= 0)


@pytest.mark.usefixtures("forked")
def test_an_exception_is_kept_with_its_words_and_the_rest_goes_on(tmp_path):
    store = ran(tmp_path, columns=("raising", "refusing", "weighted"))
    by_method = {}
    for line in store.lines("quick"):
        by_method.setdefault(line.method, []).append(line)
    assert {len(lines) for lines in by_method.values()} == {10}
    assert all("RuntimeError: a bug of somebody (tiny.py:" in line.error for line in by_method["raising"])
    assert all(line.trouble == "these rows are not for me" and not line.error for line in by_method["refusing"])
    assert all(line.auc for line in by_method["weighted"])


@pytest.mark.usefixtures("forked")
def test_without_a_setting_there_is_nothing_to_learn(tmp_path):
    profile = Profile("quick", trials=2, budget=1.0, line_limit=9.0)
    lines = list(ran(tmp_path, columns=("raising choice",), profile=profile).lines("quick"))
    assert [(line.trial, line.fold) for line in lines] == [(0, -1)]
    assert "RuntimeError: a bug of somebody" in lines[0].error


@pytest.mark.usefixtures("forked")
def test_a_line_past_its_limit_is_not_available_and_its_column_is_left(tmp_path):
    began = time.monotonic()
    profile = Profile("quick", 2, budget=50.0, line_limit=1.0)
    store = ran(tmp_path, columns=("endless", "weighted"), profile=profile, n_workers=2)
    endless = [line for line in store.lines("quick") if line.method == "endless"]
    # Both workers may be at a trial of it when the first limit is passed.
    assert 1 <= len(endless) <= 2
    assert all(line.not_available == "1 s of one core" and line.auc is None for line in endless)
    assert sum(line.auc is not None for line in store.lines("quick")) == 10
    assert time.monotonic() - began < 120


@pytest.mark.usefixtures("forked")
def test_a_worker_that_dies_is_replaced(tmp_path):
    store = ran(tmp_path, columns=("dying", "weighted"))
    died = [line for line in store.lines("quick") if line.method == "dying"]
    assert len(died) == 10
    assert all(line.error == "the process ended by signal 9" for line in died)
    assert sum(line.auc is not None for line in store.lines("quick")) == 10


@pytest.mark.usefixtures("forked")
def test_a_missing_set_is_named_in_one_line_and_the_others_are_computed(tmp_path, capfd, monkeypatch):
    monkeypatch.delenv("OPAUC_DATA_URL", raising=False)
    store = ran(tmp_path, sets=("nowhere", "one"), n_workers=2)
    told = [line for line in capfd.readouterr().err.splitlines() if "nowhere.npz" in line]
    assert len(told) == 1
    assert "set OPAUC_DATA" in told[0]
    assert {line.set for line in store.lines("quick")} == {"one"}


DISTURBED = {"sets": ("one", "two"), "columns": ("weighted", "leisurely", "raising"), "n_workers": 2}


def ran_in_a_fork(folder):
    """Run as a program of its own would, with workers of its own, but with everything imported already."""
    workers.SPAWN = FORK
    ran(folder, **DISTURBED)


@pytest.mark.parametrize("kills", [10])
def test_killed_ten_times_the_store_equals_that_of_a_run_nobody_disturbed(tmp_path, kills):
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    assert planned(PROFILE, TINY, DISTURBED["sets"], DISTURBED["columns"])  # imports what the forks need not
    n_lines, n_all = 0, 2 * 3 * 10
    for kill in range(kills):
        process = FORK.Process(target=ran_in_a_fork, args=(broken,))
        process.start()
        goal = n_lines + (n_all - n_lines) // (2 * (kills - kill))
        while process.is_alive() and len(list(Store(broken).lines("quick"))) <= goal:
            time.sleep(0.005)
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, "it was killed, and had not come to its end"
        kept = len(list(Store(broken).lines("quick")))
        assert kept >= n_lines
        n_lines = kept
    assert 0 < n_lines < n_all
    process = FORK.Process(target=ran_in_a_fork, args=(broken,))
    process.start()
    process.join(120)
    assert process.exitcode == 0
    ran(whole, **DISTURBED)
    assert without_times(broken) == without_times(whole)
    assert len(list(Store(whole).lines("quick"))) == n_all
