"""`opauc train --by`, `opauc merge` of segments and `--minus`, `opauc update` of a cube."""

import json

import pytest
from numpy.testing import assert_allclose

import opauc as library
from tests.api.cube.simulated import DAYS, features, simulate
from tests.cli.commands import one_line

TABLE, TEST = simulate(0, 2400, intricate=False), features(simulate(1, 300, intricate=False))
OPTIONS = ("--label", "bought", "--no-trees", "--init-size", 800)


@pytest.fixture
def cube(tmp_path, opauc):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    ran = opauc("train", tmp_path / "t.csv", "--by", "day,country", "-o", tmp_path / "cube", *OPTIONS)
    assert ran.code == 0, ran.err
    assert "2,400 rows, a cube of 12 segments" in ran.err + ran.out
    return library.Cube(tmp_path / "cube")


def same(one, other):
    assert_allclose(one.decision_function(TEST), other.decision_function(TEST), atol=1e-8)


def test_files_of_segments_merge_and_are_subtracted(cube, tmp_path, opauc):
    files, out = sorted(cube.path.glob("day=2026-11-0[123]/country=NL")), tmp_path / "m"
    ran = opauc("merge", *files, "-o", out)
    assert ran.code == 0, ran.err
    same(library.load(out), cube.model(day=DAYS[:3], country="NL"))
    assert opauc("merge", out, "--minus", files[0], "--minus", files[1], "-o", tmp_path / "less", "--json").code == 0
    same(library.load(tmp_path / "less"), cube.model(day=DAYS[2], country="NL"))
    assert opauc("merge", cube.path / "_totals" / "country=NL", "--minus", files[0], "-o", tmp_path / "rest").code == 0
    same(library.load(tmp_path / "rest"), cube.model(day=DAYS[1:], country="NL"))


def test_rows_are_added_to_a_cube(cube, tmp_path, opauc):
    simulate(4, 300, intricate=False).to_csv(tmp_path / "more.csv", index=False)
    ran = opauc("update", cube.path, tmp_path / "more.csv", "--json")
    assert ran.code == 0, ran.err
    facts = [json.loads(line) for line in ran.out.splitlines()][-1]
    assert (facts["rows"], facts["segments"]) == (300, 12)
    assert sum(segment.rows for segment in library.Cube(cube.path).segments) == 2700
    refused = one_line(opauc("update", cube.path, tmp_path / "more.csv", "--resume"))
    assert refused == f"{cube.path}: is a cube, which is changed in place; leave --resume out"


def test_mistakes_are_one_line(cube, tmp_path, opauc):
    file, out = cube.path / "day=2026-11-01" / "country=NL", ("-o", tmp_path / "m")
    message = one_line(opauc("merge", file, file, *out))
    assert message == f"{cube.path}: segment 2026-11-01/NL is given twice; its rows would count twice"
    other = cube.path / "day=2026-11-02" / "country=NL"
    message = one_line(opauc("merge", file, "--minus", other, *out))
    assert "cannot subtract rows that were never added: " in message
    (tmp_path / "alone").write_bytes(file.read_bytes())
    message = one_line(opauc("merge", tmp_path / "alone", file, *out))
    assert message == f"{tmp_path / 'alone'}: is a segment outside of its cube, which has its basis"
    message = one_line(opauc("train", tmp_path / "t.csv", "--by", "day", "--checkpoint", "c", *out))
    assert message == "--by day keeps a file per segment; leave --checkpoint out"
    message = one_line(opauc("train", tmp_path / "t.csv", "--by", "day", *OPTIONS))
    assert message == "--by day needs a folder to write (--output)"
    message = one_line(opauc("train", tmp_path / "t.csv", "--by", "day,country", "-o", cube.path, *OPTIONS))
    assert "exists already; add rows to a cube with opauc update" in message
    assert not (tmp_path / "m").exists()


def test_a_model_is_subtracted_by_its_file(tmp_path, opauc):
    TABLE.to_csv(tmp_path / "all.csv", index=False)
    for name, day in (("a", DAYS[0]), ("b", DAYS[1]), ("c", DAYS[2])):
        TABLE[TABLE["day"] == day].to_csv(tmp_path / f"{name}.csv", index=False)
    train = ("train", *OPTIONS, "--drop", "day,country")
    assert opauc(*train, tmp_path / "all.csv", "-o", tmp_path / "basis").code == 0
    for name in "abc":
        words = ("train", "--basis-from", tmp_path / "basis", tmp_path / f"{name}.csv", "-o", tmp_path / name)
        assert opauc(*words).code == 0
    assert opauc("merge", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "ab").code == 0
    assert opauc("merge", tmp_path / "ab", "--minus", tmp_path / "b", "-o", tmp_path / "less").code == 0
    same(library.load(tmp_path / "less"), library.load(tmp_path / "a"))
    inspected = opauc("inspect", tmp_path / "less", "--json").out
    assert "a.csv" in inspected
    assert "b.csv" not in inspected
    message = one_line(opauc("merge", tmp_path / "ab", "--minus", tmp_path / "c", "-o", tmp_path / "m"))
    assert message == (f"{tmp_path / 'c'}: cannot subtract rows that were never added: those of {tmp_path / 'c.csv'}")
