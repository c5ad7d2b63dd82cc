"""SIMD vectors in kernels: a few neighboring numbers of an array as one value in a vector register.

With the JIT disabled such a value is a short array.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.config import DISABLE_JIT  # type: ignore[attr-defined]
from numba.extending import intrinsic, models, register_model

LANES, FEW, COUPLE = 8, 4, 2


class Lanes(types.Type):
    """The numba type of a vector of `count` numbers of one dtype."""

    def __init__(self, dtype, count):
        self.dtype, self.count = dtype, count
        super().__init__(name=f"Lanes({dtype}, {count})")


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """Data model of `Lanes`: an LLVM vector."""

    def __init__(self, manager, lanes):
        super().__init__(manager, lanes, _vector(lanes))


def _vector(lanes):
    return ir.VectorType(ir.FloatType() if lanes.dtype == types.float32 else ir.DoubleType(), lanes.count)


def _address(context, builder, array_type, array, start):
    made = context.make_array(array_type)(context, builder, array)
    return builder.gep(made.data, [start])


def _all_lanes(context, builder, number, number_type, lanes):
    """Return the vector whose lanes are all `number`."""
    one = context.cast(builder, number, number_type, lanes.dtype)
    vector, lane = ir.Constant(_vector(lanes), ir.Undefined), ir.IntType(32)
    first = builder.insert_element(vector, one, lane(0))
    return builder.shuffle_vector(first, vector, ir.Constant(ir.VectorType(lane, lanes.count), [0] * lanes.count))


def _load(array, count):
    def generate(context, builder, signature, arguments):
        vector = _vector(signature.return_type)
        place = _address(context, builder, signature.args[0], *arguments)
        place = builder.bitcast(place, vector.as_pointer())
        return builder.load(place, align=signature.args[0].dtype.bitwidth // 8)

    return Lanes(array.dtype, count)(array, types.intp), generate


def _lanes_at(typing_context, array, start):
    """Return LANES entries of a contiguous array from `start` on."""
    return _load(array, LANES)


def _few_at(typing_context, array, start):
    """Return FEW entries of a contiguous array from `start` on."""
    return _load(array, FEW)


def _couple_at(typing_context, array, start):
    """Return two entries of a contiguous array from `start` on."""
    return _load(array, COUPLE)


def _put_lanes(typing_context, array, start, lanes):
    """Write the lanes into a contiguous array from `start` on."""

    def generate(context, builder, signature, arguments):
        place = _address(context, builder, signature.args[0], *arguments[:2])
        place = builder.bitcast(place, arguments[2].type.as_pointer())
        builder.store(arguments[2], place, align=signature.args[0].dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), generate


def _plus(typing_context, lanes, factor, more):
    """Return lanes + factor * more, where the factor may be lanes or a number."""
    factor_type = factor if isinstance(factor, Lanes) else types.float64 if factor == types.intp else factor

    def generate(context, builder, signature, arguments):
        first, times, other = arguments
        if not isinstance(signature.args[1], Lanes):
            times = _all_lanes(context, builder, times, signature.args[1], signature.return_type)
        name = f"llvm.fmuladd.v{lanes.count}f{signature.return_type.dtype.bitwidth}"
        kind = ir.FunctionType(first.type, [first.type] * 3)
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        return builder.call(function, [times, other, first])

    return lanes(lanes, factor_type, more), generate


def _times(typing_context, factor, lanes):
    """Return a number times lanes."""

    def generate(context, builder, signature, arguments):
        return builder.fmul(_all_lanes(context, builder, arguments[0], signature.args[0], lanes), arguments[1])

    return lanes(factor, lanes), generate


def _minus(typing_context, lanes, less):
    """Return the difference of two lanes."""

    def generate(context, builder, signature, arguments):
        return builder.fsub(*arguments)

    return lanes(lanes, lanes), generate


def _widened(typing_context, lanes):
    """Return the lanes as float64."""

    def generate(context, builder, signature, arguments):
        if signature.args[0].dtype == types.float64:
            return arguments[0]
        return builder.fpext(arguments[0], _vector(signature.return_type))

    return Lanes(types.float64, lanes.count)(lanes), generate


def _total(typing_context, lanes):
    """Return the sum of the lanes, as float64."""

    def generate(context, builder, signature, arguments):
        dtype, (vector,) = signature.args[0].dtype, arguments
        name = f"llvm.vector.reduce.fadd.v{lanes.count}f{dtype.bitwidth}"
        kind = ir.FunctionType(vector.type.element, [vector.type.element, vector.type])
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        number = builder.call(function, [vector.type.element(-0.0), vector], fastmath=["reassoc"])
        return context.cast(builder, number, dtype, types.float64)

    return types.float64(lanes), generate


def _signed(typing_context, number, bits, start):
    """Return lanes of `number`, negative where `bits` has a one; the first lane uses bit `start`."""

    def generate(context, builder, signature, arguments):
        few = builder.trunc(builder.lshr(arguments[1], arguments[2]), ir.IntType(LANES))
        mask = builder.bitcast(few, ir.VectorType(ir.IntType(1), LANES))
        plain = _all_lanes(context, builder, arguments[0], types.float64, signature.return_type)
        return builder.select(mask, builder.fneg(plain), plain)

    return Lanes(types.float64, LANES)(types.float64, types.uint64, types.uint64), generate


if DISABLE_JIT:

    def lanes_at(array, start):
        """Return LANES entries of a contiguous array from `start` on."""
        return array[start : start + LANES].copy()

    def few_at(array, start):
        """Return FEW entries of a contiguous array from `start` on."""
        return array[start : start + FEW].copy()

    def couple_at(array, start):
        """Return two entries of a contiguous array from `start` on."""
        return array[start : start + COUPLE].copy()

    def put_lanes(array, start, lanes):
        """Write the lanes into a contiguous array from `start` on."""
        array[start : start + lanes.size] = lanes

    def plus(lanes, factor, more):
        """Return lanes + factor * more, where the factor may be lanes or a number."""
        return lanes + (factor * more).astype(lanes.dtype)

    def times(factor, lanes):
        """Return a number times lanes."""
        return (factor * lanes).astype(lanes.dtype)

    def minus(lanes, less):
        """Return the difference of two lanes."""
        return lanes - less

    def widened(lanes):
        """Return the lanes as float64."""
        return lanes.astype(np.float64)

    def total(lanes):
        """Return the sum of the lanes, as float64."""
        return np.float64(lanes.sum())

    def signed(number, bits, start):
        """Return lanes of `number`, negative where `bits` has a one; the first lane uses bit `start`."""
        ones = (bits >> (np.uint64(start) + np.arange(LANES, dtype=np.uint64))) & np.uint64(1)
        return number * (1.0 - 2.0 * ones)
else:
    lanes_at, few_at, couple_at = intrinsic(_lanes_at), intrinsic(_few_at), intrinsic(_couple_at)  # type: ignore[assignment]
    put_lanes, widened, total = intrinsic(_put_lanes), intrinsic(_widened), intrinsic(_total)  # type: ignore[assignment]
    plus, times, minus = intrinsic(_plus), intrinsic(_times), intrinsic(_minus)  # type: ignore[assignment]
    signed = intrinsic(_signed)  # type: ignore[assignment]


def _fetch(array, locality):
    def generate(context, builder, signature, arguments):
        made = context.make_array(signature.args[0])(context, builder, arguments[0])
        strides = [builder.extract_value(made.strides, axis) for axis in range(2)]
        places = [builder.mul(stride, at) for stride, at in zip(strides, arguments[1:], strict=True)]
        byte = ir.IntType(8).as_pointer()
        start = builder.ptrtoint(made.data, ir.IntType(64))
        address = builder.inttoptr(builder.add(start, builder.add(*places)), byte)
        number = ir.IntType(32)
        fetch = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, fetch, "llvm.prefetch.p0")
        # for reading, data rather than instructions
        builder.call(function, [address, number(0), number(locality), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), generate


def _hint(typing_context, array, row, column):
    """Prefetch the cache line of array[row, column, ...]; indices out of range are safe."""
    return _fetch(array, 3)


def _second_hint(typing_context, array, row, column):
    """Prefetch into the second-level cache only: the first level can wait for few cache lines at a time."""
    return _fetch(array, 2)


def _nothing(array, row, column):
    """Do nothing: there is no prefetching with the JIT disabled."""


prefetch = _nothing if DISABLE_JIT else intrinsic(_hint)
prefetch_second = _nothing if DISABLE_JIT else intrinsic(_second_hint)
