"""A hint to the processor that a row of an array is needed soon."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.config import DISABLE_JIT  # type: ignore[attr-defined]
from numba.extending import intrinsic


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
    """Fetch the cache line of array[row, column, ...] ahead of use; any numbers are safe."""
    return _fetch(array, 3)


def _second_hint(typing_context, array, row, column):
    """Do as `prefetch`, but fetch no nearer than the second cache: the nearest has few places to wait for memory."""
    return _fetch(array, 2)


def _nothing(array, row, column):
    """Do nothing: what a hint comes to in plain Python."""


prefetch = _nothing if DISABLE_JIT else intrinsic(_hint)
prefetch_second = _nothing if DISABLE_JIT else intrinsic(_second_hint)
