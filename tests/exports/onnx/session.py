"""Exported ONNX, run by onnxruntime on rows."""

import math

import numpy as np
import onnx
import onnxruntime

from tests.exports import evaluator


def tensors_of(portable, rows):
    """Return a tensor of one column for each column: text of numbers and dates is read first, as ONNX takes numbers."""
    feeds = {}
    for column in portable.columns:
        values = [row.get(column.name) for row in rows]
        if column.kind == "category":
            texts = ["" if value is None else category_text(value) for value in values]
            feeds[column.name] = np.array(texts, object)[:, None]
        else:
            read = number if column.kind == "number" else days
            feeds[column.name] = np.array([read(column, value) for value in values])[:, None]
    return feeds


def category_text(value):
    if isinstance(value, str):
        return value
    return str(int(value)) if float(value).is_integer() and not isinstance(value, bool) else str(value).lower()


def number(column, value):
    if value is None:
        return math.nan
    return evaluator.read_number(value, column.text_format) if isinstance(value, str) else float(value)


def days(column, value):
    saved = {"missing": column.missing, "layouts": column.text_format.split(" or ")}
    return evaluator.date_of(saved, value, ["day"])[0]


def session_of(model):
    onnx.checker.check_model(model)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def run(model, feeds):
    """Return the outputs of a model by their names."""
    session = session_of(model)
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds), strict=True))
