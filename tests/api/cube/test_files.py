"""The folder of a cube: whole or not there, changed whole or not at all, and refused in one line where it is broken."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import opauc
from opauc import Cube, InputError, UnreadableFileError
from opauc.api.cube import writer
from opauc.api.cube.manifest import MANIFEST, NEXT, Manifest, read_manifest
from opauc.api.cube.policy import CubePolicy
from opauc.api.cube.training import train_cube, update_cube
from opauc.api.observer import CallbackObserver
from opauc.api.options import split_options
from opauc.data import BadRows
from tests.api.cube.simulated import COUNTRIES, DAYS, KEYS, features, rows_of, simulate

TABLE, TEST = simulate(0, 1500, intricate=False), features(simulate(1, 300, intricate=False))
OLD, LATE = TABLE[TABLE["day"] < DAYS[3]], TABLE[TABLE["day"] >= DAYS[2]]
OPTIONS = {"trees": False, "init_size": 600, "sample_rows": 20}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cube")
    OLD.to_csv(folder / "old.csv", index=False)
    return opauc.train(folder / "old.csv", "bought", by=KEYS, output=folder / "cube", **OPTIONS).path


@pytest.fixture
def folder(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "cube"))


def content(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def add(folder, table, tmp_path):
    table.to_csv(tmp_path / "more.csv", index=False)
    return update_cube(folder, [str(tmp_path / "more.csv")], None, BadRows(), CallbackObserver())


def test_rows_are_added_to_old_and_new_segments(folder, tmp_path):
    added = add(folder, LATE, tmp_path)
    assert (added.rows, added.n_segments) == (len(LATE), 12)
    cube, both = Cube(folder), {"day": DAYS[2:], "country": "NL"}
    rows = rows_of(OLD, **both), rows_of(LATE, **both)
    trained = cube.basis
    for part in rows:
        trained.partial_fit(features(part), part["bought"])
    assert_allclose(cube.model(both).decision_function(TEST), trained.decision_function(TEST), atol=1e-8)
    assert len(cube._cover(dict.fromkeys(cube.select(), 1.0))) == len(COUNTRIES)
    assert sum(segment.rows for segment in cube.segments) == len(OLD) + len(LATE)
    assert not list(folder.rglob(f"*{NEXT}"))


def test_rows_that_are_added_twice_are_warned_of(folder, made):
    cube = Cube(folder)
    _ = cube.model(country="NL")
    with pytest.warns(UserWarning, match="has these rows already"):
        cube.update(made.parent / "old.csv")
    assert sum(segment.rows for segment in cube.segments) == 2 * len(OLD)
    assert sum(cube.model()._fitted.counts) == 2 * len(OLD)


@pytest.mark.parametrize("killed_in", ["segment", "total", "manifest", "place"])
def test_a_writer_that_is_killed_leaves_the_cube_as_it_was_or_as_it_should_be(folder, tmp_path, monkeypatch, killed_in):
    before, whole = Cube(folder), Path(shutil.copytree(folder, tmp_path / "whole"))
    old_scores = before.model().decision_function(TEST)
    add(whole, LATE, tmp_path)
    new_scores = Cube(whole).model().decision_function(TEST)

    def killed(*_, **__):
        raise KeyboardInterrupt

    places = {
        "segment": (writer, "checksum_of"), "total": (writer.CubeWriter, "_write_total"),
        "manifest": (Manifest, "write"), "place": (writer, "replace_files"),
    }  # fmt: skip
    with monkeypatch.context() as patched:
        patched.setattr(*places[killed_in], killed)
        with pytest.raises(KeyboardInterrupt):
            add(folder, LATE, tmp_path)
    expected = new_scores if killed_in == "place" else old_scores
    assert_allclose(Cube(folder).model().decision_function(TEST), expected, atol=1e-12)
    more = simulate(8, 300, intricate=False)
    add(folder, more, tmp_path)
    assert not list(folder.rglob(f"*{NEXT}"))
    rows = [*([LATE] if killed_in == "place" else []), OLD, more]
    assert sum(segment.rows for segment in Cube(folder).segments) == sum(map(len, rows))
    assert np.isfinite(Cube(folder).model(country="NL").decision_function(TEST)).all()


@pytest.mark.parametrize("killed_in", ["add", "finish"])
def test_a_training_that_is_killed_leaves_no_cube(made, tmp_path, monkeypatch, killed_in):
    def killed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(writer.CubeWriter, killed_in, killed)
    with pytest.raises(KeyboardInterrupt):
        opauc.train(made.parent / "old.csv", "bought", by=KEYS, output=tmp_path / "cube", **OPTIONS)
    assert list(tmp_path.iterdir()) == []


def test_a_bad_row_leaves_no_cube_and_can_be_skipped(tmp_path):
    broken = TABLE[:500].astype(object)
    broken.loc[7, "country"] = None
    broken.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=r"t.csv, line 9, column country: the key is missing"):
        opauc.train(tmp_path / "t.csv", "bought", by=KEYS, output=tmp_path / "cube", **OPTIONS)
    assert not (tmp_path / "cube").exists()
    bad = BadRows("skip")
    cube = opauc.train(tmp_path / "t.csv", "bought", by=KEYS, output=tmp_path / "cube", bad_rows=bad, **OPTIONS)
    assert (bad.total, sum(segment.rows for segment in cube.segments)) == (1, 499)


def segment_of(folder, day=DAYS[0], country="NL"):
    return folder / f"day={day}" / f"country={country}"


def other_basis(folder):
    table = simulate(3, 700, intricate=False)
    other = opauc.train(table, "bought", by=KEYS, output=folder.parent / "other", **OPTIONS)
    return other.path


def remove_segment(folder):
    segment_of(folder).unlink()


def put_segment_of_another_basis(folder):
    shutil.copy(segment_of(other_basis(folder)), segment_of(folder))


def put_segment_in_the_place_of_another(folder):
    shutil.copy(segment_of(folder, country="BE"), segment_of(folder))


def edit_manifest(folder):
    text = (folder / MANIFEST).read_bytes()
    (folder / MANIFEST).write_bytes(text.replace(b"country", b"cOuntry", 1))


def edit_segment(folder):
    text = bytearray(segment_of(folder).read_bytes())
    text[-20] ^= 1
    segment_of(folder).write_bytes(text)


def put_another_basis(folder):
    shutil.copy(other_basis(folder) / "basis.opauc", folder / "basis.opauc")


def list_another_file(folder):
    """A manifest whose checksums are those of other files."""
    manifest = read_manifest(folder)
    one, two = (DAYS[0], "NL"), (DAYS[0], "BE")
    segments = {**manifest.segments, one: manifest.segments[two]}
    shutil.copy(segment_of(folder, country="BE"), segment_of(folder))
    Manifest(manifest.keys, manifest.basis, manifest.basis_checksum, 0, segments).write(folder)


BROKEN = {
    "missing segment": (remove_segment, "no such file; the manifest of the cube lists it"),
    "other basis": (put_segment_of_another_basis, "is not the file that the manifest of the cube lists"),
    "exchanged": (put_segment_in_the_place_of_another, "is not the file that the manifest of the cube lists"),
    "manifest edited": (edit_manifest, "damaged, its checksum does not match"),
    "segment edited": (edit_segment, "damaged, its checksum does not match"),
    "basis replaced": (put_another_basis, "is not the file that the manifest of the cube lists"),
    "wrong list": (list_another_file, "holds another segment"),
    "no manifest": (lambda folder: (folder / MANIFEST).unlink(), "has no manifest.opauc; it is no cube"),
    "no folder": (shutil.rmtree, "no such folder, expected that of a cube"),
}


@pytest.mark.parametrize(("spoil", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_cube_is_refused_in_one_line(folder, spoil, message):
    spoil(folder)
    with pytest.raises((UnreadableFileError, InputError), match=message) as raised:
        Cube(folder).model(day=DAYS[0], country="NL")
    assert "\n" not in str(raised.value)


def test_a_manifest_cannot_lead_out_of_its_folder(folder):
    manifest = read_manifest(folder)
    entry = manifest.segments[DAYS[0], "NL"]
    for value in ("../../secret", "/etc/passwd", ".."):
        Manifest(manifest.keys, manifest.basis, manifest.basis_checksum, 0, {(value, "NL"): entry}).write(folder)
        with pytest.raises(UnreadableFileError, match="no such file"):
            Cube(folder).model()


def test_values_with_signs_that_files_cannot_have_are_read_back(tmp_path):
    table = TABLE[:600].assign(country=np.resize(["a/b", "..", "*", "50 %", "ä=ö", "tab\tbed"], 600))
    cube = opauc.train(table, "bought", by="country", output=tmp_path / "cube", **OPTIONS)
    assert set(cube.values("country")) == set(table["country"])
    for value in set(table["country"]):
        assert cube.model({"country": lambda other, value=value: other == value}) is not None
    assert sorted(os.listdir(tmp_path)) == ["cube"]


def test_an_output_that_exists_is_refused(made):
    with pytest.raises(InputError, match="exists already; add rows to a cube with opauc update"):
        opauc.train(made.parent / "old.csv", "bought", by=KEYS, output=made)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "dya"}, "no column dya; there are day"),
        ({"by": []}, "expected columns, each once"),
        ({"by": ["day", "day"]}, "expected columns, each once"),
        ({"by": "day", "resume": True}, "keeps a file per segment; leave resume out"),
        ({"by": "day", "output": None}, "needs a folder to write"),
        ({"by": "bought"}, "cannot be used and dropped"),
    ],
)
def test_mistakes_are_one_line(made, tmp_path, options, message):
    with pytest.raises(InputError, match=message) as raised:
        opauc.train(made.parent / "old.csv", **{"label": "bought", "output": tmp_path / "cube", **OPTIONS, **options})
    assert "\n" not in str(raised.value)


def test_keys_are_features_where_they_are_named(made, tmp_path):
    cube = opauc.train(
        made.parent / "old.csv", "bought", by=KEYS, output=tmp_path / "cube", categorical=["country"], **OPTIONS
    )
    assert "country" in cube.basis.feature_names_in_
    assert "day" not in cube.basis.feature_names_in_


def test_too_many_segments_are_refused(made, tmp_path):
    reading, options = split_options({"label": "bought", "by": KEYS, **OPTIONS})
    with pytest.raises(InputError, match="more than 3 segments; keys are columns of few values"):
        train_cube(
            [str(made.parent / "old.csv")], reading, options, tmp_path / "cube", {"label", *OPTIONS}, KEYS, BadRows(),
            CallbackObserver(), CubePolicy(max_segments=3),
        )  # fmt: skip
