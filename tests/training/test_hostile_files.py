"""Whatever a sealed file says, it is refused with its name or does no harm, and takes no memory beyond its own size."""

import itertools
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest

import opauc
from opauc import OPAUC, UnreadableFileError
from opauc.core.checksummed_file import read_checksummed
from opauc.core.registry import BASELINES
from opauc.training.checkpoints import Checkpoints
from tests.core.hostile_files import changed, hostile, write_hostile
from tests.problems import problem

FOLDER = Path(__file__).parents[1] / "fixtures" / "a90a3d9"
FILES = sorted(path for path in FOLDER.iterdir() if path.suffix in (".opauc", ".checkpoint"))
# One change in so many is tried, another one in each file.
STRIDE = 29
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)


def load(kind, path):
    """Read a file as its kind is read."""
    if kind == "checkpoint":
        return Checkpoints(path, None, {}).taken_up()
    return opauc.load(path)


def loaded_or_refused(kind, path):
    """Return what is in a file, or why it was refused."""
    try:
        return load(kind, path), None
    except UnreadableFileError as error:
        return None, str(error)


def refused_or_harmless(kind, path):
    """Load a file and use it; return whether it was refused, which must be with its name and in one line."""
    found, refusal = loaded_or_refused(kind, path)
    if refusal is not None:
        assert refusal.startswith(f"{path}: ")
        assert len(refusal) < 11_000
        return True
    if kind == "model":
        rows = np.zeros((2, found.n_features_in_))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found.predict_proba(rows if not hasattr(found, "feature_names_in_") else as_frame(found, rows))
    return False


def as_frame(model, rows):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(rows, columns=model.feature_names_in_)


@every_file
def test_a_file_spoilt_in_one_place_is_refused_or_harmless(tmp_path, path):
    spoilt = list(hostile(*read_checksummed(path)))
    begin = FILES.index(path) % STRIDE
    refused = 0
    for how, described, arrays in itertools.islice(spoilt, begin, None, STRIDE):
        write_hostile(tmp_path / "bad", described, arrays)
        began = time.perf_counter()
        try:
            refused += refused_or_harmless(read_checksummed(path)[0], tmp_path / "bad")
        except Exception as error:
            raise AssertionError(f"{how}: {error!r}") from error
        assert time.perf_counter() - began < 5.0, how
    assert refused >= 3


def widened(arrays, width):
    """Return the arrays with weights for so many features: what a header that says so asks for at the least."""
    return arrays | {"scorer.weights": np.zeros(width)} if "scorer.weights" in arrays else arrays


@every_file
@pytest.mark.parametrize("width", [14_000, 2**31 - 1])
def test_nothing_is_allocated_for_features_that_the_file_does_not_hold(tmp_path, path, width):
    kind, header, arrays = read_checksummed(path)
    if "n_features" not in header:
        pytest.skip("says nothing of it")
    wide = {
        "format": "opauc",
        "version": 1,
        "kind": kind,
        "header": {**header, "n_features": width, "feature_names": None},
    }
    write_hostile(tmp_path / "bad", wide, widened(arrays, width) if width < 10**6 else arrays)
    refuses_in_little_memory(kind, tmp_path / "bad")


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [("opauc-rank-sgd", "rank", 20_000), ("opauc-rank-sgd", "rank", 10**9), ("baseline-OAM", "buffer_size", 30_000)],
)
def test_nothing_is_allocated_for_a_setting_that_the_arrays_do_not_bear_out(tmp_path, name, setting, value):
    kind, header, arrays = read_checksummed(FOLDER / f"{name}.opauc")
    whole = {"format": "opauc", "version": 1, "kind": kind, "header": header}
    write_hostile(tmp_path / "bad", changed(whole, ("header", "settings", setting), value), arrays)
    refuses_in_little_memory(kind, tmp_path / "bad")


def refuses_in_little_memory(kind, path):
    """Hold a file to being refused in a small multiple of its size."""
    loaded_or_refused(kind, path)  # imports what has to be imported
    tracemalloc.start()
    try:
        assert loaded_or_refused(kind, path)[1]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**20 + 8 * path.stat().st_size


KINDS = [
    {"solver": "exact"}, {"solver": "sgd"}, {"solver": "sgd", "rank": 3}, {"solver": "exact", "rank": 3},
    {"solver": "sgd", "rank": 0}, {"solver": "progressive_selection"},
]  # fmt: skip
FRESH = [*(OPAUC(random_state=0, **settings) for settings in KINDS), *(kind() for kind in BASELINES.values())]


@pytest.mark.parametrize("model", FRESH, ids=lambda model: str(model)[:40])
def test_files_of_every_kind_of_model_made_now_are_refused_or_harmless_when_spoilt(tmp_path, model):
    rows, labels = problem(0, 60, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opauc.save(model.fit(rows, labels), tmp_path / "good")
    for _, described, arrays in itertools.islice(hostile(*read_checksummed(tmp_path / "good")), 5, None, 41):
        write_hostile(tmp_path / "bad", described, arrays)
        refused_or_harmless("model", tmp_path / "bad")
    assert not refused_or_harmless("model", tmp_path / "good")


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["scorer.weights", "scorer.numbers"])
def test_a_scorer_that_gives_no_scores_is_refused(tmp_path, name, number):
    kind, header, arrays = read_checksummed(FOLDER / "opauc-exact.opauc")
    whole = {"format": "opauc", "version": 1, "kind": kind, "header": header}
    for place in range(arrays[name].size):
        spoilt = arrays[name].copy()
        spoilt[place] = number
        write_hostile(tmp_path / "bad", whole, arrays | {name: spoilt})
        with pytest.raises(UnreadableFileError, match=r"bad: cannot be used: the .* must be .*finite number"):
            opauc.load(tmp_path / "bad")


def test_what_fitting_found_cannot_replace_a_method(tmp_path):
    kind, header, arrays = read_checksummed(FOLDER / "opauc-exact.opauc")
    fitted = {**header["fitted"], "predict": "x", "__class__": "y"}
    whole = {"format": "opauc", "version": 1, "kind": kind, "header": {**header, "fitted": fitted}}
    write_hostile(tmp_path / "bad", whole, arrays)
    loaded = opauc.load(tmp_path / "bad")
    assert type(loaded) is OPAUC
    assert callable(loaded.predict)
