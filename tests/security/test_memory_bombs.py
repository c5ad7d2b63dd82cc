"""Small files that ask for gigabytes: they are refused, or used, in memory of a few times their size."""

import tracemalloc
from contextlib import suppress

import numpy as np
import pytest

from opauc.errors import OpaucError, UnreadableFileError
from tests.core.hostile_files import changed, load, places, write_hostile
from tests.security.files import NAMES, read, scores_of, value_at

# Lengths that no file of this size can hold.
HUGE = (20_000, 10**9, 2**31 - 2)


def assert_little_memory(kind, path, use=False):
    """Check that a file is loaded, or refused, in at most 1 MiB and eight times its size."""
    tracemalloc.start()
    try:
        with suppress(UnreadableFileError, OpaucError):
            content = load(kind, path)
            _ = scores_of(content) if use else None
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**20 + 8 * path.stat().st_size


def write(path, content, **arrays):
    kind, header, before = content
    whole = {"format": "opauc", "version": 1, "kind": kind, "header": header}
    write_hostile(path, whole, before | {name.replace("__", "."): array for name, array in arrays.items()})
    return kind, path


def with_entry(array, at, number):
    after = array.copy()
    after[at] = number
    return after


@pytest.mark.parametrize("number", HUGE)
@pytest.mark.parametrize("name", NAMES)
def test_a_large_number_in_a_header_takes_no_memory(tmp_path, folder, name, number):
    kind, header, arrays = read(folder, name)
    load(kind, folder / name)  # imports what has to be imported
    whole = {"format": "opauc", "version": 1, "kind": kind, "header": header}
    for place in places(header):
        if type(value_at(header, place)) in (int, float):
            write_hostile(tmp_path / "bad", changed(whole, ("header", *place), number), arrays)
            assert_little_memory(kind, tmp_path / "bad")


@pytest.mark.parametrize("number", HUGE)
@pytest.mark.parametrize("name", NAMES)
def test_a_large_whole_number_in_an_array_takes_no_memory(tmp_path, folder, name, number):
    content = read(folder, name)
    for key, array in content[2].items():
        if array.dtype.kind in "iu" and array.size and number <= np.iinfo(array.dtype).max:
            for at in {0, array.size - 1}:
                spoiled = with_entry(array.ravel(), at, number).reshape(array.shape)
                assert_little_memory(*write(tmp_path / "bad", content, **{key: spoiled}))


def test_the_number_of_a_category_among_waiting_rows_takes_no_memory(tmp_path, folder):
    content = read(folder, "additive-waiting")
    rows = content[2]["waiting.rows"].copy()
    column = int(np.flatnonzero(content[2]["categorical"])[0])
    for number in (1e9, -2.0, 0.5, 1e300):
        rows[0, column] = number
        with pytest.raises(UnreadableFileError, match=r"waiting\.rows: expected numbers of 2 categories"):
            load(*write(tmp_path / "bad", content, waiting__rows=rows))
        assert_little_memory("model", tmp_path / "bad", use=True)


def test_fifty_thousand_knots_are_not_penalized_before_the_columns_are_compared(tmp_path, folder):
    content = read(folder, "additive-full")
    arrays = content[2]
    assert arrays["basis.kinds"][0] == 2
    ends = arrays["basis.knot_ends"]
    knots = np.concatenate([np.arange(50_000.0), arrays["basis.knots"][ends[1] :]])
    more = 50_000 - int(ends[1])
    columns = np.where(arrays["basis.columns"] > 2, arrays["basis.columns"] + more, arrays["basis.columns"])
    cells = np.where(arrays["basis.cells"] >= 0, arrays["basis.cells"] + more, -1).astype(np.int32)
    spoiled = {"basis__knots": knots, "basis__columns": columns.astype(np.int32), "basis__cells": cells}
    bad = write(tmp_path / "bad", content, basis__knot_ends=np.append(0, ends[1:] + more), **spoiled)
    with pytest.raises(UnreadableFileError, match="expansion_point: expected float64 numbers of shape"):
        load(*bad)
    assert_little_memory(*bad)


