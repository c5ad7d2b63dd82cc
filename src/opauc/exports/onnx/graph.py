"""Graphs of ONNX operators, written node by node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

# Domain and version of the operators: BitwiseXor came with 18 and RegexFullMatch with 20, TreeEnsemble with ml 5.
ML = "ai.onnx.ml"
OPERATORS = {"": 20, ML: 5}
# Versions of ai.onnx.ml in which these operators came.
LABEL_ENCODER_OF_TENSORS, TREE_ENSEMBLE = 4, 5
# Whole numbers up to this one are exact in float64.
LARGEST_EXACT = 2.0**53
BOOL, DOUBLE, INT64, STRING, UINT64 = (
    TensorProto.BOOL, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.STRING, TensorProto.UINT64
)  # fmt: skip


def tensor(values: ArrayLike, kind: DTypeLike = np.float64, name: str = "") -> TensorProto:
    """Return values as a tensor."""
    return numpy_helper.from_array(np.asarray(values, kind), name)


class Graph:
    """Nodes and constants; every value has a name, and none of those in `taken`.

    Before version 4 of `ai.onnx.ml` operators look up int64 by int64 alone, and before version 5 trees add in float32.

    Examples
    --------
    >>> from opauc.exports.onnx.graph import Graph
    >>> graph = Graph(["x"])
    >>> graph.add("Mul", "x", graph.constant([2.0]))
    'Mul_2'
    >>> [node.op_type for node in graph.nodes], len(graph.constants)
    (['Mul'], 1)
    """

    def __init__(self, taken: Iterable[str], ml_version: int = OPERATORS[ML]) -> None:
        self.ml_version = ml_version
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
        if self.ml_version < LABEL_ENCODER_OF_TENSORS:
            return self._whole_lookup(value, keys, values, other, kinds)
        return self.add(
            "LabelEncoder", value, domain=ML, keys_tensor=tensor(keys, key_kind),
            values_tensor=tensor(values, value_kind), default_tensor=tensor([other], value_kind),
        )  # fmt: skip

    def _whole_lookup(
        self, value: str, keys: ArrayLike, values: ArrayLike, other: float, kinds: tuple[DTypeLike, DTypeLike]
    ) -> str:
        """Add what `lookup` does for keys that are whole numbers, by places among the values."""
        whole: NDArray[np.int64] = np.asarray(keys).astype(np.int64)
        key, found = value, self.constant(other, kinds[1])
        is_key = None
        if kinds[0] == np.float64:
            in_range = self.add("LessOrEqual", self.add("Abs", value), self.constant(LARGEST_EXACT))
            is_key = self.add("And", in_range, self.add("Equal", value, self.add("Floor", value)))
            key = self.cast(self.add("Where", is_key, value, self.constant(0.0)), INT64)
        places = np.arange(1, 1 + whole.size)
        place = self.add(
            "LabelEncoder", key, domain=ML, keys_int64s=whole.tolist(), values_int64s=places.tolist(), default_int64=0
        )
        of_places = self.constant(np.append(other, np.asarray(values)), kinds[1])
        value_of_key = self.add("Gather", of_places, place, axis=0)
        return value_of_key if is_key is None else self.add("Where", is_key, value_of_key, found)

    def name(self, stem: str) -> str:
        """Return a name that no value has."""
        number = len(self._taken)
        while f"{stem}_{number}" in self._taken:
            number += 1
        self._taken.add(f"{stem}_{number}")
        return f"{stem}_{number}"
