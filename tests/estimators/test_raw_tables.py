"""A model of the command, loaded in Python, takes the tables the command took."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import opauc
from opauc import InputError
from opauc.core.loop import Trainer
from opauc.core.model import save_model
from opauc.data import ReadOptions
from opauc.data.encode.table_features import OneHotReading
from opauc.data.open_stream import open_stream
from opauc.linear.resolve import opauc_factory

N = 120
RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame({
    "age": np.where(np.arange(N) % 9 == 0, np.nan, RANDOM.normal(40, 9, N)),
    "city": RANDOM.choice(["Zürich", "Bern", "Genf"], N),
    "member": RANDOM.random(N) > 0.5,
    "grade": RANDOM.integers(1, 4, N),
    "id": np.arange(N),
})  # fmt: skip
LABELS = np.where(FRAME.grade + FRAME.member + RANDOM.normal(size=N) > 2.5, "yes", "no")
OPTIONS = ReadOptions(label="bought", categorical=("city", "grade", "member"), drop=("id",), missing="mean")
KINDS = {
    "pandas": lambda frame: frame,
    "pandas columns in another order": lambda frame: frame[list(frame)[::-1]],
    "polars": pl.from_pandas,
    "pyarrow table": pa.Table.from_pandas,
    "record batch": lambda frame: pa.RecordBatch.from_pandas(frame),
    "dicts": lambda frame: frame.to_dict("records"),
}


def train_and_load(folder, options=OPTIONS, **parameters):
    """Do as the command does; return what is loaded, and the file of the rows."""
    path, model = folder / "rows.csv", folder / "model.opauc"
    FRAME.assign(bought=LABELS).to_csv(path, index=False)
    trainer = train_files([path], options, parameters)
    save_model(trainer.finish(OneHotReading(options)), model)
    return opauc.load(model), path


def train_files(paths, options, parameters):
    """Return the trainer after all rows of some files."""
    trainer = Trainer(opauc_factory({"random_state": 0, **parameters}))
    for batch in open_stream(paths, options).batches():
        trainer.train(batch)
    return trainer


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_is_scored_as_the_file_is(tmp_path, kind):
    model, path = train_and_load(tmp_path)
    raw = KINDS[kind](FRAME)
    expected = model.decision_function(path)
    assert expected.shape == (N,)
    assert_allclose(model.decision_function(raw), expected, rtol=1e-12)
    assert_array_equal(model.predict(raw), model.predict(str(path)))
    assert_array_equal(model.predict_proba(raw), model.predict_proba(path))
    assert set(model.predict(raw)) == {"no", "yes"}


def test_features_by_their_own_names_and_arrays_of_them_are_scored_as_before(tmp_path):
    model, path = train_and_load(tmp_path)
    rows = model._reading.read(path).rows
    named = pd.DataFrame(rows.toarray(), columns=model.feature_names_in_)
    assert_allclose(model.decision_function(named), model.decision_function(path), rtol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # arrays have no names, says scikit-learn
        assert_allclose(model.decision_function(rows), model.decision_function(path), rtol=1e-12)


def test_a_category_not_met_in_training_is_a_warning_and_counts_as_none(tmp_path):
    model, _ = train_and_load(tmp_path)
    new, none = FRAME.head(3).assign(city="Chur"), FRAME.head(3).assign(city=None)
    with pytest.warns(UserWarning, match=r"column city: 3 rows have categories not met in training \(Chur\)"):
        scores = model.decision_function(new)
    assert_array_equal(scores, model.decision_function(none))


def test_what_is_missing_is_named_all_at_once(tmp_path):
    model, _ = train_and_load(tmp_path)
    with pytest.raises(InputError, match="no columns age, city; there are member, grade, id"):
        model.predict(FRAME.drop(columns=["age", "city"]))
    with pytest.raises(InputError, match="no such file"):
        model.predict(tmp_path / "nothing.csv")


def test_a_model_that_refuses_missing_values_says_so(tmp_path):
    options = ReadOptions(label="bought", features=("id",), categorical=("city",))
    model, _ = train_and_load(tmp_path, options)
    with pytest.raises(InputError, match="column id: the value is missing, and the model was trained to refuse"):
        model.predict([{"id": None, "city": "Bern"}])


@pytest.mark.parametrize("settings", [{}, {"solver": "sgd"}, {"solver": "exact", "rank": 4}])
def test_training_goes_on_from_raw_tables_with_new_categories(tmp_path, settings):
    model, path = train_and_load(tmp_path, **settings)
    before = model.n_features_in_
    more = FRAME.assign(city=np.where(np.arange(N) % 5 == 0, "Chur", FRAME.city))
    model.partial_fit(more, LABELS)
    assert model.n_features_in_ == before + 1 == model.coef_.shape[1]
    assert model.feature_names_in_[-1] == "city=Chur"
    more.assign(bought=LABELS).to_csv(tmp_path / "more.csv", index=False)
    trainer = train_files([path, tmp_path / "more.csv"], OPTIONS, settings)
    assert_allclose(model.coef_[0], trainer.fit.scorer.weights, rtol=1e-9, atol=1e-12)
    opauc.save(model, tmp_path / "again")
    again = opauc.load(tmp_path / "again")
    assert_array_equal(again.decision_function(more), model.decision_function(more))


def test_whatever_is_refused_leaves_the_model_as_it_was(tmp_path):
    model, path = train_and_load(tmp_path)
    before = model.decision_function(path)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.partial_fit(FRAME.assign(city="Chur"), LABELS[:5])
    assert "city=Chur" not in model.feature_names_in_
    assert_array_equal(model.decision_function(path), before)


def test_rows_of_raw_tables_are_forgotten(tmp_path):
    model, _ = train_and_load(tmp_path)
    before, names = model.coef_.copy(), model.feature_names_in_.copy()
    whole = FRAME.age.notna()  # a mean that stands for a missing value moves with every row
    model.partial_fit(FRAME[whole], LABELS[whole])
    assert not np.allclose(model.coef_, before, rtol=1e-6)
    with pytest.warns(UserWarning, match="not met in training"):
        model.forget(FRAME.head(1).assign(city="Chur"), LABELS[:1])
    model.partial_fit(FRAME.head(1).assign(city=None), LABELS[:1])
    model.forget(FRAME[whole], LABELS[whole])
    assert_array_equal(model.feature_names_in_, names)
    assert_allclose(model.coef_, before, rtol=1e-7, atol=1e-10)


def test_fitting_again_to_arrays_forgets_the_columns(tmp_path):
    model, path = train_and_load(tmp_path)
    model.fit(RANDOM.normal(size=(20, 2)), [0, 1] * 10)
    assert model._reading is None
    with pytest.raises(ValueError, match=r"Expected 2D array|could not convert"):
        model.predict(str(path))


def test_columns_go_through_a_file_of_the_model_as_json(tmp_path):
    model, _ = train_and_load(tmp_path)
    saved = json.loads(json.dumps(model._reading.to_json()))
    assert OneHotReading.from_json(saved).to_json() == model._reading.to_json()
