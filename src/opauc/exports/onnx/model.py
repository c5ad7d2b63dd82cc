"""The graph of a model: from columns to label, probabilities, score and reasons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from opauc.errors import UnsupportedOperationError
from opauc.exports.merge_terms import check_centered, merge_terms
from opauc.exports.onnx.crossed import crossed_contributions
from opauc.exports.onnx.graph import DOUBLE, INT64, OPERATORS, STRING, Graph
from opauc.exports.onnx.inputs import matrix_of_inputs, not_taken
from opauc.exports.onnx.tables import TableGraph
from opauc.exports.onnx.trees import tree_contributions
from opauc.exports.portable import CATEGORY, DATE, Column, PortableModel
from opauc.version import __version__

# The version of the file layout that has these operators.
IR_VERSION = 10
# Weights of inputs in terms are dense: 80 MB of them.
MAX_WEIGHTS = 10_000_000
OUTPUTS = LABEL, PROBABILITIES, SCORE, REASONS, DIFFERENCES = (
    "label", "probabilities", "score", "reasons", "differences"
)  # fmt: skip
LABEL_KINDS: dict[type, int] = {bool: TensorProto.BOOL, int: INT64, float: DOUBLE, str: STRING}


def onnx_model(model: PortableModel, reasons: int = 0) -> ModelProto:
    """Return a model as ONNX, with a tensor of one column for each column.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> from opauc.exports.make_portable import make_portable
    >>> from opauc.exports.onnx.model import onnx_model
    >>> onnx = onnx_model(make_portable(OPAUC().fit([[0.0], [1.0], [2.0]], [0, 0, 1])._to_model()))
    >>> [one.name for one in onnx.graph.input], [one.name for one in onnx.graph.output]
    (['x0'], ['label', 'probabilities', 'score'])
    """
    check_centered(model, reasons)
    names = check_names(model.columns)
    outputs = {name: output_name(name, names) for name in OUTPUTS}
    graph = Graph([*names, *outputs.values()])
    add_outputs(graph, model, matrix_of_inputs(graph, model, names), outputs, reasons)
    described = [
        helper.make_tensor_value_info(outputs[LABEL], LABEL_KINDS[type(model.labels[1])], ["rows"]),
        helper.make_tensor_value_info(outputs[PROBABILITIES], DOUBLE, ["rows", 2]),
        helper.make_tensor_value_info(outputs[SCORE], DOUBLE, ["rows"]),
    ]
    if reasons:
        k = min(reasons, len(model.terms))
        described.append(helper.make_tensor_value_info(outputs[REASONS], STRING, ["rows", k]))
        described.append(helper.make_tensor_value_info(outputs[DIFFERENCES], DOUBLE, ["rows", k]))
    return model_of_graph(graph, model.columns, described)


def check_names(columns: Sequence[Column]) -> list[str]:
    """Return the names of columns; raise for one without a name."""
    names = [column.name for column in columns]
    if "" in names:
        raise UnsupportedOperationError(
            f"cannot be exported as ONNX: column {1 + names.index('')} has no name, which an input needs"
        )
    return names


def model_of_graph(graph: Graph, columns: Sequence[Column], outputs: Sequence[ValueInfoProto]) -> ModelProto:
    """Return a graph with its inputs and outputs as a model."""
    of_graph = helper.make_graph(graph.nodes, "opauc", [_input(one) for one in columns], outputs, graph.constants)
    return helper.make_model(
        of_graph, producer_name="opauc", producer_version=__version__, ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in OPERATORS.items()],
    )  # fmt: skip


def output_name(name: str, columns: Sequence[str]) -> str:
    """Return the name of an output: names of columns are taken.

    >>> from opauc.exports.onnx.model import output_name
    >>> output_name("score", ["age"]), output_name("score", ["score"])
    ('score', 'model_score')
    """
    while name in columns:
        name = f"model_{name}"
    return name


def _input(column: Column) -> ValueInfoProto:
    meanings = {CATEGORY: "a category, empty where missing", DATE: "days since 1970 in local time, nan where missing"}
    kind = STRING if column.kind == CATEGORY else DOUBLE
    meaning = meanings.get(column.kind, "a number, nan where missing")
    return helper.make_tensor_value_info(column.name, kind, ["rows", 1], doc_string=meaning)


def add_outputs(graph: Graph, model: PortableModel, matrix: str, outputs: dict[str, str], reasons: int) -> None:
    """Add the outputs of a model from the matrix of its inputs."""
    scored = model if reasons else merge_terms(model)
    total = add_contributions(graph, scored, matrix)
    score = graph.add("Add", graph.row_sums(total), graph.constant(scored.baseline))
    _add_label_and_probabilities(graph, model, score, outputs)
    graph.add("Reshape", score, graph.constant([-1], np.int64), output=outputs[SCORE])
    if reasons:
        _add_reasons(graph, model, total, min(reasons, len(model.terms)), outputs)


def add_contributions(graph: Graph, scored: PortableModel, matrix: str) -> str:
    """Add what each term adds to the score, a column for each, from the matrix of inputs."""
    n_weights = len(scored.inputs) * len(scored.terms)
    if n_weights > MAX_WEIGHTS:
        raise UnsupportedOperationError(
            f"cannot be exported as ONNX: {len(scored.terms):,} terms of {len(scored.inputs):,} inputs are too many"
        )
    tables = TableGraph(graph, scored.axes, matrix, len(scored.inputs))
    parts = [
        *tables.contributions(scored.terms),
        *crossed_contributions(graph, scored.terms, matrix),
        *tree_contributions(graph, scored.trees, tables, len(scored.terms)),
    ]
    total = not_taken(graph, scored, matrix)
    for part in parts:
        total = graph.add("Add", total, part)
    return total


def _add_label_and_probabilities(graph: Graph, model: PortableModel, score: str, outputs: dict[str, str]) -> None:
    log_odds = graph.add("Mul", score, graph.constant(-model.slope))
    odds_against = graph.add("Exp", graph.add("Sub", log_odds, graph.constant(model.offset)))
    one = graph.constant(1.0)
    positive = graph.add("Div", one, graph.add("Add", one, odds_against))
    graph.add("Concat", graph.add("Sub", one, positive), positive, output=outputs[PROBABILITIES], axis=1)
    is_positive = graph.cast(graph.add("Greater", score, graph.constant(model.threshold)), INT64)
    kind = np.dtype(object) if isinstance(model.labels[1], str) else np.asarray(model.labels).dtype
    place = graph.add("Reshape", is_positive, graph.constant([-1], np.int64))
    graph.add("Gather", graph.constant(list(model.labels), kind), place, output=outputs[LABEL], axis=0)


def _add_reasons(graph: Graph, model: PortableModel, total: str, k: int, outputs: dict[str, str]) -> None:
    """Add the terms that lower the score most against the mean of the training rows."""
    differences = graph.add("Sub", total, graph.constant([[term.mean for term in model.terms]]))
    names = graph.constant([term.name for term in model.terms], np.dtype(object))
    lowest, places = graph.add_several(
        "TopK", differences, graph.constant([k], np.int64), outputs=[graph.name("lowest"), graph.name("places")],
        axis=1, largest=0,
    )  # fmt: skip
    is_reason = graph.add("Less", lowest, graph.constant(0.0))
    found, none = graph.add("Gather", names, places, axis=0), graph.constant("", np.dtype(object))
    graph.add("Where", is_reason, found, none, output=outputs[REASONS])
    graph.add("Where", is_reason, lowest, graph.constant(0.0), output=outputs[DIFFERENCES])
