"""An additive model taken up again after a crash ends in the same bits, from files and from streams."""

import json
import random
import signal
import subprocess
import sys
import time

import pytest
from benchmarks.kill_and_resume import train

from opauc import train as train_in_memory
from opauc.cli import main
from opauc.core.model import load_model
from opauc.data import sources as byte_source
from opauc.errors import ParameterError
from tests.cli.commands import StopHereError, assert_killed_and_taken_up, stop_after
from tests.tables import raw_table, write_csv

OPTIONS = ["--label", "bought"]
SMALL = [*OPTIONS, "--init-size", "1500"]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_training_taken_up_ends_in_the_same_bits(tmp_path, opauc, monkeypatch, suffix):
    monkeypatch.setattr(byte_source, "BLOCK_BYTES", 2**14)
    data = write_csv(tmp_path / f"rows{suffix}", raw_table(6000))
    whole, model = tmp_path / "whole", tmp_path / "model"
    assert opauc("train", data, *SMALL, "-o", whole).code == 0
    for n_chunks in (1, 4, 8):
        with monkeypatch.context() as patched:
            stop_after(patched, n_chunks)
            words = ["opauc", "train", str(data), *SMALL, "-o", str(model), "--checkpoint-every", "1"]
            patched.setattr(sys, "argv", words)
            with pytest.raises(StopHereError):
                main()
        assert not model.exists()
        resumed = opauc("train", data, *SMALL, "-o", model, "--resume", "--json")
        assert json.loads(resumed.out.splitlines()[0])["event"] == "resumed"
        assert model.read_bytes() == whole.read_bytes()
        model.unlink()


def test_a_checkpoint_of_another_solver_is_not_taken_up(tmp_path, opauc, monkeypatch):
    monkeypatch.setattr(byte_source, "BLOCK_BYTES", 2**14)
    data, model = write_csv(tmp_path / "rows.csv", raw_table(9000)[["grade", "age", "bought"]]), tmp_path / "model"
    with monkeypatch.context() as patched:
        stop_after(patched, 1)
        patched.setattr(sys, "argv", ["opauc", "train", str(data), *SMALL, "-o", str(model), "--checkpoint-every", "1"])
        with pytest.raises(StopHereError):
            main()
    other = opauc("train", data, *OPTIONS, "-o", model, "--solver", "exact", "--resume")
    assert other.code == 2
    assert "resume with the same settings, or start afresh" in other.err


@pytest.mark.parametrize(("suffix", "longest_delay"), [(".csv", 0.0), (".csv.gz", 0.05)])
def test_a_killed_run_is_taken_up_to_the_same_bits(tmp_path, suffix, longest_delay):
    data = write_csv(tmp_path / f"rows{suffix}", raw_table(60_000)[["age", "income", "city", "since", "bought"]])
    assert_killed_and_taken_up(data, tmp_path, OPTIONS, longest_delay * random.random())


def test_ctrl_c_leaves_a_checkpoint_to_go_on_from(tmp_path, opauc):
    # Several blocks of 4 MiB: the checkpoint of the first is there long before the last.
    data = write_csv(tmp_path / "rows.csv", raw_table(450_000)[["age", "income", "city", "bought"]])
    words = train(data, tmp_path / "model", OPTIONS)
    words.remove("--quiet")
    for _ in range(5):  # on a busy machine all rows may be learned before the signal comes
        running = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        while running.poll() is None and not (tmp_path / "model.checkpoint").exists():
            time.sleep(0.001)
        running.send_signal(signal.SIGINT)
        said = running.communicate()[1]
        if "interrupted after row " in said:
            break
        (tmp_path / "model.checkpoint").unlink(missing_ok=True)
    assert running.returncode == 130
    assert "interrupted after row " in said
    assert opauc("train", data, *OPTIONS, "-o", tmp_path / "model", "--resume").code == 0
    assert opauc("train", data, *OPTIONS, "-o", tmp_path / "whole").code == 0
    assert (tmp_path / "model").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("solver", ["gam", "exact"])
def test_a_time_budget_gives_the_model_of_the_rows_so_far_and_a_checkpoint_to_go_on_from(
    tmp_path, opauc, monkeypatch, solver
):
    monkeypatch.setattr(byte_source, "BLOCK_BYTES", 2**14)
    data = write_csv(tmp_path / "rows.csv", raw_table(6000)[["age", "income", "grade", "bought"]])
    model, whole = tmp_path / "model", tmp_path / "whole"
    options = [*OPTIONS, "--solver", solver, *(["--init-size", "1500"] if solver == "gam" else ["--missing", "mean"])]
    assert opauc("train", data, *options, "-o", whole).code == 0
    stopped = opauc("train", data, *options, "-o", model, "--max-seconds", "1e-9")
    assert stopped.code == 0
    assert "the time budget of 1e-09 s ended after row " in stopped.err
    n_rows = load_model(model).provenance["rows"]
    assert 0 < n_rows < 6000
    assert sum(load_model(model).fit.counts) == n_rows
    resumed = opauc("train", data, *options, "-o", model, "--resume", "--max-seconds", "600")
    assert "time budget" not in resumed.err
    assert model.read_bytes() == whole.read_bytes()
    assert not (tmp_path / "model.checkpoint").exists()


def test_a_time_budget_is_a_number_above_zero_and_for_rows_of_files_in_order(tmp_path, opauc):
    data = write_csv(tmp_path / "rows.csv", raw_table(600)[["age", "bought"]])
    wrong = opauc("train", data, *OPTIONS, "-o", tmp_path / "model", "--max-seconds", "0")
    assert wrong.code == 2
    assert "--max-seconds: expected seconds above 0, got 0" in wrong.err
    with pytest.raises(ParameterError, match="max_seconds is for files"):
        train_in_memory(raw_table(600), label="bought", max_seconds=1.0)
