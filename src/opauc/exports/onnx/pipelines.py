"""Converters of skl2onnx: pipelines of scikit-learn that end in an estimator of this package become ONNX."""

from __future__ import annotations

from typing import Any

from opauc.additive.gam import OnePassGAM
from opauc.core.extras import needed
from opauc.core.transaction import reading
from opauc.errors import UnsupportedOperationError
from opauc.exports.make_portable import make_portable
from opauc.exports.portable import NUMBER, PortableModel
from opauc.linear.opauc import OPAUC
from opauc.linear.opauc_cv import OPAUCCV

ESTIMATORS = (OPAUC, OPAUCCV, OnePassGAM)
# skl2onnx writes no later version of ai.onnx.ml; BitwiseXor came with 18 of the standard operators.
VERSIONS = {"": 18, "ai.onnx.ml": 3}


def register_converters() -> None:
    """Register the estimators of this package with skl2onnx.

    Afterwards `skl2onnx.to_onnx` converts pipelines that end in a fitted `OPAUC`, `OPAUCCV` or `OnePassGAM` of
    numbers. Of inputs that are float64 (`DoubleTensorType`) everything but trees is computed in float64; skl2onnx makes
    a map of probabilities only of float32, so that these need `options={"zipmap": False}`.

    Raises
    ------
    MissingEngineError
        If skl2onnx is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from skl2onnx import to_onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from opauc import OPAUC
    >>> from opauc.exports.onnx.pipelines import register_converters
    >>> register_converters()
    >>> X = np.array([[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [4.0, 7.0]])
    >>> pipeline = make_pipeline(StandardScaler(), OPAUC()).fit(X, [0, 0, 1, 1])
    >>> [one.name for one in to_onnx(pipeline, X[:1], options={"zipmap": False}).graph.output]
    ['label', 'probabilities']
    """
    with needed("skl2onnx", "onnx"):
        from skl2onnx import update_registered_converter
        from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
    options = {"zipmap": [True, False, "columns"], "nocl": [True, False], "output_class_labels": [False, True]}
    for estimator in ESTIMATORS:
        update_registered_converter(
            estimator, f"Opauc{estimator.__name__}", calculate_linear_classifier_output_shapes, convert, options=options
        )


def convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the graph of a fitted estimator to that of its pipeline, as skl2onnx asks its converters to do."""
    from skl2onnx.common.data_types import guess_proto_type

    from opauc.exports.onnx.graph import DOUBLE, INT64, ML, STRING, Graph
    from opauc.exports.onnx.model import LABEL, PROBABILITIES, SCORE, add_outputs

    with reading(operator.raw_operator):
        model = make_portable(operator.raw_operator._to_model())
    _check_numbers(model)
    given, label, probabilities = operator.inputs[0], operator.outputs[0], operator.outputs[1]
    _check_versions(container)
    graph = Graph([given.full_name], ml_version=VERSIONS[ML])
    outputs = {name: graph.name(name) for name in (LABEL, PROBABILITIES, SCORE)}
    add_outputs(graph, model, graph.cast(given.full_name, DOUBLE), outputs, reasons=0)
    of_labels = STRING if isinstance(model.labels[1], str) else INT64
    results = {label.full_name: outputs[LABEL], probabilities.full_name: outputs[PROBABILITIES]}
    if of_labels == INT64:
        results[label.full_name] = graph.cast(outputs[LABEL], INT64)
    kind = guess_proto_type(probabilities.type)
    results[probabilities.full_name] = graph.cast(outputs[PROBABILITIES], kind)
    names = {own: theirs for theirs, own in results.items()} | {given.full_name: given.full_name}
    _copy(graph, names, scope, container)


def _check_numbers(model: PortableModel) -> None:
    other = next((column for column in model.columns if column.kind != NUMBER), None)
    if other is not None:
        raise UnsupportedOperationError(
            f"cannot be converted in a pipeline, whose rows are numbers: column {other.name} is a {other.kind}; "
            "opauc.export writes the model alone"
        )


def _check_versions(container: Any) -> None:
    """Raise where the pipeline is to be written in operators that are too old."""
    for domain, version in VERSIONS.items():
        if container.target_opset_any_domain(domain) < version:
            raise UnsupportedOperationError(
                f"cannot be converted in a pipeline with target_opset {container.target_opset_all}: expected at least "
                f"{VERSIONS}"
            )


def _copy(graph: Any, names: dict[str, str], scope: Any, container: Any) -> None:
    """Add nodes and constants to a container, under names that are new there."""
    from onnx import TensorProto, helper, numpy_helper

    from opauc.exports.onnx.graph import ML

    for constant in graph.constants:
        names[constant.name] = scope.get_unique_variable_name(constant.name)
        if constant.data_type == TensorProto.STRING:
            texts = numpy_helper.to_array(constant).ravel().tolist()
            container.add_initializer(names[constant.name], TensorProto.STRING, list(constant.dims), texts)
        else:
            container.add_initializer(names[constant.name], None, None, constant)
    for node in graph.nodes:
        for output in node.output:
            names.setdefault(output, scope.get_unique_variable_name(output))
        attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        container.add_node(
            node.op_type, [names[one] for one in node.input], [names[one] for one in node.output],
            op_domain=node.domain, op_version=VERSIONS[ML] if node.domain == ML else None,
            name=scope.get_unique_operator_name(node.op_type), **attributes,
        )  # fmt: skip
