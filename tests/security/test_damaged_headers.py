"""Text parts of files that no program of ours writes: too deep, too large, ambiguous, or not of this format."""

import hashlib
import json
import struct
import time
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import save_file

import opauc
from opauc import UnreadableFileError
from opauc.core.checksummed_file import read_checksummed, write_checksummed
from tests.core.hostile_files import write_hostile
from tests.security.files import read


def refused(path):
    """Return the message with which a file is refused, in one line that begins with its name."""
    with pytest.raises(UnreadableFileError) as error:
        opauc.load(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    assert len(message) < 1000
    assert "\n" not in message
    return message


def write_text(path, text):
    """Write a file without arrays whose text part is any text, with its checksum."""
    sealed = json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest(), "content": text})
    save_file({}, path, metadata={"opauc": sealed})


def described(header):
    return f'{{"format": "opauc", "version": 1, "kind": "model", "header": {header}}}'


@pytest.mark.parametrize("depth", [900, 5_000, 200_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}")])
def test_text_of_any_depth_is_refused(tmp_path, depth, opening, closing):
    write_text(tmp_path / "bad", described(f'{{"a": {opening * depth}1{closing * depth}}}'))
    refused(tmp_path / "bad")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_have_are_refused(tmp_path, number):
    write_text(tmp_path / "bad", described(f'{{"n_features": {number}}}'))
    assert f"{number} is no number of JSON" in refused(tmp_path / "bad")


@pytest.mark.parametrize("number", ["1" * 4_000, "1" * 5_000, "1e999", "-1e999", "1" * 2_000_000])
def test_huge_numbers_are_refused(tmp_path, folder, number):
    kind, header, _ = read(folder, "exact")
    text = json.dumps({"format": "opauc", "version": 1, "kind": kind, "header": {**header, "n_features": "here"}})
    write_text(tmp_path / "bad", text.replace('"here"', number))
    refused(tmp_path / "bad")


def test_a_name_that_occurs_twice_is_refused(tmp_path):
    write_text(tmp_path / "bad", described('{"n_features": 1, "n_features": 2}'))
    assert "1 of its names occur twice" in refused(tmp_path / "bad")


@pytest.mark.parametrize(
    "entry", ["", "[]", "3", "null", "{}", '{"sha256": 1, "content": "x"}', '{"sha256": "x"}', "\x00"]
)
def test_a_text_part_of_another_form_is_refused(tmp_path, entry):
    save_file({"a": np.zeros(2)}, tmp_path / "bad", metadata={"opauc": entry})
    refused(tmp_path / "bad")


@pytest.mark.parametrize(
    "content", ["[]", "3", "null", "{}", '"text"', '{"format": "opauc"}', '{"format": 3, "version": 1}']
)
def test_content_of_another_form_is_refused(tmp_path, content):
    write_text(tmp_path / "bad", content)
    refused(tmp_path / "bad")


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:0],
        lambda content: content[:7],
        lambda content: struct.pack("<Q", 2**63) + content[8:],
        lambda content: struct.pack("<Q", 2**40) + content[8:],
        lambda content: struct.pack("<Q", len(content)) + content[8:],
        lambda content: struct.pack("<Q", 0) + content[8:],
        lambda content: content[:-8],
        lambda content: content + b"more",
        lambda content: content.replace(b"F64", b"F63", 1),
        lambda content: content.replace(b'"F64"', b'"BF16"', 1),
        lambda content: content.replace(b"data_offsets", b"date_offsets", 1),
        lambda content: content.replace(b'"shape":[', b'"shape":[99999999999,', 1),
    ],
)
def test_damaged_safetensors_files_are_refused(tmp_path, folder, damage):
    content = (folder / "exact").read_bytes()
    (tmp_path / "bad").write_bytes(damage(content))
    assert (tmp_path / "bad").read_bytes() != content
    refused(tmp_path / "bad")


