"""The graph of a model of several classes: from columns to label, probabilities and scores."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, helper

from opauc.exports.onnx.graph import DOUBLE, Graph
from opauc.exports.onnx.inputs import matrix_of_inputs
from opauc.exports.onnx.model import (
    LABEL,
    LABEL_KINDS,
    PROBABILITIES,
    add_contributions,
    check_names,
    model_of_graph,
    output_name,
)
from opauc.exports.portable_classes import ClassLink, PortableClasses

SCORES = "scores"


def classes_onnx_model(model: PortableClasses) -> ModelProto:
    """Return a model of several classes as ONNX, with a tensor of one column for each column.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> from opauc.exports.make_portable import make_portable_classes
    >>> from opauc.exports.onnx.classes import classes_onnx_model
    >>> onnx = classes_onnx_model(make_portable_classes(OPAUC().fit([[0.0], [1.0], [2.0]], [0, 1, 2])._to_model()))
    >>> [one.name for one in onnx.graph.output]
    ['label', 'probabilities', 'scores']
    """
    names = check_names(model.columns)
    outputs = {name: output_name(name, names) for name in (LABEL, PROBABILITIES, SCORES)}
    graph, joined = Graph([*names, *outputs.values()]), model.joined()
    additive = add_contributions(graph, joined, matrix_of_inputs(graph, joined, names))
    logits = _logits(graph, additive, model.link)
    _add_scores(graph, logits, model, outputs[SCORES])
    shifted = graph.add("Add", logits, graph.constant([model.link.log_shares]))
    exponentials = _exponentials(graph, shifted)
    graph.add("Div", exponentials, graph.row_sums(exponentials), output=outputs[PROBABILITIES])
    place = graph.add("ArgMax", logits, axis=1, keepdims=0)
    kind = np.dtype(object) if isinstance(model.labels[0], str) else np.asarray(model.labels).dtype
    graph.add("Gather", graph.constant(list(model.labels), kind), place, output=outputs[LABEL], axis=0)
    return model_of_graph(graph, model.columns, [
        helper.make_tensor_value_info(outputs[LABEL], LABEL_KINDS[type(model.labels[0])], ["rows"]),
        helper.make_tensor_value_info(outputs[PROBABILITIES], DOUBLE, ["rows", model.n_classes]),
        helper.make_tensor_value_info(outputs[SCORES], DOUBLE, ["rows", model.n_classes]),
    ])  # fmt: skip


def _logits(graph: Graph, additive: str, link: ClassLink) -> str:
    """Add the logits of additive scores."""
    if not link.rest_power:
        return additive
    small = graph.add("Exp", graph.add("Neg", graph.add("Abs", additive)))
    rest = graph.add("Add", graph.add("Relu", additive), graph.add("Log", graph.add("Add", graph.constant(1.0), small)))
    one, other = (
        graph.add("Mul", value, graph.constant(power))
        for value, power in ((additive, link.power), (rest, link.rest_power))
    )
    return graph.add("Sub", one, other)


def _exponentials(graph: Graph, logits: str) -> str:
    """Add the exponentials of logits less the greatest of the row."""
    most = graph.add("ReduceMax", logits, graph.constant([1], np.int64), keepdims=1)
    return graph.add("Exp", graph.add("Sub", logits, most))


def _add_scores(graph: Graph, logits: str, model: PortableClasses, output: str) -> None:
    most = graph.add("ReduceMax", logits, graph.constant([1], np.int64), keepdims=1)
    less = graph.add("Sub", logits, most)
    exponentials = graph.add("Exp", less)
    if model.link.scores_are_odds:
        others = graph.constant(1.0 - np.eye(model.n_classes))
        rest = graph.add("MatMul", exponentials, others)
    else:
        rest = graph.row_sums(exponentials)
    graph.add("Sub", less, graph.add("Log", rest), output=output)
