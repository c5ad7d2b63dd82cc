"""Graphs of ONNX operators, written node by node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

# Domain and version of the operators: BitwiseXor came with 18 and RegexFullMatch with 20, TreeEnsemble with ml 5.
OPERATORS = {"": 20, "ai.onnx.ml": 5}
ML = "ai.onnx.ml"
BOOL, DOUBLE, INT64, STRING, UINT64 = (
    TensorProto.BOOL, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.STRING, TensorProto.UINT64
)  # fmt: skip


def tensor(values: ArrayLike, kind: DTypeLike = np.float64, name: str = "") -> TensorProto:
    """Return values as a tensor."""
    return numpy_helper.from_array(np.asarray(values, kind), name)


class Graph:
    """Nodes and constants; every value has a name, and none of those in `taken`.

    Examples
    --------
    >>> from opauc.exports.onnx.graph import Graph
    >>> graph = Graph(["x"])
    >>> graph.add("Mul", "x", graph.constant([2.0]))
    'Mul_1'
    >>> [node.op_type for node in graph.nodes], len(graph.constants)
    (['Mul'], 1)
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._taken = set(taken)
        self._known: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def constant(self, values: ArrayLike, kind: DTypeLike = np.float64) -> str:
        """Return the name of a constant; equal ones are one."""
        array: NDArray[Any] = np.asarray(values, kind)
        content = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
        key = (array.dtype.str, array.shape, content)
        if key not in self._known:
            self._known[key] = self.name("constant")
            self.constants.append(tensor(array, array.dtype, self._known[key]))
        return self._known[key]

    def add(self, operator: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any) -> str:
        """Add a node of one output, and return the name of this."""
        return self.add_several(
            operator, *inputs, outputs=[output or self.name(operator)], domain=domain, **attributes
        )[0]

    def add_several(
        self, operator: str, *inputs: str, outputs: Sequence[str], domain: str = "", **attributes: Any
    ) -> Sequence[str]:
        """Add a node of several outputs, and return their names."""
        self.nodes.append(helper.make_node(operator, list(inputs), list(outputs), domain=domain, **attributes))
        return outputs

    def cast(self, value: str, kind: int) -> str:
        """Add a conversion to a type."""
        return self.add("Cast", value, to=kind)

    def columns(self, matrix: str, positions: Sequence[int] | NDArray[np.int64]) -> str:
        """Add the columns of a matrix at these positions."""
        return self.add("Gather", matrix, self.constant(positions, np.int64), axis=1)

    def joined(self, parts: Sequence[str]) -> str:
        """Add the matrix of the columns of all parts."""
        return parts[0] if len(parts) == 1 else self.add("Concat", *parts, axis=1)

    def row_sums(self, matrix: str) -> str:
        """Add the sums of rows, as a column."""
        return self.add("ReduceSum", matrix, self.constant([1], np.int64), keepdims=1)

    def lookup(
        self, value: str, keys: ArrayLike, values: ArrayLike, other: float, kinds: tuple[DTypeLike, DTypeLike]
    ) -> str:
        """Add what `values` has where `keys` has a value, `other` where they do not have it."""
        key_kind, value_kind = kinds
        return self.add(
            "LabelEncoder", value, domain=ML, keys_tensor=tensor(keys, key_kind),
            values_tensor=tensor(values, value_kind), default_tensor=tensor([other], value_kind),
        )  # fmt: skip

    def name(self, stem: str) -> str:
        """Return a name that no value has."""
        number = len(self._taken)
        while f"{stem}_{number}" in self._taken:
            number += 1
        self._taken.add(f"{stem}_{number}")
        return f"{stem}_{number}"
