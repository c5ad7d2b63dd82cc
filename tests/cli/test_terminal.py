"""What reaches the terminal, what signals do, and where the command will not write."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import opauc as library
from opauc import OPAUC
from opauc.core.checksummed_file import read_checksummed

CLEAR = "\x1b[2J"
GOOD = "+1 1:1 2:3\n-1 1:0\n" * 30


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.svm").write_text(GOOD)
    return tmp_path


def is_safe(ran):
    """Tell whether nothing but text and ends of line reached the terminal."""
    said = ran.out + ran.err
    return all(letter == "\n" or letter.isprintable() for letter in said)


@pytest.mark.usefixtures("folder")
def test_feature_names_and_class_labels_are_shown_with_their_escapes_written_out(opauc):
    frame = pd.DataFrame({f"a{CLEAR}": [0.0, 1.0, 2.0, 4.0], "[red]\u202eb\x9b": [1.0, 0.0, 1.0, 0.0]})
    library.save(OPAUC().fit(frame, [f"no{CLEAR}", f"no{CLEAR}", "yes", "yes"]), "model")
    shown = opauc("inspect", "model")
    assert shown.code == 0
    assert is_safe(shown)
    assert r"a\x1b[2J" in shown.out
    assert r"[red]\u202eb\x9b" in shown.out


def test_names_of_files_and_columns_in_messages_are_shown_with_their_escapes_written_out(folder, opauc):
    name = f"rows{CLEAR}.csv"
    (folder / name).write_text(f"a{CLEAR},b\n1,2\n")
    for arguments in (
        ["train", "--solver", "auto", name, "-o", "model"],
        ["inspect", f"none{CLEAR}"],
        [f"dance{CLEAR}"],
    ):
        ran = opauc(*arguments)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert is_safe(ran)
        assert r"\x1b[2J" in ran.err
    (folder / name).write_text("a,label\n" + "1,0\n3,1\n" * 20 + "x,1\n")
    ran = opauc("train", "--solver", "auto", name, "-o", f"model{CLEAR}", "--on-bad-row", "skip")
    assert ran.code == 0
    assert is_safe(ran)
    shown = opauc("evaluate", f"model{CLEAR}", name, "--on-bad-row", "skip")
    assert shown.code == 0
    assert is_safe(shown)


@pytest.mark.usefixtures("folder")
def test_a_feature_name_of_ten_million_letters_is_shown_at_once(opauc):
    model = OPAUC().fit(np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [4.0, 1.0]]), [0, 0, 1, 1])
    model.feature_names_in_ = np.array(["x" * 10**7, "b"], object)
    library.save(model, "model")
    began = time.perf_counter()
    shown = opauc("inspect", "model")
    assert time.perf_counter() - began < 5.0
    assert shown.code == 0
    assert "(10,000,000 characters)" in " ".join(shown.out.split())


def test_the_command_alone_shows_its_help(opauc):
    alone, asked = opauc(), opauc("--help")
    assert (alone.code, alone.err) == (0, "")
    assert alone.out == asked.out
    assert "Usage" in alone.out


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("/dev/null", "/dev/null: not a regular file"),
        ("loop", "loop: a link that leads back to itself"),
        ("astray", "astray: there is no folder"),
    ],
)
def test_where_nothing_can_be_written_is_found_out_before_training(folder, opauc, monkeypatch, target, said):
    (folder / "loop").symlink_to("loop")
    (folder / "astray").symlink_to("nowhere/model")
    monkeypatch.setattr("opauc.api.train._run", lambda *_: pytest.fail("trained before it was known"))
    for arguments in (["-o", target], ["-o", "model", "--checkpoint", target]):
        ran = opauc("train", "--solver", "auto", "good.svm", *arguments)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert ran.err.startswith(f"opauc: {said}")


@pytest.mark.usefixtures("folder")
def test_a_checkpoint_does_not_take_the_place_of_the_model(opauc):
    ran = opauc("train", "--solver", "auto", "good.svm", "-o", "model", "--checkpoint", "./model")
    assert (ran.code, ran.err) == (2, "opauc: model: cannot be both the model and its checkpoint\n")


def test_more_features_than_there_is_memory_for_are_refused_with_file_line_and_remedy(folder, opauc, monkeypatch):
    def start(*_):
        raise MemoryError

    monkeypatch.setattr("opauc.linear.progressive_selection.ProgressiveSelection.start", start)
    (folder / "wide.svm").write_text("-1 1:1\n+1 2:1 2147483647:1\n")
    ran = opauc("train", "--solver", "auto", "wide.svm", "-o", "model")
    said = "opauc: wide.svm, line 2: not enough memory for 2,147,483,647 features; hash them into fewer (--hash-bits)\n"
    assert (ran.code, ran.err) == (2, said)


def training_from_a_pipe(folder, rows):
    """Start to learn from a pipe whose writer sends some rows and then nothing."""
    os.mkfifo(folder / "pipe.svm")
    command = [sys.executable, "-m", "opauc", "train", "--solver", "auto", "pipe.svm", "-o", "model"]
    running = subprocess.Popen([*command, "--checkpoint-every", "1"], cwd=folder, stderr=subprocess.PIPE, text=True)
    writer = (folder / "pipe.svm").open("wb", buffering=0)
    writer.write(rows)
    return running, writer


def test_a_signal_is_heeded_while_a_pipe_sends_nothing(folder):
    running, writer = training_from_a_pipe(folder, GOOD.encode() * 8000)
    with writer, running:
        until = time.monotonic() + 60
        while not (folder / "model.checkpoint").exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        time.sleep(0.5)
        running.send_signal(signal.SIGTERM)
        said = running.communicate(timeout=10)[1]
    assert running.returncode == 130
    assert "interrupted after row" in said
    assert read_checksummed(folder / "model.checkpoint")[1]["resume_position"]["rows"] > 0


def test_what_a_killed_run_left_is_gone_after_the_next(folder, opauc):
    stale = Path(folder / ".model.checkpoint.abcd1234.part")
    stale.mkdir()
    (stale / "file").write_text("half")
    Path(folder / ".model.abcd1234.part").mkdir()
    assert opauc("train", "--solver", "auto", "good.svm", "-o", "model").code == 0
    assert sorted(os.listdir(folder)) == ["good.svm", "model"]


@pytest.mark.parametrize(
    ("redirection", "arguments", "code", "message"),
    [
        ("<&-", ("train", "-", "--format", "libsvm"), 2, "opauc: standard input is closed\n"),
        (">&-", ("train", "good.svm", "--json"), 2, "opauc: standard output is closed\n"),
        (">&-", ("predict", "model", "good.svm"), 2, "opauc: standard output is closed\n"),
        (">&-", ("train", "good.svm", "--quiet"), 0, ""),
        ("2>&-", ("train", "good.svm"), 0, ""),
    ],
)
@pytest.mark.usefixtures("folder")
def test_closed_standard_streams_are_reported_in_one_line(opauc, redirection, arguments, code, message):
    assert opauc("train", "good.svm", "-o", "model").code == 0
    command = (Path(sys.executable).with_name("opauc"), *arguments)
    ran = subprocess.run(
        ("sh", "-c", f'exec "$@" {redirection}', "sh", *command), capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (code, message)
