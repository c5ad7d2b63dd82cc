import os
import re
import subprocess
import sys

import pandas as pd
import pytest

import opauc as library
from opauc.cli import main
from opauc.core.loop import Trainer
from opauc.core.model import load_model
from opauc.data import BadRows
from opauc.engines.files import score_files
from opauc.engines.threads import ThreadScheduler
from tests.cli.commands import one_line, without_notice
from tests.tables import rows_and_labels, write_rows

GOOD = "+1 1:1 2:3\n-1 1:0\n" * 30


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.svm").write_text(GOOD)
    return tmp_path


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("+1 1:1\n-1 x:2\n", r"bad.svm, line 2: .*x"),
        ("+1 3:1 2:1\n-1 1:1\n", r"bad.svm, line 1: .*2.*3"),
        ("+1 1:1\n-1 1:nan\n", r"bad.svm, line 2: .*nan"),
        ("+1 1:1\n-1 1:2\n0.5 1:1\n", r"bad.svm, line 3: label 0.5 besides -1 and 1"),
        ("+1 1:1\n+1 1:2\n", r"training needs rows of two classes, got 2 rows"),
        ("", r"bad.svm: there are no rows to train on"),
    ],
)
def test_bad_libsvm_is_refused_with_file_and_line_and_nothing_is_written(folder, opauc, content, said):
    (folder / "bad.svm").write_text(content)
    (folder / "model").write_bytes(b"the old model")
    assert re.search(said, one_line(opauc("train", "bad.svm", "-o", "model")))
    assert (folder / "model").read_bytes() == b"the old model"
    assert sorted(os.listdir(folder)) == ["bad.svm", "good.svm", "model"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,label\n1,x\nfoo,y\n", r"bad.csv, line 3, column a: 'foo'"),
        ("a,label\n1,x\n,y\n", r"bad.csv, line 3, column a"),
        ("a,b\n1,2\n", r"no column is called label, target, class or y; name the label \(--label\)"),
        ("a,label\n1,x,7\n2,y\n", r"bad.csv, line 2"),
    ],
)
def test_bad_tables_are_refused_with_line_and_column(folder, opauc, content, said):
    (folder / "bad.csv").write_text(content)
    assert re.search(said, one_line(opauc("train", "--solver", "auto", "bad.csv", "-o", "model")))
    assert not (folder / "model").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "nothing.svm", "-o", "m"], r"nothing.svm: no such file"),
        (["train", "good.svm", "-o", "nowhere/m"], r"there is no folder nowhere"),
        (["train", "good.svm", "-o", "."], r"is a folder"),
        (["train", "good.svm", "-o", "m", "--alpha", "-1"], r"'alpha' parameter"),
        (
            ["train", "good.svm", "-o", "m", "--solver", "magic"],
            r"--solver: unknown solver 'magic'; expected one of gam, auto, exact, sgd, progressive_selection",
        ),
        (["train", "good.svm", "-o", "m", "--rank", "many"], r"'rank' parameter"),
        (
            ["train", "good.svm", "-o", "m", "--format", "excel"],
            r"--format: unknown format 'excel'",
        ),
        (["train", "good.svm", "-o", "m", "--missing", "guess"], r"missing must be one of"),
        (["train", "good.svm", "-o", "m", "--on-bad-row", "cry"], r"'error' or 'skip'"),
        (["train", "good.svm", "-o", "m", "--hash-bits", "99"], r"hash_bits must lie between 1 and 30"),
        (["train", "good.svm", "-o", "m", "--checkpoint-every", "0"], r"checkpoint-every"),
        (["merge", "good.svm"], r"Missing option.*output"),
        (["train", "-", "-o", "m"], r"standard input: its format cannot be inferred"),
        (["train", "good.svm", "-o", "m", "--n-features", "1"], r"good.svm, line 1: .*2"),
        (["predict", "good.svm", "good.svm"], r"good.svm: broken, or not a file of opauc"),
        (["predict", "nothing", "good.svm"], r"nothing: no such file"),
        (["evaluate", "good.svm", "good.svm", "--report", "nowhere/a.html"], r"there is no folder nowhere"),
        (["inspect", "good.svm"], r"broken, or not a file of opauc"),
        (
            ["train", "good.svm", "-o", "m", "--rank", "5", "--standardize"],
            r"--standardize is for full covariance; a sketch",
        ),
        (
            ["train", "good.svm", "-o", "m", "--solver", "progressive_selection", "--no-standardize"],
            r"--standardize is",
        ),
        (["merge", "good.svm", "-o", "m"], r"two models or more"),
        (["compare", "-"], r"standard input does not allow"),
        (["compare", "good.svm", "--methods", "exact,magic"], r"--methods: unknown method 'magic'"),
        (["dance"], r"No such command 'dance'"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(folder, opauc, arguments, said):
    assert re.search(said, one_line(opauc(*arguments)))
    assert os.listdir(folder) == ["good.svm"]


def test_models_that_do_not_belong_together_are_not_merged(folder, opauc):
    (folder / "other.svm").write_text("5 1:1 2:3\n7 1:0\n" * 30)
    opauc("train", "good.svm", "-o", "a")
    opauc("train", "other.svm", "-o", "b")
    assert re.search(r"b: cannot merge models of classes", one_line(opauc("merge", "a", "b", "-o", "c")))
    assert not (folder / "c").exists()


@pytest.mark.usefixtures("folder")
def test_a_bug_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr("opauc.cli.train.run_training", lambda *_: 1 / 0)
    monkeypatch.setattr(sys, "argv", ["opauc", "train", "good.svm", "-o", "model"])
    with pytest.raises(ZeroDivisionError):
        main()


def test_bad_rows_can_be_skipped_counted_and_limited(folder, opauc):
    lines = GOOD.splitlines()
    lines[3], lines[10] = "what?", "+1 7"
    (folder / "rows.svm").write_text("\n".join(lines))
    good = [line for i, line in enumerate(lines) if i not in (3, 10)]
    (folder / "clean.svm").write_text("\n".join(good))
    skipping = opauc("train", "rows.svm", "-o", "a", "--on-bad-row", "skip")
    assert skipping.code == 0
    assert "skipped 2 bad rows" in skipping.err
    assert "rows.svm, line 4:" in skipping.err
    assert "rows.svm, line 11:" in skipping.err
    (folder / "one.svm").write_text("\n".join([*good, "what?"]))
    single = opauc("train", "one.svm", "-o", "b", "--on-bad-row", "skip")
    assert "skipped 1 bad row, " in single.err
    assert opauc("predict", "b", "one.svm", "--on-bad-row", "skip").err == "skipped 1 bad row\n"
    opauc("train", "clean.svm", "-o", "b")
    assert (library.load("a").coef_ == library.load("b").coef_).all()
    limited = opauc("train", "rows.svm", "-o", "c", "--on-bad-row", "skip", "--max-bad-rows", "1")
    assert re.search(r"2 bad rows, at most 1 may be skipped; the last: rows.svm, line 11", one_line(limited))
    assert not (folder / "c").exists()


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_told_before_learning(folder, opauc):
    (folder / "locked").mkdir(mode=0o500)
    assert re.search("locked/m: cannot be written", one_line(opauc("train", "good.svm", "-o", "locked/m")))


def test_whoever_stops_reading_our_output_is_no_error(tmp_path, opauc):
    rows, labels = rows_and_labels(0, 20_000, 3)
    data = write_rows(tmp_path, "npz", rows, labels)
    assert opauc("train", data, "-o", tmp_path / "m").code == 0
    command = f"{sys.executable} -m opauc predict {tmp_path}/m {data} | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)


TRAIN_ON_A_FULL_DISK = """
import resource, sys
from opauc.cli import main
def run(*words):
    sys.argv = ["opauc", *words]
    try:
        main()
    except SystemExit as ended:
        return ended.code
assert run("train", "rows.svm", "-o", "model", "-q") == 0  # compiles, and leaves an old model
before = open("model", "rb").read()
resource.setrlimit(resource.RLIMIT_FSIZE, (2**14, 2**14))
code = run("train", "rows.svm", "-o", "model", "-q", "--alpha", "1")
sys.exit(code if open("model", "rb").read() == before else 99)
"""


def test_a_full_disk_is_one_line_and_the_old_model_stays(tmp_path):
    rows, labels = rows_and_labels(0, 200, 60)
    write_rows(tmp_path, "svm", rows, labels)
    done = subprocess.run(
        [sys.executable, "-c", TRAIN_ON_A_FULL_DISK], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert re.search(r"opauc: model: .*File too large", done.stderr)
    assert sorted(os.listdir(tmp_path)) == ["model", "rows.svm"]


def test_an_input_that_is_cut_off_while_it_is_read_is_one_line(folder, opauc, monkeypatch):
    data = folder / "rows.svm"
    data.write_text(GOOD * 200)
    monkeypatch.setattr("opauc.data.sources.BLOCK_BYTES", 4096)
    train_batch, seen = Trainer.train, []

    def train_and_cut(self, batch):
        if not seen:
            seen.append(os.truncate(data, 20_000))
        train_batch(self, batch)

    monkeypatch.setattr(Trainer, "train", train_and_cut)
    assert re.search(r"rows.svm: the file changed while it was read", one_line(opauc("train", data, "-o", "model")))
    assert not (folder / "model").exists()


WRITE_AND_WAIT = """
import sys, time
sys.stdout.write("+1 1:1\\n-1 1:2\\n0.5 1:1\\n" + "+1 1:1 2:0.123456\\n" * 400_000)
sys.stdout.flush()
time.sleep(60)
"""


def test_a_mistake_in_a_pipe_is_told_at_once_though_the_pipe_stays_open(tmp_path):
    with subprocess.Popen([sys.executable, "-c", WRITE_AND_WAIT], stdout=subprocess.PIPE) as writer:
        done = subprocess.run(
            [sys.executable, "-m", "opauc", "train", "-", "--format", "libsvm", "-o", tmp_path / "model"],
            stdin=writer.stdout, capture_output=True, text=True, check=False, timeout=40,
        )  # fmt: skip
        writer.kill()
    said = without_notice(done.stderr)
    assert (done.returncode, said.count("\n")) == (2, 1), said
    assert said.startswith("opauc: standard input, line 3: label 0.5 besides -1 and 1")


def test_missing_labels_are_no_class_and_can_be_left_out(tmp_path, opauc):
    path = tmp_path / "rows.csv"
    path.write_text("age,bought\n" + "30,yes\n20,no\n40,NA\n" * 20)
    model = tmp_path / "m.opauc"
    for options in ((), ("--positive", "yes"), ("--solver", "exact", "--positive", "yes")):
        ran = opauc("train", path, "--label", "bought", "-o", model, *options)
        assert ran.code == 2
        assert ran.err.endswith(
            "line 4, column bought: the label is missing, as in 19 more of 60 rows; leave such rows out "
            "(--drop-unlabeled)\n"
        )
        assert not model.exists()
    ran = opauc("train", path, "--label", "bought", "-o", model, "--drop-unlabeled")
    assert ran.code == 0
    assert "left out 20 rows without a label\n" in ran.err
    assert ": 40 rows (positive: yes)" in ran.err


@pytest.mark.parametrize("solver", ["gam", "exact"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_shards_count_rows_without_a_label_as_one_process_does(tmp_path, opauc, solver, name):
    path, model = tmp_path / name, tmp_path / "m.opauc"
    frame = pd.DataFrame({"age": [30, 20, 40], "bought": ["yes", "no", None]})
    frame = pd.concat([frame] * 20, ignore_index=True)
    frame.to_csv(path, index=False) if name.endswith("csv") else frame.to_parquet(path, row_group_size=16)
    for options in ((), ("--n-jobs", "2")):
        ran = opauc("train", path, "--label", "bought", "--solver", solver, "-o", model, "--drop-unlabeled", *options)
        assert ran.code == 0, ran.err
        assert "left out 20 rows without a label\n" in ran.err
        assert ": 40 rows (positive: yes)" in ran.err
    ran = opauc("evaluate", model, path, "--drop-unlabeled")
    assert "left out 20 rows without a label\n" in ran.err
    policy = BadRows(drop_unlabeled=True)
    assert score_files(load_model(model), [path], ThreadScheduler(2), bad_rows=policy).rows == 40
    assert policy.unlabeled == 20


@pytest.mark.parametrize("solver", ["gam", "exact"])
def test_libsvm_rows_are_not_scored_by_a_model_of_a_table(tmp_path, opauc, solver):
    table, rows, model = tmp_path / "table.csv", tmp_path / "rows.svm", tmp_path / "m.opauc"
    table.write_text("age,size,bought\n" + "30,1,yes\n20,2,no\n40,3,yes\n25,1,no\n" * 20)
    rows.write_text(GOOD)
    assert opauc("train", table, "--label", "bought", "--solver", solver, "-o", model).code == 0
    for verb in ("predict", "evaluate"):
        ran = opauc(verb, model, rows)
        assert (ran.code, ran.out) == (2, "")
        assert re.fullmatch(rf"opauc: {rows}: has LIBSVM rows, .* table.* with columns age, size\n", ran.err)
    ran = opauc("train", table, rows, "--label", "bought", "--solver", "exact", "-o", tmp_path / "both")
    assert ran.err == f"opauc: {rows} has LIBSVM rows, {table} has not; one run reads one of the two\n"


def test_a_column_of_strings_declared_numeric_is_refused_with_a_value(tmp_path, opauc):
    path = tmp_path / "rows.csv"
    path.write_text("age,plan,bought\n" + "30,NA,yes\n20,One year,no\n40,Two year,yes\n" * 20)
    ran = opauc("train", path, "--label", "bought", "--numeric", "plan", "-o", tmp_path / "m")
    assert ran.code == 2
    message = f"{path}: column plan is declared numeric (--numeric plan) but has no numbers, for example 'One year'"
    assert ran.err == f"opauc: {message}\n"
