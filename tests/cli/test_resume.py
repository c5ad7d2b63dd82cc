import gzip
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from benchmarks.kill_and_resume import KINDS, write_rows

from opauc.cli import main
from opauc.core.checksummed_file import read_checksummed
from opauc.data import sources as byte_source
from tests.cli.commands import StopHereError, assert_killed_and_taken_up, stop_after


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few rows, so that a small file has many chunks."""
    monkeypatch.setattr(byte_source, "BLOCK_BYTES", 4096)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("suffix", [".svm", ".svm.gz"])
@pytest.mark.parametrize("kind", KINDS)
def test_training_taken_up_ends_in_the_same_bits(tmp_path, opauc, monkeypatch, kind, suffix):
    data = write_rows(tmp_path / f"rows{suffix}", 3000, 20)
    whole, model = tmp_path / "whole", tmp_path / "model"
    assert opauc("train", data, "-o", whole, *KINDS[kind]).code == 0
    for n_chunks in (1, 5, 14):
        with monkeypatch.context() as patched:
            stop_after(patched, n_chunks)
            patched.setattr(sys, "argv", ["opauc", "train", str(data), "-o", str(model), *KINDS[kind],
                                          "--checkpoint-every", "1"])  # fmt: skip
            with pytest.raises(StopHereError):
                main()
        assert not model.exists()
        resumed = opauc("train", data, "-o", model, *KINDS[kind], "--resume", "--json")
        assert json.loads(resumed.out.splitlines()[0])["event"] == "resumed"
        assert model.read_bytes() == whole.read_bytes()
        assert not (tmp_path / "model.checkpoint").exists()
        model.unlink()


@pytest.mark.usefixtures("small_blocks")
def test_tables_with_growing_categories_and_running_means_are_taken_up_too(tmp_path, opauc, monkeypatch):
    rng = np.random.default_rng(0)
    lines = ["size,word,label"]
    for i in range(2000):
        size = "" if rng.random() < 0.1 else f"{rng.normal():.3f}"
        lines.append(f"{size},w{rng.integers(1 + i // 100)},{'yes' if rng.random() < 0.3 else 'no'}")
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    options = ["--categorical", "word", "--missing", "mean"]
    assert opauc("train", tmp_path / "rows.csv", "-o", tmp_path / "whole", *options).code == 0
    with monkeypatch.context() as patched:
        stop_after(patched, 4)
        patched.setattr(sys, "argv", ["opauc", "train", str(tmp_path / "rows.csv"), "-o", str(tmp_path / "model"),
                                      *options, "--checkpoint-every", "1"])  # fmt: skip
        with pytest.raises(StopHereError):
            main()
    assert opauc("train", tmp_path / "rows.csv", "-o", tmp_path / "model", *options, "--resume").code == 0
    assert (tmp_path / "model").read_bytes() == (tmp_path / "whole").read_bytes()


def checkpointed(tmp_path, monkeypatch):
    """Return data and a model path with a checkpoint of half of the data beside it."""
    data = write_rows(tmp_path / "rows.svm", 3000, 20)
    with monkeypatch.context() as patched:
        stop_after(patched, 6)
        patched.setattr(sys, "argv", ["opauc", "train", str(data), "-o", str(tmp_path / "model"),
                                      "--checkpoint-every", "1"])  # fmt: skip
        with pytest.raises(StopHereError):
            main()
    return data, tmp_path / "model"


@pytest.mark.usefixtures("small_blocks")
def test_a_checkpoint_of_other_settings_or_data_is_not_taken_up(tmp_path, opauc, monkeypatch):
    data, model = checkpointed(tmp_path, monkeypatch)
    told = json.loads(opauc("inspect", f"{model}.checkpoint", "--json").out)
    assert told["kind"] == "checkpoint"
    other = opauc("train", data, "-o", model, "--alpha", "0.5", "--resume")
    assert other.code == 2
    assert "was made with alpha = 0.0001, now it is 0.5" in other.err
    content = data.read_bytes()
    data.write_bytes(b"+1 1:9\n" + content)
    changed = opauc("train", data, "-o", model, "--resume")
    assert changed.code == 2
    assert "are not those read before" in changed.err
    data.unlink()
    vanished = opauc("train", data, "-o", model, "--resume")
    assert (vanished.code, "no such file" in vanished.err) == (2, True)
    data.write_bytes(content)
    assert opauc("train", data, "-o", model, "--resume").code == 0


@pytest.mark.usefixtures("small_blocks")
def test_a_broken_checkpoint_is_told_and_without_resume_it_is_no_hindrance(tmp_path, opauc, monkeypatch):
    data, model = checkpointed(tmp_path, monkeypatch)
    checkpoint = tmp_path / "model.checkpoint"
    checkpoint.write_bytes(checkpoint.read_bytes()[:-7])
    broken = opauc("train", data, "-o", model, "--resume")
    assert (broken.code, broken.err.count("\n"), "model.checkpoint: " in broken.err) == (2, 1, True)
    assert opauc("train", data, "-o", model).code == 0
    assert not checkpoint.exists()


def test_resume_without_a_checkpoint_says_that_it_starts_from_the_first_row(tmp_path, opauc):
    data, model = write_rows(tmp_path / "rows.svm", 300, 5), tmp_path / "model"
    started = opauc("train", data, "-o", model, "--resume")
    assert started.code == 0
    assert started.err.splitlines()[0] == f"no checkpoint {model}.checkpoint: starting from the first row"
    told = [json.loads(line) for line in opauc("train", data, "-o", model, "--resume", "--json").out.splitlines()]
    assert told[0] == {"event": "not_resumed", "checkpoint": f"{model}.checkpoint"}
    assert "checkpoint" not in opauc("train", data, "-o", model).err


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory):
    """A file that takes a while to learn, as it is and compressed."""
    plain = write_rows(tmp_path_factory.mktemp("many") / "rows.svm", 60_000)
    packed = plain.with_name("rows.svm.gz")
    packed.write_bytes(gzip.compress(plain.read_bytes(), 1))
    return {".svm": plain, ".svm.gz": packed}


@pytest.mark.parametrize(("kind", "suffix", "delay"), [("exact", ".svm", 0.0), ("sgd, sketched", ".svm.gz", 0.05)])
def test_a_killed_run_is_taken_up_to_the_same_bits(tmp_path, many_rows, kind, suffix, delay):
    assert_killed_and_taken_up(many_rows[suffix], tmp_path, KINDS[kind], delay)


def test_ctrl_c_leaves_a_checkpoint_to_go_on_from(tmp_path, opauc, many_rows):
    data = many_rows[".svm"]
    running = subprocess.Popen(
        [sys.executable, "-m", "opauc", "train", data, "-o", tmp_path / "model", "--checkpoint-every", "1"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while running.poll() is None and not (tmp_path / "model.checkpoint").exists():
        time.sleep(0.001)
    running.send_signal(signal.SIGINT)
    said = running.communicate()[1]
    if running.returncode == 0:
        pytest.skip("learning was done before the signal came")
    assert running.returncode == 130
    assert said.startswith("interrupted after row ")
    assert said.count("\n") == 1
    assert read_checksummed(tmp_path / "model.checkpoint")[0] == "checkpoint"
    assert opauc("train", data, "-o", tmp_path / "model", "--resume").code == 0
    assert opauc("train", data, "-o", tmp_path / "whole").code == 0
    assert (tmp_path / "model").read_bytes() == (tmp_path / "whole").read_bytes()
