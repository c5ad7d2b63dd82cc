"""Labels of rows in memory: numbers of their classes, two or several."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from opauc.core.labels import MAX_CLASSES
from opauc.estimators.input_checks import encode_labels, given_classes


@pytest.mark.parametrize("names", [["x", "y", "z"], [-1, 4, 10], [0.0, 1.0, 2.0]])
def test_labels_of_several_classes_are_numbered_in_order(names):
    y = np.array(names)[[2, 0, 1, 1, 2]]
    for asked in (None, np.array(names)):
        labels, classes = encode_labels(y, asked, several=True)
        assert labels.dtype == np.int8
        assert_array_equal(labels, [2, 0, 1, 1, 2])
        assert_array_equal(classes, names)


def test_two_classes_are_as_without_several():
    for y in (np.array([3, 3, 5]), np.array(["a", "b"]), np.array([True, False]), np.array([7, 7])):
        for one, other in zip(encode_labels(y, None), encode_labels(y, None, several=True), strict=True):
            assert_array_equal(one, other)


def test_without_several_a_third_label_is_refused_as_ever():
    with pytest.raises(ValueError, match=r"Only binary classification.*multiclass: besides 0 and 1 there is 2"):
        encode_labels(np.array([0, 1, 2]), None)


@pytest.mark.parametrize(
    ("y", "classes", "message"),
    [
        (
            [0, 1, 5],
            [0, 1],
            r"y contains label 5, besides the classes 0 and 1; where there are more than two, give all of them at the",
        ),
        ([0, 1, 5], [0, 1, 2], r"y contains label 5, which is none of the classes \[0, 1, 2\]"),
        (
            np.tile(np.arange(MAX_CLASSES + 1), 3),
            None,
            r"at most 100 classes, got 101 labels: \[0, 1, .*19\] and 81 more",
        ),
        (np.linspace(0, 1, 40), None, "Unknown label type: continuous"),
    ],
)
def test_labels_of_no_class_are_refused(y, classes, message):
    with pytest.raises(ValueError, match=message):
        encode_labels(np.array(y), None if classes is None else np.array(classes), several=True)


def test_given_classes_are_two_or_several():
    assert given_classes([2, 0, 1], several=True).tolist() == [0, 1, 2]
    assert given_classes([2, 0], several=True).tolist() == [0, 2]
    with pytest.raises(ValueError, match=r"classes must hold two distinct class labels, got 3: \[0, 1, 2\]"):
        given_classes([2, 0, 1])
    with pytest.raises(ValueError, match=r"classes must hold 2 to 100 distinct class labels, got 1: \[3\]"):
        given_classes([3, 3], several=True)
