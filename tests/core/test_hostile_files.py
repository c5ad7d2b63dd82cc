"""A spoiled file with a valid checksum is refused by name or harmless, and takes no memory beyond its own size."""

import itertools
import time
import tracemalloc
import warnings
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

import opauc
from opauc import OPAUC, OPAUCCV, OnePassGAM, UnreadableFileError
from opauc.baselines import OAM
from opauc.core.checksummed_file import read_checksummed
from opauc.core.registry import BASELINES
from tests.core.hostile_files import StopError, changed, hostile, load, run_command, stop_after_one_batch, write_hostile
from tests.problems import problem

SOLVERS = {
    "exact": {"solver": "exact"},
    "sgd": {"solver": "sgd"},
    "sgd-last": {"solver": "sgd", "learning_rate": "constant", "eta0": 0.01, "average": False},
    "forgetting": {"solver": "exact", "forgetting_factor": 0.99},
    "rank-exact": {"solver": "exact", "rank": 2, "random_state": 1},
    "rank-sgd": {"solver": "sgd", "rank": 2, "random_state": 1},
    "means": {"solver": "sgd", "rank": 0},
    "selection": {"solver": "progressive_selection"},
}
CLASSES = {"text": np.array(["no", "yes"]), "object": np.array(["no", "yes"], object), "bool": np.array([False, True])}
# Models that the command trains, and checkpoints of runs that stop after the first file.
ENCODED = ["--categorical", "color", "--missing", "mean"]
COMMANDS = {"table": ["--solver", "auto", *ENCODED], "positive": ["--solver", "auto", *ENCODED, "--positive", "yes"]}
CHECKPOINTS = {
    "exact": ["--solver", "exact", *ENCODED],
    "rank-sgd": ["--solver", "sgd", "--rank", "2", *ENCODED],
    "selection": ["--solver", "progressive_selection", *ENCODED],
}
NAMES = [
    *(f"opauc-{name}" for name in SOLVERS), *(f"labels-{name}" for name in CLASSES), "feature-names", "baseline-OAM",
    "several-exact", "several-cv", "several-moments",
    "class-moments", "class-sketch", "exact-moments",
    *(f"command-{name}" for name in COMMANDS), *(f"{name}.checkpoint" for name in CHECKPOINTS), "several-additive",
]  # fmt: skip
# One change in so many is tried, another one in each file.
STRIDE = 29
every_file = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One file of each kind that the library writes."""
    folder = tmp_path_factory.mktemp("files")
    rows, labels = problem(1, 120, 5)
    models = {f"opauc-{name}": OPAUC(**settings).fit(rows, labels) for name, settings in SOLVERS.items()}
    models |= {f"labels-{name}": OPAUC().fit(rows, classes[labels]) for name, classes in CLASSES.items()}
    names = ["x0", "x1", "x2", "x3", "<b>"]
    models["feature-names"] = OPAUC().fit(pd.DataFrame(rows, columns=names), labels)
    models["baseline-OAM"] = OAM(buffer_size=4, random_state=0).fit(rows, labels)
    three = np.array(["ant", "bee", "cat"])[labels + (rows[:, 1] > 0)]
    models["several-exact"], models["several-cv"] = OPAUC().fit(rows, three), OPAUCCV(cv=2).fit(rows, three)
    models["several-additive"] = OnePassGAM(trees=False, init_size=100).partial_fit(rows, three)
    models["several-moments"] = models["several-exact"].moments_
    models["class-moments"] = models["opauc-exact"].moments_
    models["class-sketch"] = models["opauc-rank-exact"].moments_
    models["exact-moments"] = models["class-moments"].positive
    for name, model in models.items():
        opauc.save(model, folder / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        files = [write_table(f"table-{part}.csv", part) for part in (1, 2)]
        for name, options in COMMANDS.items():
            run_command(patch, "train", *files, "-o", f"command-{name}", "--quiet", *options)
        stop_after_one_batch(patch)
        for name, options in CHECKPOINTS.items():
            with suppress(StopError):
                run_command(patch, "train", *files, "-o", name, "--quiet", "--checkpoint-every", "1", *options)
    return folder


def write_table(path, seed):
    """Write a table with numbers, a category, missing values and a label."""
    rows, labels = problem(20 + seed, 150, 3)
    colors = np.random.default_rng(seed).choice(["red", "green", "blue"][: 1 + seed], 150)
    frame = pd.DataFrame({"size": rows[:, 0], "color": colors, "age": rows[:, 1]})
    frame.loc[rows[:, 2] > 2, "age"] = np.nan
    frame.assign(label=np.array(["no", "yes"])[labels]).to_csv(path, index=False)
    return path


def load_or_error(kind, path):
    """Return the content of a file, or the message with which it was refused."""
    try:
        return load(kind, path), None
    except UnreadableFileError as error:
        return None, str(error)


def is_refused(kind, path):
    """Load a file and use it; return whether it was refused, which must be with its name and in one line."""
    content, message = load_or_error(kind, path)
    if message is not None:
        assert message.startswith(f"{path}: ")
        assert len(message) < 11_000
        return True
    if kind == "model":
        rows = np.zeros((2, content.n_features_in_))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            content.predict_proba(rows if not hasattr(content, "feature_names_in_") else as_frame(content, rows))
    return False


def as_frame(model, rows):
    return pd.DataFrame(rows, columns=model.feature_names_in_)


@every_file
def test_a_file_spoiled_in_one_place_is_refused_or_harmless(tmp_path, folder, name):
    kind, header, arrays = read_checksummed(folder / name)
    refused = 0
    for how, described, spoiled in itertools.islice(
        hostile(kind, header, arrays), NAMES.index(name) % STRIDE, None, STRIDE
    ):
        write_hostile(tmp_path / "bad", described, spoiled)
        began = time.perf_counter()
        try:
            refused += is_refused(kind, tmp_path / "bad")
        except Exception as error:
            raise AssertionError(f"{how}: {error!r}") from error
        assert time.perf_counter() - began < 5.0, how
    assert refused >= 3


def with_width(arrays, width):
    """Return the arrays with weights for so many features: the least that such a header needs."""
    return arrays | {"scorer.weights": np.zeros(width)} if "scorer.weights" in arrays else arrays


@every_file
@pytest.mark.parametrize("width", [14_000, 2**31 - 1])
def test_nothing_is_allocated_for_features_that_the_file_does_not_hold(tmp_path, folder, name, width):
    kind, header, arrays = read_checksummed(folder / name)
    if "n_features" not in header:
        pytest.skip("a file of statistics states no number of features")
    wide = {
        "format": "opauc",
        "version": 1,
        "kind": kind,
        "header": {**header, "n_features": width, "feature_names": None},
    }
    write_hostile(tmp_path / "bad", wide, with_width(arrays, width) if width < 10**6 else arrays)
    assert_refused_in_little_memory(kind, tmp_path / "bad")


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [("opauc-rank-sgd", "rank", 20_000), ("opauc-rank-sgd", "rank", 10**9), ("baseline-OAM", "buffer_size", 30_000)],
)
def test_nothing_is_allocated_for_a_setting_that_contradicts_the_arrays(tmp_path, folder, name, setting, value):
    kind, header, arrays = read_checksummed(folder / name)
    whole = {"format": "opauc", "version": 1, "kind": kind, "header": header}
    write_hostile(tmp_path / "bad", changed(whole, ("header", "fit", "settings", setting), value), arrays)
    assert_refused_in_little_memory(kind, tmp_path / "bad")


def assert_refused_in_little_memory(kind, path):
    """Check that a file is refused in a small multiple of its size."""
    load_or_error(kind, path)  # imports what has to be imported
    tracemalloc.start()
    try:
        assert load_or_error(kind, path)[1]
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
def test_a_spoiled_file_of_every_estimator_is_refused_or_harmless(tmp_path, model):
    rows, labels = problem(0, 60, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opauc.save(model.fit(rows, labels), tmp_path / "good")
    for _, described, arrays in itertools.islice(hostile(*read_checksummed(tmp_path / "good")), 5, None, 41):
        write_hostile(tmp_path / "bad", described, arrays)
        is_refused("model", tmp_path / "bad")
    assert not is_refused("model", tmp_path / "good")


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["scorer.weights", "scorer.numbers"])
def test_a_scorer_that_gives_no_scores_is_refused(tmp_path, folder, name, number):
    kind, header, arrays = read_checksummed(folder / "opauc-exact")
    whole = {"format": "opauc", "version": 1, "kind": kind, "header": header}
    for place in range(arrays[name].size):
        spoiled = arrays[name].copy()
        spoiled[place] = number
        write_hostile(tmp_path / "bad", whole, arrays | {name: spoiled})
        with pytest.raises(UnreadableFileError, match=r"bad: cannot be used: the .* must be .*finite number"):
            opauc.load(tmp_path / "bad")


def test_fitted_attributes_in_a_file_cannot_replace_a_method(tmp_path, folder):
    kind, header, arrays = read_checksummed(folder / "opauc-exact")
    fitted = {**header["fit"]["fitted"], "predict": "x", "__class__": "y"}
    spoiled = {**header, "fit": {**header["fit"], "fitted": fitted}}
    whole = {"format": "opauc", "version": 1, "kind": kind, "header": spoiled}
    write_hostile(tmp_path / "bad", whole, arrays)
    loaded = opauc.load(tmp_path / "bad")
    assert type(loaded) is OPAUC
    assert callable(loaded.predict)