def test_a_header_that_lacks_any_of_its_parts_is_refused_by_that_name(tmp_path, folder):
    for name in ("exact", "additive-waiting"):
        kind, header, arrays = read_checksummed(folder / name)
        for part in ("family", "fit", "n_features", "classes", "estimator", "parameters"):
            less = {key: value for key, value in header.items() if key != part}
            write_hostile(tmp_path / "bad", {"format": "opauc", "version": 1, "kind": kind, "header": less}, arrays)
            assert f"lacks {part}" in refused(tmp_path / "bad")


def test_the_number_of_a_category_of_four_hundred_digits_is_refused(tmp_path, folder):
    kind, header, arrays = read_checksummed(folder / "additive-waiting")
    [column] = [column for column in header["reading"]["columns"]["columns"] if column["categories"]]
    column["categories"] = dict.fromkeys(column["categories"], 0) | {"red": 10**400}
    write_hostile(tmp_path / "bad", {"format": "opauc", "version": 1, "kind": kind, "header": header}, arrays)
    assert "expected categories with a number each" in refused(tmp_path / "bad")


@pytest.mark.parametrize(
    "name", ["exact", "sketched-sgd", "folds", "buffers", "additive-waiting", "additive-full", "additive-scoring-trees"]
)
def test_settings_without_one_that_is_needed_are_refused_by_its_name(tmp_path, folder, name):
    kind, header, arrays = read_checksummed(folder / name)
    for setting in header["fit"]["settings"]:
        less = {key: value for key, value in header["fit"]["settings"].items() if key != setting}
        spoiled = {**header, "fit": {**header["fit"], "settings": less}}
        write_hostile(tmp_path / "bad", {"format": "opauc", "version": 1, "kind": kind, "header": spoiled}, arrays)
        assert f"lacks the setting {setting}" in refused(tmp_path / "bad")


def test_a_number_of_rows_that_was_never_chosen_is_refused(tmp_path, folder):
    kind, header, arrays = read_checksummed(folder / "additive-waiting")
    header["fit"]["settings"]["init_size"] = "auto"
    write_hostile(tmp_path / "bad", {"format": "opauc", "version": 1, "kind": kind, "header": header}, arrays)
    assert "init_size: expected a number of rows, got 'auto'" in refused(tmp_path / "bad")


@pytest.mark.parametrize(
    "value", ["[],", "{},", "1,", "300,", "1e5,", '"ab",', '"ā",', '["city", "c12"],', "[300,1e5],", '{"a":1},']
)  # fmt: skip
@pytest.mark.parametrize("outer", [False, True])
def test_reading_text_takes_at_most_eight_times_the_memory_of_the_file(tmp_path, value, outer):
    values = f"[{value * (600_000 // len(value))}1]"
    if outer:
        save_file({}, tmp_path / "bad", metadata={"opauc": values})
    else:
        write_text(tmp_path / "bad", described(f'{{"a": {values}}}'))
    refused(tmp_path / "bad")
    tracemalloc.start()
    refused(tmp_path / "bad")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20 + 8 * (tmp_path / "bad").stat().st_size


@pytest.mark.parametrize("text", ['"' + '\\"' * 500_000, '"' * 500_001, '"\\', "[" * 10**6 + '"'])
def test_strings_that_do_not_end_are_refused_at_once(tmp_path, text):
    save_file({}, tmp_path / "bad", metadata={"opauc": text})
    began = time.perf_counter()
    refused(tmp_path / "bad")
    assert time.perf_counter() - began < 2.0


def test_a_hundred_thousand_categories_of_one_letter_columns_are_read(tmp_path):
    header = {
        "categories": [["c", str(number)] for number in range(100_000)],
        "columns": {f"[{{,:{j}": 1 for j in range(999)},
    }
    write_checksummed(tmp_path / "good", "kind", header, {"weights": np.zeros(100_000)})
    assert read_checksummed(tmp_path / "good")[1] == header
