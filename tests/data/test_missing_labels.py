"""A label that is missing is no class: it is an error with a count, or its row is left out."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import opauc
from opauc.data import BadRows, DataStream, ReadOptions, open_stream, stream_of_memory
from opauc.data.encode.number_reading import OrdinalReading
from opauc.errors import InputError, MalformedRowError

MARKERS = ["", "NA", "N/A", "n/a", "na", "<NA>", "#N/A", "NaN", "nan", "NaT", "null", "Null", "NULL", "(null)", "None",
           "?", "--", ".", "\\N", " NA "]  # fmt: skip
DROP = ReadOptions(drop_unlabeled=True)


def frame_of(labels):
    return pd.DataFrame({"a": np.arange(float(len(labels))) % 7, "y": labels})


def streams_of(folder, labels, options, bad_rows):
    """Yield the streams of a table: from text, Parquet and memory, for linear and additive models."""
    frame = frame_of(labels)
    frame.to_csv(folder / "t.csv", index=False)
    parquet.write_table(pa.table({"a": frame["a"].to_numpy(), "y": pa.array(labels)}), folder / "t.parquet")
    reading = OrdinalReading(options)
    for name in ("t.csv", "t.parquet"):
        yield open_stream([folder / name], options, bad_rows=bad_rows.fresh_copy())
        yield reading.stream([folder / name], bad_rows=bad_rows.fresh_copy(), labeled=True)
    yield stream_of_memory(frame, options=options)
    yield stream_of_memory(frame[["a"]].to_numpy(), labels, options)
    yield DataStream.of_memory(frame, None, options, reading.encoder())


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("labels", [["yes", "no"], ["yes"]])
def test_missing_labels_are_an_error_with_their_count(tmp_path, marker, labels):
    written = [*labels, marker] * 3
    message = r"column y: the label is missing, as in 2 more of \d rows; leave such rows out \(drop_unlabeled=True\)$"
    for stream in streams_of(tmp_path, written, ReadOptions(), BadRows()):
        with pytest.raises(MalformedRowError, match=message):
            list(stream.batches())


@pytest.mark.parametrize("labels", [["yes", "no", None], ["yes", "no", "NULL"], [1.0, 0.0, None], [True, False, None]])
def test_rows_without_a_label_are_left_out_on_request(tmp_path, labels):
    for stream in streams_of(tmp_path, labels * 4, DROP, BadRows()):
        batches = list(stream.batches())
        assert np.concatenate([batch.labels for batch in batches]).tolist() == labels[:2] * 4
        assert [row for batch in batches for row in batch.rows[:, 0].tolist()] == [0, 1, 3, 4, 6, 0, 2, 3]
        assert (stream.bad_rows.unlabeled, stream.bad_rows.total) == (4, 0)


@pytest.mark.parametrize("labels", [["+", "-"], ["none", "some"]])
def test_a_sign_and_none_may_be_classes(tmp_path, labels):
    for stream in streams_of(tmp_path, labels * 3, ReadOptions(), BadRows()):
        assert np.concatenate([batch.labels for batch in stream.batches()]).tolist() == labels * 3


def test_integers_beyond_the_floats_stay_labels_where_others_are_missing(tmp_path):
    large = 2**53
    table = pa.table({"a": [1.0, 2.0, 3.0], "y": pa.array([large, large + 1, None])})
    parquet.write_table(table, tmp_path / "t.parquet")
    [batch] = open_stream([tmp_path / "t.parquet"], DROP).batches()
    assert batch.labels.tolist() == [large, large + 1]


@pytest.mark.parametrize("kind", [pd.DataFrame, pa.Table.from_pandas])
@pytest.mark.parametrize("solver", ["gam", "exact"])
def test_frames_are_trained_without_such_rows_as_if_these_were_not_there(kind, solver):
    frame = frame_of(["yes", "no", "NA", "no", "yes"] * 20)
    with pytest.raises(InputError, match=r"column y.*the label is missing.*19 more of 100|20 of 100 rows; leave such"):
        opauc.train(kind(frame), label="y", solver=solver)
    model = opauc.train(kind(frame), label="y", solver=solver, drop_unlabeled=True)
    labeled = frame[frame["y"] != "NA"]
    expected = opauc.train(kind(labeled.reset_index(drop=True)), label="y", solver=solver)
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(model.decision_function(frame[["a"]]), expected.decision_function(frame[["a"]]))
