"""Classes of a stream: two as ever, several where they are asked for; their numbers, messages and JSON."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from opauc.core.batch import Batch, ResumePosition
from opauc.core.labels import (
    MAX_CLASSES,
    ClassLabels,
    PendingBatches,
    batches_with_classes,
    labels_from_json,
    labels_to_json,
)
from opauc.errors import InputError, MalformedRowError


def batch_of(labels, source="a.csv", first_line=1):
    """A batch of rows without features on consecutive lines."""
    labels = np.asarray(labels)
    return Batch(np.empty((labels.size, 0)), labels, 0, source, first_line, None, ResumePosition(), 0)


@given(
    codes=st.lists(st.integers(0, 6), min_size=3, max_size=40),
    names=st.sampled_from(
        [["a", "b", "c", "d", "e", "f", "g"], [-3, 0, 1, 2, 5, 8, 9], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]
    ),
    cut=st.integers(0, 40),
)
def test_several_classes_are_numbered_in_their_order_however_the_rows_are_cut(codes, names, cut):
    labels = np.array(names)[codes]
    distinct = sorted(set(labels.tolist()))
    known = ClassLabels.announced(distinct, several=True) if len(distinct) > 1 else None
    if known is None:
        return
    parts = [part for part in (labels[:cut], labels[cut:]) if part.size]
    numbers = np.concatenate([known.encode(batch_of(part)) for part in parts])
    assert numbers.dtype == np.int8
    assert_array_equal(np.array(distinct)[numbers], labels)


def test_all_labels_up_to_the_first_second_one_are_classes():
    batches = [batch_of(["b", "b"]), batch_of(["b", "c", "a"], first_line=3), batch_of(["c", "a"], first_line=6)]
    yielded = list(batches_with_classes(batches, ClassLabels(several=True)))
    assert [labels.classes.tolist() for _, labels in yielded] == [["a", "b", "c"]] * 3
    assert [labels.encode(batch).tolist() for batch, labels in yielded] == [[1, 1], [1, 2, 0], [2, 0]]


def test_without_several_the_first_two_labels_are_the_classes():
    assert ClassLabels().with_labels(np.array([2, 1, 0])).classes.tolist() == [1, 2]
    with pytest.raises(MalformedRowError, match=r"a\.csv, line 3: label 0 besides 1 and 2; name the positive one"):
        ClassLabels().with_labels(np.array([2, 1, 0])).encode(batch_of([2, 1, 0]))


@pytest.mark.parametrize(
    "labels",
    [
        np.linspace(0.0, 1.0, 40),
        np.arange(MAX_CLASSES + 1),
        np.array(["Yes", "no", "No"]),
        np.array([1.0, 2.0, np.nan]),
    ],
)
def test_numbers_without_end_and_labels_that_differ_in_case_are_no_classes(labels):
    known = ClassLabels(several=True).with_labels(labels)
    assert known.classes.size == 2
    with pytest.raises(MalformedRowError, match=r"line 3: label .* besides"):
        known.encode(batch_of(labels))


def test_a_hundred_classes_have_numbers():
    labels = np.arange(MAX_CLASSES)
    known = ClassLabels(several=True).with_labels(labels)
    assert_array_equal(known.encode(batch_of(labels)), labels)


def test_a_later_label_is_an_error_that_names_line_label_and_parameter():
    known = ClassLabels(several=True).with_labels(np.array(["a", "b", "c"]))
    message = r"b\.csv, line 8: label d is none of the 3 classes a, b, c; name all classes \(classes=\.\.\.\)"
    with pytest.raises(MalformedRowError, match=message):
        known.encode(batch_of(["a", "d", "c"], "b.csv", first_line=7))
    two = ClassLabels(several=True).with_labels(np.array(["a", "b"]))
    message = r"line 2: label c besides a and b; name the positive one .*, or name all classes \(classes=\.\.\.\)"
    with pytest.raises(MalformedRowError, match=message):
        two.encode(batch_of(["a", "c"]))


def test_announced_classes_are_strings_that_match_numbers_and_booleans():
    known = ClassLabels.announced(["2", "10", "0.5"], several=True)
    assert known.encode(batch_of(np.array([0.5, 2.0, 10.0, 2.0]))).tolist() == [0, 2, 1, 2]


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["a"], "classes must be 2 to 100 distinct labels, got a"),
        (["a", "a", "b"], "classes must be 2 to 100 distinct labels, got a, a, b"),
        (list(range(101)), r"classes must be 2 to 100 distinct labels, got 0, 1, .*, 19 and 81 more"),
    ],
)
def test_announced_classes_are_distinct_and_not_too_many(classes, message):
    with pytest.raises(ValueError, match=message):
        ClassLabels.announced(classes, several=True)
    with pytest.raises(ValueError, match="classes must be two distinct labels"):
        ClassLabels.announced(["a", "b", "c"])


def test_classes_without_rows_are_named():
    known = ClassLabels.announced(["a", "b", "c"], several=True)
    with pytest.raises(InputError, match="training needs rows of every class, got 9 rows, none labeled a, c"):
        known.check_rows_of_all([0.0, 9.0, 0.0], 9)
    known.check_rows_of_all([1.0, 9.0, 0.5], 10)
    with pytest.raises(InputError, match="training needs rows of two classes, got 9 rows, all labeled b"):
        ClassLabels.announced(["a", "b"]).check_rows_of_all([0.0, 9.0], 9)


def test_batches_wait_until_a_second_label_is_read():
    pending = PendingBatches(ClassLabels(several=True)).with_batch(batch_of(["a"]))
    assert pending.ready() is None
    assert pending.with_batch(batch_of(["b", "c"])).ready().labels.tolist() == ["a"]


@pytest.mark.parametrize(
    "classes",
    [
        np.array([0, 3, 7]),
        np.array(["a", "b", "c", "dd"]),
        np.array([0.0, 1.5, 2.5]),
        np.array(["x", "y", "z"], object),
    ],
)
def test_labels_of_several_classes_come_back_from_json(classes):
    again = labels_from_json(labels_to_json(classes))
    assert again.dtype == classes.dtype
    assert_array_equal(again, classes)


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ({"type": "<i8", "values": [0]}, "expected two class labels"),
        ({"type": "<i8", "values": [0, 0]}, "expected two class labels"),
        ({"type": "<i8", "values": [0, 2, 1]}, "distinct class labels in order, got 0, 2, 1"),
        ({"type": "<i8", "values": [0, 1, 1]}, "distinct class labels in order"),
        ({"type": "<U1", "values": ["b", "c", "a"]}, "in order"),
        ({"type": "object", "values": ["b", "c", "a"]}, "in order"),
        ({"type": "<i8", "values": list(range(101))}, "at most 100 class labels, got 101"),
        ({"type": "<i8", "values": [0, 1, "2"]}, "'2' is not of type <i8"),
    ],
)
def test_other_labels_in_json_are_refused(saved, message):
    with pytest.raises(ValueError, match=message):
        labels_from_json(saved)
