import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import opauc
from opauc import OPAUC, UnreadableFileError
from opauc.core.checksummed_file import read_checksummed, write_checksummed
from opauc.core.registry import BASELINES
from tests.core.hostile_files import mutate
from tests.problems import problem

KINDS = {
    "exact": {"solver": "exact"},
    "forgetting_factor": {"solver": "exact", "forgetting_factor": 0.99},
    "sgd": {"solver": "sgd"},
    "sketched sgd": {"solver": "sgd", "rank": 5, "random_state": None},
    "sketched exact": {"solver": "exact", "rank": 5, "random_state": np.random.RandomState(3)},
    "means": {"solver": "sgd", "rank": 0},
    "progressive selection": {"solver": "progressive_selection"},
}
every_kind = pytest.mark.parametrize("settings", KINDS.values(), ids=list(KINDS))


@every_kind
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_saved_model_scores_and_training_goes_on_to_the_same_bits(tmp_path, settings, dtype):
    rows, labels = problem(3, 200, 8)
    rows = rows.astype(dtype)
    model = OPAUC(**settings).fit(rows[:120], labels[:120])
    opauc.save(model, tmp_path / "model")
    again = opauc.load(tmp_path / "model")
    assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    model.partial_fit(rows[120:], labels[120:])
    again.partial_fit(rows[120:], labels[120:])
    assert_array_equal(again.coef_, model.coef_)
    assert (again.solver_, again.rank_) == (model.solver_, model.rank_)


def test_loaded_models_merge_and_forget(tmp_path):
    rows, labels = problem(4, 300, 4)
    for name, part in (("a", slice(0, 150)), ("b", slice(150, 300))):
        opauc.save(OPAUC().fit(rows[part], labels[part]), tmp_path / name)
    merged = opauc.load(tmp_path / "a").merge(opauc.load(tmp_path / "b"))
    np.testing.assert_allclose(merged.coef_, OPAUC().fit(rows, labels).coef_, rtol=1e-9)
    left = merged.forget(rows[150:], labels[150:])
    np.testing.assert_allclose(left.coef_, OPAUC().fit(rows[:150], labels[:150]).coef_, rtol=1e-7)


@pytest.mark.parametrize("classes", [["no", "yes"], [False, True], [-1, 1], [1.0, 2.0], np.array(["a", "b"], object)])
def test_labels_and_feature_names_come_back(tmp_path, classes):
    frame = pd.DataFrame({"age": [0.0, 1.0, 2.0, 3.0], "<b>": [1.0, 0.0, 1.0, 0.0]})
    model = OPAUC().fit(frame, np.asarray(classes)[[0, 0, 1, 1]])
    opauc.save(model, tmp_path / "model")
    again = opauc.load(tmp_path / "model")
    assert again.classes_.dtype == model.classes_.dtype
    assert_array_equal(again.predict(frame), model.predict(frame))
    assert list(again.feature_names_in_) == ["age", "<b>"]
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(frame.rename(columns={"age": "years"}))


@pytest.mark.parametrize("settings", [{}, {"solver": "exact", "rank": 4, "random_state": 0}])
def test_statistics_are_files_of_their_own_that_merge(tmp_path, settings):
    rows, labels = problem(8, 100, 4)
    moments = OPAUC(**settings).fit(rows, labels).moments_
    opauc.save(moments, tmp_path / "statistics")
    again = opauc.load(tmp_path / "statistics")
    assert type(again) is type(moments)
    for name, array in moments.to_arrays().items():
        assert_array_equal(again.to_arrays()[name], array)
    assert read_checksummed(tmp_path / "statistics")[0] == "statistics"


def test_an_unfitted_estimator_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        opauc.save(OPAUC(), tmp_path / "model")
    assert not list(tmp_path.iterdir())


@every_kind
def test_damaged_model_files_are_refused_and_never_half_read(tmp_path, settings):
    rows, labels = problem(5, 60, 6)
    path = tmp_path / "model"
    opauc.save(OPAUC(**settings).fit(rows, labels), path)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(300):
        damaged = mutate(rng, whole)
        if damaged != whole:
            path.write_bytes(damaged)
            with pytest.raises(UnreadableFileError, match="model: "):
                opauc.load(path)


@pytest.mark.parametrize("kind", ["OAM", "UniExp", "UniSqu", "SOLAM", "FSAUC", "SPAUC", "AdaOAM", "MeanDifference"])
def test_every_online_baseline_is_saved_and_training_goes_on(tmp_path, kind):
    rows, labels = problem(9, 200, 5)
    model = BASELINES[kind]().fit(rows[:120], labels[:120])
    opauc.save(model, tmp_path / "model")
    again = opauc.load(tmp_path / "model")
    assert type(again) is type(model)
    model.partial_fit(rows[120:], labels[120:])
    again.partial_fit(rows[120:], labels[120:])
    assert_array_equal(again.coef_, model.coef_)


CHANGES = [None, -1, 0, 2**40, 1e308, "", "text", [], [1, 2, 3], {}, True]


@every_kind
def test_hostile_files_with_a_right_checksum_are_refused_or_harmless(tmp_path, settings):
    rows, labels = problem(6, 60, 6)
    path, bad = tmp_path / "model", tmp_path / "bad"
    opauc.save(OPAUC(**settings).fit(rows, labels), path)
    kind, header, arrays = read_checksummed(path)
    refused = 0
    settings_of = header["fit"]["settings"]
    for key in (*header, *(("settings", name) for name in settings_of)):
        for value in CHANGES:
            changed = {**header, "fit": {**header["fit"], "settings": dict(settings_of)}}
            if isinstance(key, tuple):
                changed["fit"]["settings"][key[1]] = value
            else:
                changed[key] = value
            write_checksummed(bad, kind, changed, arrays)
            refused += refuses_or_works(bad, rows)
    assert refused > 20
    for name, array in arrays.items():
        for value in (-1, 3, 2**20, np.nan) if array.dtype.kind == "f" else (3, 2**20, 2**62):
            if array.dtype.kind == "b":
                continue
            write_checksummed(bad, kind, header, arrays | {name: np.full_like(array, value)})
            refuses_or_works(bad, rows, labels)
        write_checksummed(bad, kind, header, arrays | {name: np.zeros((*array.shape, 2), array.dtype)})
        with pytest.raises(UnreadableFileError, match=r"bad: cannot be used"):
            opauc.load(bad)


def refuses_or_works(path, rows, labels=None):
    """Load a file and use it; say whether it was refused. A crash of the process is what must not happen."""
    try:
        model = opauc.load(path)
    except UnreadableFileError as error:
        return str(error).startswith(f"{path}: ")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model.decision_function(rows)
            if labels is not None:
                model.partial_fit(rows, labels, classes=model.classes_)
        except ValueError:
            return False
    return False