@pytest.mark.parametrize("shape", [(250, 250), (60_000, 1)])
def test_a_surface_with_few_columns_takes_no_memory_for_its_other_cells(shape):
    from opauc.additive.basis.knots import surface_roughness

    cells = np.zeros(shape[0] * shape[1], np.bool_)
    cells[[0, 1, 2, 900]] = True
    tracemalloc.start()
    matrix = surface_roughness(shape, (True, shape[1] > 1), cells)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert matrix.shape == (4, 4)
    assert peak < 2**20


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (5, 4), (1, 6)])
@pytest.mark.parametrize("smooth", [(True, True), (True, False), (False, True)])
def test_the_penalty_of_some_cells_is_that_part_of_the_penalty_of_all(shape, smooth):
    from opauc.additive.basis.knots import surface_roughness

    random = np.random.default_rng(shape)
    cells = random.random(shape[0] * shape[1]) < 0.7
    surface = random.normal(size=shape).ravel() * cells
    grid, total = surface.reshape(shape), 0.0
    for axis in (0, 1):
        if smooth[axis]:
            total += (np.diff(grid, 2, axis=axis) ** 2).sum()
    weights = surface[cells]
    matrix = surface_roughness(shape, smooth, cells, ridge=0.5)
    np.testing.assert_allclose(weights @ matrix @ weights, total + 0.5 * weights @ weights, rtol=1e-12)


def test_an_index_of_no_entries_is_checked_before_scipy_sees_it(tmp_path, folder):
    content = read(folder, "additive-effects")
    empty = {"data": np.empty(0), "indices": np.empty(0, np.int32)}
    nothing = {f"model__random_effects__shared__{name}": array for name, array in empty.items()}
    size = content[2]["model.random_effects.counts"].size
    for at, number in ((1, 2**30), (1, -5), (0, 7), (size, 2**31 - 1)):
        pointers = with_entry(np.zeros(size + 1, np.int32), at, number)
        with pytest.raises(UnreadableFileError, match=r"shared\.indptr: expected numbers that rise from 0 to 0"):
            load(*write(tmp_path / "bad", content, model__random_effects__shared__indptr=pointers, **nothing))


def test_a_few_bytes_do_not_ask_for_many_levels_of_crossed_codes(tmp_path, folder):
    content = read(folder, "additive-effects")
    for name, number, message in (
        ("basis__crossed__n_levels", np.array([2**40]), "n_levels: expected numbers from 2 to"),
        ("basis__crossed__n_levels", np.array([2**20]), "expected sums of 1048576 levels"),
        ("model__crossed__n_levels", np.array(2**50), "n_levels: expected numbers from 0 to"),
    ):
        with pytest.raises(UnreadableFileError, match=message):
            load(*write(tmp_path / "bad", content, **{name: number}))


def test_inputs_in_no_pair_have_the_knots_that_kernels_look_up(tmp_path, folder):
    content = read(folder, "additive-full")
    arrays = content[2]
    outside = sorted(set(range(arrays["basis.kinds"].size)) - set(arrays["basis.pairs"].ravel().tolist()))
    for j in outside:
        spoiled = with_entry(arrays["basis.pair_sizes"], j, 3)
        with pytest.raises(UnreadableFileError, match=f"pair_sizes: expected knots or levels for input {j}"):
            load(*write(tmp_path / "bad", content, basis__pair_sizes=spoiled))
    assert outside


def test_two_category_numbers_on_one_level_are_refused(tmp_path, folder):
    content = read(folder, "additive-full")
    levels = with_entry(content[2]["basis.levels"], 1, 0)
    with pytest.raises(UnreadableFileError, match="levels: expected one number for each level"):
        load(*write(tmp_path / "bad", content, basis__levels=levels))
